/* resolver.h - resolvers and resources as the gateway keeps them: in the request's arena, closed
 * with the request. The public calls of the same names are in resolver.c. */
#pragma once
#include <boardwalk/bundle.h>
#include <wire/handle.h>
#include <wire/record.h>

#define RESOLVER_PAGE 256u /* children in an answer */

enum resolver_kind { RESOLVER_ANONYMOUS, RESOLVER_USER, RESOLVER_SERVICE };

struct bw_resolver {
	struct bw_resolver *next; /* of the same request */
	struct bw_req      *req;
	enum resolver_kind  kind;
	struct bw_str       user;               /* id */
	struct bw_str       bundle, subservice; /* RESOLVER_SERVICE */
	struct bw_str       handle;             /* absent: not minted yet (anonymous, lazily) */
	uint64_t            sequence;
	uint32_t            connection; /* to repo, that the handle was minted for (ask_impl.h) */
	bool                opened;     /* repo has seen the handle */
	bool                ahead;      /* the handle was fetched ahead, and repo has not seen it */
	bool                fresh;      /* asks auth itself: takes none that was fetched ahead */
	int                 failed;     /* BW_E* of a mint that failed; not tried again */
	/* Items read once keep their value: a hash table by path. */
	struct bw_resource **read;
	unsigned             n_read, n_buckets; /* n_buckets: a power of two, or 0 */
	/* edit/: what is to change, NULL: nothing; why the last change failed; clones. */
	struct space       *space;
	struct edit_prefix *prefixes; /* names.c: that have been asked for */
	struct space       *spare;    /* for the next change: a space, or NULL */
	/* Where a bundle has cloned it, which is to close it; NULL: it ends with its request. */
	const char           *opened_file;
	unsigned              opened_line;
	struct bw_str         error_path, error_text;
	const struct bw_pair *attributes; /* of the login */
	size_t                n_attributes;
	bool                  cloned; /* nobody else is given it */
	bool                  closed; /* before its request ends; handle and items read are gone */
};

/* What a resource was in a version: the versioned node's path, and where it is below it. */
struct frozen {
	struct bw_str path, version, below; /* below: absent for the node itself */
};

struct bw_resource {
	struct bw_resource *next; /* in the resolver's table */
	struct bw_resolver *resolver;
	struct record       record;
	bool                partial; /* from a child page: no properties yet */
	bool                missing; /* sling:nonexisting: not in repo, made by the engine */
	bool                made;    /* by the engine: in no table, and shows no pending change */
	/* What is stored at its path is to be read anew, or for the first time; partial, too. */
	bool                 stale;
	const struct frozen *frozen; /* it is what it was in a version; else NULL */
};

/* A new resolver of req; identity still to be minted for anonymous and service. */
struct bw_resolver *resolver_new(struct bw_req *req, enum resolver_kind kind);
/* Closes every opened handle of the request (HANDLE_CLOSE); for the end of the request, once. */
void resolvers_close(struct bw_req *req);
/* Mints the handle if that has not happened. */
int resolver_mint(struct bw_resolver *r);
/* The resource of that record; the one of its path that was read before, if there is one. */
struct bw_resource *resolver_add(struct bw_resolver *r, const struct record *rec, bool partial);

/* ---- what is stored, whatever is pending: for edit/ ---- */

/* Absolute, no empty, "." or ".." segment, no NUL, no slash at the end but the root's. */
bool resolver_is_canonical(struct bw_str path);
/* What is stored there: the one read before, else asked for. Errors as resolver_get's. (waits) */
int resolver_read(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret);
/* The one in the table, NULL: none; it may be stale. */
struct bw_resource *resolver_find(const struct bw_resolver *r, struct bw_str path);
/* The one of that path, in the table; stale if nothing has been read there. */
struct bw_resource *resolver_show(struct bw_resolver *r, struct bw_str path);
/* Reads the properties if they have not been. (waits) */
int resolver_complete(struct bw_resource *res);
/* A page of stored children; they are in the table. (waits) */
int resolver_page(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                  struct bw_resource ***ret, size_t *ret_n, bool *ret_more);
/* All items are to be read anew. */
void resolver_forget(struct bw_resolver *r);

/* Host table entries. */
int           resolver_of_request(struct bw_req *req, struct bw_resolver **ret);
int           resolver_of_service(struct bw_req *req, struct bw_bundle *b, const char *subservice,
                                  struct bw_resolver **ret);
struct bw_str resolver_user(const struct bw_resolver *r);
int           resolver_get(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret);
int resolver_children(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                      struct bw_resource ***ret, size_t *ret_n, bool *ret_more);
struct bw_str resource_field(const struct bw_resource *res, enum bw_resource_field f);
int           resource_property(struct bw_resource *res, const char *name, size_t index,
                                enum bw_value_type *ret_type, struct bw_str *ret_value);
