/* session.h - what gateway and repo share about HTTP sessions: the hash that stands for an id, the
 * attributes' values, and the encoded session.
 *
 * A session id is the cookie's value: 32 characters of A-Z a-z 0-9 - _, 192 random bits. Only its
 * hash leaves the gateway. Attributes are plain data: a kind and octets.
 *
 * An encoded session, little endian, no alignment:
 *
 *    0  u32  size of the whole record
 *    4  u8   enum session_what
 *    5  u8   size of the context's name
 *    6  u16  number of attributes
 *    8  i32  seconds without a request until it ends; 0 or less: never
 *   12  u64  created, microseconds since 1970
 *   20  u64  accessed, the same
 *   28  u64  lease, for SESSION_RELEASE; 0: none
 *   36       the context's name
 *    .       attributes, each: u8 kind, u8 size of the name, u32 size of the value, name, NUL, value,
 *            NUL */
#pragma once
#include <base/buf.h>
#include <boardwalk/err.h>
#include <boardwalk/types.h>

#define SESSION_ID_SIZE   32u
#define SESSION_HASH_SIZE 32u
#define SESSION_MAX_NAME  255u /* octets of an attribute's name */
#define SESSION_MAX_VALUE 65536u
#define SESSION_BATCH     64u /* sessions in one answer to SESSION_WATCH */

/* As struct bw_value has them. Numbers: most significant octet first; doubles as IEEE 754 says. */
enum session_kind {
	SESSION_STRING = 1, /* any octets */
	SESSION_LONG,       /* 8 octets */
	SESSION_DOUBLE,     /* the same */
	SESSION_BOOLEAN,    /* one octet, 0 or 1 */
	SESSION_STRINGS,    /* each: u32 size, little endian, and its octets */
	SESSION_LONGS,      /* one behind the other */
	SESSION_DOUBLES,
	SESSION_BOOLEANS,
};

enum session_what {
	SESSION_OWN = 1, /* that was asked for */
	SESSION_NEW,     /* the same, just made */
	SESSION_OTHER,   /* lives under the same id in another context; without attributes */
	SESSION_ENDED,   /* is deleted: who reads this tells the listeners */
};

struct session_record {
	enum session_what what;
	int32_t           max_inactive;
	uint64_t          created_us, accessed_us, lease_us;
	struct bw_str     context;
	unsigned          n_values;
	const uint8_t    *values, *end; /* of the record */
};

struct session_value {
	struct bw_str     name, value;
	enum session_kind kind;
};

/* Whether text can be a session id. */
bool session_id_fits(struct bw_str text);
void session_id_hash(struct bw_str id, uint8_t ret[SESSION_HASH_SIZE]);
/* Whether an attribute or a context can have this name: 1 to 255 octets of UTF-8, no NUL. */
bool session_name_fits(struct bw_str name);
/* Whether these octets are a value of that kind. */
bool session_value_fits(unsigned kind, struct bw_str value);

/* The record at p of at most n octets; everything in it is checked. BW_EPROTO otherwise. Strings
 * borrow p. */
int session_record_get(const uint8_t *p, size_t n, struct session_record *ret);
/* Its attributes, one after the other from *at = r->values on; false: no more. */
bool session_record_next(const struct session_record *r, const uint8_t **at,
                         struct session_value *ret);

/* Building: begin, then each attribute. r's values are not looked at. */
size_t session_record_begin(struct buf *out, const struct session_record *r);
void   session_record_put(struct buf *out, size_t at, const struct session_value *v);
