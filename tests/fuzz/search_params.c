/* Fuzz target: servlets/search/params.c. The input is a query, name=value joined by '&', without escapes: the
 * gateway has undone those. The first octet says as what it is read: 1 with limits, 2 as a suggestion. What
 * is refused has a reason in UTF-8, what is accepted stays within its arrays. */
#include "search/params.h"
#include <base/arena.h>
#include <base/utf8.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct arena memory;

static void *alloc(struct bw_req *req, size_t n)
{
	(void)req;
	return arena_alloc(&memory, n);
}

static const struct bw_host host = { .size = sizeof(host), .req_alloc = alloc };
const struct bw_host       *bw_host = &host;

static struct bw_str copy(const char *p, size_t n)
{
	return (struct bw_str){ arena_dup(&memory, p, n), n };
}

/* Neither name nor value has a NUL, both are UTF-8: the gateway refuses others. */
static size_t split(const char *p, size_t n, struct bw_pair *pairs, size_t max)
{
	size_t n_pairs = 0;

	for (size_t from = 0, to; from < n && n_pairs < max; from = to + 1) {
		const char *mark = memchr(p + from, '&', n - from), *equals;

		to = mark != NULL ? (size_t)(mark - p) : n;
		equals = memchr(p + from, '=', to - from);
		if (equals == NULL)
			continue;
		pairs[n_pairs++] =
			(struct bw_pair){ copy(p + from, (size_t)(equals - p) - from),
			                  copy(equals + 1, to - (size_t)(equals - p) - 1) };
	}
	return n_pairs;
}

static void check(const struct params *p)
{
	const struct bw_search *s = &p->search;

	if (s->n_paths > PARAMS_MAX || s->n_types > PARAMS_MAX || s->n_filters > PARAMS_MAX ||
	    s->n_facets > 8 || s->n_fields > PARAMS_MAX + 2 || s->n_sorts > 1)
		abort();
	if (s->limit < 1 || s->limit > 100 || s->offset > 1000 || s->total > 1000)
		abort();
	for (size_t i = 0; i < s->n_filters; i++)
		if ((unsigned)s->filters[i].op > BW_SEARCH_NONE_IS)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bw_pair pairs[1000];
	struct bw_str         within[] = { BW_STR("/a"), BW_STR("/b/c") };
	struct bw_str         names[] = { BW_STR("q"), BW_STR("path"), BW_STR("p.*") };
	struct settings       settings = { .pairs = pairs, .max_limit = 100, .max_total = 1000 };
	struct params         params;
	const char           *why = NULL;
	bool                  limits, suggest;

	if (size == 0 || memchr(data + 1, '\0', size - 1) != NULL ||
	    !utf8_ok((const char *)data + 1, size - 1))
		return 0;
	limits = data[0] & 1;
	suggest = data[0] & 2;
	arena_init(&memory);
	settings.n = split((const char *)data + 1, size - 1, pairs, 1000);
	settings.n_asked = settings.n;
	if (limits) {
		settings.within = (struct bw_values){ .n = 2, .items = within };
		settings.parameters = (struct bw_values){ .n = 3, .items = names };
		settings.listing = true;
	}
	if (params_read(NULL, &settings, suggest, &params, &why) == BW_OK)
		check(&params);
	else if (why == NULL || why[0] == '\0' || !utf8_ok(why, strlen(why)))
		abort();
	arena_done(&memory);
	return 0;
}
