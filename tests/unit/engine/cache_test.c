/* gateway/engine/cache.c: an entry is used only under the very counters it was made under. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/cache.c>
#include <gateway/whiteboard/registry.h>

static struct mount_servlet one, two;

static struct cache_key key_of(const char *method, const char *selectors, const char *extension,
                               const char *type)
{
	static struct record record;
	struct select_query  q = {
		 bw_str(method), bw_str(selectors), bw_str(extension), &record, 0, 0
	};
	struct cache_key key;

	record.resource_type = bw_str(type);
	cache_key_make(&q, BASE_TYPE_DEFAULT, &key);
	return key;
}

/* The servlet of an entry; NULL if it is not known. */
static struct mount_servlet *get(const struct cache_key *key, uint64_t types)
{
	struct mount_servlet *m = NULL;

	return cache_get(key, types, &m) ? m : NULL;
}

Test(cache, tells_every_part_of_the_key_apart)
{
	struct cache_key       key = key_of("GET", "a.b", "html", "t/one");
	const struct cache_key others[] = {
		key_of("HEAD", "a.b", "html", "t/one"), key_of("GET", "a", "html", "t/one"),
		key_of("GET", NULL, "html", "t/one"),   key_of("GET", "a.b", "htm", "t/one"),
		key_of("GET", "a.b", NULL, "t/one"),    key_of("GET", "a.b", "html", "t/two"),
		key_of("GET", "a.bhtml", "", "t/one"),
	};

	cache_put(&key, 5, mount_generation(), &one);
	key = key_of("GET", "a.b", "html", "t/one");
	cr_assert(get(&key, 5) == &one);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_assert(get(&others[i], 5) == NULL, "%zu", i);
	cache_done();
	cr_assert(get(&key, 5) == NULL);
}

Test(cache, remembers_that_there_is_none_and_for_which_base_type)
{
	struct cache_key      key = key_of("404", NULL, "html", "t/one"), other;
	struct mount_servlet *m = &one;
	struct record         record = { .resource_type = BW_STR("t/one") };
	struct select_query   q = { BW_STR("404"), BW_ABSENT, BW_STR("html"), &record, 0, 0 };

	cache_put(&key, 1, mount_generation(), NULL);
	cr_assert(cache_get(&key, 1, &m) && m == NULL);
	cache_key_make(&q, BASE_TYPE_ERROR, &other);
	cr_assert(cache_get(&other, 1, &m) == false);
	cache_done();
}

Test(cache, holds_only_under_the_same_counters)
{
	struct cache_key key = key_of("GET", NULL, "html", "t/one");

	cache_put(&key, 5, mount_generation(), &one);
	cr_assert(get(&key, 4) == NULL && get(&key, 6) == NULL);
	cache_put(&key, 6, mount_generation(), &two);
	cr_assert(get(&key, 5) == NULL, "one entry per key");
	cr_assert(get(&key, 6) == &two);
	/* A selection that began before a servlet went away may end after it. */
	cache_put(&key, 6, mount_generation() - 1, &one);
	cr_assert(get(&key, 6) == NULL);
	cache_done();
}

Test(cache, forgets_when_a_servlet_is_mounted_or_unmounted)
{
	struct cache_key   key = key_of("GET", NULL, "html", "t/one");
	struct bw_service *s;

	fake_forget();
	fake_start();
	cache_put(&key, 1, mount_generation(), &one);
	s = fake_servlet("x", "paths=/x");
	cr_assert(get(&key, 1) == NULL);
	cache_put(&key, 1, mount_generation(), &one);
	cr_assert(get(&key, 1) == &one);
	registry_unregister(s);
	cr_assert(get(&key, 1) == NULL);
	fake_stop();
}

Test(cache, is_bounded_and_takes_what_comes_later)
{
	struct cache_key key;
	unsigned         kept = 0;
	char             selector[16];
	static char      large[1100];

	for (int i = 0; i < 5000; i++) {
		snprintf(selector, sizeof(selector), "s%d", i);
		key = key_of("GET", selector, "html", "t/one");
		cache_put(&key, 1, mount_generation(), &one);
		cr_assert(get(&key, 1) == &one, "the newest is always there");
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(selector, sizeof(selector), "s%d", i);
		key = key_of("GET", selector, "html", "t/one");
		kept += get(&key, 1) != NULL;
	}
	cr_assert(le(uint, kept, SETS * WAYS));
	cr_assert(gt(uint, kept, SETS * WAYS / 2));
	memset(large, 'x', sizeof(large) - 1);
	key = key_of("GET", large, "html", "t/one");
	cache_put(&key, 1, mount_generation(), &one);
	cr_assert(get(&key, 1) == NULL, "too large to keep");
	cache_done();
}
