/* record.h - an encoded resource, read in place.
 *
 * Repo caches resources in this form and sends it as it is; the gateway reads it without unpacking.
 * Little endian, no alignment:
 *
 *    0  u32  size of the whole record
 *    4  u16  number of types in the chain
 *    6  u16  number of properties
 *    8  u64  resource id
 *   16  u64  version
 *   24  str  path
 *    .  str  primary type
 *    .  str  sling:resourceType, size 0: none
 *    .  str  sling:resourceSuperType of the resource itself, size 0: none
 *    .  str  ...  chain: the super types that follow the resource's type, nearest first
 *    .  props, sorted by name (memcmp, shorter first), each:
 *         u32 size of what follows, str name, u8 type (enum bw_value_type) | 0x80 if multiple,
 *         u16 number of values, str ... values (Long, Double, Boolean as their text)
 *    str = u32 size, octets, one NUL that the size does not count
 */
#pragma once
#include <base/buf.h>
#include <boardwalk/err.h>
#include <boardwalk/resolver.h>
#include <boardwalk/types.h>

#define RECORD_MULTIPLE 0x80u

struct record {
	const uint8_t *p;
	uint32_t       size;
	uint64_t       id, version;
	struct bw_str  path, name, primary_type, resource_type, super_type; /* absent if size 0 */
	unsigned       n_chain, n_props;
	uint32_t       chain_at, props_at; /* offsets */
};

struct record_prop {
	struct bw_str      name;
	enum bw_value_type type;
	bool               multiple;
	unsigned           n;
	uint32_t           values_at;
};

/* The record at p of at most n octets; checks every size, so that later walks cannot leave it.
 * BW_EPROTO otherwise. Strings borrow p. */
int           record_get(const uint8_t *p, size_t n, struct record *ret);
struct bw_str record_chain(const struct record *r, unsigned i);
/* Property by name (binary order lets a walk stop early); false if absent. */
bool          record_prop(const struct record *r, struct bw_str name, struct record_prop *ret);
bool          record_prop_at(const struct record *r, unsigned i, struct record_prop *ret);
struct bw_str record_value(const struct record *r, const struct record_prop *prop, unsigned i);

/* Building, in this order: begin, chain ..., then per property (sorted by the caller) prop and its
 * values, end. Appends to out; begin returns the offset that end needs. */
size_t record_begin(struct buf *out, uint64_t id, uint64_t version, struct bw_str path,
                    struct bw_str primary_type, struct bw_str resource_type,
                    struct bw_str super_type);
void   record_put_chain(struct buf *out, size_t at, struct bw_str type);
size_t record_put_prop(struct buf *out, size_t at, struct bw_str name, enum bw_value_type type,
                       bool multiple);
void   record_put_value(struct buf *out, size_t prop_at, struct bw_str value);
void   record_end(struct buf *out, size_t at);
