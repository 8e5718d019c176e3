/* generations.h - the table of bundles by name, and the moves of a generation; private to
 * bundles.c, generations.c and footprint.c. */
#pragma once
#include "bundles.h"

/* A symbolic name that was seen once; process lifetime, since requests point to it. */
struct bundle_entry {
	struct bundle_entry *next; /* in the order of installation */
	uint32_t             id;
	char                *name;
	struct bw_bundle    *current; /* serving, or a stand-in, or refused; NULL: not installed */
	bool                 builtin;
};

/* bundles.c */
struct bundle_entry *entries_find(const char *name);
/* Made if there is none. */
struct bundle_entry *entries_get(const char *name);
/* It has been installed just now. */
void             entries_to_end(struct bundle_entry *e);
struct registry *bundles_registry(void);
/* To the whiteboard, of which it is to be asked: a bundle is in doubt, or no one is any more. */
void entries_tell_doubt(void);

/* generations.c */
/* PREPARED, of that entry; entry NULL: the name is not known yet. */
struct bw_bundle *generation_new(struct bundle_entry *e, uint64_t generation, const char *file);
/* Once the name is known. */
void generation_belongs(struct bw_bundle *b, struct bundle_entry *e);
/* Version and build, once the descriptor is checked. */
void generation_describe(struct bw_bundle *b, const char *version, const char *build);
/* NULL, or why start failed; heap. */
char *generation_start(struct bw_bundle *b);
/* Calls its stop, if it is running. */
void generation_stop(struct bw_bundle *b);
/* Nothing new is to come from it: it is unmapped and freed once it is unused. */
void   generation_leave(struct bw_bundle *b);
size_t generation_count_mapped(const struct bundle_entry *e);
void   generations_init(struct shared_worker *me, uint64_t drain_ms);
/* Whatever order is in work. */
void generations_drop(void);
/* Unmaps and frees all that have left. */
void generations_done(void);

/* footprint.c */
/* Stands in, in the registry's stage that is open, for all that of has registered. */
void footprint_stage(struct registry *r, struct bw_bundle *stand_in, const struct bw_bundle *of);
/* The same from text; false: it is not what footprint_write wrote, some may have been
 * registered. */
bool footprint_register(struct registry *r, struct bw_bundle *stand_in, const char *json);
void footprint_write(struct registry *r, const struct bw_bundle *b, struct buf *json);
