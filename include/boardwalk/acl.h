/* acl.h - who may do what: asking, reading lists of entries, and changing them through a resolver.
 *
 * A node may have a list of entries; each allows or denies somebody some privileges on the node and all
 * below it, as far as its restrictions reach (docs/permissions.md has the rules). The functions are named
 * after JCR 2.0's AccessControlManager and JackrabbitAccessControlList:
 *
 *    acm.hasPrivileges(path, privileges)      bw_resolver_has_privileges(r, path, names, n, &has)
 *    acm.getPrivileges(path)                  bw_resolver_privileges(r, path, &names, &n)
 *    acm.getPolicies(path)                    bw_resolver_entries(r, path, &entries, &n)
 *    list.addEntry(principal, privileges,
 *                  isAllow, restrictions)     bw_resolver_add_entry(r, path, &entry)
 *    list.removeAccessControlEntry(entry)     bw_resolver_remove_entry(r, path, &entry)
 *    acm.removePolicy(path, list)             bw_resolver_clear_entries(r, path, BW_ABSENT)
 *
 * A change of a list is pending like any other change (edit.h) and comes to be with bw_resolver_commit, which
 * wants jcr:modifyAccessControl on the node, by the entries that were there before. What is asked and
 * read is what has been committed: a pending change, also of the tree above, has no effect on it.
 *
 * In short, from then on alice may write here:
 *
 *    struct bw_str   write = BW_STR("jcr:write");
 *    struct bw_entry entry = { .principal = BW_STR("alice"), .allow = true, .privileges = &write,
 *                              .n_privileges = 1 };
 *
 *    err = bw_resolver_add_entry(r, BW_STR("/content/notes"), &entry);
 *    if (err == BW_OK)
 *            err = bw_resolver_commit(r);
 *
 * The repository's own list and the lists of service users' own are changed by repoinit alone. */
#pragma once
#include <boardwalk/bundle.h>

/* Limits an entry to some of the nodes and properties at and below its node: rep:glob, rep:globs,
 * rep:ntNames, rep:itemNames, rep:prefixes, rep:current, rep:subtrees. */
struct bw_restriction {
	struct bw_str        name;
	const struct bw_str *values;
	size_t               n_values;
};

struct bw_entry {
	struct bw_str                principal; /* name of a user or group */
	bool                         allow;     /* else it denies */
	const struct bw_str         *privileges;
	size_t                       n_privileges;
	const struct bw_restriction *restrictions; /* all must hold; each name once */
	size_t                       n_restrictions;
};

/* The functions below, as a table of its own. */
struct bw_access {
	size_t size;
	int (*granted)(struct bw_resolver *r, struct bw_str path, const struct bw_str *names,
	               size_t n, bool *ret_all, const struct bw_str **ret, size_t *ret_n);
	int (*entries)(struct bw_resolver *r, struct bw_str path, const struct bw_entry **ret,
	               size_t *ret_n);
	int (*change)(struct bw_resolver *r, struct bw_str path, const struct bw_entry *entry,
	              bool add);
	int (*clear)(struct bw_resolver *r, struct bw_str path, struct bw_str principal);
};

/* Whether all of these privileges are granted on the resource, leaves or with parts; path BW_ABSENT: on the
 * repository as a whole. BW_ENOTFOUND: there is none, or it may not be read; BW_EINVAL: a name means
 * nothing. (waits) */
static inline int bw_resolver_has_privileges(struct bw_resolver *r, struct bw_str path,
                                             const struct bw_str *names, size_t n, bool *ret_has)
{
	const struct bw_str *all;
	size_t               n_all;

	return bw_host->access->granted(r, path, names, n, ret_has, &all, &n_all);
}

/* All privileges that are granted on the resource, those with parts as their parts; jcr:all alone stands
 * for all. Lives as long as the request. BW_ENOTFOUND as above. (waits) */
static inline int bw_resolver_privileges(struct bw_resolver *r, struct bw_str path,
                                         const struct bw_str **ret, size_t *ret_n)
{
	bool all;

	return bw_host->access->granted(r, path, NULL, 0, &all, ret, ret_n);
}

/* The resource's own list, in order, privileges without parts; none: *ret_n is 0. Lives as long as the
 * request. BW_EFORBIDDEN: jcr:readAccessControl is not granted there; BW_ENOTFOUND as above. (waits) */
static inline int bw_resolver_entries(struct bw_resolver *r, struct bw_str path,
                                      const struct bw_entry **ret, size_t *ret_n)
{
	return bw_host->access->entries(r, path, ret, ret_n);
}

/* What an entry of the same principal, kind and restrictions grants already is no change. Otherwise the
 * privileges join that entry, which keeps its place; the entry of the opposite kind loses them; a new one
 * goes to the end, where it counts most. Copied. commit refuses with BW_ECONTENT: an unknown principal or
 * one that gets no entry (the administrator), unknown or abstract privileges, those of the whole
 * repository, none at all, restrictions that are unknown or have too many values. BW_ENOTFOUND: no
 * such resource; BW_EINVAL: a restriction twice. (waits) */
static inline int bw_resolver_add_entry(struct bw_resolver *r, struct bw_str path,
                                        const struct bw_entry *entry)
{
	return bw_host->access->change(r, path, entry, true);
}

/* The entry that is exactly this; where there is none, no change. */
static inline int bw_resolver_remove_entry(struct bw_resolver *r, struct bw_str path,
                                           const struct bw_entry *entry)
{
	return bw_host->access->change(r, path, entry, false);
}

/* All entries of a principal, or with BW_ABSENT the whole list. */
static inline int bw_resolver_clear_entries(struct bw_resolver *r, struct bw_str path,
                                            struct bw_str principal)
{
	return bw_host->access->clear(r, path, principal);
}
