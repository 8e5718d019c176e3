/* events_impl.h - what the files of this room share. */
#pragma once
#include "events.h"

#include <base/buf.h>
#include <boardwalk/event.h>
#include <wire/event.h>

struct shared_limit;

/* A registration, from its event to the end of the last call. */
struct change_listener {
	struct change_listener          *next;
	unsigned                         refs; /* the list's, and that of a call */
	struct bw_service               *service;
	const struct bw_change_listener *type;
	void                            *object;
	char                            *name; /* "BUNDLE: PATH", for the log */
	const struct shared_limit       *limit;
	unsigned                         interests; /* wire/event.h */
	char                           **patterns;  /* heap; absolute */
	size_t                           n_patterns;
	char                           **hints;
	size_t                           n_hints;
	const char                      *failure; /* why it is not told anything; NULL: it is */
};

/* ---- listeners.c ---- */

/* Newest last. */
struct change_listener *listeners_first(void);
struct change_listener *listeners_ref(struct change_listener *l);
void                    listeners_unref(struct change_listener *l);
/* Appends what all of them want; the number of patterns, 0: nobody wants anything. */
unsigned listeners_patterns(struct buf *out);

/* ---- interest.c ---- */

/* Reads what l's service wants; false: l->failure says why that makes no sense. */
bool interest_read(struct change_listener *l, char *const *search_path, size_t n_search_path);
void interest_done(struct change_listener *l);
bool interest_wants(const struct change_listener *l, const struct event *e);

/* ---- deliver.c ---- */

/* Tells all listeners the events in the n octets, which stay until done() runs, later; false:
 * nobody listens, and it does not run. One delivery at a time. */
bool deliver(const uint8_t *events, size_t n, void (*done)(void));
bool deliver_is_under_way(void);
/* The worker ends: whoever waits is told BW_EGONE. */
void deliver_abort(void);

/* ---- subscription.c ---- */

void subscription_init(void);
void subscription_done(void);
/* The listeners have changed. */
void subscription_changed(void);
