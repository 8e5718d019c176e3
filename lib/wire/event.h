/* event.h - what repo tells of changes, and the patterns by which a gateway says which of them it
 * wants (Apache Sling's ResourceChange and ResourceChangeListener).
 *
 * A pattern is an absolute path, which stands for itself and everything below, or "glob:" and a
 * path in which * stands for any octets but a slash and ** for any octets.
 *
 * Little endian, no alignment; str as in cursor.h. A list of events, one behind the other:
 *
 *    u32  size of the whole event
 *    u8   enum event_kind
 *    u8   flags
 *    u16  number of property names
 *    str  path; size 0: RESYNC
 *    str  where it came from; size 0: nowhere
 *    str  who did it; size 0: unknown
 *    str  ... property names
 *
 * A list of patterns:  u8 interests, str pattern. */
#pragma once
#include <base/buf.h>
#include <boardwalk/err.h>
#include <boardwalk/types.h>

#define EVENT_MAX_PATTERN  1024u /* octets, "glob:" not counted */
#define EVENT_MAX_PATTERNS 1024u /* in one list */
#define EVENT_MAX_NAMES    256u  /* a resource with more changed properties is told without names */
#define EVENT_MAX_OCTETS   16384u /* and so is one whose names would make its event larger */

/* Also what they are called in the public API. */
enum event_kind {
	EVENT_ADDED = 1,
	EVENT_CHANGED,
	EVENT_REMOVED,
	EVENT_RESYNC, /* any number of changes has not been told */
	EVENT_KINDS,
};

enum event_flag {
	EVENT_EXTERNAL = 1, /* made by another node, or by none */
	EVENT_SUBTREE = 2,  /* speaks of everything below path, too */
	EVENT_LAST = 4,     /* of its commit, for this reader */
};

/* interests: a bit 1 << kind for each kind, and this one */
#define EVENT_INTEREST_EXTERNAL 0x80u

struct event {
	enum event_kind kind;
	unsigned        flags;
	struct bw_str   path, from, user; /* absent if size 0 */
	unsigned        n_names;          /* of a CHANGED; 0: unknown */
	const uint8_t  *names;
	size_t          size;
};

/* The event at p of at most n octets, everything in it checked; BW_EPROTO otherwise. Borrows p. */
int event_get(const uint8_t *p, size_t n, struct event *ret);
/* Its names, from *at = e->names on, n_names times. */
struct bw_str event_next_name(const uint8_t **at);

/* Building: begin, names, end. e's names and size are not looked at. */
size_t event_begin(struct buf *out, const struct event *e);
void   event_put_name(struct buf *out, size_t at, struct bw_str name);
void   event_end(struct buf *out, size_t at);
/* Adds EVENT_LAST to a whole event. */
void event_set_last(uint8_t *event);

/* Whether it is a pattern as above, of at most EVENT_MAX_PATTERN octets: absolute, no empty, "." or
 * ".." segment, no NUL. */
bool event_pattern_fits(struct bw_str pattern);
/* Whether path is among what a pattern that fits stands for; subtree: or something below path may
 * be. */
bool event_pattern_meets(struct bw_str pattern, struct bw_str path, bool subtree);
/* Whether somebody who is interested so wants to hear of e. */
bool event_is_wanted(unsigned interests, struct bw_str pattern, const struct event *e);

void event_put_pattern(struct buf *out, unsigned interests, struct bw_str pattern);
/* One after the other from *at = 0 on. False: no more, or (*ret_bad) what follows is none. */
bool event_next_pattern(const uint8_t *p, size_t n, size_t *at, unsigned *ret_interests,
                        struct bw_str *ret_pattern, bool *ret_bad);
