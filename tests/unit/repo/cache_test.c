/* Under test: repo/cache.c. What is put is found until it is invalidated, at it or above, or is the
 * one that was not used for longest; a fill under way learns of every invalidation on its path. */
#include <criterion/criterion.h>
#include <repo/cache.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

static struct cache *c;

static void begin(size_t max_bytes)
{
	cr_assert(sodium_init() >= 0);
	c = cache_new(max_bytes);
}

/* Fatal if the account of octets is wrong. */
static void end(void)
{
	cache_free(c);
}

static void put(const char *path, const char *value)
{
	struct cache_entry *e = cache_make(c, bw_str(path));
	size_t              n = strlen(value) + 1;

	cache_put_resource(c, e, memcpy(malloc(n), value, n), (uint32_t)n, 0);
}

static void put_missing(const char *path)
{
	cache_put_missing(c, cache_make(c, bw_str(path)));
}

static void put_page(const char *path, int64_t position)
{
	struct cache_page *page = cache_page_new(2, true, 100);

	page->position = position;
	page->id = 1;
	cache_put_page(c, cache_make(c, bw_str(path)), page);
}

static bool has_page(const char *path, int64_t position)
{
	struct cache_entry *e = cache_find(c, bw_str(path));

	return e != NULL && cache_find_page(e, position, 1) != NULL;
}

/* "": nothing is known; "-": missing. */
static const char *get(const char *path)
{
	struct cache_entry *e = cache_find(c, bw_str(path));

	if (e == NULL || e->state == CACHE_EMPTY)
		return "";
	return e->state == CACHE_MISSING ? "-" : (const char *)e->record;
}

#define expect(path, value) cr_assert_str_eq(get(path), value)

Test(cache, put_and_invalidate)
{
	begin(1 << 20);
	expect("/a", "");
	put("/a", "1");
	put("/a/b", "2");
	put_missing("/a/c");
	put_page("/a", 0);
	put_page("/a", 7);
	expect("/a", "1");
	expect("/a/b", "2");
	expect("/a/c", "-");
	put("/a/b", "3");
	expect("/a/b", "3");
	cache_invalidate(c, BW_STR("/a/b"), false);
	expect("/a/b", "");
	expect("/a", "1");
	cr_assert(!has_page("/a", 0) && !has_page("/a", 7), "the pages it stood in are gone");
	put_page("/a", 0);
	cache_invalidate(c, BW_STR("/a"), false);
	expect("/a", "");
	expect("/a/c", "-");
	cr_assert(has_page("/a", 0), "its own children are as they were");
	cache_invalidate(c, BW_STR("/a/new"), false); /* unknown path, known parent */
	cr_assert(!has_page("/a", 0));
	cache_invalidate(c, BW_STR("/x/y/z"), true);
	end();
}

Test(cache, subtree)
{
	begin(1 << 20);
	for (const char *const *p =
	             (const char *const[]){ "/", "/a", "/a/b", "/a/b/c", "/a/b/d/e/f", "/ab",
	                                    "/a.x", "/b", NULL };
	     *p != NULL; p++)
		put(*p, *p);
	put_page("/", 0);
	put_page("/a/b", 0);
	cache_invalidate(c, BW_STR("/a"), true);
	expect("/a", "");
	expect("/a/b", "");
	expect("/a/b/c", "");
	expect("/a/b/d/e/f", "");
	expect("/ab", "/ab");
	expect("/a.x", "/a.x");
	expect("/", "/");
	cr_assert(!has_page("/", 0) && !has_page("/a/b", 0));
	/* From an ancestor that holds no data itself. */
	put("/p/q/r", "1");
	cache_invalidate(c, BW_STR("/p"), true);
	expect("/p/q/r", "");
	cache_invalidate_all(c);
	expect("/", "");
	expect("/b", "");
	cr_assert_eq(cache_bytes(c), 0);
	end();
}

Test(cache, fills_learn_of_news)
{
	static const struct {
		const char *fill;
		bool        page;
		const char *news;
		bool        subtree, stale;
	} cases[] = {
		{ "/a/b", false, "/a/b", false, true },     { "/a/b", false, "/a/b", true, true },
		{ "/a/b", false, "/a", true, true },        { "/a/b", false, "/", true, true },
		{ "/a/b", false, "/a", false, false },      { "/a/b", false, "/a/bc", true, false },
		{ "/a/b", false, "/a/b/c", false, false },  { "/a/b", true, "/a/b/c", false, true },
		{ "/a/b", true, "/a/b/c", true, true },     { "/a/b", true, "/a/b", false, false },
		{ "/a/b", true, "/a/b/c/d", false, false }, { "/a/b", true, "/a", true, true },
	};

	begin(1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cache_fill fill = { .page = cases[i].page };

		put(cases[i].fill, "old");
		cache_fill_begin(cache_make(c, bw_str(cases[i].fill)), &fill);
		cache_invalidate(c, bw_str(cases[i].news), cases[i].subtree);
		cr_assert_eq(fill.stale, cases[i].stale, "case %zu", i);
		cr_assert_not_null(cache_find(c, bw_str(cases[i].fill)), "a fill keeps its entry");
		cache_fill_end(c, &fill);
	}
	/* Several under one removed node; entries without data vanish with their last fill. */
	{
		struct cache_fill fills[3] = { 0 };

		cache_invalidate_all(c);
		cache_fill_begin(cache_make(c, BW_STR("/p/q/r")), &fills[0]);
		cache_fill_begin(cache_make(c, BW_STR("/p/q/s")), &fills[1]);
		cache_fill_begin(cache_make(c, BW_STR("/p/q/r")), &fills[2]);
		put("/p/q/t", "1");
		cache_invalidate(c, BW_STR("/p"), true);
		for (int i = 0; i < 3; i++)
			cr_assert(fills[i].stale);
		expect("/p/q/t", "");
		for (int i = 0; i < 3; i++)
			cache_fill_end(c, &fills[i]);
		cr_assert_eq(cache_bytes(c), 0);
	}
	end();
}

Test(cache, bound_holds_and_what_is_used_stays)
{
	char path[64];

	begin(200 * 1024);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/folder%u/sub/node%u", i % 50, i);
		if (i % 3 == 0)
			put_missing(path);
		else
			put(path, path);
		if (i % 7 == 0)
			put_page(path, i);
		if (i == 0)
			put("/hot", "hot");
		cache_find(c, BW_STR("/hot"))->used = true;
		cache_trim(c);
		cr_assert(cache_bytes(c) <= 200 * 1024, "%zu", cache_bytes(c));
		expect("/hot", "hot");
	}
	expect("/folder0/sub/node0", "");
	cr_assert(cache_evictions(c) > 0 && cache_entries(c) > 0);
	/* All pinned: it cannot trim, and must not loop. */
	{
		static struct cache_fill fills[5000];

		for (unsigned i = 0; i < 5000; i++) {
			snprintf(path, sizeof(path), "/pinned/node%u", i);
			put(path, path);
			cache_fill_begin(cache_find(c, bw_str(path)), &fills[i]);
		}
		cache_trim(c);
		expect(path, path);
		for (unsigned i = 0; i < 5000; i++)
			cache_fill_end(c, &fills[i]);
		cache_trim(c);
		cr_assert(cache_bytes(c) <= 200 * 1024);
	}
	end();
}

/* Random operations against a plain table. */
Test(cache, equals_the_reference)
{
	enum { N = 40 };
	char names[N][32], values[N][8];

	begin(64 << 20);
	srandom(3);
	for (unsigned i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "/%c%s%s", 'a' + i % 4, i >= 4 ? "/x" : "",
		         i >= 20 ? (i % 2 ? "/y" : "/y/z") : "");
		if (i >= 8)
			snprintf(names[i] + strlen(names[i]), 8, "%u", i);
		values[i][0] = '\0';
	}
	for (unsigned step = 0; step < 50000; step++) {
		unsigned i = (unsigned)random() % N;
		size_t   n = strlen(names[i]);

		switch (random() % 4) {
		case 0:
		case 1:
			snprintf(values[i], sizeof(values[i]), "%u", step % 1000);
			put(names[i], values[i]);
			break;
		case 2:
			values[i][0] = '\0';
			cache_invalidate(c, bw_str(names[i]), false);
			break;
		default:
			cache_invalidate(c, bw_str(names[i]), true);
			for (unsigned k = 0; k < N; k++)
				if (strncmp(names[k], names[i], n) == 0 &&
				    (names[k][n] == '\0' || names[k][n] == '/'))
					values[k][0] = '\0';
		}
		i = (unsigned)random() % N;
		for (unsigned k = 0; k < N; k++) /* the same path may stand twice */
			if (k != i && strcmp(names[k], names[i]) == 0)
				goto next;
		expect(names[i], values[i]);
	next:;
	}
	end();
}
