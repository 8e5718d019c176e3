/* tree.c - one hash table from paths to mounted nodes.
 *
 *    table  --hash of the whole path-->  node /bin/test/hello
 *                                          points: hi (rank 7), lo (rank 1)
 *    node /bin/test  --children-->  hello, hello.servlet, ...
 *
 * A look-up costs one hash and one comparison, whatever the depth. The folders above a node are
 * nodes too, so that selection can walk from a type's location down; a folder without points of its
 * own cannot be addressed by a request.
 *
 * Owns: nodes and points. Runs in: the worker's thread; never waits. Fails with: nothing.
 * Tests: tests/unit/engine/mount_test.c. */
#include <base/buf.h>
#include <base/fatal.h>
#include <stdlib.h>
#include "engine/hash.h"
#include "engine/tree.h"
#include "whiteboard/registry.h"

struct mount_node {
	struct mount_node  *next; /* same slot */
	uint64_t            hash;
	struct mount_point *points; /* best ranked first; NULL: only a folder */
	struct mount_node  *folder; /* NULL: the root */
	struct mount_node  *first_child, *last_child, *next_sibling, *previous_sibling;
	size_t              name_at;
	size_t              n;
	char                path[]; /* n octets and a NUL */
};

static struct mount_node **table;
static size_t              table_size, n_nodes; /* the size is a power of two */
static uint64_t            generation = 1;

uint64_t mount_generation(void)
{
	return generation;
}

/* ---- the table ---- */

static struct bw_str path_of(const struct mount_node *node)
{
	return (struct bw_str){ node->path, node->n };
}

static struct mount_node *find(struct bw_str path, uint64_t hash)
{
	struct mount_node *node = table_size > 0 ? table[hash & (table_size - 1)] : NULL;

	while (node != NULL && !(node->hash == hash && bw_str_eq(path_of(node), path)))
		node = node->next;
	return node;
}

const struct mount_node *mount_find(struct bw_str path)
{
	return find(path, hash_str(0, path));
}

static void insert(struct mount_node *node)
{
	struct mount_node **slot = &table[node->hash & (table_size - 1)];

	node->next = *slot;
	*slot = node;
}

static void grow(void)
{
	size_t              old_size = table_size;
	struct mount_node **old = table;

	table_size = old_size > 0 ? 2 * old_size : 64;
	table = xcalloc(table_size, sizeof(struct mount_node *));
	for (size_t i = 0; i < old_size; i++) {
		for (struct mount_node *node = old[i], *next; node != NULL; node = next) {
			next = node->next;
			insert(node);
		}
	}
	free(old);
}

/* ---- nodes ---- */

static void link_child(struct mount_node *folder, struct mount_node *node)
{
	node->folder = folder;
	node->previous_sibling = folder->last_child;
	if (folder->last_child != NULL)
		folder->last_child->next_sibling = node;
	else
		folder->first_child = node;
	folder->last_child = node;
}

static void unlink_child(struct mount_node *node)
{
	struct mount_node *folder = node->folder;

	if (node->previous_sibling != NULL)
		node->previous_sibling->next_sibling = node->next_sibling;
	else
		folder->first_child = node->next_sibling;
	if (node->next_sibling != NULL)
		node->next_sibling->previous_sibling = node->previous_sibling;
	else
		folder->last_child = node->previous_sibling;
}

static struct mount_node *node_get(struct bw_str path)
{
	uint64_t           hash = hash_str(0, path);
	struct mount_node *node = find(path, hash);

	if (node != NULL)
		return node;
	if (n_nodes >= table_size)
		grow();
	node = xcalloc(1, sizeof(*node) + path.n + 1);
	node->hash = hash;
	node->n = path.n;
	memcpy(node->path, path.p, path.n);
	node->name_at =
		path.n > 1 ? (size_t)((char *)memrchr(path.p, '/', path.n) - path.p) + 1 : 1;
	insert(node);
	n_nodes++;
	return node;
}

/* Links a node, and the folders that had to be made for it, up to one that is linked already. */
static void put_into_folder(struct mount_node *node)
{
	while (node->folder == NULL && node->n > 1) {
		struct bw_str      path = { node->path, node->name_at > 1 ? node->name_at - 1 : 1 };
		struct mount_node *folder = node_get(path);

		link_child(folder, node);
		node = folder;
	}
}

static void node_free(struct mount_node *node)
{
	struct mount_node **slot = &table[node->hash & (table_size - 1)];

	while (*slot != node)
		slot = &(*slot)->next;
	*slot = node->next;
	n_nodes--;
	free(node);
}

/* Drops a node that holds nothing, then its folder if that holds nothing any more, and so on. */
static void node_prune(struct mount_node *node)
{
	while (node != NULL && node->points == NULL && node->first_child == NULL) {
		struct mount_node *folder = node->folder;

		if (folder != NULL)
			unlink_child(node);
		node_free(node);
		node = folder;
	}
}

/* ---- points ---- */

static bool ends_with(struct bw_str s, struct bw_str end)
{
	return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

static void put_text_prop(struct buf *out, size_t at, struct bw_str name, struct bw_str value)
{
	if (value.p != NULL)
		record_put_value(out, record_put_prop(out, at, name, BW_VALUE_STRING, false),
		                 value);
}

/* Encodes the node as a resource: its type is its own path with .servlet, where the servlet is found
 * again. */
static void make_record(struct mount_point *p, struct bw_str path)
{
	struct bw_str super = bw_str(p->super_type);
	bool          has_suffix = ends_with(path, BW_STR(".servlet"));
	char         *type = xasprintf("%.*s%s", (int)path.n, path.p, has_suffix ? "" : ".servlet");
	struct buf    out;
	size_t        at;

	buf_init(&out);
	at = record_begin(&out, 0, 0, path, BW_STR(""), bw_str(type), super);
	if (super.p != NULL)
		record_put_chain(&out, at, super);
	put_text_prop(&out, at, BW_STR("servletName"), bw_str(p->servlet->name));
	put_text_prop(&out, at, BW_STR("sling:resourceSuperType"), super);
	put_text_prop(&out, at, BW_STR("sling:resourceType"), bw_str(type));
	record_end(&out, at);
	/* The buffer's memory passes to the point; record_get refuses only what we did not write. */
	if (out.start != 0 || record_get(out.mem, buf_size(&out), &p->record) != BW_OK)
		fatalx("mounted node %.*s: its record cannot be read", (int)path.n, path.p);
	free(type);
}

static void put_by_rank(struct mount_node *node, struct mount_point *p)
{
	struct mount_point **at = &node->points;

	while (*at != NULL && service_compare((*at)->servlet->service, p->servlet->service) <= 0)
		at = &(*at)->next_of_node;
	p->next_of_node = *at;
	*at = p;
}

void tree_add(struct mount_servlet *m, struct bw_str path, bool marker)
{
	struct mount_point *p = xcalloc(1, sizeof(*p));
	struct bw_str       super = mount_super_type(m->service);

	p->node = node_get(path);
	p->servlet = m;
	p->marker = marker;
	p->super_type = super.p != NULL ? xstrndup(super.p, super.n) : NULL;
	if (!marker)
		make_record(p, path);
	p->next_of_servlet = m->points;
	m->points = p;
	put_by_rank(p->node, p);
	put_into_folder(p->node);
	generation++;
}

void tree_remove_all(struct mount_servlet *m)
{
	for (struct mount_point *p = m->points, *next; p != NULL; p = next) {
		struct mount_point **at = &p->node->points;

		next = p->next_of_servlet;
		while (*at != p)
			at = &(*at)->next_of_node;
		*at = p->next_of_node;
		node_prune(p->node);
		free((void *)p->record.p);
		free(p->super_type);
		free(p);
	}
	m->points = NULL;
	generation++;
}

void tree_done(void)
{
	if (n_nodes > 0)
		fatalx("%zu mounted nodes are left", n_nodes);
	free(table);
	table = NULL;
	table_size = 0;
}

/* ---- reading ---- */

static const struct mount_point *answering_point(const struct mount_node *node)
{
	const struct mount_point *p = node->points;

	while (p != NULL && p->marker)
		p = p->next_of_node;
	return p;
}

struct mount_servlet *mount_node_servlet(const struct mount_node *node)
{
	const struct mount_point *p = answering_point(node);

	return p != NULL ? p->servlet : NULL;
}

struct bw_str mount_node_super_type(const struct mount_node *node)
{
	for (const struct mount_point *p = node->points; p != NULL; p = p->next_of_node)
		if (p->super_type != NULL)
			return bw_str(p->super_type);
	return BW_ABSENT;
}

/* The same string in a copy of the octets it lies in. */
static struct bw_str rebase(struct bw_str s, const uint8_t *from, const uint8_t *to)
{
	return s.p != NULL
	               ? (struct bw_str){ (const char *)to + ((const uint8_t *)s.p - from), s.n }
	               : s;
}

void mount_node_record(const struct mount_node *node, struct arena *a, struct record *ret)
{
	const struct record *r = &answering_point(node)->record;
	const uint8_t       *copy = (const uint8_t *)arena_dup(a, r->p, r->size);

	*ret = *r;
	ret->p = copy;
	ret->path = rebase(r->path, r->p, copy);
	ret->name = rebase(r->name, r->p, copy);
	ret->primary_type = rebase(r->primary_type, r->p, copy);
	ret->resource_type = rebase(r->resource_type, r->p, copy);
	ret->super_type = rebase(r->super_type, r->p, copy);
}

const struct mount_node *mount_node_child(const struct mount_node *node)
{
	return node->first_child;
}

const struct mount_node *mount_node_sibling(const struct mount_node *node)
{
	return node->next_sibling;
}

struct bw_str mount_node_name(const struct mount_node *node)
{
	return (struct bw_str){ node->path + node->name_at, node->n - node->name_at };
}
