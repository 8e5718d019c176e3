/* Under test: repo/permit.c, but for the operations themselves, which are rows of
 * tests/conformance/acl.rows: what a refusal says, and entries of nodes that the commit has moved. */
#include <criterion/criterion.h>
#include <boardwalk/err.h>
#include <repo/permit.h>
#include <stdio.h>

#define ALICE 7u

static struct acl              *acl;
static struct principals_table *table;
static struct principals       *alice;
static struct arena             arena;
static struct permit            view;

static void begin(void)
{
	const uint64_t ids[] = { ALICE << 1, 3 << 1 | 1 };
	struct handle  h = { .kind = HANDLE_USER,
		             .n_principals = 2,
		             .principals = (const uint8_t *)ids };

	acl = acl_new();
	table = principals_table_new();
	alice = principals_ref_of(table, &h);
	arena_init(&arena);
	permit_init(&view, acl, alice, &arena);
	acl_load_begin(acl);
}

static void end(void)
{
	arena_done(&arena);
	principals_unref(alice);
	principals_table_free(table);
	acl_free(acl);
}

/* In the order of paths. */
static void entry(const char *path, char sign, uint64_t privileges, const char *restrictions)
{
	struct acl_entry e = { ALICE, privileges, sign == '+', false, NULL };

	if (restrictions != NULL)
		cr_assert_eq(restriction_parse(restrictions, strlen(restrictions), acl_arena(acl),
		                               &e.restriction),
		             BW_OK);
	acl_load_add(acl, bw_str(path), &e);
}

static void loaded(void)
{
	acl_load_end(acl, 1);
}

static int ask(enum permit_op op, const char *path, const char *property)
{
	return permit(&view, op, &(struct acl_item){ bw_str(path), BW_ABSENT, bw_str(property) },
	              BW_ABSENT);
}

TestSuite(permit, .init = begin, .fini = end);

Test(permit, refusals_tell_nothing_of_what_may_not_be_read)
{
	entry("/seen", '+', ACL_READ, NULL);
	loaded();
	cr_assert_eq(ask(PERMIT_ADD_NODE, "/seen/n", NULL), BW_EDENIED);
	cr_assert_eq(ask(PERMIT_ADD_NODE, "/unseen/n", NULL), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_ADD_NODE, "/seen", NULL), BW_ENOTFOUND, "the parent counts");
	cr_assert_eq(ask(PERMIT_REMOVE_NODE, "/seen", NULL), BW_EDENIED);
	cr_assert_eq(ask(PERMIT_REMOVE_NODE, "/unseen", NULL), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_REMOVE_NODE, "/", NULL), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/seen", "p"), BW_EDENIED);
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/unseen", "p"), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_READ_NODE, "/unseen", NULL), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_NAMESPACES, "-", NULL), BW_EDENIED);
}

Test(permit, the_right_to_write_needs_none_to_read)
{
	entry("/drop", '+', ACL_ADD_CHILDREN, NULL);
	loaded();
	cr_assert_eq(ask(PERMIT_ADD_NODE, "/drop/n", NULL), BW_OK);
	cr_assert_eq(ask(PERMIT_READ_NODE, "/drop", NULL), BW_ENOTFOUND);
}

/* Whoever may move a subtree must not get rid of what is denied inside it. */
Test(permit, entries_go_with_a_moved_node)
{
	entry("/from", '+', ACL_ALL, NULL);
	entry("/from/n/secret", '-', ACL_ALL, NULL);
	entry("/to", '+', ACL_ALL & ~ACL_REMOVE_PROPERTIES, NULL);
	loaded();
	permit_moved(&view, BW_STR("/from/n"), BW_STR("/to/m"));
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/to/m/secret", "p"), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/to/m/secret/below", "p"), BW_ENOTFOUND);
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/to/m/open", "p"), BW_OK);
	cr_assert_eq(ask(PERMIT_REMOVE_PROPERTY, "/to/m/open", "p"), BW_EDENIED,
	             "above the node it is the new place that counts");
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/from/n/secret", "p"), BW_OK,
	             "what is there now is new");
	permit_moved(&view, BW_STR("/to/m"), BW_STR("/to/k"));
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/to/k/secret", "p"), BW_ENOTFOUND, "twice");
}

Test(permit, entries_go_with_a_removed_node)
{
	entry("/a", '+', ACL_READ | ACL_ADD_CHILDREN, NULL);
	entry("/a/n", '+', ACL_ALL, NULL);
	loaded();
	cr_assert_eq(ask(PERMIT_ADD_PROPERTY, "/a/n", "p"), BW_OK);
	permit_removed(&view, BW_STR("/a/n"));
	cr_assert_eq(ask(PERMIT_ADD_PROPERTY, "/a/n", "p"), BW_EDENIED, "of a new node");
	cr_assert_eq(ask(PERMIT_ADD_NODE, "/a/n", NULL), BW_OK);
	cr_assert_eq(ask(PERMIT_ADD_PROPERTY, "/a/nn", "p"), BW_EDENIED);
}

Test(permit, restrictions_of_a_moved_node_see_its_new_path)
{
	entry("/", '+', ACL_READ, NULL);
	entry("/x", '+', ACL_ALTER_PROPERTIES, "{\"rep:glob\": [\"/in/*\"]}");
	entry("/y", '+', ACL_ALTER_PROPERTIES, "{\"rep:glob\": [\"/in/*\"]}");
	loaded();
	permit_moved(&view, BW_STR("/x"), BW_STR("/z"));
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/z/in/k", "p"), BW_OK);
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/z/out", "p"), BW_EDENIED);
	permit_moved(&view, BW_STR("/y"), BW_STR("/z/in/y"));
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/z/in/y/out", "p"), BW_OK,
	             "of the place above it");
}

Test(permit, a_path_of_too_many_levels_is_refused)
{
	char   path[2048] = "";
	size_t n = 0;

	entry("/", '+', ACL_ALL, NULL);
	loaded();
	for (unsigned i = 0; i < 70; i++)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/n");
	permit_removed(&view, BW_STR("/elsewhere"));
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, "/n/n", "p"), BW_OK);
	cr_assert_eq(ask(PERMIT_ALTER_PROPERTY, path, "p"), BW_ENOTFOUND);
}
