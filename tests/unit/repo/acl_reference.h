/* acl_reference.h - permissions worked out the slow way, as the rules are worded: texts and lists, no
 * masks, no scopes, no memory, nothing of repo's.
 *
 * All entries that bear on an item are collected, sorted, and asked one after the other. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define REFERENCE_TEXT  160
#define REFERENCE_NAMES 6

enum reference_restriction {
	GLOB,
	GLOBS,
	NT_NAMES,
	ITEM_NAMES,
	PREFIXES,
	CURRENT,
	SUBTREES,
	KINDS
};

struct reference_entry {
	char        node[REFERENCE_TEXT]; /* "": the repository's */
	const char *principal;
	bool        allow, own;
	bool        all; /* jcr:all, else: */
	const char *privileges[REFERENCE_NAMES];
	unsigned    n_privileges;
	bool        restricted[KINDS];
	const char *values[KINDS][REFERENCE_NAMES];
	unsigned    n_values[KINDS];
};

struct reference {
	struct reference_entry entries[64]; /* in list order for each node */
	unsigned               n;
	const char *const *users, *const *groups, *const *services; /* of the session; NULL ends */
	const char *const *own_lists;                               /* who has one that counts */
};

struct reference_item {
	const char *node, *type /* NULL: not known */, *property /* NULL: the node */;
};

/* Whether the session has one leaf at an item; item NULL: of the whole repository. */
bool reference_has(const struct reference *r, const struct reference_item *item, const char *leaf);
/* The node and all below it get another path, and their entries with them; to NULL: they vanish. */
void reference_move(struct reference *r, const char *from, const char *to);
