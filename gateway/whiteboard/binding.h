/* binding.h - one servlet, filter or listener in one context, or a preprocessor in the server's own: the
 * object, from its init to its destroy. A resource, which may be the same service, is bound on its own and
 * has no object.
 *
 * Snapshots share bindings; the last reference destroys. So what a request began with stays alive
 * until the request has ended, and a binding that is still held by an older snapshot is used again
 * instead of being initialised anew. One whose object could not be had or whose init failed is kept
 * too: it is the memory that this was tried. */
#pragma once
#include "context.h"

struct binding {
	struct binding    *next; /* of the reading */
	unsigned           refs;
	struct reading    *reading; /* referenced */
	struct bw_context *context; /* referenced */
	struct helper     *helper;  /* referenced */
	enum reading_kind  kind;    /* as which it is bound; error pages are SERVLET */
	void              *self;
	enum failure_code  failure;      /* FAILURE_NONE: initialised */
	struct binding    *next_staying; /* of the context (listener.c) */
	struct upload     *upload;       /* heap; NULL: takes no multipart bodies */
};

/* The one that exists, not referenced anew; NULL. */
struct binding *binding_find(const struct reading *r, const struct bw_context *c,
                             enum reading_kind kind);
/* The one that exists, or a new one: its object taken, then init. Never NULL, look at failure.
 * Owned: binding_unref. */
struct binding *binding_get(struct reading *r, struct bw_context *c, enum reading_kind kind);
struct binding *binding_ref(struct binding *b);
void            binding_unref(struct binding *b);
/* The reading is out of date (its service has gone, or has other properties now); its bindings live on as
 * long as requests hold them. Once per reading. */
void binding_retire(struct reading *r);
/* r's object is a singleton that is still initialised for a retired reading: the same object cannot be
 * initialised before it was destroyed. */
bool binding_must_wait(const struct reading *r);
/* on_destroyed() runs after each destroy. */
void binding_on_destroyed(void (*on_destroyed)(void));
