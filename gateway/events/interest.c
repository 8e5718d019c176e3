/* interest.c - which changes a listener wants, from the properties of its registration (Apache
 * Sling, ResourceChangeListener).
 *
 * Owns: a listener's patterns and hints. Runs in: the worker's thread. Fails with: a reason, for
 * the registration's record. Tests: tests/system/events_test.c, tests/conformance/events. */
#include "events_impl.h"
#include "whiteboard/registry.h"
#include <base/fatal.h>
#include <stdlib.h>

#define MAX_VALUES 64u

static void add(char ***list, size_t *n, char *text)
{
	*list = xrealloc(*list, (*n + 1) * sizeof(**list));
	(*list)[(*n)++] = text;
}

static bool add_pattern(struct change_listener *l, char *pattern)
{
	add(&l->patterns, &l->n_patterns, pattern);
	return event_pattern_fits(bw_str(pattern));
}

/* path: without "glob:"; a slash at its end, and "./" at its start, say nothing. */
static bool add_path(struct change_listener *l, const char *glob, struct bw_str path,
                     char *const *search_path, size_t n_search_path)
{
	if (path.n > 2 && memcmp(path.p, "./", 2) == 0)
		path = (struct bw_str){ path.p + 2, path.n - 2 };
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	if (path.n == 0)
		return false;
	if (path.p[0] == '/')
		return add_pattern(l, xasprintf("%s%.*s", glob, (int)path.n, path.p));
	for (size_t i = 0; i < n_search_path; i++)
		if (!add_pattern(l,
		                 xasprintf("%s%s%.*s", glob, search_path[i], (int)path.n, path.p)))
			return false;
	return true;
}

static bool add_value(struct change_listener *l, struct bw_str value, char *const *search_path,
                      size_t n_search_path)
{
	if (bw_str_eq(value, BW_STR(".")))
		return add_pattern(l, xstrdup("/"));
	if (value.n >= 5 && memcmp(value.p, "glob:", 5) == 0)
		return add_path(l, "glob:", (struct bw_str){ value.p + 5, value.n - 5 },
		                search_path, n_search_path);
	return add_path(l, "", value, search_path, n_search_path);
}

static const char *read_paths(struct change_listener *l, char *const *search_path,
                              size_t n_search_path)
{
	struct bw_str values[MAX_VALUES + 1];
	size_t        n = service_strings(l->service, BW_RESOURCE_PATHS, values, MAX_VALUES + 1);

	if (n == 0)
		return "resource.paths is missing, or no String";
	if (n > MAX_VALUES)
		return "resource.paths has more than 64 values";
	for (size_t i = 0; i < n; i++)
		if (!add_value(l, values[i], search_path, n_search_path))
			return "resource.paths: a value is no path";
	return NULL;
}

static const char *read_kinds(struct change_listener *l)
{
	static const struct {
		struct bw_str   name;
		enum event_kind kind;
	} kinds[] = {
		{ { "ADDED", 5 }, EVENT_ADDED },
		{ { "CHANGED", 7 }, EVENT_CHANGED },
		{ { "REMOVED", 7 }, EVENT_REMOVED },
	};
	const size_t  n_kinds = sizeof(kinds) / sizeof(kinds[0]);
	struct bw_str values[MAX_VALUES];
	size_t        n, k;

	n = service_strings(l->service, BW_RESOURCE_CHANGE_TYPES, values, MAX_VALUES);
	if (n == 0 && service_prop(l->service, BW_RESOURCE_CHANGE_TYPES) != NULL)
		return "resource.change.types is empty, or no String";
	for (size_t i = 0; i < n; i++) {
		for (k = 0; k < n_kinds && !bw_str_eq(values[i], kinds[k].name);)
			k++;
		if (k == n_kinds)
			return "resource.change.types: a value is not ADDED, CHANGED or REMOVED";
		l->interests |= 1u << kinds[k].kind;
	}
	for (k = 0; n == 0 && k < n_kinds; k++)
		l->interests |= 1u << kinds[k].kind;
	return NULL;
}

static void read_hints(struct change_listener *l)
{
	struct bw_str values[MAX_VALUES];
	size_t n = service_strings(l->service, BW_RESOURCE_PROPERTY_NAMES, values, MAX_VALUES);

	for (size_t i = 0; i < n && n < MAX_VALUES; i++) /* it is a hint: too many are none */
		add(&l->hints, &l->n_hints, xstrndup(values[i].p, values[i].n));
}

bool interest_read(struct change_listener *l, char *const *search_path, size_t n_search_path)
{
	interest_done(l);
	if (service_is(l->service, BW_EXTERNAL_CHANGE_LISTENER))
		l->interests |= EVENT_INTEREST_EXTERNAL;
	l->failure = read_paths(l, search_path, n_search_path);
	if (l->failure == NULL)
		l->failure = read_kinds(l);
	read_hints(l);
	return l->failure == NULL;
}

static void free_all(char ***list, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		free((*list)[i]);
	free(*list);
	*list = NULL;
	*n = 0;
}

void interest_done(struct change_listener *l)
{
	free_all(&l->patterns, &l->n_patterns);
	free_all(&l->hints, &l->n_hints);
	l->interests = 0;
}

/* Whether one of the changed properties is hinted at; those not known may be. */
static bool is_hinted_at(const struct change_listener *l, const struct event *e)
{
	const uint8_t *at = e->names;

	if (l->n_hints == 0 || e->kind != EVENT_CHANGED || e->n_names == 0)
		return true;
	for (unsigned i = 0; i < e->n_names; i++) {
		struct bw_str name = event_next_name(&at);

		for (size_t k = 0; k < l->n_hints; k++)
			if (bw_str_eq(name, bw_str(l->hints[k])))
				return true;
	}
	return false;
}

bool interest_wants(const struct change_listener *l, const struct event *e)
{
	for (size_t i = 0; i < l->n_patterns; i++)
		if (event_is_wanted(l->interests, bw_str(l->patterns[i]), e))
			return is_hinted_at(l, e);
	return false;
}
