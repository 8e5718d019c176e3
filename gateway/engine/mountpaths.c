/* mountpaths.c - from sling.servlet.* properties to mount paths, by Sling's rules:
 *
 *    paths=/bin/x                              /bin/x and /bin/x.servlet
 *    resourceTypes=a/b                         /apps/a/b/GET.servlet and HEAD.servlet
 *    resourceTypes=a/b selectors=p.q           /apps/a/b/p/q.html.POST.servlet
 *      extensions=html methods=POST
 *    resourceTypes=a/b methods=*               /apps/a/b.servlet
 *
 * Owns: nothing; the result is the caller's. Runs in: the loop, on registry events. Fails with: false
 * and a reason. Tests: tests/conformance/engine/reg.rows, tests/unit/engine/mountpaths_test.c. */
#include <base/conf.h>
#include <base/fatal.h>
#include <stdlib.h>
#include "engine/mountpaths.h"
#include "whiteboard/registry.h"

#define MAX_VALUES 256u  /* of one property */
#define MAX_PATHS  4096u /* of one registration: types x selectors x extensions x methods */

static const struct bw_str suffix = BW_STR(".servlet");

/* A registration's properties, read once. Strings borrow the service. */
struct reading {
	struct bw_str paths[MAX_VALUES], types[MAX_VALUES], selectors[MAX_VALUES];
	struct bw_str extensions[MAX_VALUES], methods[MAX_VALUES];
	size_t        n_paths, n_types, n_selectors, n_extensions, n_methods;
	bool          all_methods; /* the single value "*" */
	struct bw_str prefix;      /* of relative paths and types */
};

/* ---- search path ---- */

void search_path_init(struct search_path *sp, const struct conf_list *list)
{
	sp->n = list->n > 0 ? list->n : 1;
	sp->items = xcalloc(sp->n, sizeof(*sp->items));
	for (size_t i = 0; i < sp->n; i++) {
		const char *text = list->n > 0 ? list->items[i] : "/";
		size_t      n = strlen(text);

		if (text[0] != '/' || n > MOUNT_PATH_MAX)
			fatalx("gateway.search_path: \"%s\" is no absolute path", text);
		text = text[n - 1] == '/' ? xstrdup(text) : xasprintf("%s/", text);
		sp->items[i] = bw_str(text);
	}
}

void search_path_done(struct search_path *sp)
{
	for (size_t i = 0; i < sp->n; i++)
		free((char *)sp->items[i].p);
	free(sp->items);
	*sp = (struct search_path){ NULL, 0 };
}

/* ---- prefix ---- */

/* Entry number i of the search path; -1 or one that is too large means the last. */
static struct bw_str search_path_at(const struct search_path *sp, int64_t i)
{
	return sp->items[i >= 0 && (uint64_t)i < sp->n ? (size_t)i : sp->n - 1];
}

static bool parse_number(const char *text, int64_t *ret)
{
	char *end;

	if (text[0] == '\0' || strchr(" \t\n\v\f\r", text[0]) != NULL)
		return false;
	*ret = strtoll(text, &end, 10);
	return *end == '\0';
}

/* sling.servlet.prefix: a number is an index into the search path, an absolute string is used as it
 * is (no slash is added), anything else is as if it were absent. */
static struct bw_str read_prefix(const struct bw_service *s, const struct search_path *sp)
{
	const struct bw_prop *prop = service_prop(s, "sling.servlet.prefix");
	int64_t               i;

	if (prop == NULL)
		return sp->items[0];
	if (prop->type == BW_PROP_INT)
		return search_path_at(sp, prop->u.i32);
	if (prop->type == BW_PROP_LONG)
		return search_path_at(sp, prop->u.i64);
	if (prop->type == BW_PROP_STRING && parse_number(prop->u.string, &i))
		return search_path_at(sp, i);
	if (prop->type == BW_PROP_STRING && prop->u.string[0] == '/')
		return bw_str(prop->u.string);
	return sp->items[0];
}

/* ---- the result ---- */

/* Why a path cannot be mounted, or NULL. Requests arrive canonical, so such a node could never be
 * reached, which its author should learn. */
static const char *path_problem(const char *path, size_t n)
{
	if (n > MOUNT_PATH_MAX)
		return "a path is longer than 1024 octets";
	if (path[0] != '/')
		return "a path is not absolute";
	if (strstr(path, "//") != NULL)
		return "a path has an empty segment";
	if (strstr(path, "/./") != NULL || strstr(path, "/../") != NULL)
		return "a path has a dot segment";
	return NULL;
}

/* Adds path, which passes into ret; a path that is there already is dropped, so that a property
 * which names a value twice mounts once. */
static const char *add(struct mount_paths *ret, char *path, bool marker)
{
	size_t      n = strlen(path);
	const char *problem;

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	problem = path_problem(path, n);
	if (problem == NULL && ret->n == MAX_PATHS)
		problem = "more than 4096 mount paths";
	if (problem != NULL) {
		free(path);
		return problem;
	}
	for (size_t i = 0; i < ret->n; i++) {
		if (strcmp(ret->items[i].path, path) == 0 && ret->items[i].marker == marker) {
			free(path);
			return NULL;
		}
	}
	if (ret->n == ret->cap) {
		ret->cap = ret->cap ? 2 * ret->cap : 4;
		ret->items = xrealloc(ret->items, ret->cap * sizeof(*ret->items));
	}
	ret->items[ret->n++] = (struct mount_path){ path, marker };
	return NULL;
}

void mount_paths_done(struct mount_paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		free(paths->items[i].path);
	free(paths->items);
	*paths = (struct mount_paths){ NULL, 0, 0 };
}

/* ---- servlets by path ---- */

static bool ends_with(struct bw_str s, struct bw_str end)
{
	return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

/* Has the last segment a dot? */
static bool has_extension(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);
	const char *dot = memrchr(path.p, '.', path.n);

	return dot != NULL && (slash == NULL || dot > slash);
}

static struct bw_str without_slashes(struct bw_str s)
{
	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

static struct bw_str prefix_of(const struct reading *r, struct bw_str name)
{
	return name.n > 0 && name.p[0] == '/' ? BW_STR("") : r->prefix;
}

/* At the path itself and under the name that the type of the resource there leads to. A servlet that
 * also has types is mounted at a path with an extension only: the original does so, and such a
 * servlet is then not found through its path. */
static const char *add_path(struct mount_paths *ret, const struct reading *r, struct bw_str given)
{
	struct bw_str path = without_slashes(given), prefix = prefix_of(r, path);
	const char   *problem = add(ret, xasprintf("%s%.*s", prefix.p, (int)path.n, path.p), false);

	if (problem != NULL || ends_with(path, suffix))
		return problem;
	if (r->n_types > 0 && has_extension(path))
		return NULL;
	return add(ret, xasprintf("%s%.*s%s", prefix.p, (int)path.n, path.p, suffix.p), false);
}

/* ---- servlets by type ---- */

/* The type as a path, absolute; heap. Both ':' and '/' part its names. */
static char *type_path(const struct reading *r, struct bw_str given)
{
	struct bw_str type = without_slashes(given);
	char         *path = xasprintf("%s%.*s", prefix_of(r, type).p, (int)type.n, type.p);

	for (char *colon = strchr(path, ':'); colon != NULL; colon = strchr(colon, ':'))
		*colon = '/';
	return path;
}

/* type/selector.name.servlet, or less where one is empty; a selector of several parts is a path:
 * print.a4 is print/a4. */
static const char *add_name(struct mount_paths *ret, const char *type, struct bw_str selector,
                            const char *name)
{
	const char *dot = selector.n > 0 && name[0] != '\0' ? "." : "";
	size_t      at = strlen(type) + 1;
	char *path = xasprintf("%s/%.*s%s%s%s", type, (int)selector.n, selector.p ? selector.p : "",
	                       dot, name, suffix.p);

	for (size_t i = 0; i < selector.n; i++)
		if (path[at + i] == '.')
			path[at + i] = '/';
	return add(ret, path, false);
}

/* The name is extension.METHOD, or the one of them that there is. */
static const char *add_joined(struct mount_paths *ret, const char *type, struct bw_str selector,
                              struct bw_str extension, struct bw_str method)
{
	const char *dot = extension.n > 0 && method.n > 0 ? "." : "";
	char *name = xasprintf("%.*s%s%.*s", (int)extension.n, extension.p ? extension.p : "", dot,
	                       (int)method.n, method.p ? method.p : "");
	const char *problem = add_name(ret, type, selector, name);

	free(name);
	return problem;
}

static const char *add_extensions(struct mount_paths *ret, const struct reading *r,
                                  const char *type, struct bw_str selector)
{
	const char *problem = NULL;

	for (size_t e = 0; problem == NULL && e < r->n_extensions; e++) {
		if (r->n_methods == 0 || r->all_methods)
			problem = add_joined(ret, type, selector, r->extensions[e], BW_ABSENT);
		for (size_t m = 0; problem == NULL && !r->all_methods && m < r->n_methods; m++)
			problem = add_joined(ret, type, selector, r->extensions[e], r->methods[m]);
	}
	return problem;
}

static const char *add_methods(struct mount_paths *ret, const struct reading *r, const char *type,
                               struct bw_str selector)
{
	static const struct bw_str initial[] = { BW_STR("GET"), BW_STR("HEAD") };
	const struct bw_str       *methods = r->n_methods > 0 ? r->methods : initial;
	size_t                     n = r->n_methods > 0 ? r->n_methods : 2;
	const char                *problem = NULL;

	for (size_t m = 0; problem == NULL && m < n; m++)
		problem = add_joined(ret, type, selector, BW_ABSENT, methods[m]);
	return problem;
}

/* All methods: the location itself, type.servlet, or type/selector.servlet. */
static const char *add_all_methods(struct mount_paths *ret, const char *type,
                                   struct bw_str selector)
{
	if (selector.n == 0)
		return add(ret, xasprintf("%s%s", type, suffix.p), false);
	return add_name(ret, type, selector, "");
}

/* One type with one selector string, or none. With paths and no extensions, a type without methods
 * of its own is mounted nowhere: the servlet is a path servlet. */
static const char *add_type(struct mount_paths *ret, const struct reading *r, const char *type,
                            struct bw_str selector)
{
	if (r->n_extensions > 0)
		return add_extensions(ret, r, type, selector);
	if (r->n_paths > 0 && (r->n_methods == 0 || r->all_methods))
		return NULL;
	if (r->all_methods)
		return add_all_methods(ret, type, selector);
	return add_methods(ret, r, type, selector);
}

static const char *add_types(struct mount_paths *ret, const struct reading *r, bool with_markers)
{
	const char *problem = NULL;

	for (size_t t = 0; problem == NULL && t < r->n_types; t++) {
		char *type = type_path(r, r->types[t]);

		if (with_markers)
			problem = add(ret, xstrdup(type), true);
		if (problem == NULL && r->n_selectors == 0)
			problem = add_type(ret, r, type, BW_ABSENT);
		for (size_t i = 0; problem == NULL && i < r->n_selectors; i++)
			problem = add_type(ret, r, type, r->selectors[i]);
		free(type);
	}
	return problem;
}

/* ---- reading ---- */

/* Empty values are skipped. */
static const char *read_values(const struct bw_service *s, const char *name,
                               struct bw_str values[MAX_VALUES], size_t *ret_n)
{
	size_t n = service_strings(s, name, values, MAX_VALUES), kept = 0;

	for (size_t i = 0; i < n; i++)
		if (values[i].n > 0)
			values[kept++] = values[i];
	*ret_n = kept;
	return n == MAX_VALUES ? "a property has 256 values or more" : NULL;
}

static const char *read_properties(struct reading *r, const struct bw_service *s,
                                   const struct search_path *sp)
{
	const char *problem;

	if ((problem = read_values(s, BW_SLING_PATHS, r->paths, &r->n_paths)) != NULL ||
	    (problem = read_values(s, BW_SLING_TYPES, r->types, &r->n_types)) != NULL ||
	    (problem = read_values(s, BW_SLING_SELECTORS, r->selectors, &r->n_selectors)) != NULL ||
	    (problem = read_values(s, BW_SLING_EXTENSIONS, r->extensions, &r->n_extensions)) !=
	            NULL ||
	    (problem = read_values(s, BW_SLING_METHODS, r->methods, &r->n_methods)) != NULL)
		return problem;
	r->all_methods = r->n_methods == 1 && bw_str_eq(r->methods[0], BW_STR("*"));
	r->prefix = read_prefix(s, sp);
	return NULL;
}

struct bw_str mount_super_type(const struct bw_service *s)
{
	struct bw_str type[1];

	if (service_strings(s, BW_SLING_SUPER_TYPE, type, 1) == 0 || type[0].n == 0 ||
	    bw_str_eq(type[0], BW_STR("sling/bundle/resource")))
		return BW_ABSENT;
	return type[0];
}

bool mount_paths_get(struct mount_paths *ret, const struct bw_service *s,
                     const struct search_path *sp, const char **ret_reason)
{
	struct reading *r = xcalloc(1, sizeof(*r)); /* too large for a stack of 256 KiB's taste */
	const char     *problem = read_properties(r, s, sp);

	*ret = (struct mount_paths){ NULL, 0, 0 };
	for (size_t i = 0; problem == NULL && i < r->n_paths; i++)
		problem = add_path(ret, r, r->paths[i]);
	if (problem == NULL)
		problem = add_types(ret, r, mount_super_type(s).p != NULL);
	free(r);
	if (problem == NULL)
		return true;
	mount_paths_done(ret);
	*ret_reason = problem;
	return false;
}
