/* permit - what a decision about permissions costs, by the number of entries and of the groups somebody
 * is in.
 *
 * The real struct acl, as a read and a commit use it. The entries are those of a tree of eight levels,
 * four on a node, each for one of 1,000 groups; who asks is a user in 1, 100 or 510 of them, which is
 * as many as a handle carries: however deep groups lie in each other, a login makes one set of them. Prints
 * nanoseconds of processor time, medians of several rounds:
 *
 *    find        from a path to the entries that bear on it
 *    warm        the decision is remembered
 *    cold        it is made, over the entries of all levels
 *    restricted  it is made and of ten entries one has a restriction by a pattern, another by a name
 *    add, set    a change of a commit: an addition asks at the parent, a property of the node
 *
 * and what loading all entries costs, which is done whenever one has changed; one list with all of the
 * entries shows what a single node may cost. */
#include <base/clock.h>
#include <base/fatal.h>
#include <repo/permit.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	GROUPS = 1000,
	ROUNDS = 9,
	PATHS = 1024,
	TURNS = 40,
	LEVELS = 8,
	ON_A_NODE = 4,
	MAX_PATH = 128,
	USER = 1,
	FIRST_GROUP = 100
};

static const unsigned n_entries[] = { 100, 1000, 10000 };
static const unsigned n_groups[] = { 1, 100, 510 };

static struct principals_table *table;
static volatile uint64_t        sink;

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Nodes with entries: each level has several times as many as the one above. Sorted. */
static char (*make_nodes(unsigned n))[MAX_PATH]
{
	char(*nodes)[MAX_PATH] = xmalloc((size_t)n * MAX_PATH);
	uint32_t state = 1;

	strcpy(nodes[0], "/");
	for (unsigned i = 1; i < n; i++) {
		const char *parent = nodes[next(&state) % i];
		unsigned    depth = 0;

		for (const char *c = parent; *c != '\0'; c++)
			depth += *c == '/';
		snprintf(nodes[i], MAX_PATH, "%.100s/n%u",
		         parent[1] == '\0' || depth >= LEVELS ? "" : parent, i);
	}
	qsort(nodes, n, MAX_PATH, by_text);
	return nodes;
}

static const struct restriction *restriction(struct acl *acl, unsigned i)
{
	static const char *const  both[] = { "{\"rep:glob\":[\"/*/private*\"]}",
		                             "{\"rep:itemNames\":[\"a\",\"b\",\"c\"]}" };
	const struct restriction *ret;

	if (i % 10 > 1)
		return NULL;
	(void)restriction_parse(both[i % 10], strlen(both[i % 10]), acl_arena(acl), &ret);
	return ret;
}

/* on_a_node: how many entries stand on one. */
static struct acl *make_acl(char (*nodes)[MAX_PATH], unsigned n, unsigned on_a_node,
                            bool restricted)
{
	struct acl *acl = acl_new();
	uint32_t    state = 7;

	acl_load_begin(acl);
	for (unsigned i = 0; i < n; i++) {
		struct acl_entry e = {
			.principal = FIRST_GROUP + next(&state) % GROUPS,
			.privileges = 1ull << next(&state) % 20 | ACL_READ,
			.allow = next(&state) % 4 > 0,
			.restriction = restricted ? restriction(acl, i) : NULL,
		};

		acl_load_add(acl, bw_str(nodes[i / on_a_node]), &e);
	}
	acl_load_end(acl, 1);
	return acl;
}

/* A user in so many of the groups, the last of which has entries like the others. */
static struct principals *make_user(unsigned n)
{
	uint64_t      ids[HANDLE_MAX_PRINCIPALS];
	struct handle h = { .kind = HANDLE_USER,
		            .n_principals = n + 1,
		            .principals = (const uint8_t *)ids };

	ids[0] = USER << 1;
	for (unsigned i = 0; i < n; i++)
		ids[i + 1] = (FIRST_GROUP + i * (GROUPS / n)) << 1 | 1;
	return principals_ref_of(table, &h);
}

/* ---- measuring ---- */

struct question {
	struct acl             *acl;
	struct principals      *who;
	struct permit           view;
	struct acl_item         items[PATHS];
	const struct acl_scope *scopes[PATHS];
};

typedef uint64_t one_fn(struct question *q, unsigned i);

static uint64_t find(struct question *q, unsigned i)
{
	return (uintptr_t)acl_scope_of(q->acl, q->items[i].path);
}

static uint64_t warm(struct question *q, unsigned i)
{
	return acl_allowed(q->acl, q->scopes[i], q->who);
}

static uint64_t cold(struct question *q, unsigned i)
{
	return acl_evaluate(q->scopes[i], q->who, &q->items[i]);
}

static uint64_t add(struct question *q, unsigned i)
{
	return (uint64_t)permit(&q->view, PERMIT_ADD_NODE, &q->items[i], BW_ABSENT);
}

static uint64_t set(struct question *q, unsigned i)
{
	struct acl_item item = q->items[i];

	item.property = BW_STR("title");
	return (uint64_t)permit(&q->view, PERMIT_ALTER_PROPERTY, &item, BW_ABSENT);
}

/* Nanoseconds of processor time for one. */
static double measure(struct question *q, one_fn *fn, unsigned turns)
{
	uint64_t start_us, sum = 0;

	for (unsigned i = 0; i < PATHS; i++)
		sum += fn(q, i);
	start_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned t = 0; t < turns; t++)
		for (unsigned i = 0; i < PATHS; i++)
			sum += fn(q, i);
	sink = sum;
	return (double)(clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - start_us) * 1000 /
	       (turns * PATHS);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(struct question *q, one_fn *fn, unsigned turns)
{
	double ns[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++)
		ns[r] = measure(q, fn, turns);
	qsort(ns, ROUNDS, sizeof(ns[0]), compare);
	return ns[ROUNDS / 2];
}

/* Nodes two levels below those with entries, all over the tree. */
static void ask_about(struct question *q, char (*nodes)[MAX_PATH], unsigned n)
{
	static char paths[PATHS][MAX_PATH];

	for (unsigned i = 0; i < PATHS; i++) {
		const char *node = nodes[i * 7919u % n];

		snprintf(paths[i], MAX_PATH, "%.100s/page/%u", node[1] == '\0' ? "" : node, i);
		q->items[i] = (struct acl_item){ .path = bw_str(paths[i]),
			                         .type = BW_STR("nt:unstructured") };
		q->scopes[i] = acl_scope_of(q->acl, q->items[i].path);
	}
}

static void put_line(unsigned entries, unsigned on_a_node, unsigned groups)
{
	static struct question plain, limited;
	unsigned               n_nodes = (entries + on_a_node - 1) / on_a_node,
		 turns = on_a_node > 100 ? 1 : TURNS;
	char(*nodes)[MAX_PATH] = make_nodes(n_nodes);
	struct principals *who = make_user(groups);
	struct arena       arena;
	uint64_t           load_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);

	arena_init(&arena);
	plain = (struct question){ .acl = make_acl(nodes, entries, on_a_node, false), .who = who };
	load_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - load_us;
	limited = (struct question){ .acl = make_acl(nodes, entries, on_a_node, true), .who = who };
	permit_init(&plain.view, plain.acl, who, &arena);
	ask_about(&plain, nodes, n_nodes);
	ask_about(&limited, nodes, n_nodes);
	printf("%8u %9u %8u %8.0f %8.0f %8.0f %10.0f %8.0f %8.0f %8.1f\n", entries, on_a_node,
	       groups, median(&plain, find, turns), median(&plain, warm, turns),
	       median(&plain, cold, turns), median(&limited, cold, turns),
	       median(&plain, add, turns), median(&plain, set, turns), (double)load_us / 1000);
	acl_free(plain.acl);
	acl_free(limited.acl);
	principals_unref(who);
	arena_done(&arena);
	free(nodes);
}

int main(void)
{
	table = principals_table_new();
	printf("%8s %9s %8s %8s %8s %8s %10s %8s %8s %8s\n", "entries", "on a node", "groups",
	       "find ns", "warm ns", "cold ns", "restricted", "add ns", "set ns", "load ms");
	for (unsigned i = 0; i < sizeof(n_entries) / sizeof(n_entries[0]); i++)
		for (unsigned g = 0; g < sizeof(n_groups) / sizeof(n_groups[0]); g++)
			put_line(n_entries[i], ON_A_NODE, n_groups[g]);
	put_line(10000, 10000, 100);
	principals_table_free(table);
	return 0;
}
