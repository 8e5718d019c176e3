/* Under test: what a search finds of what somebody may not read. Thousands of random conditions, over random
 * content under random entries, against a slow reference: the administrator reads everything, the
 * evaluator says of each node and each property whether it may be read, and a plain function over what
 * is left says which nodes the condition holds for, and in which order they come. */
#include "searching.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { ADMIN = 1, ANONYMOUS = 2, EVERYONE = 3 };
enum { N_NODES = 80, N_ROUNDS = 5, N_QUERIES = 80, MAX_DEPTH = 4 };

static struct world       w;
static struct client      c;
static struct principals *who;
static uint64_t           alice, staff, seed;

struct node {
	char   *path, *name;
	json_t *properties; /* what may be read: name -> array */
	bool    may_be_seen;
};

static struct node nodes[N_NODES + 16];
static unsigned    n_nodes;

static unsigned pick(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static const char *const words[] = { "kilo", "lima", "mike", "oscar", "tango" };
static const char *const names[] = { "n", "s", "t", "u" };
#define N_WORDS 5
#define N_NAMES 4

/* ---- content and entries ---- */

static void put_values(struct buf *out, bool number)
{
	unsigned n = pick(4);

	buf_printf(out, number ? "{\"l\":" : "{\"s\":");
	buf_printf(out, n == 1 ? "" : "[");
	for (unsigned i = 0; i < n; i++) {
		bool two = pick(2);

		if (number)
			buf_printf(out, "%s%u", i > 0 ? "," : "", pick(5));
		else
			buf_printf(out, "%s\"%s%s%s\"", i > 0 ? "," : "", words[pick(N_WORDS)],
			           two ? " " : "", two ? words[pick(N_WORDS)] : "");
	}
	buf_printf(out, n == 1 ? "}" : "]}");
}

static void make_content(void)
{
	struct buf sql;

	test_postgres_sql(w.server, "SELECT repo.node_delete('/r')");
	test_postgres_sql(w.server, "SELECT repo.node_create(p, 'nt:unstructured') FROM "
	                            "unnest('{/r,/r/x,/r/y,/r/x/z}'::text[]) p");
	buf_init(&sql);
	for (unsigned i = 0; i < N_NODES; i++) {
		static const char *const parents[] = { "/r", "/r/x", "/r/y", "/r/x/z" };

		buf_printf(&sql, "SELECT repo.node_create('%s/k%u', 'nt:unstructured')",
		           parents[i % 4], i);
		for (unsigned k = 0; k < N_NAMES; k++) {
			if (pick(4) == 0)
				continue;
			buf_printf(&sql, ", repo.property_set('%s/k%u', '%s', '", parents[i % 4], i,
			           names[k]);
			put_values(&sql, k == 0);
			buf_printf(&sql, "')");
		}
		buf_printf(&sql, ";");
	}
	buf_append(&sql, "", 1);
	test_postgres_sql(w.server, "%s", (char *)buf_data(&sql));
	buf_done(&sql);
}

static void make_entries(void)
{
	static const char *const paths[] = { "/r", "/r/x", "/r/y", "/r/x/z", "/r/k0", "/r/x/k1" };
	static const char *const privileges[] = { "jcr:read", "rep:readNodes",
		                                  "rep:readProperties" };
	static const char *const limits[] = {
		"{}",
		"{}",
		"{\"rep:itemNames\":[\"s\",\"n\"]}",
		"{\"rep:glob\":[\"/*/t\"]}",
		"{\"rep:glob\":[\"*1*\"]}",
		"{\"rep:itemNames\":[\"u\"]}",
	};

	test_postgres_sql(w.server, "SELECT repo.ace_append('/r', 3, true, '{jcr:read}', '{}')");
	for (unsigned n = pick(6); n > 0; n--)
		test_postgres_sql(
			w.server, "SELECT repo.ace_append('%s', %llu, %s, '{%s}', '%s')",
			paths[pick(6)],
			(unsigned long long)(uint64_t[]){ alice, staff, EVERYONE }[pick(3)],
			pick(3) == 0 ? "true" : "false", privileges[pick(3)], limits[pick(6)]);
}

/* ---- what may be read ---- */

static uint64_t bits_on(const char *path, struct bw_str property)
{
	struct acl_item item = { bw_str(path), BW_STR("nt:unstructured"), property };

	return acl_evaluate(acl_scope_of(resources_acl(w.resources), item.path), who, &item);
}

static json_t *readable(const char *path, const json_t *stored)
{
	json_t     *left = json_object();
	const char *name;
	json_t     *typed;

	json_object_foreach ((json_t *)stored, name, typed) {
		json_t *held = json_object_iter_value(json_object_iter(typed)), *list;

		if (!(bits_on(path, bw_str(name)) & ACL_READ_PROPERTIES))
			continue;
		list = json_is_array(held) ? json_incref(held) : json_pack("[O]", held);
		json_object_set_new(left, name, list);
	}
	return left;
}

static void forget(void)
{
	for (unsigned i = 0; i < n_nodes; i++) {
		free(nodes[i].path);
		json_decref(nodes[i].properties);
	}
	n_nodes = 0;
}

static void read_all(void)
{
	char *text = test_postgres_value(
		w.server, "SELECT json_agg(json_build_array(t.path, c.properties) ORDER BY t.path)"
			  " FROM repo.tree t JOIN repo.content c USING (id)"
			  " WHERE t.path LIKE '/r/%%' OR t.path = '/r'");
	json_t *all = json_loads(text, 0, NULL), *one;
	size_t  i;

	forget();
	json_array_foreach (all, i, one) {
		struct node *node = &nodes[n_nodes++];

		node->path = strdup(json_string_value(json_array_get(one, 0)));
		node->name = strrchr(node->path, '/') + 1;
		node->may_be_seen = bits_on(node->path, BW_ABSENT) & ACL_READ_NODES;
		node->properties = readable(node->path, json_array_get(one, 1));
	}
	json_decref(all);
	free(text);
}

/* ---- conditions: text, and what they mean ---- */

enum kind { AND, OR, NOT, NUMBER, TEXT, EXISTS, CONTAINS, NAME, BELOW };

struct condition {
	enum kind         kind;
	struct condition *a, *b;
	unsigned          op, number, property, word, other;
	bool              minus;
};

static struct condition pool[64];
static unsigned         n_pool;

static const char *const ops[] = { "=", "<>", "<", "<=", ">", ">=" };

static bool compared(int diff, unsigned op)
{
	return op == 0   ? diff == 0
	       : op == 1 ? diff != 0
	       : op == 2 ? diff < 0
	       : op == 3 ? diff <= 0
	       : op == 4 ? diff > 0
	                 : diff >= 0;
}

static struct condition *make(struct buf *out, unsigned depth)
{
	struct condition *one = &pool[n_pool++];

	*one = (struct condition){ .kind = depth == 0 || n_pool > 48 ? NUMBER + pick(6) : pick(9),
		                   .op = pick(6),
		                   .number = pick(5),
		                   .property = 1 + pick(3),
		                   .word = pick(N_WORDS),
		                   .other = pick(N_WORDS),
		                   .minus = pick(3) == 0 };
	switch (one->kind) {
	case AND:
	case OR:
		buf_printf(out, "(");
		one->a = make(out, depth - 1);
		buf_printf(out, one->kind == AND ? " AND " : " OR ");
		one->b = make(out, depth - 1);
		buf_printf(out, ")");
		break;
	case NOT:
		buf_printf(out, "NOT ");
		one->a = make(out, depth - 1);
		break;
	case NUMBER:
		buf_printf(out, "s.[n] %s %u", ops[one->op], one->number);
		break;
	case TEXT:
		buf_printf(out, "s.[%s] %s '%s'", names[one->property], ops[one->op],
		           words[one->word]);
		break;
	case EXISTS:
		buf_printf(out, "s.[%s] IS NOT NULL", names[one->property]);
		break;
	case CONTAINS:
		buf_printf(out, "CONTAINS(s.*, '%s %s%s')", words[one->word], one->minus ? "-" : "",
		           words[one->other]);
		break;
	case NAME:
		buf_printf(out, "NAME(s) LIKE 'k%u%%'", one->number);
		break;
	case BELOW:
		buf_printf(out, "ISDESCENDANTNODE(s, '/r/x')");
		break;
	}
	return one;
}

static bool has_word(const struct node *node, const char *word)
{
	const char *name;
	json_t     *list, *v;
	size_t      i;

	json_object_foreach (node->properties, name, list) {
		json_array_foreach (list, i, v) {
			if (json_is_string(v) && strstr(json_string_value(v), word) != NULL)
				return true;
		}
	}
	return false;
}

static bool any_value(const struct node *node, const char *name, const struct condition *one)
{
	const json_t *list = json_object_get(node->properties, name), *v;
	size_t        i;

	json_array_foreach ((json_t *)list, i, v) {
		int diff = json_is_integer(v) ? (int)json_integer_value(v) - (int)one->number
		                              : strcmp(json_string_value(v), words[one->word]);

		if (compared(diff, one->op))
			return true;
	}
	return false;
}

static bool holds(const struct condition *one, const struct node *node)
{
	switch (one->kind) {
	case AND:
		return holds(one->a, node) && holds(one->b, node);
	case OR:
		return holds(one->a, node) || holds(one->b, node);
	case NOT:
		return !holds(one->a, node);
	case NUMBER:
		return any_value(node, "n", one);
	case TEXT:
		return any_value(node, names[one->property], one);
	case EXISTS:
		return json_object_get(node->properties, names[one->property]) != NULL;
	case CONTAINS:
		return has_word(node, words[one->word]) &&
		       has_word(node, words[one->other]) != one->minus;
	case NAME:
		return node->name[0] == 'k' && node->name[1] == (char)('0' + one->number);
	case BELOW:
		return strncmp(node->path, "/r/x/", 5) == 0;
	}
	return false;
}

/* ---- order ---- */

static int by_first_value(const struct node *a, const struct node *b, const char *property,
                          bool down)
{
	const json_t *x = json_array_get(json_object_get(a->properties, property), 0);
	const json_t *y = json_array_get(json_object_get(b->properties, property), 0);
	int           diff;

	if (x == NULL || y == NULL) /* last, whatever the direction */
		return (x == NULL) - (y == NULL);
	diff = json_is_integer(x) ? (int)json_integer_value(x) - (int)json_integer_value(y)
	                          : strcmp(json_string_value(x), json_string_value(y));
	return down ? -diff : diff;
}

/* nodes[] are in the order of paths: an insertion that keeps it among equals. */
static void expected_paths(const struct condition *cond, const char *property, bool down,
                           struct buf *out)
{
	const struct node *found[N_NODES + 16];
	unsigned           n = 0;

	for (unsigned i = 0; i < n_nodes; i++) {
		unsigned at = n;

		if (!nodes[i].may_be_seen || strcmp(nodes[i].path, "/r") == 0 ||
		    !holds(cond, &nodes[i]))
			continue;
		for (; at > 0 && by_first_value(&nodes[i], found[at - 1], property, down) < 0; at--)
			found[at] = found[at - 1];
		found[at] = &nodes[i];
		n++;
	}
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, "%s%s", i > 0 ? " " : "", found[i]->path);
	buf_append(out, n > 0 ? "" : "-", n > 0 ? 1 : 2);
}

static void one_query(uint64_t as_alice)
{
	struct buf        text, expected;
	struct condition *cond;
	const char       *property = names[pick(N_NAMES)];
	bool              down = pick(2);
	char             *got;

	buf_init(&text);
	buf_init(&expected);
	n_pool = 0;
	buf_printf(&text, "SELECT * FROM [nt:base] AS s WHERE ISDESCENDANTNODE(s, '/r') AND ");
	cond = make(&text, MAX_DEPTH);
	buf_printf(&text, " ORDER BY s.[%s]%s", property, down ? " DESC" : "");
	buf_append(&text, "", 1);
	expected_paths(cond, property, down, &expected);
	got = search_all(&c, as_alice, (char *)buf_data(&text), 7 + pick(40));
	cr_assert_str_eq(got, (char *)buf_data(&expected), "%s\nexpected %s\ngot      %s",
	                 (char *)buf_data(&text), (char *)buf_data(&expected), got);
	free(got);
	buf_done(&text);
	buf_done(&expected);
}

static uint64_t principal(const char *name, const char *class)
{
	char *text = test_postgres_value(w.server, "SELECT auth.principal_create('%s', '%s')", name,
	                                 class);
	uint64_t id = strtoull(text, NULL, 10);

	free(text);
	return id;
}

/* The set as repo has it, for the reference. */
static struct principals *set_of_alice(struct principals_table *table)
{
	uint64_t      ids[] = { alice << 1, EVERYONE << 1 | 1, staff << 1 | 1 };
	uint8_t       octets[HANDLE_MAX];
	struct handle made = { .kind = HANDLE_USER,
		               .user_id = alice,
		               .sequence = 1,
		               .issued_us = 1,
		               .expires_us = 2,
		               .n_principals = 3 },
		      read;
	size_t n = handle_put(&made, ids, &w.key, octets);

	cr_assert_eq(handle_get(octets, n, &w.key, 1, &read), BW_OK);
	return principals_ref_of(table, &read);
}

Test(search_random, finds_what_may_be_read_and_no_more)
{
	struct principals_table *table = principals_table_new();
	uint64_t                 as_admin, as_alice;

	seed = getenv("SEARCH_SEED") != NULL ? strtoull(getenv("SEARCH_SEED"), NULL, 10) : 4711;
	world_begin(&w, 64u << 20);
	alice = principal("alice", "user");
	staff = principal("staff", "group");
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, ADMIN, NULL);
	who = set_of_alice(table);
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		make_content();
		make_entries();
		client_settle(&c, as_admin);
		read_all();
		as_alice = client_login(&c, HANDLE_USER, alice, (uint64_t[]){ EVERYONE, staff, 0 });
		for (unsigned i = 0; i < N_QUERIES; i++)
			one_query(as_alice);
		client_handle_close(&c, as_alice);
	}
	forget();
	principals_unref(who);
	client_close(&c);
	world_end(&w);
	principals_table_free(table);
}
