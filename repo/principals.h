/* principals.h - sets of principals, each kept once, so that what was worked out for one request of
 * somebody (which permissions he has somewhere) serves all his requests. */
#pragma once
#include <wire/handle.h>

struct principals_table;

struct principals {
	uint64_t           number; /* never used again by another set of this process */
	uint64_t           hash;
	struct principals *next; /* in the table's bucket */
	unsigned           refs;
	bool               admin; /* may do everything */
	bool               has_groups;
	unsigned           n;
	uint64_t           ids[]; /* id << 1 | is_group, ascending */
};

struct principals_table *principals_table_new(void);
void principals_table_free(struct principals_table *t); /* all sets must be unreferenced */

/* The set of a genuine handle, with a reference for the caller. */
struct principals *principals_ref_of(struct principals_table *t, const struct handle *h);
static inline struct principals *principals_ref(struct principals *p)
{
	p->refs++;
	return p;
}
/* An unreferenced set stays for the next request, until too many of them do. */
static inline void principals_unref(struct principals *p)
{
	p->refs--;
}
/* Whose doing it is: the id of the lowest of the set that is no group; 0: all are. */
uint64_t principals_user(const struct principals *p);
unsigned principals_table_count(const struct principals_table *t);
/* Whether the set has this principal; *ret_group: as a group (as both: as a user). */
bool principals_has(const struct principals *p, uint64_t id, bool *ret_group);
