/* world.h - a whole whiteboard without sockets: services made from the notation of the row files, and
 * requests served by the real whiteboard on real fibers, with a transport that only remembers. */
#pragma once
#include "text.h"

#include <gateway/bundles.h>
#include <gateway/request.h>
#include <gateway/whiteboard/snapshot.h>

#define MAX_PROPS 24

/* One registered thing: its properties and what its object does. */
struct thing {
	struct thing      *next;
	char              *label, kind; /* 'S', 'F', 'C' */
	struct bw_bundle  *bundle;
	struct bw_prop     props[MAX_PROPS];
	size_t             n_props;
	struct bw_service *service; /* NULL: unregistered */
	int64_t            id;      /* of the service, also after it is gone */
	char              *script;  /* do=: what it does when called */
	char              *on_init; /* init=: what it does in init */
	bool               init_fails, factory, gives_null;
	struct bw_bundle  *null_for; /* a context factory that has nothing for this bundle */
	struct words params; /* init parameters it looks for: their names and values in turn */
	unsigned     made, released;
};

/* What a servlet saw. */
struct seen {
	char *cp, *sp, *pi, *uri, *query, *match, *kind, *name, *user, *auth, *type;
	char *errors[8]; /* the attributes of error_attributes[] */
};
extern const char *const error_attributes[8];

struct answer {
	struct answer        *next;
	struct bw_req        *req; /* NULL once it is complete */
	int                   status;
	char                 *body;
	bool                  truncated;
	struct bw_res_header *headers;
	size_t                n_headers;
	struct seen           seen;
};

extern struct world {
	struct registry *registry;
	struct thing    *things;  /* the newest first */
	struct answer   *blocked; /* oldest first */
	char            *life;    /* "init A, destroy A" since world_mark */
	char            *calls;   /* "handle c, S A, finish c" */
	uint64_t         count;   /* change count at world_mark */
} world;

/* A fresh server; one that was there is ended. */
void world_reset(void);
void world_done(void);
/* Logs and the change count start anew. */
void world_mark(void);
/* One step; fatal on one that cannot be read. */
void world_step(const char *step);
/* "GET /a Name:value", or "resume": the oldest blocked request goes on. */
struct answer *world_request(const char *text);
struct thing  *world_thing(const char *label);

/* Appends to a log: ", " between the entries. */
void world_log(char **log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* objects.c: takes the host table, as a bundle's start does. */
void objects_start(void);
/* objects.c: the type table and the factory for a thing. */
struct bw_service_object thing_object(struct thing *t);
/* The answer being served. */
struct answer *world_answer(const struct bw_req *req);
