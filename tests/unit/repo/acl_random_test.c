/* Under test: repo/acl.c, repo/restriction.c, repo/permit.c, against the slow reference of
 * acl_reference.h: random trees, lists, sessions and questions, the same in each run. What fails names
 * its round, which alone makes it fail again. */
#include "acl_reference.h"
#include <criterion/criterion.h>
#include <boardwalk/err.h>
#include <repo/permit.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS    2000u
#define QUESTIONS 100u
#define N_NODES   24u

static const char *const node_names[] = { "a",      "b",           "ab",  "pub",
	                                  "my-pub", "jcr:content", "x:b", "oak:index" };
static const char *const property_names[] = { "title", "a", "jcr:title", "x:b", "pub" };
static const char *const types[] = { "nt:folder", "nt:file", "sling:Folder" };
static const char *const leaves[] = {
	"rep:readNodes",
	"rep:readProperties",
	"rep:addProperties",
	"rep:alterProperties",
	"rep:removeProperties",
	"jcr:addChildNodes",
	"jcr:removeChildNodes",
	"jcr:removeNode",
	"jcr:nodeTypeManagement",
	"jcr:readAccessControl",
	"jcr:namespaceManagement",
	"rep:indexDefinitionManagement",
	"bw:draw",
};
static const char *const principals[] = { "u1", "u2", "u3", "s1",       "s2",
	                                  "x1", "g1", "g2", "everyone", NULL };
static const char *const own_lists[] = { "s1", "s2", NULL };

#define N(list)    ((unsigned)(sizeof(list) / sizeof((list)[0])))
#define PICK(list) ((list)[pick(N(list))])

static uint64_t state;

static unsigned pick(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static struct bw_str str(const char *s)
{
	return bw_str(s);
}

static uint64_t id_of(const char *name)
{
	uint64_t id = 100;

	for (const char *const *p = principals; *p != NULL && strcmp(*p, name) != 0; p++)
		id++;
	return id;
}

/* ---- one round's world ---- */

struct world {
	char                     paths[N_NODES][REFERENCE_TEXT];
	const char              *types[N_NODES];
	struct reference         r;
	const char              *users[4], *groups[4], *services[4];
	struct acl              *acl;
	struct principals_table *table;
	struct principals       *who;
	char                     texts[2048][REFERENCE_TEXT]; /* of this round */
	unsigned                 n_texts;
};

static struct world w;

/* Each node below one of those before it. */
static void make_tree(void)
{
	strcpy(w.paths[0], "/");
	w.types[0] = "rep:root";
	for (unsigned i = 1; i < N_NODES; i++) {
		const char *parent = w.paths[pick(i)];

		if (strlen(parent) > 60)
			parent = "/";
		snprintf(w.paths[i], sizeof(w.paths[0]), "%.60s/%s",
		         parent[1] == '\0' ? "" : parent, PICK(node_names));
		w.types[i] = PICK(types);
	}
}

static const char *text(const char *format, const char *a, const char *b)
{
	char *at = w.texts[w.n_texts++];

	cr_assert(w.n_texts < N(w.texts));
	snprintf(at, sizeof(w.texts[0]), format, a, b);
	return at;
}

/* What stands behind the node in the path of one of the tree, or of none. */
static const char *piece(const char *node)
{
	for (unsigned tries = 0; tries < 8; tries++) {
		const char *path = w.paths[pick(N_NODES)];

		if (strncmp(path, node, strlen(node)) == 0 && strlen(path) > strlen(node))
			return path + strlen(node);
	}
	return "/a";
}

/* Cut somewhere, also in the middle of a name. */
static const char *beginning(const char *piece_of)
{
	char *cut = w.texts[w.n_texts];

	(void)text("%s%s", piece_of, "");
	cut[1 + pick((unsigned)strlen(cut))] = '\0';
	return cut;
}

static const char *glob(const char *node)
{
	switch (pick(11)) {
	case 0:
		return "";
	case 1:
		return "*";
	case 2:
		return "/*";
	case 3:
		return text("%s/%s", piece(node), "");
	case 4:
		return text("*/%s%s", PICK(node_names), "");
	case 5:
		return text("%s*%s", piece(node), "");
	case 6:
		return text("/*%s*%s", PICK(node_names), PICK(node_names));
	case 7:
		return text("*%s%s", piece(node), "/*");
	case 8:
		return text("%s%s", PICK(node_names), "");
	case 9:
		return beginning(piece(node));
	default:
		return piece(node);
	}
}

static const char *value_of(unsigned kind, const char *node)
{
	switch (kind) {
	case GLOB:
	case GLOBS:
		return glob(node);
	case NT_NAMES:
		return PICK(types);
	case ITEM_NAMES:
		return pick(2) ? PICK(node_names) : PICK(property_names);
	case PREFIXES:
		return pick(2) ? "" : pick(2) ? "jcr" : "x";
	case CURRENT:
		return pick(4) ? PICK(property_names) : "*";
	default:
		return pick(3) ? text(pick(2) ? "/%s%s" : "/%s%s/", PICK(node_names), "")
		               : PICK(node_names);
	}
}

static void restrict_entry(struct reference_entry *e)
{
	for (unsigned k = 0; k < 1 + pick(2); k++) {
		unsigned kind = pick(KINDS);

		e->restricted[kind] = true;
		e->n_values[kind] = kind == GLOB ? 1 : pick(4);
		for (unsigned i = 0; i < e->n_values[kind]; i++)
			e->values[kind][i] = value_of(kind, e->node);
	}
}

static void make_entry(struct reference_entry *e, bool restrictions)
{
	memset(e, 0, sizeof(*e));
	e->principal = principals[pick(N(principals) - 1)];
	e->own = pick(3) == 0 && e->principal[0] == 's';
	e->allow = e->own || pick(5) < 3;
	if (pick(12) > 0)
		strcpy(e->node, pick(6) ? w.paths[pick(N_NODES)] : "/");
	e->all = pick(8) == 0;
	e->n_privileges = 1 + pick(REFERENCE_NAMES);
	for (unsigned i = 0; i < e->n_privileges; i++)
		e->privileges[i] = PICK(leaves);
	if (restrictions && pick(2) == 0)
		restrict_entry(e);
}

/* An ordinary session, one that has more than one user, or a list of service users. */
static void make_session(void)
{
	unsigned kind = pick(4), n = 0;

	memset(w.users, 0, sizeof(w.users));
	memset(w.groups, 0, sizeof(w.groups));
	memset(w.services, 0, sizeof(w.services));
	if (kind < 2) {
		w.users[n++] = "u1";
		if (kind == 1)
			w.users[n++] = "u2";
	} else {
		w.services[n++] = "s1";
		if (pick(2))
			w.services[n++] = pick(3) ? "s2" : "x1";
	}
	if (kind < 3) {
		w.groups[0] = "everyone";
		w.groups[1] = pick(2) ? "g1" : NULL;
		w.groups[2] = w.groups[1] != NULL && pick(2) ? "g2" : NULL;
	}
	w.r.users = w.users;
	w.r.groups = w.groups;
	w.r.services = w.services;
	w.r.own_lists = own_lists;
}

/* ---- the same for repo ---- */

static const struct restriction *parse(const struct reference_entry *e)
{
	static const char *const  names[] = { "rep:glob",      "rep:globs",    "rep:ntNames",
		                              "rep:itemNames", "rep:prefixes", "rep:current",
		                              "rep:subtrees" };
	const struct restriction *ret;
	char                      json[4096] = "{";
	size_t                    n = 1;

	for (unsigned k = 0; k < KINDS; k++) {
		if (!e->restricted[k])
			continue;
		n += (size_t)snprintf(json + n, sizeof(json) - n, "%s\"%s\":[", n > 1 ? "," : "",
		                      names[k]);
		for (unsigned i = 0; i < e->n_values[k]; i++)
			n += (size_t)snprintf(json + n, sizeof(json) - n, "%s\"%s\"", i ? "," : "",
			                      e->values[k][i]);
		n += (size_t)snprintf(json + n, sizeof(json) - n, "]");
	}
	snprintf(json + n, sizeof(json) - n, "}");
	cr_assert_eq(restriction_parse(json, strlen(json), acl_arena(w.acl), &ret), BW_OK, "%s",
	             json);
	return ret;
}

static void load_one(const struct reference_entry *e)
{
	struct acl_entry entry = { .principal = id_of(e->principal),
		                   .allow = e->allow,
		                   .own = e->own };

	for (unsigned i = 0; i < e->n_privileges; i++)
		entry.privileges |= privilege_bits(acl_privileges(w.acl), str(e->privileges[i]));
	if (e->all)
		entry.privileges = ACL_ALL;
	entry.restriction = parse(e);
	acl_load_add(w.acl, str(e->node), &entry);
}

/* By path, in the order of the list for each. */
static void load(void)
{
	const char *last = NULL;

	acl_load_begin(w.acl);
	privileges_add(acl_privileges(w.acl), BW_STR("bw:draw"), BW_STR("bw:draw"));
	for (const char *const *s = own_lists; *s != NULL; s++)
		acl_load_own(w.acl, id_of(*s));
	for (;;) {
		const char *next = NULL;

		for (unsigned i = 0; i < w.r.n; i++) {
			const char *node = w.r.entries[i].node;

			if ((last == NULL || strcmp(node, last) > 0) &&
			    (next == NULL || strcmp(node, next) < 0))
				next = node;
		}
		if (next == NULL)
			break;
		for (unsigned i = 0; i < w.r.n; i++)
			if (strcmp(w.r.entries[i].node, next) == 0)
				load_one(&w.r.entries[i]);
		last = next;
	}
	acl_load_end(w.acl, 1);
}

static struct principals *session(void)
{
	uint64_t      ids[12];
	unsigned      n = 0;
	struct handle h = { .kind = HANDLE_USER, .principals = (const uint8_t *)ids };

	for (unsigned i = 0; w.users[i] != NULL; i++)
		ids[n++] = id_of(w.users[i]) << 1;
	for (unsigned i = 0; w.services[i] != NULL; i++)
		ids[n++] = id_of(w.services[i]) << 1;
	for (unsigned i = 0; w.groups[i] != NULL; i++)
		ids[n++] = id_of(w.groups[i]) << 1 | 1;
	h.n_principals = n;
	return principals_ref_of(w.table, &h);
}

static void begin_round(unsigned round)
{
	state = 20261130u + round;
	memset(&w.r, 0, sizeof(w.r));
	w.n_texts = 0;
	make_tree();
	make_session();
	w.r.n = 1 + pick(N(w.r.entries));
	for (unsigned i = 0; i < w.r.n; i++)
		make_entry(&w.r.entries[i], round % 3 != 0);
	w.acl = acl_new();
	w.table = principals_table_new();
	load();
	w.who = session();
}

static void end_round(void)
{
	principals_unref(w.who);
	principals_table_free(w.table);
	acl_free(w.acl);
}

/* ---- questions ---- */

/* A node of the tree, or one that could be below it; a property of half of them. */
static struct reference_item some_item(void)
{
	unsigned    i = pick(N_NODES);
	const char *node = w.paths[i];

	if (pick(4) == 0 && strlen(node) > 1 && strlen(node) < 80)
		node = text("%s/%s", node, PICK(node_names));
	return (struct reference_item){ node, pick(5) ? w.types[i] : NULL,
		                        pick(2) ? PICK(property_names) : NULL };
}

static struct acl_item as_item(const struct reference_item *item)
{
	return (struct acl_item){ str(item->node), str(item->type), str(item->property) };
}

static bool has(const struct reference_item *item, uint64_t bit)
{
	struct acl_item         asked = as_item(item);
	const struct acl_scope *scope = acl_scope_of(w.acl, asked.path);
	uint64_t                allowed = acl_evaluate(scope, w.who, &asked);

	if (!acl_is_restricted(scope, w.who))
		cr_assert_eq(acl_allowed(w.acl, scope, w.who), allowed,
		             "a decision is remembered wrongly");
	return allowed & bit;
}

Test(acl_random, every_leaf_is_as_the_reference_says)
{
	unsigned asked = 0, allowed = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		begin_round(round);
		for (unsigned i = 0; i < QUESTIONS; i++) {
			struct reference_item item = some_item();
			const char           *leaf = PICK(leaves);
			uint64_t bit = privilege_bits(acl_privileges(w.acl), str(leaf));
			bool     expected = reference_has(&w.r, &item, leaf);

			cr_assert_eq(has(&item, bit), expected, "round %u: %s at %s@%s", round,
			             leaf, item.node, item.property != NULL ? item.property : "");
			allowed += expected;
			asked++;
		}
		end_round();
	}
	cr_assert(allowed > asked / 10 && allowed < asked * 9 / 10, "%u of %u are allowed", allowed,
	          asked);
}

/* ---- operations ---- */

static const char *parent_of(const char *path)
{
	const char *parent = text("%s%s", path, "");
	char       *slash = strrchr(parent, '/');

	slash[slash == parent] = '\0';
	return parent;
}

static bool is_index(const char *path)
{
	return strstr(text("%s%s", path, "/"), "/oak:index/") != NULL;
}

static bool may_add(const struct reference_item *item, const char *parent_type, bool typed)
{
	const struct reference_item by_path = { parent_of(item->node), NULL, NULL },
				    parent = { by_path.node, parent_type, NULL };

	if (strcmp(item->node, "/") == 0)
		return false;
	return reference_has(&w.r, &by_path, "jcr:addChildNodes") &&
	       (!typed || reference_has(&w.r, &parent, "jcr:nodeTypeManagement"));
}

static bool may_remove(const struct reference_item *item)
{
	const struct reference_item by_path = { parent_of(item->node), NULL, NULL };

	return strcmp(item->node, "/") != 0 && reference_has(&w.r, item, "jcr:removeNode") &&
	       reference_has(&w.r, &by_path, "jcr:removeChildNodes");
}

/* What the operations need, as the table of them says in words. */
static bool may(enum permit_op op, const struct reference_item *item, const char *parent_type)
{
	if (op == PERMIT_NAMESPACES)
		return reference_has(&w.r, NULL, "jcr:namespaceManagement");
	if (op == PERMIT_READ_NODE)
		return reference_has(&w.r, item, "rep:readNodes");
	if (op == PERMIT_READ_PROPERTY)
		return reference_has(&w.r, item, "rep:readProperties");
	if (op == PERMIT_READ_ACL)
		return reference_has(&w.r, item, "jcr:readAccessControl");
	if (is_index(item->node))
		return reference_has(&w.r, item, "rep:indexDefinitionManagement");
	if (op == PERMIT_ADD_NODE || op == PERMIT_ADD_TYPED_NODE)
		return may_add(item, parent_type, op == PERMIT_ADD_TYPED_NODE);
	if (op == PERMIT_REMOVE_NODE)
		return may_remove(item);
	if (op == PERMIT_ORDER)
		return reference_has(&w.r, item, "jcr:addChildNodes") &&
		       reference_has(&w.r, item, "jcr:removeChildNodes");
	if (op == PERMIT_CHANGE_TYPE)
		return reference_has(&w.r, item, "jcr:nodeTypeManagement");
	return reference_has(&w.r, item,
	                     op == PERMIT_ADD_PROPERTY     ? "rep:addProperties"
	                     : op == PERMIT_ALTER_PROPERTY ? "rep:alterProperties"
	                                                   : "rep:removeProperties");
}

static const enum permit_op operations[] = {
	PERMIT_READ_NODE,       PERMIT_READ_PROPERTY, PERMIT_ADD_NODE,     PERMIT_ADD_TYPED_NODE,
	PERMIT_REMOVE_NODE,     PERMIT_ORDER,         PERMIT_ADD_PROPERTY, PERMIT_ALTER_PROPERTY,
	PERMIT_REMOVE_PROPERTY, PERMIT_CHANGE_TYPE,   PERMIT_READ_ACL,     PERMIT_NAMESPACES,
};

static bool is_of_property(enum permit_op op)
{
	return op == PERMIT_READ_PROPERTY || op == PERMIT_ADD_PROPERTY ||
	       op == PERMIT_ALTER_PROPERTY || op == PERMIT_REMOVE_PROPERTY;
}

/* One question about an operation; true: it is permitted. */
static bool ask_operation(struct permit *view, unsigned round, struct reference_item item)
{
	enum permit_op  op = PICK(operations);
	const char     *parent_type = pick(3) ? PICK(types) : NULL;
	struct acl_item asked;
	bool            expected;

	item.property = is_of_property(op) ? PICK(property_names) : NULL;
	asked = as_item(&item);
	expected = may(op, &item, parent_type);
	cr_assert_eq(permit(view, op, &asked, str(parent_type)) == BW_OK, expected,
	             "round %u: operation %d at %s@%s", round, (int)op, item.node,
	             item.property != NULL ? item.property : "");
	return expected;
}

/* A node of the tree, but for the root, goes below another one or away; here and in the reference. */
static void move_something(struct permit *view)
{
	unsigned    i = 1 + pick(N_NODES - 1);
	const char *from = w.paths[i], *parent = w.paths[pick(N_NODES)];
	char        to[REFERENCE_TEXT];

	if (strcmp(from, "/") == 0 || strlen(parent) > 60)
		return;
	snprintf(to, sizeof(to), "%s/new%u", parent[1] == '\0' ? "" : parent, pick(3));
	if (pick(3) == 0 || strncmp(to, from, strlen(from)) == 0) {
		permit_removed(view, str(from));
		reference_move(&w.r, from, NULL);
		return;
	}
	permit_removed(view, str(to)); /* what an earlier one has put there */
	reference_move(&w.r, to, NULL);
	permit_moved(view, str(from), str(to));
	reference_move(&w.r, from, to);
	strcpy(w.paths[i], to);
}

Test(acl_random, every_operation_is_as_the_reference_says)
{
	unsigned asked = 0, allowed = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct permit view;
		struct arena  arena;

		begin_round(round);
		arena_init(&arena);
		permit_init(&view, w.acl, w.who, &arena);
		for (unsigned i = 0; i < QUESTIONS; i++, asked++) {
			if (round % 2 == 0 && i % 20 == 0)
				move_something(&view);
			allowed += ask_operation(&view, round, some_item());
		}
		arena_done(&arena);
		end_round();
	}
	cr_assert(allowed > asked / 10 && allowed < asked * 9 / 10, "%u of %u are allowed", allowed,
	          asked);
}
