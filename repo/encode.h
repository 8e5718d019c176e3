/* encode.h - a row of the tree as a record (wire/record.h). */
#pragma once
#include <base/buf.h>
#include <boardwalk/types.h>
#include <boardwalk/value.h>
#include "type.h"

struct encode_row {
	uint64_t      id, version;
	struct bw_str path, primary_type, resource_type,
		super_type;       /* the last two may be absent */
	struct bw_str properties; /* JSON text; absent: a record without properties */
};

/* What stands before a value of this type in stored JSON. Static. */
const char *encode_tag(enum bw_value_type type);

/* Appends the record to out; *ret_props_at: its length if it were without properties. BW_EIO: the
 * stored properties are not of the form that repo.value_check lets in. *ret_cycle: the chain of its
 * super types comes back to itself, and ends there. */
int encode_record(struct buf *out, const struct encode_row *row, const struct type_graph *types,
                  uint32_t *ret_props_at, bool *ret_cycle);
/* Appends the record with those of its properties that keep(arg, name) wants. record: whole. */
void encode_filtered(struct buf *out, const uint8_t *record, uint32_t n, uint32_t props_at,
                     bool (*keep)(void *arg, struct bw_str name), void *arg);
/* Appends the record without its properties. */
void encode_stripped(struct buf *out, const uint8_t *record, uint32_t props_at);
