/* Under test: servlets/search and boardwalk/query.h, over HTTP, on two nodes of one PostgreSQL: the rows of
 * tests/conformance/search; and that a super type which is changed on one node is another one in the
 * questions of both. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/postgres.h"
#include "support/rows.h"

#define NODES  2
#define READER "reader:reader's password"

static struct test_postgres *server;
static struct test_instance  node[NODES];
static char                  urls[3][256];

static void begin(void)
{
	static const char *const     names[] = { "DATABASE_URL", "AUTH_DATABASE_URL",
		                                 "REPO_DATABASE_URL" };
	static const char *const     roles[] = { "postgres", "boardwalk_auth", "boardwalk_repo" };
	static const char *const     environment[] = { urls[0], urls[1], urls[2], NULL };
	struct test_instance_options options = { .environment = environment,
		                                 .bundle = "finding",
		                                 .fresh = true };
	char                        *said;

	server = test_postgres_new_empty();
	for (size_t i = 0; i < 3; i++)
		snprintf(urls[i], sizeof(urls[i]), "%s=%s", names[i],
		         test_postgres_conninfo(server, roles[i]));
	for (size_t i = 0; i < NODES; i++) {
		test_instance_start(&node[i], &options);
		node[i].database = test_postgres_conninfo(server, "postgres");
		options.joins = true;
	}
	test_instance_password(&node[0], "reader", "reader's password");
	cr_assert_eq(
		test_instance_cli(&node[0], NULL, &said,
	                          (const char *[]){ "bundle", "install", SEARCH_BUNDLE, NULL }),
		0, "%s", said);
	free(said);
}

static void end(void)
{
	for (size_t i = 0; i < NODES; i++)
		test_instance_stop(&node[i]);
	test_postgres_free(server);
}

TestSuite(search, .init = begin, .fini = end);

/* ---- rows ---- */

/* What the rows before have left. */
static struct {
	char                 target[16384], tag[64];
	struct http_response answer;
	bool                 has_answer;
} last;

static const char *credentials_of(const char *who)
{
	if (strcmp(who, "admin") == 0)
		return node[0].credentials;
	return strcmp(who, "reader") == 0 ? READER : NULL;
}

/* {x*300} */
static void expand(const char *text, char *out, size_t size)
{
	size_t n = 0;

	while (*text != '\0' && n + 1 < size) {
		const char *star = *text == '{' ? strchr(text, '*') : NULL;
		const char *close = star != NULL ? strchr(star, '}') : NULL;

		if (close == NULL || star[1] < '0' || star[1] > '9') {
			out[n++] = *text++;
			continue;
		}
		for (int i = atoi(star + 1); i > 0 && n + (size_t)(star - text) < size; i--) {
			memcpy(out + n, text + 1, (size_t)(star - text - 1));
			n += (size_t)(star - text - 1);
		}
		text = close + 1;
	}
	out[n] = '\0';
}

/* The target that Link of the last answer calls so. */
static bool follow(const char *relation, char *out, size_t size)
{
	const char *link = http_field(&last.answer, "Link"), *at, *open;
	char        mark[32];
	size_t      path = strcspn(last.target, "?");

	snprintf(mark, sizeof(mark), ">; rel=\"%s\"", relation);
	at = link != NULL ? strstr(link, mark) : NULL;
	if (at == NULL)
		return false;
	for (open = at; *open != '<'; open--)
		;
	snprintf(out, size, "%.*s%.*s", (int)path, last.target, (int)(at - open - 1), open + 1);
	return true;
}

/* Of next, the octet behind "cursor=". */
static bool follow_broken(char *out, size_t size)
{
	char *cursor;

	if (!follow("next", out, size))
		return false;
	cursor = strstr(out, "cursor=") + 7;
	*cursor = *cursor == 'A' ? 'B' : 'A';
	return true;
}

static bool target_of(const char *words, char *out, size_t size)
{
	if (strcmp(words, "other-octet") == 0)
		return follow_broken(out, size);
	if (strcmp(words, "again") == 0) {
		snprintf(out, size, "%s", last.target);
		return true;
	}
	if (words[0] != '/')
		return follow(words, out, size);
	expand(words, out, size);
	return true;
}

static bool send_row(const char *who, char *request)
{
	struct http http;
	char        target[16384], head[32768], fields[1024] = "", method[16] = "GET", other[16];
	char       *field, *basic;
	int         at = 0, n;

	while ((field = strstr(request, " | ")) != NULL) {
		char *end = strstr(field + 3, " | ");

		snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields), "%.*s\r\n",
		         end != NULL ? (int)(end - field - 3) : (int)strlen(field + 3), field + 3);
		if (end != NULL)
			memmove(field, end, strlen(end) + 1);
		else
			*field = '\0';
	}
	if (sscanf(request, "as %15s %n", other, &at) == 1 && at > 0) {
		who = other;
		request += at;
	} else if (sscanf(request, "%15[A-Z] %n", method, &at) == 1 && at > 0) {
		request += at;
	}
	if (!target_of(request, target, sizeof(target)))
		return false;
	if (strcmp(request, "again") == 0)
		snprintf(fields, sizeof(fields), "If-None-Match: \"x\", %s\r\n", last.tag);
	basic = http_basic(credentials_of(who));
	n = snprintf(head, sizeof(head),
	             "%s %s HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n%s%s\r\n", method, target,
	             basic, fields);
	free(basic);
	if (last.has_answer)
		http_response_done(&last.answer);
	http_open(&http, node[0].port);
	last.has_answer = http_send(&http, head, (size_t)n);
	if (last.has_answer)
		http_read(&http, strcmp(method, "HEAD") == 0, &last.answer);
	http_close(&http);
	snprintf(last.target, sizeof(last.target), "%s", target);
	if (last.has_answer && http_field(&last.answer, "ETag") != NULL)
		snprintf(last.tag, sizeof(last.tag), "%s", http_field(&last.answer, "ETag"));
	return last.has_answer;
}

/* "links first,next": these relations and no others. */
static bool has_links(const char *wanted)
{
	static const char *const all[] = { "first", "prev", "next" };
	char                     target[16384];

	for (size_t i = 0; i < 3; i++)
		if (follow(all[i], target, sizeof(target)) != (strstr(wanted, all[i]) != NULL))
			return false;
	return true;
}

static bool has_field(const char *part, const char *colon)
{
	char        name[64];
	const char *value;

	snprintf(name, sizeof(name), "%.*s", (int)(colon - part), part);
	value = http_field(&last.answer, name);
	if (strcmp(colon + 2, "!") == 0)
		return value == NULL;
	return value != NULL && strncmp(value, colon + 2, strlen(colon + 2)) == 0;
}

static bool holds(const char *part)
{
	const char *colon = strstr(part, ": ");

	if (strncmp(part, "links ", 6) == 0)
		return has_links(part + 6);
	if (strncmp(part, "size ", 5) == 0)
		return last.answer.size == strtoull(part + 5, NULL, 10);
	if (colon != NULL &&
	    strspn(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") ==
	            (size_t)(colon - part))
		return has_field(part, colon);
	if (part[0] == '!')
		return strstr(last.answer.body, part + 1) == NULL;
	return strstr(last.answer.body, part) != NULL;
}

static bool run_row(const char *id, const char *who, char *request, char *expected)
{
	char *part = expected, *bar;

	if (!send_row(who, request)) {
		fprintf(stderr, "%s: %s: nothing to follow\n", id, request);
		return false;
	}
	for (bool first = true; part != NULL; part = bar, first = false) {
		bar = strstr(part, " | ");
		if (bar != NULL) {
			*bar = '\0';
			bar += 3;
		}
		if (first ? last.answer.status == atoi(part) : holds(part))
			continue;
		fprintf(stderr, "%s: %.200s\n  expected %s\n  got      %s\n%s\n", id, last.target,
		        part, last.answer.head, last.answer.body);
		return false;
	}
	return true;
}

/* Lines of repoinit that have been read and not yet run. */
static char script[65536];

static void run_script(void)
{
	if (script[0] != '\0')
		test_instance_repoinit(&node[0], script);
	script[0] = '\0';
}

static bool set_up(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '#' || line[0] == '\0')
		return true;
	if (strncmp(line, "sql: ", 5) == 0) {
		run_script();
		test_postgres_sql(server, "%s", line + 5);
		return true;
	}
	snprintf(script + strlen(script), sizeof(script) - strlen(script), "%s\n", line + 5);
	return strncmp(line, "set: ", 5) == 0;
}

Test(search, rows)
{
	FILE    *f = fopen(rows_file(ROWS "/search/http.rows"), "re");
	char     line[32768];
	unsigned n = 0, failed = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *rest, *id, *who, *request, *expected;

		if (strchr(line, '\t') == NULL) {
			cr_assert(set_up(line), "not understood: %s", line);
			continue;
		}
		run_script();
		id = strtok_r(line, "\t", &rest);
		who = strtok_r(NULL, "\t", &rest);
		request = strtok_r(NULL, "\t", &rest);
		expected = strtok_r(NULL, "\t\n", &rest);
		cr_assert_not_null(expected, "%s: no expectation", id);
		failed += !run_row(id, who, request, expected);
		n++;
	}
	fclose(f);
	if (last.has_answer)
		http_response_done(&last.answer);
	cr_assert_eq(failed, 0, "%u of %u rows failed", failed, n);
	cr_assert(n >= rows_least(90), "only %u rows", n);
}

/* ---- both nodes ---- */

/* The words of the bundle finding, as administrator, on that node. */
static char *ask(unsigned which, const char *words)
{
	struct http          http;
	struct http_response a;
	char                 head[1024], *basic = http_basic(node[0].credentials), *body;
	int                  n = snprintf(head, sizeof(head),
	                                  "POST /finding/x HTTP/1.1\r\nHost: t\r\n%s"
	                                                   "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
	                                  basic, strlen(words), words);

	http_open(&http, node[which].port);
	cr_assert(http_send(&http, head, (size_t)n));
	http_read(&http, false, &a);
	cr_assert(a.status == 200 || a.status == 204, "%s: %d %s", words, a.status, a.body);
	body = strdup(a.body);
	http_response_done(&a);
	http_close(&http);
	free(basic);
	return body;
}

static void says(unsigned which, const char *words, const char *expected)
{
	char *got = ask(which, words);

	cr_assert_str_eq(got, expected, "node %u, %s: %s", which, words, got);
	free(got);
}

/* A question reads the super types in its own snapshot: that needs no news on any node. What a resource
 * itself says of its types is cached: on the node that has changed them it is right at once, on the other
 * within the bound. */
Test(search, a_super_type_is_another_one_on_both_nodes)
{
	test_instance_repoinit(&node[0], "create path (nt:unstructured) /apps/t/page\n"
	                                 "create path (nt:unstructured) /s/p\n"
	                                 "set properties on /s/p\n"
	                                 "  set sling:resourceType to t/page\nend\n");
	for (unsigned i = 0; i < 20; i++) {
		unsigned           here = i % NODES, there = 1 - here;
		unsigned long long limit;
		char               set[128], type[64], before[64], is[64], *got;

		snprintf(set, sizeof(set), "set /apps/t/page sling:resourceSuperType t/base%u", i);
		snprintf(type, sizeof(type), "type t/base%u /s", i);
		snprintf(before, sizeof(before), "type t/base%u /s", i + 1);
		snprintf(is, sizeof(is), "is /s/p t/base%u", i);
		says(there, is, "no\n"); /* cached there, as it was */
		says(there, before, "");
		free(ask(here, set));
		says(here, type, "/s/p\n");
		says(there, type, "/s/p\n");
		says(here, is, "yes\n");
		limit = test_now_ms() + 5000;
		do {
			got = ask(there, is);
		} while (strcmp(got, "yes\n") != 0 && test_now_ms() < limit && (free(got), true));
		cr_assert_str_eq(got, "yes\n", "round %u: node %u has not heard of it", i, there);
		free(got);
	}
}
