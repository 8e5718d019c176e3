/* settings.c - defaults and limits that a resource of type boardwalk/search has as properties.
 *
 *    q, path, type, p.NAME, sort, limit ...   defaults: taken where the request does not name the parameter
 *    within                                    paths: nothing is found elsewhere
 *    maxLimit, maxTotal                        numbers that a request cannot go beyond
 *    parameters                                names that a request may use; "p.*": all that begin so
 *    listing                                   true: no condition at all means everything
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: see settings.h.
 * Tests: tests/conformance/search. */
#include "settings.h"
#include <stdlib.h>

#define LIMIT_MAX 100u
#define TOTAL_MAX 1000u

static bool is_own(struct bw_str name)
{
	static const char *const names[] = { "within", "maxLimit", "maxTotal", "parameters",
		                             "listing" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bw_str_eq(name, bw_str(names[i])))
			return true;
	return false;
}

/* Any other property (jcr:title, sling:resourceType) is about something else. */
static bool is_parameter(struct bw_str name)
{
	static const char *const names[] = {
		"q",    "path",  "depth", "type",  "modified.min", "modified.max", "lang",   "tag",
		"sort", "limit", "total", "facet", "facet.limit",  "highlight",    "fields", "hits",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bw_str_eq(name, bw_str(names[i])))
			return true;
	return name.n > 2 && memcmp(name.p, "p.", 2) == 0;
}

static bool is_named(const struct bw_pair *pairs, size_t n, struct bw_str name)
{
	for (size_t i = 0; i < n; i++)
		if (bw_str_eq(pairs[i].name, name))
			return true;
	return false;
}

static int number(struct bw_req *req, const struct bw_values *values, uint32_t max, uint32_t *ret)
{
	struct bw_str text = values->n == 1 ? values->items[0] : BW_ABSENT;

	if (text.n == 0 || text.n > 9 || strspn(text.p, "0123456789") != text.n ||
	    strtoul(text.p, NULL, 10) == 0)
		return bw_req_fail(req, "boardwalk.search.settings", "a maximum that is no number");
	*ret = (uint32_t)strtoul(text.p, NULL, 10);
	*ret = *ret < max ? *ret : max;
	return BW_OK;
}

static int take_own(struct bw_req *req, struct settings *s, struct bw_str name,
                    const struct bw_values *values)
{
	if (bw_str_eq(name, BW_STR("within")))
		s->within = *values;
	else if (bw_str_eq(name, BW_STR("parameters")))
		s->parameters = *values;
	else if (bw_str_eq(name, BW_STR("listing")))
		s->listing = values->n == 1 && bw_str_eq(values->items[0], BW_STR("true"));
	else if (bw_str_eq(name, BW_STR("maxLimit")))
		return number(req, values, LIMIT_MAX, &s->max_limit);
	else
		return number(req, values, TOTAL_MAX, &s->max_total);
	return BW_OK;
}

struct reading {
	struct bw_req  *req;
	struct bw_pair *pairs;
	size_t          n, cap;
};

static void add(struct reading *r, struct bw_str name, struct bw_str value)
{
	if (r->n == r->cap) {
		size_t          cap = 2 * r->cap + 16;
		struct bw_pair *more = bw_req_alloc(r->req, cap * sizeof(*more));

		if (r->n > 0)
			memcpy(more, r->pairs, r->n * sizeof(*more));
		r->pairs = more;
		r->cap = cap;
	}
	r->pairs[r->n++] = (struct bw_pair){ name, value };
}

static int read_resource(struct reading *r, struct bw_resource *res, struct settings *s)
{
	const struct bw_str *names;
	struct bw_values     values;
	size_t               n, n_asked = r->n;
	int                  err = bw_resource_property_names(res, &names, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++) {
		bool own = is_own(names[i]);

		if (!own && (!is_parameter(names[i]) || is_named(r->pairs, n_asked, names[i])))
			continue;
		err = bw_resource_values(res, names[i].p, &values);
		if (err == BW_OK && own)
			err = take_own(r->req, s, names[i], &values);
		for (size_t k = 0; err == BW_OK && !own && k < values.n; k++)
			add(r, names[i], values.items[k]);
	}
	return err;
}

int settings_read(struct bw_req *req, struct settings *ret)
{
	struct bw_resource   *res = bw_req_resource(req);
	struct reading        r = { .req = req };
	const struct bw_pair *asked;
	size_t                n_asked;
	bool                  is_search = false;
	int                   err = bw_req_params(req, &asked, &n_asked);

	*ret = (struct settings){ .max_limit = LIMIT_MAX, .max_total = TOTAL_MAX };
	if (err != BW_OK)
		return err;
	for (size_t i = 0; i < n_asked; i++)
		add(&r, asked[i].name, asked[i].value);
	if (res != NULL)
		err = bw_resource_is_type(res, BW_STR("boardwalk/search"), &is_search);
	if (err == BW_OK && is_search)
		err = read_resource(&r, res, ret);
	ret->pairs = r.pairs;
	ret->n = r.n;
	ret->n_asked = n_asked;
	return err;
}

bool settings_has_within(const struct settings *s, struct bw_str path)
{
	for (size_t i = 0; i < s->within.n; i++) {
		struct bw_str place = s->within.items[i];

		if (bw_str_eq(place, BW_STR("/")) || bw_str_eq(place, path) ||
		    (path.n > place.n && memcmp(path.p, place.p, place.n) == 0 &&
		     path.p[place.n] == '/'))
			return true;
	}
	return s->within.n == 0;
}

bool settings_has_parameter(const struct settings *s, struct bw_str name)
{
	for (size_t i = 0; i < s->parameters.n; i++) {
		struct bw_str p = s->parameters.items[i];

		if (bw_str_eq(p, name))
			return true;
		if (p.n > 0 && p.p[p.n - 1] == '*' && name.n >= p.n - 1 &&
		    memcmp(p.p, name.p, p.n - 1) == 0)
			return true;
	}
	return s->parameters.n == 0;
}
