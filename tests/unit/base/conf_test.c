/* lib/base/conf*.c: what a file and the environment may say, and the exact complaint about the
 * rest. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <base/conf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof(*(array)))

struct settings {
	char            *name, *nothing;
	uint64_t         port, any;
	uint64_t         size;
	bool             on;
	struct conf_list list, other;
};

#define KEY(name, type, field, initial, min, max, help) \
	{ \
		name, type, offsetof(struct settings, field), initial, min, max, help \
	}

static const struct conf_key keys[] = {
	KEY("gateway.name", CONF_STRING, name, "abc", 0, 0, "a name"),
	KEY("gateway.nothing", CONF_STRING, nothing, NULL, 0, 0, "has no default"),
	KEY("gateway.port", CONF_UINT, port, "8080", 1, 65535, "the port"),
	KEY("gateway.any", CONF_UINT, any, "7", 0, 0, "any number"),
	KEY("gateway.size", CONF_SIZE, size, "64K", 1024, 1u << 30, "a size"),
	KEY("gateway.on", CONF_BOOL, on, "true", 0, 0, "on or off"),
	KEY("gateway.list", CONF_STRINGS, list, "[/apps/, \"/libs/, too\"]", 0, 0, "a list"),
	KEY("common.other", CONF_STRINGS, other, "[]", 0, 0,
	    "a help text that is so long that it does not fit on one line of eighty columns and "
	    "goes "
	    "on on the next one"),
};

static const char *const sections[] = { "gateway", "common", "auth", "boardwalk", NULL };

static char            file[] = "/tmp/conf_test.XXXXXX";
static struct settings loaded;
static char            err[512];

static void set_up(void)
{
	cr_assert(ge(int, mkstemp(file), 0));
}

static void tear_down(void)
{
	unlink(file);
}

TestSuite(conf, .init = set_up, .fini = tear_down);

static void write_file(const char *text, size_t n)
{
	FILE *out = fopen(file, "w");

	cr_assert(fwrite(text, 1, n, out) == n && fclose(out) == 0);
}

static int load(const char *path)
{
	memset(&loaded, 0xa5, sizeof(loaded)); /* nothing of this may be read or freed */
	memset(err, 'x', sizeof(err));
	err[sizeof(err) - 1] = '\0';
	return conf_load(keys, N(keys), sections, path, &loaded, err, sizeof(err));
}

static void done(void)
{
	conf_done(keys, N(keys), &loaded);
	cr_assert(loaded.name == NULL && loaded.list.items == NULL && loaded.list.n == 0);
}

/* ---- what is accepted ---- */

static void check_defaults(void)
{
	cr_assert(eq(str, loaded.name, "abc"));
	cr_assert(loaded.nothing == NULL);
	cr_assert(eq(u64, loaded.port, 8080));
	cr_assert(eq(u64, loaded.any, 7));
	cr_assert(eq(u64, loaded.size, 65536));
	cr_assert(eq(int, loaded.on, 1));
	cr_assert(eq(sz, loaded.list.n, 2));
	cr_assert(eq(str, loaded.list.items[0], "/apps/"));
	cr_assert(eq(str, loaded.list.items[1], "/libs/, too"));
	cr_assert(eq(sz, loaded.other.n, 0));
}

Test(conf, defaults_hold_where_nothing_is_said)
{
	static const char *const files[] = {
		"",
		"# nothing\n",
		"---\n",
		"~\n",
		"gateway:\n",
		"gateway: ~\ncommon:\n",
		"auth:\n  any: [1, {deep: [2, 3]}]\n  any: twice, which is auth's "
		"matter\nboardwalk: text\n",
		"gateway: {}\n",
		"\xef\xbb\xbfgateway:\n", /* with a byte order mark */
	};

	cr_assert(eq(int, load(NULL), 0), "%s", err);
	check_defaults();
	done();
	for (size_t i = 0; i < N(files); i++) {
		write_file(files[i], strlen(files[i]));
		cr_assert(eq(int, load(file), 0), "file %zu: %s", i, err);
		check_defaults();
		done();
	}
}

/* Each text as the value of its key; the outcome as text. */
Test(conf, reads_values_of_each_type)
{
	static const struct {
		const char *name, *value, *is;
	} rows[] = {
		{ "name", "xyz", "xyz" },
		{ "name", "\"\"", "" },
		{ "name", "''", "" },
		{ "name", "\"a\\\"b\\tc\"", "a\"b\tc" },
		{ "name", "127.0.0.1:80", "127.0.0.1:80" },
		{ "name", "8080", "8080" },
		{ "name", "no", "no" },
		{ "name", "\"null\"", "null" },
		{ "name", "\"~\"", "~" },
		{ "name", "a b  # not this", "a b" },
		{ "name", "|\n    two\n    lines\n", "two\nlines\n" },
		{ "name", "\xc3\xa4", "\xc3\xa4" },
		{ "nothing", "something", "something" },
		{ "port", "1", "1" },
		{ "port", "65535", "65535" },
		{ "port", "\"0080\"", "80" },
		{ "any", "0", "0" },
		{ "any", "18446744073709551615", "18446744073709551615" },
		{ "size", "1024", "1024" },
		{ "size", "1K", "1024" },
		{ "size", "3M", "3145728" },
		{ "size", "1G", "1073741824" },
		{ "on", "true", "1" },
		{ "on", "True", "1" },
		{ "on", "false", "0" },
		{ "on", "FALSE", "0" },
		{ "list", "[]", "" },
		{ "list", "[a]", "a;" },
		{ "list", "[a, \"b, c\", '']", "a;b, c;;" },
		{ "list", "\n    - a\n    - \"b: c\"\n", "a;b: c;" },
		{ "list", "\n  - a\n  - 12\n", "a;12;" },
	};

	for (size_t i = 0; i < N(rows); i++) {
		char text[512], is[512] = "";
		int  n = snprintf(text, sizeof(text), "gateway:\n  %s: %s\n", rows[i].name,
		                  rows[i].value);

		write_file(text, (size_t)n);
		cr_assert(eq(int, load(file), 0), "%s: %s", text, err);
		switch (rows[i].name[0]) {
		case 'n':
			strcpy(is, rows[i].name[1] == 'a' ? loaded.name : loaded.nothing);
			break;
		case 'l':
			for (size_t k = 0; k < loaded.list.n; k++)
				strcat(strcat(is, loaded.list.items[k]), ";");
			break;
		case 'o':
			sprintf(is, "%d", loaded.on);
			break;
		default:
			sprintf(is, "%llu",
			        (unsigned long long)(rows[i].name[0] == 'p'   ? loaded.port
			                             : rows[i].name[0] == 'a' ? loaded.any
			                                                      : loaded.size));
		}
		cr_assert(eq(str, is, (char *)rows[i].is), "%s", text);
		done();
	}
}

/* ---- what is refused ---- */

#define NUMBER "expected a number from 1 to 65535"
#define SIZE   "expected a number of octets, or of K, M, G, from 1K to 1G"

Test(conf, refuses_and_names_file_line_and_reason)
{
	static const struct {
		const char *text, *err; /* err without the file's name */
	} rows[] = {
		/* names */
		{ "gateway:\n  port: 1\n  prot: 2\n", ":3: unknown setting gateway.prot" },
		{ "\n\n# x\ngateway:\n\n  # y\n  Port: 1\n", ":7: unknown setting gateway.Port" },
		{ "gateway:\n  other: []\n", ":2: unknown setting gateway.other" },
		{ "gateway:\n  <<: 1\n", ":2: unknown setting gateway.<<" },
		{ "gatewai:\n  port: 1\n", ":1: unknown section gatewai" },
		{ "auth:\n  x: 1\nGateway:\n  port: 1\n", ":3: unknown section Gateway" },
		{ "gateway.port: 1\n", ":1: unknown section gateway.port" },
		{ "gateway:\n  [a]: 1\n", ":2: the name of a setting is expected" },
		{ "? [a]\n: 1\n", ":1: the name of a section is expected" },
		/* duplicates */
		{ "gateway:\n  port: 1\n  on: true\n  port: 1\n",
		  ":4: gateway.port is set on line 2 already" },
		{ "gateway:\n  list:\n    - a\n    - b\n  list: []\n",
		  ":5: gateway.list is set on line 2 already" },
		{ "gateway:\n  port: 1\ncommon:\ngateway:\n  on: true\n",
		  ":4: section gateway begins on line 1 already" },
		{ "auth:\n  port: 1\nauth:\n", ":3: section auth begins on line 1 already" },
		/* types */
		{ "gateway:\n  name: [a]\n", ":2: gateway.name: expected a text" },
		{ "gateway:\n  name: {a: 1}\n",
		  ":2: gateway.name: a mapping where a value is expected" },
		{ "gateway:\n  name:\n  port: 1\n",
		  ":2: gateway.name: no value (an empty text is \"\", an empty list [])" },
		{ "gateway:\n  port: ~\n",
		  ":2: gateway.port: no value (an empty text is \"\", an empty list [])" },
		{ "gateway:\n  list: null\n",
		  ":2: gateway.list: no value (an empty text is \"\", an empty list [])" },
		{ "gateway:\n  list: a\n", ":2: gateway.list: expected a list of texts" },
		{ "gateway:\n  list:\n    - a\n    - [b]\n",
		  ":4: gateway.list: an item that is not a text" },
		{ "gateway:\n  list:\n    - a\n    -\n",
		  ":4: gateway.list: an item that is not a text" },
		{ "gateway:\n  list: [a,\n    {b: c}]\n",
		  ":3: gateway.list: an item that is not a text" },
		{ "gateway:\n  on: yes\n", ":2: gateway.on: expected true or false" },
		{ "gateway:\n  on: 1\n", ":2: gateway.on: expected true or false" },
		{ "gateway:\n  on: \"\"\n", ":2: gateway.on: expected true or false" },
		{ "gateway:\n  port: eighty\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: \"\"\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: 80 80\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: 0x50\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: +80\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: 80.0\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: 8K\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: [80]\n", ":2: gateway.port: " NUMBER },
		/* ranges */
		{ "gateway:\n  port: 0\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: 65536\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: -1\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  port: 18446744073709551617\n", ":2: gateway.port: " NUMBER },
		{ "gateway:\n  any: 18446744073709551616\n", ":2: gateway.any: expected a number" },
		{ "gateway:\n  size: 1023\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: 2G\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: 1T\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: 1k\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: 1KB\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: K\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: 1 K\n", ":2: gateway.size: " SIZE },
		/* 2^64 + 1024, which wraps round to a value that would fit */
		{ "gateway:\n  size: 17179869185G\n", ":2: gateway.size: " SIZE },
		{ "gateway:\n  size: 18014398509481985K\n", ":2: gateway.size: " SIZE },
		/* shape */
		{ "- a\n- b\n", ":1: sections are expected" },
		{ "text\n", ":1: sections are expected" },
		{ "gateway: 1\n", ":1: section gateway: settings are expected" },
		{ "gateway:\n  - port\n", ":2: section gateway: settings are expected" },
		{ "gateway:\n  port: 1\n---\ngateway:\n  port: 2\n", ":3: a second document" },
		{ "gateway:\n  name: &a x\n", ":2: anchors, aliases and tags have no use here" },
		{ "gateway:\n  name: *a\n", ":2: anchors, aliases and tags have no use here" },
		{ "gateway:\n  port: !!int 1\n", ":2: anchors, aliases and tags have no use here" },
		{ "auth:\n  a: &x [1]\n  b: *x\n",
		  ":2: anchors, aliases and tags have no use here" },
		{ "gateway:\n  name: \"a\\0b\"\n", ":2: a text with a zero octet" },
		/* not YAML */
		{ "gateway:\n  port: 1\n name: x\n",
		  ":3: malformed: did not find expected key while parsing a block mapping" },
		{ "gateway:\n\tport: 1\n", ":2: malformed: found character that cannot start any "
		                           "token while scanning for the "
		                           "next token" },
		{ "gateway:\n  name: \"x\n",
		  ":3: malformed: found unexpected end of stream while scanning a quoted scalar" },
		{ "gateway:\n  list: [a, b\n",
		  ":3: malformed: did not find expected ',' or ']' while parsing a flow sequence" },
		{ "gateway:\n  name: a: b\n",
		  ":2: malformed: mapping values are not allowed in this context" },
		{ "gateway:\n  on: true\n  name: \xff\n  port: 1\n",
		  ":3: malformed: invalid leading UTF-8 octet" },
		{ "gateway:\n  on: true\n\n\n  name: a\x01\n",
		  ":5: malformed: control characters are not allowed" },
	};

	for (size_t i = 0; i < N(rows); i++) {
		char expected[512];

		write_file(rows[i].text, strlen(rows[i].text));
		snprintf(expected, sizeof(expected), "%s%s", file, rows[i].err);
		cr_expect(eq(int, load(file), -1), "row %zu:\n%s", i, rows[i].text);
		cr_expect(eq(str, err, expected), "row %zu:\n%s", i, rows[i].text);
		done();
	}
}

Test(conf, refuses_a_file_that_is_not_there)
{
	char expected[512];

	cr_assert(eq(int, load("/nowhere/boardwalk.yaml"), -1));
	cr_assert(eq(str, err, "/nowhere/boardwalk.yaml: No such file or directory"));
	done();
	cr_assert(eq(int, load("/tmp"), -1));
	cr_assert(eq(str, err, "/tmp:1: malformed: input error"));
	done();
	snprintf(expected, sizeof(expected), "%.9s", file); /* a short err is cut, not overrun */
	write_file("x: 1\n", 5);
	cr_assert(eq(int, conf_load(keys, N(keys), sections, file, &loaded, err, 10), -1));
	cr_assert(eq(str, err, expected));
	done();
}

Test(conf, a_default_must_fit_too)
{
	static const struct conf_key bad[] = {
		KEY("gateway.port", CONF_UINT, port, "0", 1, 65535, "out of its own range"),
	};

	cr_assert(eq(int, conf_load(bad, 1, sections, NULL, &loaded, err, sizeof(err)), -1));
	cr_assert(eq(str, err, "default of gateway.port:2: gateway.port: " NUMBER));
	conf_done(bad, 1, &loaded);
}

/* ---- environment ---- */

Test(conf, the_environment_goes_before_the_file)
{
	static const char text[] = "gateway:\n  port: 1\n  list: [x]\n  name: from file\n";

	write_file(text, strlen(text));
	setenv("BOARDWALK_GATEWAY_PORT", "2", 1);
	setenv("BOARDWALK_GATEWAY_LIST", "a, b c ,,d", 1);
	setenv("BOARDWALK_GATEWAY_ON", "false", 1);
	setenv("BOARDWALK_GATEWAY_NOTHING", "", 1);
	setenv("BOARDWALK_GATEWAY_SIZE", "2M", 1);
	setenv("BOARDWALK_COMMON_OTHER", "", 1);
	/* none of these is this process's matter */
	setenv("BOARDWALK_AUTH_PORT", "x", 1);
	setenv("BOARDWALK_DIE_WITH_PARENT", "1", 1);
	setenv("BOARDWALK_GATEWAYS", "1", 1);
	setenv("BOARDWALK_", "1", 1);
	setenv("XBOARDWALK_GATEWAY_PORT", "x", 1);
	cr_assert(eq(int, load(file), 0), "%s", err);
	cr_assert(eq(u64, loaded.port, 2));
	cr_assert(eq(str, loaded.name, "from file"));
	cr_assert(eq(str, loaded.nothing, ""));
	cr_assert(eq(u64, loaded.size, 2 << 20));
	cr_assert(eq(int, loaded.on, 0));
	cr_assert(eq(sz, loaded.list.n, 4));
	cr_assert(eq(str, loaded.list.items[0], "a"));
	cr_assert(eq(str, loaded.list.items[1], "b c"));
	cr_assert(eq(str, loaded.list.items[2], ""));
	cr_assert(eq(str, loaded.list.items[3], "d"));
	cr_assert(eq(sz, loaded.other.n, 0));
	done();
}

Test(conf, refuses_variables_that_are_wrong)
{
	static const struct {
		const char *name, *value, *err;
	} rows[] = {
		{ "BOARDWALK_GATEWAY_PORT", "x",
		  "environment BOARDWALK_GATEWAY_PORT: gateway.port: " NUMBER },
		{ "BOARDWALK_GATEWAY_PORT", "",
		  "environment BOARDWALK_GATEWAY_PORT: gateway.port: " NUMBER },
		{ "BOARDWALK_GATEWAY_ON", "yes",
		  "environment BOARDWALK_GATEWAY_ON: gateway.on: expected true or false" },
		{ "BOARDWALK_GATEWAY_PROT", "1",
		  "environment BOARDWALK_GATEWAY_PROT: section gateway has no such setting" },
		{ "BOARDWALK_GATEWAY_PORTS", "1",
		  "environment BOARDWALK_GATEWAY_PORTS: section gateway has no such setting" },
		{ "BOARDWALK_GATEWAY_", "1",
		  "environment BOARDWALK_GATEWAY_: section gateway has no such setting" },
		{ "BOARDWALK_COMMON_PORT", "1",
		  "environment BOARDWALK_COMMON_PORT: section common has no such setting" },
	};

	for (size_t i = 0; i < N(rows); i++) {
		setenv(rows[i].name, rows[i].value, 1);
		cr_assert(eq(int, load(NULL), -1), "%s", rows[i].name);
		cr_assert(eq(str, err, (char *)rows[i].err));
		done();
		unsetenv(rows[i].name);
	}
}

/* ---- printing ---- */

Test(conf, prints_a_file_that_says_the_defaults)
{
	static const char expected[] =
		"gateway:\n"
		"  # a name\n"
		"  # (a text; BOARDWALK_GATEWAY_NAME)\n"
		"  name: abc\n"
		"\n"
		"  # has no default\n"
		"  # (a text; BOARDWALK_GATEWAY_NOTHING)\n"
		"  # nothing:\n"
		"\n"
		"  # the port\n"
		"  # (a number from 1 to 65535; BOARDWALK_GATEWAY_PORT)\n"
		"  port: 8080\n"
		"\n"
		"  # any number\n"
		"  # (a number; BOARDWALK_GATEWAY_ANY)\n"
		"  any: 7\n"
		"\n"
		"  # a size\n"
		"  # (a number of octets, or of K, M, G, from 1K to 1G; BOARDWALK_GATEWAY_SIZE)\n"
		"  size: 64K\n"
		"\n"
		"  # on or off\n"
		"  # (true or false; BOARDWALK_GATEWAY_ON)\n"
		"  on: true\n"
		"\n"
		"  # a list\n"
		"  # (a list of texts; BOARDWALK_GATEWAY_LIST)\n"
		"  list: [/apps/, \"/libs/, too\"]\n"
		"\n"
		"common:\n"
		"  # a help text that is so long that it does not fit on one line of eighty\n"
		"  # columns and goes on on the next one\n"
		"  # (a list of texts; BOARDWALK_COMMON_OTHER)\n"
		"  other: []\n";
	char  *text = NULL;
	size_t n = 0;
	FILE  *out = open_memstream(&text, &n);

	conf_print(keys, N(keys), out);
	fclose(out);
	cr_assert(eq(str, text, (char *)expected));
	write_file(text, n);
	cr_assert(eq(int, load(file), 0), "%s", err);
	check_defaults();
	done();
	free(text);
}
