/* Fuzz target: gateway/whiteboard/pattern.c and match.c. Each line of the input is a pattern, the last
 * one a request's path. What the compiled table finds is what looking at one pattern after the other
 * finds, by the order of Jakarta Servlet 12.1. */
#include <boardwalk/err.h>
#include <path.h>
#include <stdlib.h>
#include <whiteboard/match.h>

#define MAX_PATTERNS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool ends_with(struct bw_str s, struct bw_str end)
{
	return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

/* How well p takes the path: 0 not at all, more is better. */
static size_t fits(const struct pattern *p, struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);
	size_t      last = slash ? (size_t)(slash - path.p) + 1 : 0;

	switch (p->kind) {
	case PATTERN_EXACT:
		return bw_str_eq(p->key, path) ? 1u << 30 : 0;
	case PATTERN_ROOT:
		return path.n == 0 || bw_str_eq(path, BW_STR("/")) ? 1u << 30 : 0;
	case PATTERN_PREFIX:
		return path.n >= p->key.n && memcmp(path.p, p->key.p, p->key.n) == 0 &&
		                       (path.n == p->key.n || path.p[p->key.n] == '/')
		               ? (1u << 20) + p->key.n
		               : 0;
	case PATTERN_EXTENSION:
		return path.n - last > p->key.n && ends_with(path, p->key) &&
		                       path.p[path.n - p->key.n - 1] == '.'
		               ? (1u << 10) + p->key.n
		               : 0;
	case PATTERN_DEFAULT:
		return 1;
	}
	abort();
}

static void check(const struct pattern *patterns, size_t n, struct bw_str path, struct arena *a)
{
	struct match_input    inputs[MAX_PATTERNS];
	struct match_table    table;
	const struct pattern *best = NULL;
	size_t                most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t fit = fits(&patterns[i], path);

		inputs[i] = (struct match_input){ &patterns[i], &patterns[i] };
		if (fit > most) {
			most = fit;
			best = &patterns[i];
		}
	}
	match_compile(&table, a, inputs, n);
	if (match_find(&table, path) != best)
		abort();
}

/* False: refused, or there already. */
static bool add(struct pattern *patterns, size_t n, struct bw_str text)
{
	if (n == MAX_PATTERNS || text.n > 1000 || !pattern_parse(text, &patterns[n]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (bw_str_eq(patterns[i].text, patterns[n].text))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pattern     patterns[MAX_PATTERNS];
	struct path_target target;
	struct arena       a;
	size_t             n = 0;
	char              *text, *end;

	arena_init(&a);
	text = arena_dup(&a, (const char *)data, size);
	while ((end = memchr(text, '\n', size)) != NULL) {
		n += add(patterns, n, (struct bw_str){ text, (size_t)(end - text) });
		size -= (size_t)(end + 1 - text);
		text = end + 1;
	}
	if (path_canonical(&a, (struct bw_str){ text, size }, &target) == BW_OK)
		check(patterns, n, target.path, &a);
	check(patterns, n, BW_STR(""), &a);
	arena_done(&a);
	return 0;
}
