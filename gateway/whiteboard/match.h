/* match.h - the compiled pattern table of one context: which servlet takes a path.
 *
 * One pass over the path, whatever the number of patterns: a hash runs along it, eight octets at a
 * time, from which that of the path up to any slash is one step away, so that each segment costs one
 * look into a small bitmap and the whole path one more. Order: exact, longest prefix, extension,
 * default (Jakarta Servlet 12.1); an extension is what follows any dot of the last segment, longest
 * first.
 *
 *   bitmap (a Bloom filter, 32 bits for each key: stays in the first cache)
 *     -> slots { hash, offset }   (at most half full)
 *          -> records { value, length, key }   (one block)
 */
#pragma once
#include "pattern.h"

#include <base/arena.h>

struct match_keys {
	const uint64_t          *bits;
	const struct match_slot *slots;
	const uint8_t           *records;
	uint32_t                 bits_mask, slots_mask;
};

struct match_table {
	struct match_keys exact, prefix, extension;
	bool              has_keys;                     /* any in the three */
	const void       *root, *everything, *fallback; /* patterns "", all-taking prefix, "/" */
	uint32_t          max_prefix;                   /* octets of the longest prefix */
	uint32_t          max_extension;                /* octets of the longest extension */
};

struct match_input {
	const struct pattern *pattern; /* no two equal ones */
	const void           *value;   /* not NULL */
};

/* Compiles n patterns; all memory is in the arena, keys are copied. */
void match_compile(struct match_table *t, struct arena *a, const struct match_input *in, size_t n);
/* The value of the pattern that takes path, NULL if none does. path is relative to the context: empty,
 * or beginning with a slash, and canonical. Allocates nothing. */
const void *match_find(const struct match_table *t, struct bw_str path);
