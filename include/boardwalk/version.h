/* version.h - versions of resources: check in, check out, restore, history, labels (JCR 2.0 chapter 15).
 *
 * A resource with the mixin mix:versionable has a history. Checking it in makes a version of it, named 1.0,
 * then 1.1 and so on, with its properties and what is below it, as the definitions of its types say; from
 * then on nothing of that can be changed (bw_resolver_commit: BW_ECONFLICT) until it is checked out again.
 * Restoring makes the resource what it was in a version, and leaves it checked in. The functions are
 * named after JCR's VersionManager and VersionHistory:
 *
 *    vm.checkin(path), checkout(path)               bw_resolver_checkin, _checkout
 *    vm.isCheckedOut(path)                          bw_resolver_is_checked_out
 *    vm.restore(path, name, removeExisting)         bw_resolver_restore
 *    history.getAllVersions()                       bw_resolver_versions
 *    history.addVersionLabel(version, label, move)  bw_resolver_add_label
 *    history.removeVersionLabel(label)              bw_resolver_remove_label
 *    history.removeVersion(name)                    bw_resolver_remove_version
 *    version.getFrozenNode()                        bw_resolver_version
 *    version.getFrozenNode().getNode(path)          bw_resolver_version_below
 *
 * A versionable resource says of its history (JCR 2.0 section 3.13.2): jcr:isCheckedOut, and as
 * References jcr:versionHistory, jcr:baseVersion, jcr:predecessors (of the version to come: the base
 * version, nothing while it is checked in). Such a Reference to a version is taken where a version is
 * asked for.
 *
 * Each of those that write is a transaction of its own, at once durable, and needs jcr:versionManagement at
 * the resource: BW_EFORBIDDEN. They look at what is committed, not at what is pending; the resolver is
 * refreshed, and what is pending stays pending. BW_ENOTFOUND: there is no such resource, or it may not be
 * read; BW_ECONTENT: it is not mix:versionable; BW_ECONFLICT, BW_EGONE and BW_ETIME as bw_resolver_commit;
 * bw_resolver_error says why. All of them (wait). */
#pragma once
#include <boardwalk/bundle.h>

/* Of the root version, which is the first and has nothing in it, the name is jcr:rootVersion. Lives as
 * long as the request. */
struct bw_version {
	struct bw_str        name;
	struct bw_str        created;    /* a Date's text, UTC */
	struct bw_str        created_by; /* user id; absent: of the root version */
	const struct bw_str *predecessors, *successors, *labels;
	size_t               n_predecessors, n_successors, n_labels;
	bool is_base; /* the resource is this version, or was before it was changed */
};

enum bw_version_change {
	BW_VERSION_CHECKIN = 1,
	BW_VERSION_CHECKOUT,
	BW_VERSION_RESTORE,
	BW_VERSION_ADD_LABEL,
	BW_VERSION_REMOVE_LABEL,
	BW_VERSION_REMOVE,
};

/* The functions below, as a table of its own. */
struct bw_versioning {
	size_t size;
	int (*change)(struct bw_resolver *r, enum bw_version_change what, struct bw_str path,
	              struct bw_str name, struct bw_str version, bool replace);
	int (*is_checked_out)(struct bw_resolver *r, struct bw_str path, bool *ret);
	int (*versions)(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
	                const struct bw_version **ret, size_t *ret_n, bool *ret_more);
	int (*version)(struct bw_resolver *r, struct bw_str path, struct bw_str version,
	               struct bw_resource **ret);
	int (*frozen)(struct bw_resolver *r, struct bw_str path, struct bw_str version,
	              struct bw_str below, struct bw_resource **ret);
};

/* One that is checked in stays as it is. BW_ESTATE: changes at or below path are pending. */
static inline int bw_resolver_checkin(struct bw_resolver *r, struct bw_str path)
{
	return bw_host->versioning->change(r, BW_VERSION_CHECKIN, path, BW_ABSENT, BW_ABSENT,
	                                   false);
}

/* One that is checked out stays as it is. */
static inline int bw_resolver_checkout(struct bw_resolver *r, struct bw_str path)
{
	return bw_host->versioning->change(r, BW_VERSION_CHECKOUT, path, BW_ABSENT, BW_ABSENT,
	                                   false);
}

/* version: a label, else a version's name, else its identifier; not the root version's. Resources that have their places in
 * the version stay the ones that they are, with their lists of entries; what the version does not have
 * goes; children with versions of their own stay as they are. Identifiers of the version may belong to
 * resources that stand elsewhere by now: with remove_existing these are taken away, which needs the
 * permission to remove them, without it this is BW_ECONFLICT. BW_ENOTFOUND: no such version; BW_ESTATE:
 * changes are pending. */
static inline int bw_resolver_restore(struct bw_resolver *r, struct bw_str path,
                                      struct bw_str version, bool remove_existing)
{
	return bw_host->versioning->change(r, BW_VERSION_RESTORE, path, version, BW_ABSENT,
	                                   remove_existing);
}

/* A label belongs to one version of a history. move: it may be taken from another one, which else is
 * BW_ECONFLICT. BW_ENOTFOUND: no such version; BW_ECONTENTSIZE: the history has 256 labels. */
static inline int bw_resolver_add_label(struct bw_resolver *r, struct bw_str path,
                                        struct bw_str version, struct bw_str label, bool move)
{
	return bw_host->versioning->change(r, BW_VERSION_ADD_LABEL, path, label, version, move);
}

/* BW_ENOTFOUND: no version has the label. */
static inline int bw_resolver_remove_label(struct bw_resolver *r, struct bw_str path,
                                           struct bw_str label)
{
	return bw_host->versioning->change(r, BW_VERSION_REMOVE_LABEL, path, label, BW_ABSENT,
	                                   false);
}

/* The version of that name leaves the history, with its labels and with what only it held; its successors
 * follow its predecessors from then on. BW_ECONFLICT: the resource is based on it. BW_ENOTFOUND: no
 * such version; the root version is not for removal either. */
static inline int bw_resolver_remove_version(struct bw_resolver *r, struct bw_str path,
                                             struct bw_str version)
{
	return bw_host->versioning->change(r, BW_VERSION_REMOVE, path, version, BW_ABSENT, false);
}

/* Whether what is at path could be changed: the nearest resource at or above it that is versionable is
 * checked out, or there is none; one that may not be read ends the search. Pending changes are seen.
 * BW_ENOTFOUND: nothing is at path. */
static inline int bw_resolver_is_checked_out(struct bw_resolver *r, struct bw_str path,
                                             bool *ret_is)
{
	return bw_host->versioning->is_checked_out(r, path, ret_is);
}

/* At most max (1 to 64) versions in the order in which they were made, from the root version on, or those
 * behind the one called after; fewer may come although there are *ret_more. None: the resource is not
 * versionable. Who may read the resource may read its history. BW_EINVAL: max. */
static inline int bw_resolver_versions(struct bw_resolver *r, struct bw_str path,
                                       struct bw_str after, size_t max,
                                       const struct bw_version **ret_versions, size_t *ret_n,
                                       bool *ret_more)
{
	return bw_host->versioning->versions(r, path, after, max, ret_versions, ret_n, ret_more);
}

/* The resource as it was in a version (a label, else a name, else an identifier), with its types and
 * those properties that may be read of it now, octets of Binaries too (blob.h). It is there to be read:
 * bw_resource_children of its path are those of now. BW_ENOTFOUND: no such resource or version. */
static inline int bw_resolver_version(struct bw_resolver *r, struct bw_str path,
                                      struct bw_str version, struct bw_resource **ret_resource)
{
	return bw_host->versioning->version(r, path, version, ret_resource);
}

/* What was at below, a path behind that of the resource (no slash before it): nothing of a child with
 * versions of its own. Else as bw_resolver_version. */
static inline int bw_resolver_version_below(struct bw_resolver *r, struct bw_str path,
                                            struct bw_str version, struct bw_str below,
                                            struct bw_resource **ret_resource)
{
	return bw_host->versioning->frozen(r, path, version, below, ret_resource);
}
