/* `boardwalk import` and `export`: a subtree goes out and comes back as it was; an import that was killed
 * goes on; what is there stays; what is wrong is said with its place. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"

static struct test_instance instance;

static void begin(void)
{
	test_instance_start(&instance, NULL);
}

static void end(void)
{
	test_instance_stop(&instance);
}

TestSuite(port, .init = begin, .fini = end);

/* A command that is to end with that exit code; its output, heap. */
static char *run_on(struct test_instance *i, int code, const char *input,
                    const char *const *arguments)
{
	char *output;
	int   got = test_instance_cli(i, input, &output, arguments);

	cr_assert_eq(got, code, "exit code %d: %s", got, output);
	return output;
}

static char *run(int code, const char *input, const char *const *arguments)
{
	return run_on(&instance, code, input, arguments);
}

static void assert_said(char *output, const char *expected)
{
	cr_assert_not_null(strstr(output, expected), "not \"%s\": %s", expected, output);
	free(output);
}

static void import_text(const char *path, const char *text, const char *expected)
{
	assert_said(run(0, text, (const char *const[]){ "import", path, "-", NULL }), expected);
}

static char *export_text(const char *path)
{
	return run(0, NULL, (const char *const[]){ "export", path, "-", NULL });
}

static const char everything[] =
	"{ /* all that JSON can say of content */\n"
	"  \"jcr:primaryType\": \"nt:unstructured\", \"jcr:mixinTypes\": [\"mix:title\", "
	"\"mix:referenceable\"],\n"
	"  \"jcr:uuid\": \"3f2c8a52-6a3c-4f4e-9f0e-0d9d6f1b7a10\",\n"
	"  \"jcr:title\": \"T \\u00e9 \\ud83d\\ude00 \\\"q\\\"\", \"empty\": \"\", \"long\": 5, "
	"\"min\": -9223372036854775808,\n"
	"  \"ratio\": 2.50, \"exp\": 1e3, \"open\": true, \"shut\": false,\n"
	"  \"at\": \"2026-11-30T16:20:05.123+01:00\", \"jcr:string:notADate\": "
	"\"2026-11-30T16:20:05.123Z\",\n"
	"  \"jcr:double:whole\": \"5\", \"jcr:double:nan\": \"NaN\", \"jcr:decimal:money\": "
	"\"0.10\",\n"
	"  \"jcr:name:kind\": \"nt:file\", \"jcr:path:where\": \"/content\", \"jcr:uri:to\": "
	"\"urn:x:y\",\n"
	"  \"jcr:reference:ref\": \"3f2c8a52-6a3c-4f4e-9f0e-0d9d6f1b7a10\", "
	"\"jcr:weakreference:weak\": [\"a\", \"b\"],\n"
	"  \"list\": [\"a\", \"b\"], \"longs\": [1, -2], \"none\": [], \"jcr:long:noLongs\": [],\n"
	"  \"jcr:date:noDates\": [], \"jcr:boolean:no\": [], \"flags\": [true, false],\n"
	"  \"jcr:binary:data\": { \"octets\": [\"AAEC\"] }, \"jcr:binary:nothing\": { \"octets\": "
	"[] },\n"
	"  \"security:acl\": [ { \"principal\": \"everyone\", \"granted\": [\"jcr:read\"],\n"
	"      \"restrictions\": { \"rep:glob\": \"/x\" } }, { \"principal\": \"everyone\", "
	"\"denied\": [\"jcr:write\"] } ],\n"
	"  \"z\": { \"jcr:primaryType\": \"nt:unstructured\" },\n"
	"  \"a\": { \"jcr:primaryType\": \"sling:Folder\", \"jcr:created\": "
	"\"2001-02-03T04:05:06.007Z\", \"jcr:createdBy\": \"ada\",\n"
	"    \"deep\": { \"jcr:primaryType\": \"nt:unstructured\", \"x\": 1 } },\n"
	"  \"f\": { \"jcr:primaryType\": \"nt:file\", \"jcr:content\": { \"jcr:primaryType\": "
	"\"nt:resource\",\n"
	"    \"jcr:mimeType\": \"text/plain\", \"jcr:binary:jcr:data\": { \"octets\": "
	"[\"aGVsbG8=\"] } } },\n"
	"  \"late\": \"behind children\"\n"
	"}\n";

Test(port, what_goes_out_comes_back)
{
	static const char *const parts[] = { "\"ratio\": 2.50",
		                             "\"jcr:double:whole\": \"5\"",
		                             "\"late\": \"behind children\"",
		                             "\"jcr:createdBy\": \"ada\"",
		                             "\"rep:glob\"",
		                             "3f2c8a52-6a3c-4f4e-9f0e-0d9d6f1b7a10",
		                             "\"octets\": [\"aGVsbG8=\"]",
		                             "\"jcr:long:noLongs\": []" };
	struct test_instance     other;
	char                    *first, *second;

	import_text("/content/e", everything, "6 nodes made");
	first = export_text("/content/e");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		cr_assert_not_null(strstr(first, parts[i]), "no %s: %s", parts[i], first);
	cr_assert_lt(strstr(first, "\"z\": {"), strstr(first, "\"a\": {"),
	             "children keep their order");
	test_instance_start(&other, NULL);
	assert_said(run_on(&other, 0, first,
	                   (const char *const[]){ "import", "/content/e", "-", NULL }),
	            "6 nodes made");
	second =
		run_on(&other, 0, NULL, (const char *const[]){ "export", "/content/e", "-", NULL });
	cr_assert_str_eq(first, second);
	test_instance_stop(&other);
	free(first);
	free(second);
}

Test(port, it_is_seen_at_once)
{
	struct http_response answer;

	import_text("/content/test",
	            "{ \"hello\": { \"sling:resourceType\": \"demo/test/hello\" } }", "");
	http_ask_once(instance.port, "GET", "/content/test/seen", instance.credentials, &answer);
	cr_assert_eq(answer.status, 404);
	http_response_done(&answer);
	import_text("/content/test",
	            "{ \"seen\": { \"sling:resourceType\": \"demo/test/hello\" } }",
	            "1 nodes made");
	for (unsigned long long limit = test_now_ms() + 2000;;) {
		http_ask_once(instance.port, "GET", "/content/test/seen", instance.credentials,
		              &answer);
		http_response_done(&answer);
		if (answer.status == 200)
			break;
		cr_assert_lt(test_now_ms(), limit, "%d", answer.status);
	}
}

Test(port, what_is_there_stays)
{
	char *text;

	import_text("/content/n", "{ \"a\": \"1\", \"b\": { \"c\": 1 } }",
	            "2 nodes made, 0 changed");
	import_text("/content/n", "{ \"a\": \"2\", \"d\": \"new\", \"b\": { \"c\": 2 } }",
	            "0 nodes made, 1 changed");
	import_text("/content/n", "{ \"a\": \"2\", \"d\": \"new\", \"b\": { \"c\": 2 } }",
	            "0 nodes made, 0 changed");
	text = export_text("/content/n");
	cr_assert(strstr(text, "\"a\": \"1\"") && strstr(text, "\"c\": 1"), "%s", text);
	free(text);
	assert_said(run(0, "{ \"a\": \"2\", \"b\": { \"c\": 2 } }",
	                (const char *const[]){ "import", "--overwrite", "/content/n", "-", NULL }),
	            "0 nodes made, 2 changed");
	text = export_text("/content/n");
	cr_assert(strstr(text, "\"a\": \"2\"") && strstr(text, "\"d\": \"new\""), "%s", text);
	free(text);
}

/* What is wrong, and where. */
static const struct {
	const char *text, *said;
} wrong[] = {
	{ "{ \"a\": 1,\n  \"b\": nul }", "standard input:2:" },
	{ "{ \"a\": null }", "null is no value" },
	{ "[1]", "1:" },
	{ "{ \"a\": [1, \"x\"] }", "values of several types" },
	{ "{ \"a\": [{}] }", "a list of objects" },
	{ "{ \"a\": {", "standard input:1:9: " },
	{ "", "standard input:1:1: " },
	{ "{} {}", "1:" },
	{ "{ \"a/b\": {} }", "no name" },
	{ "{ \"jcr:long:a\": \"x\" }", "not a Long" },
	{ "{ \"a\": 99999999999999999999 }", "not a Long" },
	{ "{ \"jcr:boolean:a\": \"yes\" }", "not a Boolean" },
	{ "{ \"jcr:date:a\": \"yesterday\" }", "date" },
	{ "{ \"jcr:primaryType\": \"no:such\" }", "no:such" },
	{ "{ \"x\": {}, \"jcr:primaryType\": \"nt:unstructured\" }", "before them" },
	{ "{ \"jcr:primaryType\": \"nt:file\" }", "jcr:content" },
	{ "{ \"jcr:binary:a\": { \"octets\": [\"%%\"] } }", "not base64" },
	{ "{ \"jcr:binary:a\": { \"hash\": \"00\" } }", "not known here" },
	{ "{ \"security:principals\": [] }", "boardwalk user" },
	{ "{ \"security:acl\": [ { \"principal\": \"nobody-here\", \"granted\": [\"jcr:read\"] } ] "
	  "}",
	  "nobody-here" },
	{ "{ \"a\\u0000\": 1 }", "NUL" },
	{ "{ \"a\": \"\\u0000\" }", "NUL" },
};

Test(port, what_is_wrong_is_said_and_changes_nothing)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *output = run(1, wrong[i].text,
		                   (const char *const[]){ "import", "/content/w", "-", NULL });

		cr_expect_not_null(strstr(output, wrong[i].said), "%s: %s", wrong[i].text, output);
		cr_expect_not_null(strstr(output, "0 nodes made, 0 changed"), "%s", output);
		free(output);
	}
	assert_said(run(1, NULL, (const char *const[]){ "export", "/content/w", "-", NULL }),
	            "there is no such node");
	assert_said(run(2, "{}", (const char *const[]){ "import", "content", "-", NULL }),
	            "not an absolute path");
	assert_said(run(1, "{}", (const char *const[]){ "import", "/no/parent", "-", NULL }),
	            "no parent");
}

/* ---- large ones ---- */

#define FOLDERS 30 /* three transactions */
#define LEAVES  100

static void write_large(const char *file)
{
	FILE *out = fopen(file, "w");

	cr_assert_not_null(out);
	fputs("{ \"jcr:primaryType\": \"nt:unstructured\"", out);
	for (int i = 0; i < FOLDERS; i++) {
		fprintf(out, ",\n \"f%d\": { \"jcr:primaryType\": \"nt:unstructured\"", i);
		for (int k = 0; k < LEAVES; k++)
			fprintf(out, ", \"n%d\": { \"n\": %d }", k, i * LEAVES + k);
		fputs(", \"last\": true }", out);
	}
	fputs(" }\n", out);
	cr_assert_eq(fclose(out), 0);
}

/* Reads what it says until it has said enough, or has ended. */
static bool bar_shows(int terminal, const char *what)
{
	char   text[65536];
	size_t n = 0;

	while (n < sizeof(text) - 1) {
		ssize_t got = read(terminal, text + n, sizeof(text) - 1 - n);

		if (got <= 0)
			return false;
		n += (size_t)got;
		text[n] = '\0';
		if (strstr(text, what) != NULL)
			return true;
	}
	return false;
}

Test(port, a_killed_import_goes_on)
{
	char        file[300], *output, *text;
	const char *arguments[] = { "import", "/content/large", file, NULL };
	unsigned    kills = 0;

	snprintf(file, sizeof(file), "%s/large.json", instance.root);
	write_large(file);
	for (; kills < 2; kills++) {
		int                out, status, code;
		char               path[64];
		pid_t              pid = test_instance_spawn(&instance, &out, arguments);
		unsigned long long limit = test_now_ms() + 120000;

		/* Until one more of its transactions is there. */
		snprintf(path, sizeof(path), "/content/large/f%u", 10 * kills + 5);
		do
			code = test_instance_cli(
				&instance, NULL, &output,
				(const char *const[]){ "export", path, "-", NULL });
		while (free(output), code != 0 && test_now_ms() < limit);
		cr_assert_eq(code, 0, "%s does not come", path);
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		close(out);
	}
	free(run(0, NULL, arguments));
	output = run(0, NULL, arguments);
	assert_said(output, "0 nodes made, 0 changed");
	text = export_text("/content/large");
	for (int i = 0, from = 0; i < FOLDERS * LEAVES; i++) {
		char leaf[40], *at;

		snprintf(leaf, sizeof(leaf), "\"n\": %d\n", i);
		at = strstr(text + from, leaf);
		cr_assert_not_null(at, "%s is missing or not in its place", leaf);
		from = (int)(at - text);
	}
	free(text);
}

/* Standard error is a terminal there. */
Test(port, a_terminal_sees_how_far_it_is)
{
	int         terminal = posix_openpt(O_RDWR | O_NOCTTY), fd, status;
	char        file[300], command[PATH_MAX];
	const char *name;
	pid_t       pid;

	cr_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	name = ptsname(terminal);
	snprintf(file, sizeof(file), "%s/large.json", instance.root);
	write_large(file);
	snprintf(command, sizeof(command), "%s", BOARDWALK);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		fd = open(name, O_RDWR | O_NOCTTY);
		dup2(fd, STDERR_FILENO);
		fd = open("/dev/null", O_RDWR);
		dup2(fd, STDOUT_FILENO);
		execl(command, command, "import", "/content/large", file, "--data", instance.data,
		      NULL);
		_exit(127);
	}
	fd = open(name, O_RDWR | O_NOCTTY);
	cr_assert(bar_shows(terminal, " nodes, "), "no bar");
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	close(fd);
	close(terminal);
}
