/* privilege.c - the table of privileges: built-in names, and those that were registered.
 *
 * Owns: the registered names. Runs in: repo's loop. Fails with: nothing.
 * Tests: tests/unit/repo/acl_test.c. */
#include "privilege.h"
#include <base/fatal.h>
#include <stdlib.h>

#define WRITE_PROPERTIES (ACL_ADD_PROPERTIES | ACL_ALTER_PROPERTIES | ACL_REMOVE_PROPERTIES)
#define WRITE            (WRITE_PROPERTIES | ACL_ADD_CHILDREN | ACL_REMOVE_CHILDREN | ACL_REMOVE_NODE)

/* The leaves first, in the order of their bits. */
static const struct {
	const char *name;
	uint64_t    bits;
} built_in[] = {
	{ "rep:readNodes", ACL_READ_NODES },
	{ "rep:readProperties", ACL_READ_PROPERTIES },
	{ "rep:addProperties", ACL_ADD_PROPERTIES },
	{ "rep:alterProperties", ACL_ALTER_PROPERTIES },
	{ "rep:removeProperties", ACL_REMOVE_PROPERTIES },
	{ "jcr:addChildNodes", ACL_ADD_CHILDREN },
	{ "jcr:removeChildNodes", ACL_REMOVE_CHILDREN },
	{ "jcr:removeNode", ACL_REMOVE_NODE },
	{ "jcr:nodeTypeManagement", ACL_NODE_TYPES },
	{ "jcr:readAccessControl", ACL_READ_ACL },
	{ "jcr:modifyAccessControl", ACL_MODIFY_ACL },
	{ "jcr:versionManagement", ACL_VERSIONS },
	{ "jcr:lockManagement", ACL_LOCKS },
	{ "jcr:lifecycleManagement", ACL_LIFECYCLE },
	{ "jcr:retentionManagement", ACL_RETENTION },
	{ "rep:userManagement", ACL_USERS },
	{ "rep:indexDefinitionManagement", ACL_INDEXES },
	{ "jcr:workspaceManagement", ACL_WORKSPACES },
	{ "jcr:nodeTypeDefinitionManagement", ACL_DEFINE_TYPES },
	{ "jcr:namespaceManagement", ACL_NAMESPACES },
	{ "rep:privilegeManagement", ACL_PRIVILEGES },
	{ "jcr:read", ACL_READ },
	{ "jcr:modifyProperties", WRITE_PROPERTIES },
	{ "jcr:write", WRITE },
	{ "rep:write", WRITE | ACL_NODE_TYPES },
	{ "jcr:all", ACL_ALL },
};

struct registered {
	char    *name; /* heap */
	size_t   n_name;
	uint64_t bits;
	bool     is_leaf;
};

struct privileges {
	struct registered *registered;
	unsigned           n, cap;
	unsigned           next_bit;
};

struct privileges *privileges_new(void)
{
	struct privileges *p = xcalloc(1, sizeof(*p));

	p->next_bit = PRIVILEGE_BUILT_IN;
	return p;
}

void privileges_forget(struct privileges *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->registered[i].name);
	p->n = 0;
	p->next_bit = PRIVILEGE_BUILT_IN;
}

void privileges_free(struct privileges *p)
{
	if (p == NULL)
		return;
	privileges_forget(p);
	free(p->registered);
	free(p);
}

void privileges_add(struct privileges *p, struct bw_str name, struct bw_str leaves)
{
	struct registered one = { .n_name = name.n, .is_leaf = bw_str_eq(name, leaves) };

	if (!one.is_leaf)
		one.bits = privilege_list_bits(p, leaves);
	else if (p->next_bit < PRIVILEGE_MAX)
		one.bits = 1ull << p->next_bit++;
	if (p->n == p->cap) {
		p->cap = p->cap > 0 ? 2 * p->cap : 16;
		p->registered = xrealloc(p->registered, p->cap * sizeof(*p->registered));
	}
	one.name = xmalloc(name.n + 1);
	memcpy(one.name, name.p, name.n);
	one.name[name.n] = '\0';
	p->registered[p->n++] = one;
}

uint64_t privilege_bits(const struct privileges *p, struct bw_str name)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		if (bw_str_eq(bw_str(built_in[i].name), name))
			return built_in[i].bits;
	for (unsigned i = 0; i < p->n; i++)
		if (bw_str_eq((struct bw_str){ p->registered[i].name, p->registered[i].n_name },
		              name))
			return p->registered[i].bits;
	return 0;
}

struct bw_str privilege_leaf(const struct privileges *p, unsigned bit)
{
	if (bit < PRIVILEGE_BUILT_IN)
		return bw_str(built_in[bit].name);
	for (unsigned i = 0; i < p->n; i++)
		if (p->registered[i].is_leaf && p->registered[i].bits == 1ull << bit)
			return (struct bw_str){ p->registered[i].name, p->registered[i].n_name };
	return BW_ABSENT;
}

uint64_t privilege_list_bits(const struct privileges *p, struct bw_str names)
{
	uint64_t bits = 0;

	while (names.n > 0) {
		const char   *blank = memchr(names.p, ' ', names.n);
		struct bw_str name = { names.p,
			               blank != NULL ? (size_t)(blank - names.p) : names.n };

		bits |= privilege_bits(p, name);
		names.p += name.n + (blank != NULL);
		names.n -= name.n + (blank != NULL);
	}
	return bits;
}
