/* gateway/whiteboard/match.c: against a reference that compares every pattern with every path, on
 * random patterns and paths from a small alphabet, so that most pairs nearly match; at the edges of
 * its eight-octet steps; with long paths; with thousands of patterns. */
#include <gateway/whiteboard/match.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/whiteboard/pattern.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PATTERNS = 4000, MAX_TEXT = 600 };

static uint64_t seed = 20261130;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

struct set {
	char               text[MAX_PATTERNS][64];
	struct pattern     pattern[MAX_PATTERNS];
	struct match_input input[MAX_PATTERNS];
	size_t             n;
};

/* Enters a pattern unless it is there already; its value is its own record. */
static void set_add(struct set *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->text[i], text) == 0)
			return;
	if (!pattern_parse(bw_str(strcpy(s->text[s->n], text)), &s->pattern[s->n]))
		return;
	s->input[s->n] = (struct match_input){ &s->pattern[s->n], &s->pattern[s->n] };
	s->n++;
}

/* Jakarta Servlet 12.1 in its own words: exact, longest prefix, longest extension, default. */
static const struct pattern *reference(const struct set *s, struct bw_str path)
{
	const struct pattern *best[5] = { NULL };
	const char           *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct pattern *p = &s->pattern[i], **b = &best[p->kind];
		bool                  ok = false;

		if (p->kind == PATTERN_EXACT)
			ok = bw_str_eq(p->key, path);
		else if (p->kind == PATTERN_ROOT)
			ok = path.n <= 1;
		else if (p->kind == PATTERN_PREFIX)
			ok = path.n >= p->key.n && memcmp(path.p, p->key.p, p->key.n) == 0 &&
			     (path.n == p->key.n || path.p[p->key.n] == '/');
		else if (p->kind == PATTERN_EXTENSION)
			ok = path.n > p->key.n + 1 && slash &&
			     path.p + path.n - p->key.n - 1 > slash &&
			     path.p[path.n - p->key.n - 1] == '.' &&
			     memcmp(path.p + path.n - p->key.n, p->key.p, p->key.n) == 0;
		else
			ok = true;
		if (ok && (!*b || (*b)->key.n < p->key.n))
			*b = p;
	}
	if (best[PATTERN_ROOT])
		return best[PATTERN_ROOT];
	for (int kind = PATTERN_EXACT; kind <= PATTERN_DEFAULT; kind++)
		if (best[kind])
			return best[kind];
	return NULL;
}

/* Segments of few letters and lengths around a step of the hash. */
static void random_path(char *to, unsigned max_segments)
{
	static const unsigned lengths[] = { 0, 1, 1, 2, 3, 7, 8, 9, 15, 16, 17 };
	unsigned              segments = draw(max_segments + 1);

	for (unsigned i = 0; i < segments; i++) {
		unsigned n = lengths[draw(sizeof(lengths) / sizeof(*lengths))];

		*to++ = '/';
		if (n == 0 && i + 1 < segments)
			n = 1; /* only the last segment of a canonical path may be empty */
		while (n-- > 0)
			*to++ = "aab."[draw(4)];
	}
	*to = '\0';
}

static void random_pattern(char *to)
{
	char path[MAX_TEXT];

	switch (draw(10)) {
	case 0:
	case 1:
	case 2:
		sprintf(to, "*.%.*s", (int)(1 + draw(4)), "ab.aab" + draw(3));
		return;
	case 3:
		strcpy(to, draw(2) ? "/" : "");
		return;
	case 4:
		strcpy(to, "/*");
		return;
	default:
		random_path(path, 3);
		sprintf(to, "%.60s%s", path, draw(2) ? "/*" : "");
	}
}

static const char *name_of(const struct pattern *p)
{
	return p ? p->text.p : "nothing";
}

static void check(const struct set *s, const struct match_table *t, const char *path)
{
	const struct pattern *want = reference(s, bw_str(path)), *got = match_find(t, bw_str(path));

	cr_assert(want == got, "\"%s\": want \"%s\", got \"%s\"", path, name_of(want),
	          name_of(got));
}

Test(match, agrees_with_a_slow_reference)
{
	static struct set s;

	for (int round = 0; round < 400; round++) {
		struct arena       a;
		struct match_table t;
		unsigned           n = draw(30);
		char               text[MAX_TEXT];

		s.n = 0;
		while (n-- > 0) {
			random_pattern(text);
			set_add(&s, text);
		}
		arena_init(&a);
		match_compile(&t, &a, s.input, s.n);
		for (int i = 0; i < 500; i++) {
			random_path(text, 5);
			check(&s, &t, text);
		}
		/* And what is certain to match: the keys themselves and a little more. */
		for (size_t i = 0; i < s.n; i++) {
			sprintf(text, "%.*s", (int)s.pattern[i].key.n, s.pattern[i].key.p);
			if (s.pattern[i].kind == PATTERN_EXTENSION)
				sprintf(text, "/x.%s", s.text[i] + 2);
			check(&s, &t, text);
			strcat(text, "/a");
			check(&s, &t, text);
		}
		arena_done(&a);
	}
}

Test(match, an_empty_table_takes_nothing)
{
	struct arena       a;
	struct match_table t;

	arena_init(&a);
	match_compile(&t, &a, NULL, 0);
	for (const char *const *p = (const char *const[]){ "", "/", "/a", "/a.b/c.d", NULL }; *p;
	     p++)
		cr_assert(match_find(&t, bw_str(*p)) == NULL, "\"%s\"", *p);
	arena_done(&a);
}

/* The text right behind a path must not be looked at: the path ends where its page does, or is a part
 * of something longer. */
Test(match, does_not_read_past_the_end)
{
	static struct set  s;
	struct arena       a;
	struct match_table t;

	set_add(&s, "/abcdefg");
	set_add(&s, "/abc/*");
	set_add(&s, "*.x");
	arena_init(&a);
	match_compile(&t, &a, s.input, s.n);
	for (size_t n = 1; n <= 9; n++) {
		char         *copy = malloc(n); /* its end is watched by the address sanitizer */
		struct bw_str path = { memcpy(copy, "/abcdefgh", n), n };

		cr_assert(match_find(&t, path) == (n == 8   ? (const void *)&s.pattern[0]
		                                   : n == 4 ? (const void *)&s.pattern[1]
		                                            : NULL),
		          "%zu octets", n);
		free(copy);
	}
	cr_assert(match_find(&t, (struct bw_str){ "/abcdefg/abc", 8 }) == &s.pattern[0]);
	arena_done(&a);
}

/* Many patterns, and a path as long as the gateway lets in with a dot at every second octet. */
Test(match, large_tables_and_long_paths)
{
	static struct set  s;
	struct arena       a;
	struct match_table t;
	char               text[64], *path = malloc(8193);

	for (int i = 0; i < MAX_PATTERNS; i++) {
		sprintf(text, i % 3 == 0 ? "/p%d/*" : i % 3 == 1 ? "/e/x%d" : "*.s%d", i);
		cr_assert(pattern_parse(bw_str(strcpy(s.text[i], text)), &s.pattern[i]));
		s.input[i] = (struct match_input){ &s.pattern[i], &s.pattern[i] };
	}
	s.n = MAX_PATTERNS;
	arena_init(&a);
	match_compile(&t, &a, s.input, s.n);
	for (int i = 0; i < MAX_PATTERNS; i++) {
		sprintf(text, i % 3 == 0 ? "/p%d/q/r" : i % 3 == 1 ? "/e/x%d" : "/e/y.s%d", i);
		cr_assert(match_find(&t, bw_str(text)) == &s.pattern[i], "%s", text);
		sprintf(text, i % 3 == 0 ? "/p%dx/q" : i % 3 == 1 ? "/e/x%dx" : "/e/y.s%dx", i);
		cr_assert(match_find(&t, bw_str(text)) == NULL, "%s", text);
	}
	for (int i = 0; i < 8192; i++)
		path[i] = i % 2 ? '.' : 'a';
	path[0] = '/';
	path[8192] = '\0';
	cr_assert(match_find(&t, (struct bw_str){ path, 8192 }) == NULL);
	memcpy(path + 8192 - 3, ".s2", 3);
	cr_assert(match_find(&t, (struct bw_str){ path, 8192 }) == &s.pattern[2]);
	free(path);
	arena_done(&a);
}
