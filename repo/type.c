/* type.c - resource types and their inheritance.
 *
 *    demo/page --> /apps/demo/page (sling:resourceSuperType = base/page) --> base/page --> ...
 *
 * The graph is read with repo's own eyes: that a user may not see /apps changes no chain.
 * Owns: the links, one table, replaced whole. Runs in: repo's loop. Fails with: nothing; a cycle is
 * reported to the caller, who logs it. Tests: tests/unit/repo/type_test.c. */
#include "type.h"
#include <base/fatal.h>
#include <stdlib.h>

#define MAX_TYPE 2048u

struct link {
	struct bw_str path, super_type; /* heap, one block, NUL behind each */
};

struct type_graph {
	char *const *search_path;
	size_t       n_search_path;
	struct link *links; /* sorted by path once loaded */
	size_t       n, cap;
	uint64_t     loads;
};

struct type_graph *type_graph_new(char *const *search_path, size_t n)
{
	struct type_graph *g = xcalloc(1, sizeof(*g));

	g->search_path = search_path;
	g->n_search_path = n;
	g->loads = 1;
	return g;
}

void type_load_begin(struct type_graph *g)
{
	for (size_t i = 0; i < g->n; i++)
		free((char *)g->links[i].path.p);
	g->n = 0;
}

void type_graph_free(struct type_graph *g)
{
	if (g == NULL)
		return;
	type_load_begin(g);
	free(g->links);
	free(g);
}

void type_load_add(struct type_graph *g, struct bw_str path, struct bw_str super_type)
{
	char *block = xmalloc(path.n + super_type.n + 2);

	if (g->n == g->cap) {
		g->cap = g->cap > 0 ? 2 * g->cap : 64;
		g->links = xrealloc(g->links, g->cap * sizeof(*g->links));
	}
	memcpy(block, path.p, path.n);
	block[path.n] = '\0';
	memcpy(block + path.n + 1, super_type.p, super_type.n);
	block[path.n + 1 + super_type.n] = '\0';
	g->links[g->n++] = (struct link){ { block, path.n }, { block + path.n + 1, super_type.n } };
}

static int compare(const void *a, const void *b)
{
	const struct bw_str *x = &((const struct link *)a)->path,
			    *y = &((const struct link *)b)->path;
	int diff = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return diff != 0 ? diff : (x->n > y->n) - (x->n < y->n);
}

void type_load_end(struct type_graph *g)
{
	if (g->n > 0)
		qsort(g->links, g->n, sizeof(*g->links), compare);
	g->loads++;
}

uint64_t type_loads(const struct type_graph *g)
{
	return g->loads;
}

bool type_is_below_search_path(const struct type_graph *g, struct bw_str path)
{
	for (size_t i = 0; i < g->n_search_path; i++) {
		size_t n = strlen(g->search_path[i]);

		/* The search path's own folder too: its removal removes all below. */
		if (path.n + 1 >= n && memcmp(path.p, g->search_path[i], n - 1) == 0 &&
		    (path.n + 1 == n || path.p[n - 1] == '/'))
			return true;
	}
	return path.n == 1; /* the root */
}

static struct bw_str super_at(const struct type_graph *g, struct bw_str path)
{
	struct link key = { .path = path }, *found;

	found = g->n > 0 ? bsearch(&key, g->links, g->n, sizeof(*g->links), compare) : NULL;
	return found != NULL ? found->super_type : BW_ABSENT;
}

/* The super type of a type; absent if it has none. */
static struct bw_str super_of(const struct type_graph *g, struct bw_str type)
{
	char          path[256 + MAX_TYPE];
	struct bw_str found = BW_ABSENT;

	if (g->n == 0 || type.n == 0 || type.n > MAX_TYPE)
		return BW_ABSENT;
	for (size_t i = 0; i < g->n_search_path && found.p == NULL; i++) {
		size_t prefix = type.p[0] == '/' ? 0 : strlen(g->search_path[i]);

		if (prefix > 256)
			continue;
		memcpy(path, g->search_path[i], prefix);
		for (size_t k = 0; k < type.n; k++)
			path[prefix + k] = type.p[k] == ':' ? '/' : type.p[k];
		found = super_at(g, (struct bw_str){ path, prefix + type.n });
	}
	return found;
}

unsigned type_chain(const struct type_graph *g, struct bw_str type, struct bw_str own_super,
                    struct bw_str chain[TYPE_MAX_CHAIN], bool *ret_cycle)
{
	struct bw_str next = own_super.n > 0 ? own_super : super_of(g, type);
	unsigned      n = 0;

	*ret_cycle = false;
	while (next.n > 0 && n < TYPE_MAX_CHAIN) {
		*ret_cycle = bw_str_eq(next, type);
		for (unsigned i = 0; i < n && !*ret_cycle; i++)
			*ret_cycle = bw_str_eq(next, chain[i]);
		chain[n++] =
			next; /* also the one that closes a cycle: who reads the chain sees it */
		if (*ret_cycle)
			break;
		next = super_of(g, next);
	}
	return n;
}

/* ---- the other way: what is below ---- */

typedef void (*told_cb)(void *arg, struct bw_str name);

/* A relative type as its path has it, and with its first slash as the ':' of a prefix. */
static void tell_relative(struct bw_str name, told_cb tell, void *arg)
{
	char        other[MAX_TYPE];
	const char *mark = memchr(name.p, '/', name.n);

	if (mark == NULL)
		mark = memchr(name.p, ':', name.n);
	tell(arg, name);
	if (mark == NULL || name.n > sizeof(other))
		return;
	memcpy(other, name.p, name.n);
	other[mark - name.p] = *mark == '/' ? ':' : '/';
	tell(arg, (struct bw_str){ other, name.n });
}

/* Every way to write the type that stands for the resource at this path. */
static void tell_path(const struct type_graph *g, struct bw_str path, told_cb tell, void *arg)
{
	tell(arg, path);
	for (size_t i = 0; i < g->n_search_path; i++) {
		size_t n = strlen(g->search_path[i]);

		if (path.n > n && memcmp(path.p, g->search_path[i], n) == 0)
			tell_relative((struct bw_str){ path.p + n, path.n - n }, tell, arg);
	}
}

static void tell_type(const struct type_graph *g, struct bw_str type, told_cb tell, void *arg)
{
	char path[256 + MAX_TYPE];

	if (type.n == 0 || type.n > MAX_TYPE)
		return;
	if (type.p[0] == '/') {
		tell_path(g, type, tell, arg);
		return;
	}
	tell_relative(type, tell, arg);
	for (size_t i = 0; i < g->n_search_path; i++) {
		size_t prefix = strlen(g->search_path[i]);

		if (prefix > 256)
			continue;
		memcpy(path, g->search_path[i], prefix);
		for (size_t k = 0; k < type.n; k++)
			path[prefix + k] = type.p[k] == ':' ? '/' : type.p[k];
		tell(arg, (struct bw_str){ path, prefix + type.n });
	}
}

struct below {
	const struct type_graph *g;
	struct bw_str            type, name;
	bool                     found, same;
	void (*add)(void *arg, struct bw_str name, bool same);
	void *arg;
};

static void on_same(void *arg, struct bw_str name)
{
	struct below *b = arg;

	b->add(b->arg, name, true);
}

static void compare_name(void *arg, struct bw_str name)
{
	struct below *b = arg;

	b->found |= bw_str_eq(name, b->name);
}

static void on_candidate(void *arg, struct bw_str name)
{
	struct below *b = arg;
	struct bw_str chain[TYPE_MAX_CHAIN];
	bool          cycle;
	unsigned      n = type_chain(b->g, name, BW_ABSENT, chain, &cycle);

	b->found = false;
	for (unsigned i = 0; i < n && !b->found; i++) {
		b->name = chain[i];
		tell_type(b->g, b->type, compare_name, b);
	}
	if (b->found)
		b->add(b->arg, name, false);
}

void type_at_or_below(const struct type_graph *g, struct bw_str                    type,
                      void (*add)(void *arg, struct bw_str name, bool same), void *arg)
{
	struct below b = { .g = g, .type = type, .add = add, .arg = arg };

	tell_type(g, type, on_same, &b);
	for (size_t i = 0; i < g->n; i++)
		tell_path(g, g->links[i].path, on_candidate, &b);
}
