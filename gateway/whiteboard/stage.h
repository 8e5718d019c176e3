/* stage.h - what an unpublished generation of a bundle will need, made ready out of sight: readings
 * of its services, and a snapshot in which they stand without those of the generation they replace.
 * The snapshot is never asked; it keeps the bindings alive until the whiteboard has built its
 * own. */
#pragma once
#include "snapshot.h"

struct stage {
	struct reading **readings; /* of the new services; NULL where one was taken */
	size_t           n;
	struct snapshot *snapshot; /* NULL: nothing is staged */
};

/* there: the whiteboard's readings, n of them, in order. from: as registry_exchange's stage. False:
 * an init or a factory of the new ones failed; reason. To be ended by stage_done in any case. */
bool stage_build(struct stage *st, struct reading *const *there, size_t n_there,
                 struct bw_service *const *services, size_t n, const struct bw_bundle *from,
                 char *reason, size_t size);
/* One of the readings made for s, now the caller's; NULL if there is none left, or s was changed since. */
struct reading *stage_take(struct stage *st, const struct bw_service *s);
/* Destroys what nobody else holds. */
void stage_done(struct stage *st);
