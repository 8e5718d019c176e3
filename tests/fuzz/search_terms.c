/* Fuzz target: lib/wire/search.c and repo/search_terms.c. The first octet says what the rest is: 0 terms of
 * a search, else a page of its answer. Terms that are taken become a query that compiles. */
#include <search_impl.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void types(void *arg, struct bw_str type, struct arena *a, const char **ret_below,
                  const char **ret_same)
{
	(void)arg;
	(void)a;
	if (type.n == 0)
		abort();
	*ret_below = *ret_same = "{}";
}

static void read_terms(struct bw_str terms, struct arena *a)
{
	struct query_surroundings s = { .types = types, .node_types = "{}" };
	struct search_plan        plan;
	struct query_error        error;
	struct query_sql          sql;
	int                       err = search_read_terms(terms, a, &plan, &error);

	if (err == BW_ESYNTAX && error.text[0] == '\0')
		abort();
	if (err != BW_OK)
		return;
	if (plan.limit < 1 || plan.limit > SEARCH_MAX_ITEMS || plan.n_facets > SEARCH_MAX_FACETS)
		abort();
	query_compile(&plan.q, &s, a, &sql);
	buf_done(&sql.text);
}

/* Reads every octet of what is said to be there. */
static void read_page(const uint8_t *p, size_t n, struct arena *a)
{
	struct search_page page;
	size_t             sum = 0;

	if (search_page_get(p, n, a, &page) != BW_OK)
		return;
	for (unsigned i = 0; i < page.n_items; i++)
		for (unsigned k = 0; k < page.items[i].n_highlights; k++)
			sum += strlen(page.items[i].highlights[k].text.p);
	for (unsigned i = 0; i < page.n_facets; i++)
		for (unsigned k = 0; k < page.facets[i].n; k++)
			sum += strlen(page.facets[i].values[k].value.p);
	if (sum > n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	uint8_t     *copy; /* of its own, so that reading past it is seen */

	if (size == 0)
		return 0;
	copy = malloc(size);
	memcpy(copy, data, size);
	arena_init(&a);
	if (copy[0] == 0)
		read_terms((struct bw_str){ (const char *)copy + 1, size - 1 }, &a);
	else
		read_page(copy + 1, size - 1, &a);
	arena_done(&a);
	free(copy);
	return 0;
}
