/* build_impl.h - a snapshot being built; for build.c (contexts, records, listeners, filters) and
 * build_servlets.c. */
#pragma once
#include "snapshot.h"

/* Texts of the patterns that are taken in the context being built. */
struct taken {
	const struct bw_str **slots;
	size_t                mask;
};

struct build {
	struct snapshot         *s;
	struct reading *const   *readings;
	size_t                   n;
	size_t                   cap_bindings, cap_failures;
	struct snapshot_context *c; /* being built */
	struct taken             taken;
	struct match_input      *inputs;
	size_t                   n_inputs;

	const struct snapshot_servlet **named; /* in ranking order */
	size_t                          n_named;
};

uint64_t build_hash(const void *p, size_t n);
/* What can be seen of the snapshot goes through here, so that equal ones are recognised. */
void build_sign(struct build *b, uint64_t value);

/* Records that this is not active in the context being built (none: in no context). items: copied. */
void build_fail(struct build *b, enum reading_kind kind, const struct reading *r,
                enum failure_code code, const struct bw_str *items, size_t n);
/* One record for each of the kinds. */
void build_fail_kinds(struct build *b, const struct reading *r, unsigned kinds,
                      enum failure_code code);

/* The kinds that share a binding with this one. */
unsigned build_kinds_of(enum reading_kind kind);
/* Binds r to the context being built. NULL if that cannot be, which is recorded, or not yet. */
struct binding *build_bind(struct build *b, struct reading *r, enum reading_kind kind);
/* Is r valid as one of kinds, and bound to the context being built? */
bool build_is_client(const struct build *b, const struct reading *r, unsigned kinds);

/* build_servlets.c: after the filters. */
void build_servlets(struct build *b);
