/* Under test: repo/search*.c and lib/query, over the wire, against a PostgreSQL. The rows of
 * tests/conformance/query; what a search owes to commits before it, and to other questions beside it. */
#include "changing.h"
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

TestSuite(search, .init = begin, .fini = end);

/* Searches that are slow on purpose are late soon. */
static void begin_impatient(void)
{
	world_search_timeout_ms = 3000;
	begin();
}

TestSuite(search_late, .init = begin_impatient, .fini = end);

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

Test(search, rows)
{
	run_file(rows_file(CONFORMANCE_DIR "/query/sql2.rows"), rows_least(90));
}

Test(search, rows_of_searches)
{
	if (getenv("BOARDWALK_ROWS") == NULL)
		run_file(CONFORMANCE_DIR "/query/search.rows", 40);
}

/* ---- what was written before ---- */

static void finds(uint64_t sequence, const char *question, const char *expected)
{
	struct answer a;
	char         *got;

	search_ask(&c, sequence, question, BW_ABSENT, 0, &a);
	cr_assert_eq(a.err, BW_OK, "%s: %d", question, a.err);
	got = answer_paths(&a);
	cr_assert_str_eq(got, expected, "%s: %s, not %s", question, got, expected);
	free(got);
	answer_done(&a);
}

/* Nothing waits for the journal here. */
Test(search, a_commit_is_found_at_its_acknowledgement)
{
	cr_assert_eq(change(&c, as_admin,
	                    "create /f; create /f/x title=Plum "
	                    "sling:resourceType=demo/page; create /apps; "
	                    "create /apps/demo; create /apps/demo/page"),
	             BW_OK);
	finds(as_admin, "q=plum", "/f/x");
	finds(as_admin, "path=/f&type=demo/base", "-");
	cr_assert_eq(change(&c, as_admin, "set /apps/demo/page sling:resourceSuperType=demo/base"),
	             BW_OK);
	finds(as_admin, "path=/f&type=demo/base", "/f/x");
	cr_assert_eq(change(&c, as_admin, "set /apps/demo/page sling:resourceSuperType=demo/root"),
	             BW_OK);
	finds(as_admin, "path=/f&type=demo/base", "-");
	finds(as_admin, "path=/f&type=demo/root", "/f/x");
	cr_assert_eq(change(&c, as_admin, "move /f/x /f/y; set /f/y title=Peach"), BW_OK);
	finds(as_admin, "q=plum or peach", "/f/y");
	cr_assert_eq(change(&c, as_admin, "remove /f"), BW_OK);
	finds(as_admin, "q=plum or peach", "-");
}

/* The types of a resource, as a read tells them: those of the super type from its commit on. */
Test(search, a_read_knows_the_super_type_at_its_acknowledgement)
{
	cr_assert_eq(change(&c, as_admin,
	                    "create /f sling:resourceType=demo/page; create /apps; "
	                    "create /apps/demo; create /apps/demo/page"),
	             BW_OK);
	for (int i = 0; i < 20; i++) {
		struct call   call;
		struct record r;
		char          steps[96], wanted[16];

		snprintf(wanted, sizeof(wanted), "demo/t%d", i);
		snprintf(steps, sizeof(steps), "set /apps/demo/page sling:resourceSuperType=%s",
		         wanted);
		cr_assert_eq(change(&c, as_admin, steps), BW_OK);
		cr_assert_eq(client_read(&c, as_admin, "/f", &call, &r), BW_OK);
		cr_assert(r.n_chain >= 1 && bw_str_eq(record_chain(&r, 0), bw_str(wanted)));
		call_done(&call);
	}
}

/* An entry that hides, written by somebody else a moment ago, of which the journal has not told. */
Test(search, entries_are_as_new_as_the_content)
{
	test_postgres_sql(w.server, "SELECT repo.node_create('/e', 'nt:unstructured'),"
	                            " repo.property_set('/e', 'title', '{\"s\":\"Quince\"}'),"
	                            " repo.ace_append('/e', 3, true, '{jcr:read}', '{}')");
	finds(as_alice, "q=quince", "/e");
	for (int i = 0; i < 10; i++) {
		test_postgres_sql(w.server,
		                  "SELECT repo.ace_append('/e', 3, %s, '{jcr:read}', '{}')",
		                  i % 2 == 0 ? "false" : "true");
		finds(as_alice, "q=quince", i % 2 == 0 ? "-" : "/e");
	}
}

/* ---- beside others ---- */

static void make_slow(bool slow)
{
	test_postgres_sql(w.server,
	                  "CREATE OR REPLACE FUNCTION repo.query_node_types(type text)"
	                  " RETURNS text[] LANGUAGE sql STABLE AS $$ SELECT '{nt:base}'::text[]"
	                  " FROM pg_sleep(%d) $$",
	                  slow ? 60 : 0);
}

/* Does not wait for the answer. */
static void begin_search(struct client *client, uint64_t sequence, struct call *call)
{
	Bw__Wire__Search m = BW__WIRE__SEARCH__INIT;
	struct buf       terms;

	buf_init(&terms);
	search_put(&terms, &(struct search_term){ .kind = SEARCH_PATH, .value = BW_STR("/") });
	m.sequence = sequence;
	m.terms = (ProtobufCBinaryData){ buf_size(&terms), buf_data(&terms) };
	client_ask(client, call, WIRE_SEARCH, &m.base);
	buf_done(&terms);
}

/* Three for two connections: all are refused in time, and reads pass them by. */
Test(search_late, one_that_is_late_is_refused_and_holds_up_nobody)
{
	struct call calls[3];
	double      begun = ev_time();
	char       *seen;

	make_slow(true);
	for (int i = 0; i < 3; i++)
		begin_search(&c, as_admin, &calls[i]);
	seen = client_property(&c, as_admin, "/", "none");
	cr_assert(ev_time() - begun < 2.5, "a read waited for a search");
	free(seen);
	for (int i = 0; i < 3; i++) {
		call_wait(&w, &calls[i]);
		cr_assert_eq(calls[i].err, BW_EBUSY, "%d", calls[i].err);
		call_done(&calls[i]);
	}
	make_slow(false);
	world_until(&w, searches_waiting(w.searches) == 0); /* the connections are free again */
	finds(as_admin, "path=/&depth=self", "/");
}

Test(search_late, more_than_may_wait_are_refused_at_once)
{
	static struct call calls[80];
	unsigned           refused = 0;
	double             begun = ev_time();

	make_slow(true);
	for (int i = 0; i < 80; i++)
		begin_search(&c, as_admin, &calls[i]);
	call_wait(&w, &calls[79]);
	cr_assert_eq(calls[79].err, BW_EBUSY);
	cr_assert(ev_time() - begun < 2.5, "the last one waited");
	for (int i = 0; i < 80; i++) {
		call_wait(&w, &calls[i]);
		refused += calls[i].err == BW_EBUSY;
		call_done(&calls[i]);
	}
	cr_assert_eq(refused, 80);
}

/* Whoever asked is gone, at two moments: while it runs, and while it waits for a connection. */
Test(search_late, the_asker_goes)
{
	struct client other;
	struct call   calls[4];
	uint64_t      as_other;

	client_open(&w, &other);
	as_other = client_login(&other, HANDLE_ADMIN, ADMIN, NULL);
	make_slow(true);
	for (int i = 0; i < 4; i++)
		begin_search(&other, as_other, &calls[i]);
	world_turn(&w);
	world_turn(&w);
	client_close(&other);
	for (int i = 0; i < 4; i++)
		call_done(&calls[i]);
	make_slow(false);
	world_until(&w, searches_waiting(w.searches) == 0);
	finds(as_admin, "path=/&depth=self", "/");
}

/* PostgreSQL dies below a search: it is told, and later ones find what is there. */
Test(search_late, postgresql_dies)
{
	struct call   call;
	struct answer a;
	bool          good = false;

	make_slow(true);
	begin_search(&c, as_admin, &call);
	world_turn(&w);
	world_turn(&w);
	test_postgres_kill(w.server);
	call_wait(&w, &call);
	cr_assert(call.err == BW_EGONE || call.err == BW_EBUSY, "%d", call.err);
	call_done(&call);
	test_postgres_start(w.server);
	make_slow(false);
	for (int i = 0; i < 200 && !good; i++) {
		search_ask(&c, as_admin, "path=/&depth=self", BW_ABSENT, 0, &a);
		good = a.err == BW_OK && a.page.n_items == 1;
		answer_done(&a);
		world_turn(&w);
	}
	cr_assert(good, "searches do not come back");
}

/* A cursor is worth something for its own question alone, and not when a bit of it is another. */
Test(search, cursors)
{
	struct answer first, other;
	char          broken[4096];

	test_postgres_sql(w.server, "SELECT repo.node_create(p, 'nt:unstructured') FROM "
	                            "unnest('{/k,/k/a,/k/b,/k/c}'::text[]) p");
	search_ask(&c, as_admin, "path=/k", BW_ABSENT, 1, &first);
	cr_assert_not_null(first.page.next.p);
	search_ask(&c, as_admin, "path=/k/a", first.page.next, 1, &other);
	cr_assert_not_null(other.page.error.p, "another question");
	answer_done(&other);
	for (size_t i = 0; i < first.page.next.n; i++) {
		snprintf(broken, sizeof(broken), "%s", first.page.next.p);
		broken[i] = broken[i] == 'A' ? 'B' : 'A';
		search_ask(&c, as_admin, "path=/k", bw_str(broken), 1, &other);
		cr_assert_not_null(other.page.error.p, "octet %zu", i);
		answer_done(&other);
	}
	search_ask(&c, as_admin, "path=/k", first.page.next, 2, &other);
	cr_assert_eq(other.page.n_items, 2);
	cr_assert_not_null(other.page.previous.p);
	answer_done(&other);
	test_postgres_sql(w.server, "SELECT repo.ace_append('/k', 3, true, '{jcr:read}', '{}')");
	search_ask(&c, as_alice, "path=/k", first.page.next, 2, &other);
	cr_assert_not_null(other.page.error.p, "somebody else's");
	answer_done(&other);
	answer_done(&first);
}

/* 128 KiB of text: what is beyond a vector's limits is not found, and the write is not refused. */
Test(search, much_text)
{
	test_postgres_sql(
		w.server,
		"SELECT repo.node_create('/big', 'nt:unstructured'),"
		" repo.property_set('/big', 'text', jsonb_build_object('s', jsonb_build_array("
		"'start ' || string_agg(md5(i::text), ' ' ORDER BY i))))"
		" FROM generate_series(1, 1900) i");
	test_postgres_sql(w.server,
	                  "SELECT repo.property_set('/big', 'more', jsonb_build_object('s',"
	                  " jsonb_build_array(repeat('x', 60000))))");
	finds(as_admin, "q=start", "/big");
}
