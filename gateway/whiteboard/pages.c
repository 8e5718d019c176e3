/* Error pages. All pages that list a code compete for it in ranking order, those for a whole class
 * included; a class counts as lost only to a page for the same class.
 *
 * Runs in: the worker's thread. Tests: tests/conformance (G). */
#include "pages.h"

static int class_of(int code)
{
	return code / 100 - 4;
}

static bool is_free(const struct snapshot_context *c, int code)
{
	return !c->codes || !c->codes[code - READING_CODE_MIN];
}

static bool name_is_free(const struct snapshot_context *c, struct bw_str name)
{
	for (size_t i = 0; i < c->n_error_names; i++)
		if (bw_str_eq(c->error_names[i].name, name))
			return false;
	return true;
}

size_t pages_list(const struct reading *r, struct arena *a, struct bw_str items[PAGES_MAX_LOST])
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_codes && n < PAGES_MAX_LOST - 2; i++)
		items[n++] = bw_str(arena_printf(a, "%d", r->codes[i]));
	if (r->all_4xx)
		items[n++] = BW_STR("4xx");
	if (r->all_5xx)
		items[n++] = BW_STR("5xx");
	for (size_t i = 0; i < r->n_error_names && n < PAGES_MAX_LOST; i++)
		items[n++] = r->error_names[i];
	return n;
}

bool pages_wins(const struct snapshot_context *c, const struct reading *r)
{
	for (size_t i = 0; i < r->n_codes; i++)
		if (is_free(c, r->codes[i]))
			return true;
	for (size_t i = 0; i < r->n_error_names; i++)
		if (name_is_free(c, r->error_names[i]))
			return true;
	return (r->all_4xx && !c->class_taken[0]) || (r->all_5xx && !c->class_taken[1]);
}

static void take_class(struct snapshot_context *c, const struct snapshot_servlet *page, int class)
{
	int first = (class + 4) * 100;

	c->class_taken[class] = true;
	for (int code = first; code < first + 100; code++)
		if (is_free(c, code))
			c->codes[code - READING_CODE_MIN] = page;
}

static void add_name(struct snapshot_context *c, const struct snapshot_servlet *page,
                     struct arena *a, struct bw_str name)
{
	struct snapshot_error_name *names = arena_alloc(a, (c->n_error_names + 1) * sizeof(*names));

	if (c->n_error_names > 0)
		memcpy(names, c->error_names, c->n_error_names * sizeof(*names));
	names[c->n_error_names++] = (struct snapshot_error_name){ name, page };
	c->error_names = names;
}

size_t pages_take(struct snapshot_context *c, const struct snapshot_servlet *page, struct arena *a,
                  struct bw_str lost[PAGES_MAX_LOST])
{
	const struct reading *r = page->reading;
	bool                  classes[2] = { r->all_4xx, r->all_5xx };
	size_t                n = 0;

	if (!c->codes && (r->n_codes > 0 || r->all_4xx || r->all_5xx))
		c->codes = arena_zalloc(a, (READING_CODE_MAX - READING_CODE_MIN + 1) *
		                                   sizeof(*c->codes));
	for (size_t i = 0; i < r->n_codes; i++) {
		if (is_free(c, r->codes[i]))
			c->codes[r->codes[i] - READING_CODE_MIN] = page;
		else if (!classes[class_of(r->codes[i])] && n < PAGES_MAX_LOST)
			lost[n++] = bw_str(arena_printf(a, "%d", r->codes[i]));
	}
	for (int class = 0; class < 2; class ++) {
		if (classes[class] && !c->class_taken[class])
			take_class(c, page, class);
		else if (classes[class] && n < PAGES_MAX_LOST)
			lost[n++] = bw_str(class == 0 ? "4xx" : "5xx");
	}
	for (size_t i = 0; i < r->n_error_names; i++) {
		if (name_is_free(c, r->error_names[i]))
			add_name(c, page, a, r->error_names[i]);
		else if (n < PAGES_MAX_LOST)
			lost[n++] = r->error_names[i];
	}
	return n;
}

const struct snapshot_servlet *pages_for_status(const struct snapshot_context *c, int status)
{
	if (!c->codes || status < READING_CODE_MIN || status > READING_CODE_MAX)
		return NULL;
	return c->codes[status - READING_CODE_MIN];
}

static const struct snapshot_servlet *page_named(const struct snapshot_context *c,
                                                 struct bw_str                  name)
{
	for (size_t i = 0; i < c->n_error_names; i++)
		if (bw_str_eq(c->error_names[i].name, name))
			return c->error_names[i].page;
	return NULL;
}

const struct snapshot_servlet *pages_for_name(const struct snapshot_context *c, struct bw_str name)
{
	while (name.n > 0) {
		const struct snapshot_servlet *page = page_named(c, name);
		const char                    *dot = memrchr(name.p, '.', name.n);

		if (page)
			return page;
		name.n = dot ? (size_t)(dot - name.p) : 0;
	}
	return page_named(c, BW_STR("bw.error")); /* the root, parent of every one-part name */
}
