/* location.h - the places in the tree where the servlets of a resource's type are looked for. */
#pragma once
#include <base/arena.h>
#include <wire/record.h>

#define BASE_TYPE_DEFAULT "sling/servlet/default"
#define BASE_TYPE_ERROR   "sling/servlet/errorhandler"

/* A type may have this many super types; a longer chain is cut, and logged. */
#define LOCATION_MAX_TYPES 64u

struct locations {
	struct bw_str *items; /* paths, in the arena; own type, super types, base type */
	size_t         n;
};

/* sling:resourceType, else the primary type. */
struct bw_str location_type(const struct record *r);
/* request: for the log. */
void locations_get(struct arena *a, const struct record *r, const char *base_type, uint64_t request,
                   struct locations *ret);
/* Whether a resource with that record is of a type or one that inherits from it. BW_ECYCLE: type was not
 * met before its super types came back to one of them, or were too many. */
int location_is_type(struct arena *a, const struct record *r, struct bw_str type, uint64_t request,
                     bool *ret);
/* The type as a path: ':' and '/' part names alike, a slash at the end goes. In the arena if it
 * differs from type. */
struct bw_str location_type_path(struct arena *a, struct bw_str type);
