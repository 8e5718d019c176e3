/* Under test: repo/search_unit.c and the paging above it. Random content with and without jcr:content under random
 * entries: the pages that a search tells are those of its rows, each where its first row stands, in
 * pages of any size, forward and backward. */
#include "searching.h"
#include <stdio.h>
#include <stdlib.h>

enum { ADMIN = 1, EVERYONE = 3, N_ROUNDS = 6, N_PAGES = 24, MAX_TEXT = 16384 };

static struct world  w;
static struct client c;
static uint64_t      as_alice, seed;

static unsigned pick(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void begin(void)
{
	char    *text;
	uint64_t alice;

	world_begin(&w, 64u << 20);
	text = test_postgres_value(w.server, "SELECT auth.principal_create('alice', 'user')");
	alice = strtoull(text, NULL, 10);
	free(text);
	client_open(&w, &c);
	as_alice = client_login(&c, HANDLE_USER, alice, (uint64_t[]){ EVERYONE, 0 });
	seed = (uint64_t)(ev_time() * 1000);
	fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

TestSuite(search_pages, .init = begin, .fini = end);

/* ---- content ---- */

static void add(struct buf *sql, const char *path)
{
	static const char *const words[] = { "kilo", "kilo lima", "lima", "kilo kilo" };

	buf_printf(sql, "SELECT repo.node_create('%s', 'nt:unstructured');", path);
	if (pick(3) > 0)
		buf_printf(sql, "SELECT repo.property_set('%s', '%s', '{\"s\":\"%s\"}');", path,
		           pick(2) ? "title" : "text", words[pick(4)]);
	if (pick(4) == 0)
		buf_printf(sql, "SELECT repo.ace_append('%s', 3, %s, '{jcr:read}', '%s');", path,
		           pick(2) ? "false" : "true", pick(2) ? "{}" : "{\"rep:glob\":[\"\"]}");
}

static void make_content(void)
{
	static const char *const below[] = { "", "/jcr:content", "/jcr:content/par",
		                             "/jcr:content/par/jcr:content", "/child" };
	struct buf               sql;
	char                     path[96];

	test_postgres_sql(w.server, "SELECT repo.node_delete('/r')");
	test_postgres_sql(w.server, "SELECT repo.node_create('/r', 'nt:unstructured'),"
	                            " repo.ace_append('/r', 3, true, '{jcr:read}', '{}')");
	buf_init(&sql);
	for (unsigned i = 0; i < N_PAGES; i++)
		for (unsigned k = 0, n = 1 + pick(5); k < n; k++) {
			snprintf(path, sizeof(path), "/r/p%u%s", i, below[k]);
			add(&sql, path);
		}
	buf_append(&sql, "", 1);
	test_postgres_sql(w.server, "%s", (char *)buf_data(&sql));
	buf_done(&sql);
}

/* ---- what a page is ---- */

static bool may_be_seen(const char *path)
{
	struct call   call;
	struct record record;
	bool          seen = client_read(&c, as_alice, path, &call, &record) == BW_OK;

	call_done(&call);
	return seen;
}

/* The list with each path as its page, once. */
static void fold(char *paths, char *out)
{
	char *rest, *holder;

	out[0] = '\0';
	for (char *path = strtok_r(paths, " ", &rest); path != NULL;
	     path = strtok_r(NULL, " ", &rest)) {
		char unit[128], mark[160];

		snprintf(unit, sizeof(unit), "%s", path);
		holder = strstr(unit, "/jcr:content");
		if (holder != NULL)
			*holder = '\0';
		if (holder != NULL && !may_be_seen(unit))
			snprintf(unit, sizeof(unit), "%s", path);
		snprintf(mark, sizeof(mark), " %s ", unit);
		if (strstr(out, mark) == NULL)
			snprintf(out + strlen(out), MAX_TEXT - strlen(out), "%s%s ",
			         out[0] == '\0' ? " " : "", unit);
	}
}

/* Of a list of pages, the last first, the paths in their order. */
static void turn(char *pages, char *out)
{
	char *bar;

	out[0] = '\0';
	while ((bar = strrchr(pages, '|')) != NULL) {
		snprintf(out + strlen(out), MAX_TEXT - strlen(out), "%s ", bar + 2);
		bar[-1] = '\0';
	}
	snprintf(out + strlen(out), MAX_TEXT - strlen(out), "%s", pages);
}

static void compare(const char *question)
{
	static char as_pages[256], folded[MAX_TEXT], turned[MAX_TEXT], again[MAX_TEXT];
	unsigned    size = 1 + pick(6);
	char       *rows = search_all(&c, as_alice, question, 100), *got, *back;

	snprintf(as_pages, sizeof(as_pages), "%s&as=pages", question);
	got = search_all(&c, as_alice, as_pages, size);
	snprintf(again, sizeof(again), strcmp(got, "-") == 0 ? "" : " %s ", got);
	if (strcmp(rows, "-") == 0)
		rows[0] = '\0';
	fold(rows, folded);
	cr_assert_str_eq(again, folded, "%s, %u a page:\n%s, not\n%s", question, size, again,
	                 folded);
	back = search_back(&c, as_alice, as_pages, size);
	turn(back, turned);
	cr_assert_str_eq(turned, got, "%s, %u a page, backward:\n%s, not\n%s", question, size,
	                 turned, got);
	free(rows);
	free(got);
	free(back);
}

Test(search_pages, are_those_of_their_rows)
{
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		make_content();
		client_settle(&c, client_login(&c, HANDLE_ADMIN, ADMIN, NULL));
		compare("path=/r&q=kilo");
		compare("path=/r&q=kilo&sort=path");
		compare("path=/r&q=lima&sort=-path");
		compare("path=/r&q=kilo or lima&sort=title");
		compare("path=/r&sort=path");
		compare("path=/r&p.title.exists=true&sort=-title");
	}
}
