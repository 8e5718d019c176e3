/* mapping.h - which service user a bundle acts as, or which list of principals: the entries
 * bundle[:subservice]=user and bundle[:subservice]=[user,user] of the setting auth.service_users. */
#pragma once
#include <base/conf.h>
#include <boardwalk/err.h>
#include <boardwalk/types.h>

struct mapping;

/* Names are as accounts are looked up by. A user acts with its groups; a list is nobody but itself. */
struct mapping_target {
	bool                 is_list;
	unsigned             n; /* at least 1, at most MAPPING_MAX_NAMES; 1 if it is no list */
	const struct bw_str *names;
};
#define MAPPING_MAX_NAMES 64u

/* NULL with a reason in err: an entry maps to an empty list or one of too many, or two of a kind map
 * the same (bundle, subservice). An entry that is malformed otherwise is left out with a warning; the
 * others stay. */
struct mapping *mapping_new(const struct conf_list *entries, char *err, size_t err_size);
void            mapping_free(struct mapping *m); /* NULL is fine */
/* What (bundle, subservice) is mapped to: a list for it, else one for the bundle without a subservice,
 * else a user in the same way; NULL: there is none, and no default. An empty subservice is none.
 * Borrowed until mapping_free. */
const struct mapping_target *mapping_find(const struct mapping *m, struct bw_str bundle,
                                          struct bw_str subservice);
