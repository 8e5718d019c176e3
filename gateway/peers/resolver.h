/* resolver.h - resolvers and resources as the gateway keeps them: in the request's arena, closed
 * with the request. The public calls of the same names are in resolver.c. */
#pragma once
#include <boardwalk/bundle.h>
#include <wire/handle.h>
#include <wire/record.h>

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
};

struct bw_resource {
	struct bw_resource *next; /* in the resolver's table */
	struct bw_resolver *resolver;
	struct record       record;
	bool                partial; /* from a child page: no properties yet */
	bool                missing; /* sling:nonexisting: not in repo, made by the engine */
};

/* A new resolver of req; identity still to be minted for anonymous and service. */
struct bw_resolver *resolver_new(struct bw_req *req, enum resolver_kind kind);
/* Closes every opened handle of the request (HANDLE_CLOSE); for the end of the request, once. */
void resolvers_close(struct bw_req *req);
/* Mints the handle if that has not happened. */
int resolver_mint(struct bw_resolver *r);
/* The resource of that record; the one of its path that was read before, if there is one. */
struct bw_resource *resolver_add(struct bw_resolver *r, const struct record *rec, bool partial);

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
