/* lib/wire/event.c: what is built is read back; every truncation and what no builder would write is
 * refused; and which paths a pattern stands for, as a table. */
#include <criterion/criterion.h>
#include <wire/event.h>

static size_t build(struct buf *out)
{
	struct event e = { .kind = EVENT_CHANGED,
		           .flags = EVENT_EXTERNAL | EVENT_SUBTREE,
		           .path = BW_STR("/a/b"),
		           .from = BW_STR("/c"),
		           .user = BW_STR("alice") };
	size_t       at;

	buf_init(out);
	buf_append(out, "xyz", 3); /* need not begin at the start of the buffer */
	at = event_begin(out, &e);
	event_put_name(out, at, BW_STR("jcr:title"));
	event_put_name(out, at, BW_STR("n"));
	event_end(out, at);
	return at;
}

Test(event, comes_back_as_it_was_put)
{
	struct buf     out;
	size_t         at = build(&out);
	struct event   e;
	const uint8_t *names;

	event_set_last(buf_data(&out) + at);
	cr_assert(event_get(buf_data(&out) + at, buf_size(&out) - at, &e) == BW_OK);
	cr_assert((int)e.kind == EVENT_CHANGED);
	cr_assert_eq(e.flags, EVENT_EXTERNAL | EVENT_SUBTREE | EVENT_LAST);
	cr_assert(strcmp(e.path.p, "/a/b") == 0);
	cr_assert(strcmp(e.from.p, "/c") == 0);
	cr_assert(strcmp(e.user.p, "alice") == 0);
	cr_assert(e.n_names == 2);
	names = e.names;
	cr_assert(strcmp(event_next_name(&names).p, "jcr:title") == 0);
	cr_assert(strcmp(event_next_name(&names).p, "n") == 0);
	cr_assert(e.size == buf_size(&out) - at);
	buf_done(&out);
}

Test(event, every_truncation_is_refused)
{
	struct buf   out;
	size_t       at = build(&out), n = buf_size(&out) - at;
	uint8_t     *p = buf_data(&out) + at, *copy;
	struct event e;

	for (size_t cut = 0; cut < n; cut++) {
		copy = malloc(cut + 1); /* of its own, so that the sanitizer sees its end */
		memcpy(copy, p, cut);
		cr_assert(event_get(copy, cut, &e) == BW_EPROTO, "cut to %zu", cut);
		free(copy);
	}
	p[0]++; /* says one octet more than there is */
	cr_assert(event_get(p, n, &e) == BW_EPROTO);
	p[0] -= 2;
	cr_assert(event_get(p, n, &e) == BW_EPROTO);
	p[0]++;
	for (unsigned kind = 0; kind < 256; kind++) {
		p[4] = (uint8_t)kind;
		cr_assert(
			event_get(p, n, &e) ==
				(kind >= EVENT_ADDED && kind <= EVENT_REMOVED ? BW_OK : BW_EPROTO),
			"kind %u of an event with a path", kind);
	}
	p[4] = EVENT_ADDED;
	p[5] = 8;
	cr_assert(event_get(p, n, &e) == BW_EPROTO, "an unknown flag");
	buf_done(&out);
}

Test(event, patterns_that_are_none)
{
	static const char *const good[] = { "/",      "/a",       "/a/b.c/..d",
		                            "glob:/", "glob:/**", "glob:/a/*.x" };
	static const char *const bad[] = { "",      "a",  "glob:", "glob:a",   "/a/",       "//a",
		                           "/a//b", "/.", "/a/..", "glob:/a/", "glob:/../a" };
	char                     long_one[EVENT_MAX_PATTERN + 8];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_assert(event_pattern_fits(bw_str(good[i])), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert(!event_pattern_fits(bw_str(bad[i])), "%s", bad[i]);
	memset(long_one, 'a', sizeof(long_one));
	long_one[0] = '/';
	cr_assert(event_pattern_fits((struct bw_str){ long_one, EVENT_MAX_PATTERN }));
	cr_assert(!event_pattern_fits((struct bw_str){ long_one, EVENT_MAX_PATTERN + 1 }));
	cr_assert(!event_pattern_fits((struct bw_str){ "/a\0b", 4 }));
}

Test(event, what_a_pattern_stands_for)
{
	static const struct {
		const char *pattern, *path;
		bool alone, subtree; /* meets an event of path alone; of path and what is below */
	} rows[] = {
		{ "/", "/", true, true },
		{ "/", "/a", true, true },
		{ "/a", "/a", true, true },
		{ "/a", "/a/b", true, true },
		{ "/a", "/ab", false, false },
		{ "/a", "/", false, true },
		{ "/a/b", "/a", false, true },
		{ "/a/b", "/a/c", false, false },
		{ "/a/b", "/a/b2", false, false },
		{ "glob:/a/*.txt", "/a/x.txt", true, true },
		{ "glob:/a/*.txt", "/a/.txt", true, true },
		{ "glob:/a/*.txt", "/a/b/c.txt", false, false },
		{ "glob:/a/**.txt", "/a/b/c.txt", true, true },
		{ "glob:/a/**.txt", "/a/c.txt", true, true },
		{ "glob:/a/**.txt", "/a/c.txt/d", false, true },
		{ "glob:/a/*.txt", "/a/c.txt/d", false, false },
		{ "glob:/a/*.txt", "/a", false, true },
		{ "glob:/a/*.txt", "/", false, true },
		{ "glob:/a/*.txt", "/b", false, false },
		{ "glob:/a/*/c", "/a/b", false, true },
		{ "glob:/a/*/c", "/a/b/c", true, true },
		{ "glob:/a/*/c", "/a/b/d", false, false },
		{ "glob:/a/*/c", "/a/b/b/c", false, false },
		{ "glob:/a/**/c", "/a/b/b/c", true, true },
		{ "glob:/a/**/c", "/a/c", false, true },
		{ "glob:/**/*.html", "/x/y/z.html", true, true },
		{ "glob:/**/a*b/**", "/x/ab/y", true, true },
		{ "glob:/**/a*b/**", "/x/axxb/ab/y", true, true },
		{ "glob:/**/a*b/**", "/x/ax/b/y", false, true },
		{ "glob:/***a", "/b/a", true, true },
		{ "glob:/a", "/a/b", false, false },
		{ "glob:/*a*a*a*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false,
		  false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_str pattern = bw_str(rows[i].pattern), path = bw_str(rows[i].path);

		cr_assert(event_pattern_fits(pattern), "%s", rows[i].pattern);
		cr_assert(event_pattern_meets(pattern, path, false) == rows[i].alone, "%s and %s",
		          rows[i].pattern, rows[i].path);
		cr_assert(event_pattern_meets(pattern, path, true) == rows[i].subtree,
		          "%s and %s and below", rows[i].pattern, rows[i].path);
	}
}

Test(event, lists_of_patterns)
{
	struct buf    list;
	size_t        at = 0;
	unsigned      interests;
	struct bw_str pattern;
	bool          bad;

	buf_init(&list);
	event_put_pattern(&list, 3, BW_STR("/a"));
	event_put_pattern(&list, 0x82, BW_STR("glob:/*"));
	cr_assert(event_next_pattern(buf_data(&list), buf_size(&list), &at, &interests, &pattern,
	                             &bad));
	cr_assert(interests == 3 && bw_str_eq(pattern, BW_STR("/a")));
	cr_assert(event_next_pattern(buf_data(&list), buf_size(&list), &at, &interests, &pattern,
	                             &bad));
	cr_assert(interests == 0x82 && bw_str_eq(pattern, BW_STR("glob:/*")));
	cr_assert(!event_next_pattern(buf_data(&list), buf_size(&list), &at, &interests, &pattern,
	                              &bad));
	cr_assert(!bad);
	for (size_t cut = 1; cut < buf_size(&list); cut++) {
		for (at = 0;
		     event_next_pattern(buf_data(&list), cut, &at, &interests, &pattern, &bad);)
			;
		cr_assert(bad || cut == 8, "cut to %zu", cut); /* 8: the first one alone */
	}
	buf_clear(&list);
	event_put_pattern(&list, 1, BW_STR("relative"));
	at = 0;
	cr_assert(!event_next_pattern(buf_data(&list), buf_size(&list), &at, &interests, &pattern,
	                              &bad));
	cr_assert(bad);
	buf_done(&list);
}

Test(event, interests)
{
	struct event added = { .kind = EVENT_ADDED, .path = BW_STR("/a") };
	struct event external = { .kind = EVENT_ADDED,
		                  .flags = EVENT_EXTERNAL,
		                  .path = BW_STR("/a") };
	struct event resync = { .kind = EVENT_RESYNC };
	unsigned     of_added = 1u << EVENT_ADDED;

	cr_assert(event_is_wanted(of_added, BW_STR("/"), &added));
	cr_assert(!event_is_wanted(1u << EVENT_CHANGED, BW_STR("/"), &added));
	cr_assert(!event_is_wanted(of_added, BW_STR("/b"), &added));
	cr_assert(!event_is_wanted(of_added, BW_STR("/"), &external));
	cr_assert(event_is_wanted(of_added | EVENT_INTEREST_EXTERNAL, BW_STR("/"), &external));
	cr_assert(event_is_wanted(0, BW_STR("/b"), &resync));
}
