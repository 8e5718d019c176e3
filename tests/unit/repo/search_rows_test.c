/* Under test: repo/search*.c and lib/query, over the wire, against a PostgreSQL: the rows of
 * tests/conformance/query. */
#include "searching.h"
#include <stdio.h>
#include <stdlib.h>
#include <support/rows.h>

enum { ADMIN = 1, ANONYMOUS = 2, EVERYONE = 3 };

static struct world  w;
static struct client c;
static uint64_t      as_admin, as_alice, as_anonymous; /* open handles */

static uint64_t id_of(const char *sql)
{
	char    *text = test_postgres_value(w.server, "%s", sql);
	uint64_t id = strtoull(text, NULL, 10);

	free(text);
	return id;
}

static void begin(void)
{
	uint64_t alice, staff;

	world_begin(&w, 64u << 20);
	alice = id_of("SELECT auth.principal_create('alice', 'user')");
	staff = id_of("SELECT auth.principal_create('staff', 'group')");
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, ADMIN, NULL);
	as_alice = client_login(&c, HANDLE_USER, alice, (uint64_t[]){ staff, EVERYONE, 0 });
	as_anonymous = client_login(&c, HANDLE_USER, ANONYMOUS, (uint64_t[]){ EVERYONE, 0 });
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

TestSuite(search_rows, .init = begin, .fini = end);

/* ---- content ---- */

/* node: PATH [TYPE] {properties} */
static void add_node(char *line)
{
	char *rest, *path = strtok_r(line, " \t", &rest);
	char *json = strchr(rest, '{'), *type = json != rest ? strtok_r(NULL, " \t", &rest) : NULL;

	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		test_postgres_sql(w.server, "SELECT repo.node_create('%s', 'nt:unstructured')",
		                  path);
		*slash = '/';
	}
	test_postgres_sql(w.server, "SELECT repo.node_create('%s', '%s')", path,
	                  type != NULL ? type : "nt:unstructured");
	if (json != NULL)
		test_postgres_sql(
			w.server,
			"SELECT repo.property_set('%s', key, value) FROM jsonb_each($j$%s$j$)",
			path, json);
}

/* acl: PATH +principal privilege,privilege [{restrictions}] */
static void add_entry(char *line)
{
	char *rest, *path = strtok_r(line, " \t", &rest), *who = strtok_r(NULL, " \t", &rest);
	char *privileges = strtok_r(NULL, " \t\n", &rest);
	char *json = rest != NULL ? strchr(rest, '{') : NULL;

	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('%s', (SELECT id FROM auth.principal_public"
	                  " WHERE name = '%s'), %s, '{%s}', '%s')",
	                  path, who + 1, who[0] == '+' ? "true" : "false", privileges,
	                  json != NULL ? json : "{}");
}

static bool set_up(char *line)
{
	static const struct {
		const char *word;
		void (*run)(char *rest);
	} words[] = { { "node: ", add_node }, { "acl: ", add_entry } };

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '#' || line[0] == '\0')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		if (strncmp(line, words[i].word, n) == 0) {
			words[i].run(line + n);
			return true;
		}
	}
	if (strncmp(line, "sql: ", 5) == 0)
		test_postgres_sql(w.server, "%s", line + 5);
	return strncmp(line, "sql: ", 5) == 0;
}

/* ---- rows ---- */

static uint64_t sequence_of(const char *who)
{
	if (strcmp(who, "admin") == 0)
		return as_admin;
	return strcmp(who, "alice") == 0 ? as_alice : as_anonymous;
}

static void put_facets(struct buf *out, const struct search_page *page)
{
	for (unsigned i = 0; i < page->n_facets; i++) {
		const struct search_facet *f = &page->facets[i];

		buf_printf(out, " | facet %s=", f->name.n > 0 ? f->name.p : "type");
		for (unsigned k = 0; k < f->n; k++)
			buf_printf(out, "%s%s:%u", k > 0 ? "," : "", f->values[k].value.p,
			           f->values[k].count);
		if (f->more)
			buf_printf(out, ",..");
	}
}

/* Properties of the first item. */
static void put_properties(struct buf *out, const struct search_page *page)
{
	struct record_prop prop;

	for (unsigned i = 0; page->n_items > 0 && record_prop_at(&page->items[0].record, i, &prop);
	     i++)
		buf_printf(out, "%s%s=%s", i > 0 ? "," : " | has ", prop.name.p,
		           prop.n > 0 ? record_value(&page->items[0].record, &prop, 0).p : "");
}

/* The jcr:content of each item. */
static void put_contents(struct buf *out, const struct search_page *page)
{
	buf_printf(out, " | content");
	for (unsigned i = 0; i < page->n_items; i++)
		buf_printf(out, " %s",
		           page->items[i].has_content ? page->items[i].content.path.p : "-");
}

/* Marks are shown as < and >. */
static void put_highlights(struct buf *out, const struct search_page *page)
{
	for (unsigned i = 0; i < page->n_items; i++)
		for (unsigned k = 0; k < page->items[i].n_highlights; k++) {
			const struct search_highlight *h = &page->items[i].highlights[k];

			buf_printf(out, " | mark %s=", h->property.p);
			for (const char *p = h->text.p; *p != '\0'; p++)
				buf_printf(out, "%c", *p == 2 ? '<' : *p == 3 ? '>' : *p);
		}
}

/* Says of an answer what the row asks about: expected names the parts. */
static char *tell(const struct answer *a, const char *expected)
{
	struct buf out;
	char      *paths, *text;

	buf_init(&out);
	if (a->err != BW_OK) {
		buf_printf(&out, "%s", a->err == BW_EBUSY ? "busy" : "failed");
	} else if (a->page.error.p != NULL) {
		buf_printf(&out, "error %u %s", a->page.error_position, a->page.error.p);
	} else {
		paths = answer_paths(a);
		buf_printf(&out, "%s", paths);
		free(paths);
		if (strstr(expected, " | total=") != NULL)
			buf_printf(&out, " | total=%u %s", a->page.total,
			           a->page.relation == SEARCH_EXACTLY    ? "eq"
			           : a->page.relation == SEARCH_AT_LEAST ? "gte"
			                                                 : "none");
		if (strstr(expected, " | next") != NULL)
			buf_printf(&out, " | next=%s", a->page.next.p != NULL ? "yes" : "no");
		if (strstr(expected, " | previous") != NULL)
			buf_printf(&out, " | previous=%s",
			           a->page.previous.p != NULL ? "yes" : "no");
		if (strstr(expected, " | clamped") != NULL)
			buf_printf(&out, " | clamped=%s", a->page.clamped ? "yes" : "no");
		if (strstr(expected, " | content") != NULL)
			put_contents(&out, &a->page);
		if (strstr(expected, " | has ") != NULL)
			put_properties(&out, &a->page);
		put_facets(&out, &a->page);
		put_highlights(&out, &a->page);
	}
	buf_append(&out, "", 1);
	text = strdup((char *)buf_data(&out));
	buf_done(&out);
	return text;
}

/* "pages of N: question" asks for all, N at a time; the answer is as one. "back by N:" goes to the last
 * page and from there to the first; "page P of N:" tells of one of them. */
static char *answer_row(uint64_t sequence, const char *question, const char *expected)
{
	struct answer a;
	unsigned      limit, page;
	char         *got;
	int           at = 0;

	if (sscanf(question, "pages of %u: %n", &limit, &at) == 1 && at > 0)
		return search_all(&c, sequence, question + at, limit);
	if (sscanf(question, "back by %u: %n", &limit, &at) == 1 && at > 0)
		return search_back(&c, sequence, question + at, limit);
	if (sscanf(question, "page %u of %u: %n", &page, &limit, &at) == 2 && at > 0)
		search_page_at(&c, sequence, question + at, limit, page, &a);
	else
		search_ask(&c, sequence, question, BW_ABSENT, 0, &a);
	got = tell(&a, expected);
	answer_done(&a);
	return got;
}

static bool run_row(const char *id, const char *who, const char *question, const char *expected)
{
	char *got = answer_row(sequence_of(who), question, expected);
	bool  good = strcmp(got, expected) == 0;

	if (!good)
		fprintf(stderr, "%s: %s as %s\n  expected %s\n  got      %s\n", id, question, who,
		        expected, got);
	free(got);
	return good;
}

static void run_file(const char *path, unsigned least)
{
	FILE    *f = fopen(path, "re");
	char     line[16384];
	unsigned n = 0, failed = 0;
	bool     is_new = false;

	cr_assert_not_null(f, "%s", path);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *rest, *id, *who, *question, *expected;

		if (strchr(line, '\t') == NULL) {
			cr_assert(set_up(line), "not understood: %s", line);
			is_new = true;
			continue;
		}
		if (is_new)
			client_settle(&c, as_admin);
		is_new = false;
		id = strtok_r(line, "\t", &rest);
		who = strtok_r(NULL, "\t", &rest);
		question = strtok_r(NULL, "\t", &rest);
		expected = strtok_r(NULL, "\t\n", &rest);
		cr_assert_not_null(expected, "%s: no expectation", id);
		failed += !run_row(id, who, question, expected);
		n++;
	}
	fclose(f);
	cr_assert_eq(failed, 0, "%u of %u rows failed", failed, n);
	cr_assert(n >= least, "only %u rows", n);
}

Test(search_rows, statements)
{
	run_file(rows_file(CONFORMANCE_DIR "/query/sql2.rows"), rows_least(90));
}

Test(search_rows, searches)
{
	if (getenv("BOARDWALK_ROWS") == NULL)
		run_file(CONFORMANCE_DIR "/query/search.rows", 40);
}
