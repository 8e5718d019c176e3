/* questions.c - see questions.h. */
#include "questions.h"
#include <boardwalk/err.h>
#include <criterion/criterion.h>
#include <stdio.h>

/* The primary type of a node, from "types: /a nt:folder, /a/b nt:file" behind a question. */
static struct bw_str type_of(const char *question, const char *path, size_t n)
{
	const char *at = strstr(question, "types:");

	for (at = at != NULL ? at + 6 : NULL; at != NULL; at = strchr(at, ',')) {
		at += strspn(at, ", ");
		if (strcspn(at, " ") == n && strncmp(at, path, n) == 0)
			return (struct bw_str){ at + n + 1, strcspn(at + n + 1, ",") };
	}
	return BW_ABSENT;
}

static const struct {
	const char    *word;
	enum permit_op node, property; /* what it asks of a node, and of a property */
} operations[] = {
	{ "read", PERMIT_READ_NODE, PERMIT_READ_PROPERTY },
	{ "add", PERMIT_ADD_NODE, PERMIT_ADD_PROPERTY },
	{ "addTyped", PERMIT_ADD_TYPED_NODE, PERMIT_ADD_TYPED_NODE },
	{ "alter", PERMIT_ALTER_PROPERTY, PERMIT_ALTER_PROPERTY },
	{ "remove", PERMIT_REMOVE_NODE, PERMIT_REMOVE_PROPERTY },
	{ "order", PERMIT_ORDER, PERMIT_ORDER },
	{ "type", PERMIT_CHANGE_TYPE, PERMIT_CHANGE_TYPE },
	{ "version", PERMIT_VERSION, PERMIT_VERSION },
	{ "lock", PERMIT_LOCK, PERMIT_LOCK },
	{ "readAcl", PERMIT_READ_ACL, PERMIT_READ_ACL },
	{ "editAcl", PERMIT_MODIFY_ACL, PERMIT_MODIFY_ACL },
	{ "users", PERMIT_MANAGE_USERS, PERMIT_MANAGE_USERS },
	{ "namespaces", PERMIT_NAMESPACES, PERMIT_NAMESPACES },
	{ "nodeTypes", PERMIT_DEFINE_TYPES, PERMIT_DEFINE_TYPES },
	{ "privileges", PERMIT_PRIVILEGES, PERMIT_PRIVILEGES },
	{ "workspaces", PERMIT_WORKSPACES, PERMIT_WORKSPACES },
};

static bool is_permitted(struct acl *acl, const struct principals *who, enum permit_op op,
                         const struct acl_item *item, struct bw_str parent_type)
{
	struct permit p;
	struct arena  arena;
	int           err;

	arena_init(&arena);
	permit_init(&p, acl, who, &arena);
	err = permit(&p, op, item, parent_type);
	arena_done(&arena);
	return err == BW_OK;
}

static size_t parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash > path ? (size_t)(slash - path) : 1;
}

bool question_allowed(struct acl *acl, const struct principals *who, const char *question)
{
	char            what[64], path[64], *at;
	struct acl_item item;
	uint64_t        bits;
	size_t          n;

	cr_assert_eq(sscanf(question, "%63s %63s", what, path), 2);
	at = strchr(path, '@');
	n = at != NULL ? (size_t)(at - path) : strlen(path);
	item = (struct acl_item){ { path, n },
		                  type_of(question, path, n),
		                  at != NULL ? bw_str(at + 1) : BW_ABSENT };
	for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strcmp(what, operations[i].word) == 0)
			return is_permitted(
				acl, who, at != NULL ? operations[i].property : operations[i].node,
				&item, type_of(question, path, parent_of(path)));
	bits = strcmp(what, "custom") == 0 ? 1ull << 40
	                                   : privilege_bits(acl_privileges(acl), bw_str(what));
	cr_assert_neq(bits, 0, "no privilege and no operation: %s", what);
	return (acl_evaluate(acl_scope_of(acl, item.path), who, &item) & bits) == bits;
}
