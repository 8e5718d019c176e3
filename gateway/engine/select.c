/* select.c - Sling's servlet selection: collect what fits in all locations, take the best.
 *
 *    absolute type?  -> the servlet mounted there, if its conditions allow
 *    known already?  -> cache.c
 *    else            -> for each location, for each folder named by the selectors, for each child
 *
 * Better is: more selectors matched; then the heavier name; then found earlier (own type before super
 * types before the base type; within a folder by name, so that all workers agree). Scripts stored in
 * the repository will be candidates beside the mounted servlets: look_at_folder is where they join.
 *
 * Owns: nothing. Runs in: a request's fiber; never waits. Fails with: the results of select.h.
 * Tests: tests/unit/engine/select_test.c, tests/conformance/engine/sel*.rows and path.rows. */
#include "engine/cache.h"
#include "engine/location.h"
#include "engine/mount.h"
#include "engine/pathinfo.h"
#include "engine/select.h"

static const struct bw_str servlet_suffix = BW_STR(".servlet");

/* ---- names ---- */

enum part { NOTHING, SELECTOR, LABEL, EXTENSION, METHOD, N_PARTS };

/* What a child may be called, parts joined by dots, the suffix cut. The first line that fits counts.
 * html is the default extension: a name without an extension serves it too. */
static const struct line {
	bool      get;      /* for GET and HEAD only */
	bool      standard; /* for the default extension only */
	enum part parts[3];
	unsigned  more; /* selectors matched beyond those of the folder */
	int       weight;
} lines[] = {
	{ true, false, { SELECTOR, EXTENSION }, 1, 2 },
	{ true, false, { LABEL, EXTENSION }, 0, 3 },
	{ true, false, { EXTENSION }, 0, 2 },
	{ true, true, { SELECTOR }, 1, 0 },
	{ true, true, { LABEL }, 0, 1 },
	{ false, false, { SELECTOR, EXTENSION, METHOD }, 1, 2 },
	{ false, false, { LABEL, EXTENSION, METHOD }, 0, 4 },
	{ false, false, { EXTENSION, METHOD }, 0, 3 },
	{ false, true, { SELECTOR, METHOD }, 1, 0 },
	{ false, true, { LABEL, METHOD }, 0, 1 },
	{ false, false, { SELECTOR, METHOD }, 1, 0 },
	{ false, false, { METHOD }, 0, 0 },
};
#define N_LINES      (sizeof(lines) / sizeof(lines[0]))
#define WEIGHT_WHOLE (-1) /* the servlet of the whole location */

struct candidate {
	struct mount_servlet    *servlet; /* NULL: none so far */
	const struct mount_node *folder;
	struct bw_str            name;
	unsigned                 selectors;
	int                      weight;
};

struct collection {
	bool             get, standard;
	struct bw_str    parts[N_PARTS]; /* of the folder being looked at */
	unsigned         level;          /* selectors that led to it */
	struct candidate best;
};

/* Is name the line's parts joined by dots? A part that the request does not have fits nothing. */
static bool name_fits(struct bw_str name, const struct line *line, const struct bw_str *parts)
{
	size_t at = 0;

	for (size_t i = 0; i < 3 && line->parts[i] != NOTHING; i++) {
		struct bw_str part = parts[line->parts[i]];

		if (i > 0 && (at == name.n || name.p[at++] != '.'))
			return false;
		if (part.n == 0 || name.n - at < part.n || memcmp(name.p + at, part.p, part.n) != 0)
			return false;
		at += part.n;
	}
	return at == name.n;
}

/* Names of one folder in the order of their octets. */
static bool comes_before(struct bw_str a, struct bw_str b)
{
	int diff = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return diff != 0 ? diff < 0 : a.n < b.n;
}

static void offer(struct collection *c, const struct candidate *new)
{
	const struct candidate *best = &c->best;

	if (best->servlet == NULL || new->selectors > best->selectors ||
	    (new->selectors == best->selectors &&new->weight > best->weight) ||
	    (new->selectors == best->selectors &&new->weight == best->weight &&new->folder ==
	     best->folder &&comes_before(new->name, best->name)))
		c->best = *new;
}

/* ---- walking ---- */

static void look_at_child(struct collection *c, const struct mount_node *folder,
                          const struct mount_node *child)
{
	struct mount_servlet *servlet = mount_node_servlet(child);
	struct bw_str         name = mount_node_name(child), stem = name;

	if (servlet == NULL || !pathinfo_cut(&stem))
		return;
	for (size_t i = 0; i < N_LINES; i++) {
		const struct line *line = &lines[i];

		if ((line->get && !c->get) || (line->standard && !c->standard) ||
		    !name_fits(stem, line, c->parts))
			continue;
		offer(c, &(struct candidate){ servlet, folder, name, c->level + line->more,
		                              line->weight });
		return;
	}
}

static void look_at_folder(struct collection *c, const struct mount_node *folder)
{
	for (const struct mount_node *child = mount_node_child(folder); child != NULL;
	     child = mount_node_sibling(child))
		look_at_child(c, folder, child);
}

/* The location itself and, as long as there are such folders, those named by one selector after the
 * other. */
static void look_at_location(struct collection *c, struct bw_str location, struct bw_str selectors)
{
	const struct mount_node *folder = mount_find(location);
	char                     path[MOUNT_PATH_MAX + 1];
	size_t                   n = location.n;

	if (folder == NULL || n >= sizeof(path))
		return;
	memcpy(path, location.p, n);
	c->parts[LABEL] = mount_node_name(folder);
	for (c->level = 0; folder != NULL; c->level++) {
		struct bw_str next = BW_ABSENT;
		bool          more = pathinfo_selector(&selectors, &next);

		c->parts[SELECTOR] = next;
		look_at_folder(c, folder);
		if (!more || n + 1 + next.n >= sizeof(path))
			return;
		path[n++] = '/';
		memcpy(path + n, next.p, next.n);
		n += next.n;
		folder = mount_find((struct bw_str){ path, n });
		c->parts[LABEL] = next;
	}
}

/* location.servlet: for every request of the type, if nothing else fits. */
static void look_at_whole(struct collection *c, struct arena *a, struct bw_str location)
{
	const struct mount_node *node;
	char                    *path = arena_alloc(a, location.n + servlet_suffix.n);

	memcpy(path, location.p, location.n);
	memcpy(path + location.n, servlet_suffix.p, servlet_suffix.n);
	node = mount_find((struct bw_str){ path, location.n + servlet_suffix.n });
	if (node != NULL && mount_node_servlet(node) != NULL)
		offer(c, &(struct candidate){ mount_node_servlet(node), node, BW_STR(""), 0,
		                              WEIGHT_WHOLE });
}

static bool is(struct bw_str s, const char *text)
{
	return bw_str_eq(s, bw_str(text));
}

static struct mount_servlet *collect(const struct select_query *q, struct arena *a)
{
	struct locations  locations;
	struct collection c = {
		.get = is(q->method, "GET") || is(q->method, "HEAD"),
		.standard = is(q->extension, "html"),
		.parts = { [EXTENSION] = q->extension, [METHOD] = q->method },
	};

	locations_get(a, q->record, BASE_TYPE_DEFAULT, q->request, &locations);
	for (size_t i = 0; i < locations.n; i++) {
		look_at_location(&c, locations.items[i], q->selectors);
		look_at_whole(&c, a, locations.items[i]);
	}
	return c.best.servlet;
}

/* Selectors and the rules for GET play no part, and the servlet of a whole location is not asked: it
 * serves requests of its type, not their failures. */
static struct mount_servlet *collect_handler(const struct select_query *q, struct arena *a)
{
	struct locations  locations;
	struct collection c = { .parts = { [EXTENSION] = q->extension, [METHOD] = q->method } };

	locations_get(a, q->record, BASE_TYPE_ERROR, q->request, &locations);
	for (size_t i = 0; i < locations.n; i++)
		look_at_location(&c, locations.items[i], BW_ABSENT);
	return c.best.servlet;
}

struct mount_servlet *select_error_handler(const struct select_query *query, struct arena *a,
                                           struct bw_str name)
{
	struct select_query   q = *query;
	uint64_t              generation = mount_generation();
	struct cache_key      key;
	struct mount_servlet *m;

	q.method = name;
	q.selectors = BW_ABSENT;
	cache_key_make(&q, BASE_TYPE_ERROR, &key);
	if (!cache_get(&key, q.types, &m)) {
		m = collect_handler(&q, a);
		cache_put(&key, q.types, generation, m);
	}
	return m;
}

/* ---- absolute types ---- */

static bool has_value(const struct mount_condition *c, struct bw_str value)
{
	for (size_t i = 0; i < c->n; i++)
		if (bw_str_eq(bw_str(c->items[i]), value))
			return true;
	return false;
}

static bool has_one_of(const struct mount_condition *c, struct bw_str selectors)
{
	struct bw_str selector;

	while (pathinfo_selector(&selectors, &selector))
		if (has_value(c, selector))
			return true;
	return false;
}

/* The conditions of sling.servlet.paths.strict. */
static bool accepts(const struct mount_servlet *m, const struct select_query *q)
{
	if (!m->strict)
		return true;
	if (m->extensions.must_be_empty
	            ? q->extension.n > 0
	            : m->extensions.n > 0 && !has_value(&m->extensions, q->extension))
		return false;
	if (m->selectors.must_be_empty
	            ? q->selectors.n > 0
	            : m->selectors.n > 0 && !has_one_of(&m->selectors, q->selectors))
		return false;
	return m->methods.n == 0 || has_value(&m->methods, q->method);
}

/* Three dots or more as a segment: a type that can be no path. */
static bool is_bad_type(struct bw_str type)
{
	size_t dots = 0;
	bool   only_dots = true;

	for (size_t i = 0; i <= type.n; i++) {
		if (i == type.n || type.p[i] == '/') {
			if (only_dots && dots >= 3)
				return true;
			dots = 0;
			only_dots = true;
		} else if (type.p[i] == '.') {
			dots++;
		} else {
			only_dots = false;
		}
	}
	return type.n == 0;
}

/* ---- the entry ---- */

static struct mount_servlet *servlet_at(struct bw_str path)
{
	const struct mount_node *node = mount_find(path);

	return node != NULL ? mount_node_servlet(node) : NULL;
}

/* The servlet that an absolute type is the path of, as it stands or with its ':' turned into '/'. */
static struct mount_servlet *servlet_of_type(struct arena *a, struct bw_str type)
{
	struct mount_servlet *m = NULL;

	if (type.n == 0 || type.p[0] != '/')
		return NULL;
	m = servlet_at(type);
	return m != NULL ? m : servlet_at(location_type_path(a, type));
}

enum select_result select_servlet(const struct select_query *q, struct arena *a,
                                  struct mount_servlet **ret_servlet)
{
	struct bw_str         type = location_type(q->record);
	uint64_t              generation = mount_generation();
	struct cache_key      key;
	struct mount_servlet *m = servlet_of_type(a, type);

	if (m != NULL) {
		*ret_servlet = m;
		return accepts(m, q) ? SELECT_FOUND : SELECT_FORBIDDEN;
	}
	cache_key_make(q, BASE_TYPE_DEFAULT, &key);
	if (!cache_get(&key, q->types, &m)) {
		if (is_bad_type(type))
			return SELECT_BAD_TYPE;
		m = collect(q, a);
		cache_put(&key, q->types, generation, m);
	}
	*ret_servlet = m;
	return m != NULL ? SELECT_FOUND : SELECT_NONE;
}

void select_done(void)
{
	cache_done();
}
