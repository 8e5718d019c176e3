/* changes.h - what one commit is to change, read in place: the list of RESOURCE_COMMIT.
 *
 * The changes are made in the order of the list, each upon the outcome of those before it. What a
 * change was decided upon travels with it, so that repo can tell whether somebody else came between.
 *
 * Little endian, no alignment:
 *
 *    0  u32  size of the whole list
 *    4  u32  number of changes, 1 to 10,000
 *    8       changes, each:
 *         u32 size of what follows
 *         u8  enum change_kind
 *         u64 version of the node at path as it was read; 0: it was not, or this list made it
 *         str path, absolute
 *         str name; what it means depends on the kind, size 0: absent
 *         and what the kind adds:
 *           CREATE  u16 number of mixins, u16 number of properties, str ... mixins,
 *                   properties, sorted by name (memcmp, shorter first), each: str name, value
 *           SET     base, value
 *           UNSET   base
 *           SET_TYPE  str primary type as it was read, size 0: it was not
 *           ACE_ADD, ACE_REMOVE  u8 1: the entry allows, 0: denies, u16 number of restrictions,
 *                   value: privileges, restrictions like properties; both are multiple Strings
 *           RESTORE   u8 1: nodes that stand elsewhere are taken away from there
 *           LABEL_ADD u8 1: the label may be another version's so far, str name of the version
 *    value = u8 type (enum bw_value_type) | 0x80 if multiple, u16 number of values,
 *            str ... values (Long, Double, Boolean as their text; a new Binary as the id of its
 *            upload, and it is stored as what BLOB_READ takes)
 *    base  = u8 enum change_base, and a value if it is CHANGE_BASE_VALUE
 *    str   = u32 size, octets, one NUL that the size does not count
 */
#pragma once
#include <base/buf.h>
#include <boardwalk/err.h>
#include <boardwalk/types.h>
#include <boardwalk/value.h>

#define CHANGES_MAX 10000u

enum change_kind {
	CHANGE_CREATE = 1, /* path: of the new node; version: of its parent; name: primary type */
	CHANGE_REMOVE,     /* with everything below; no name */
	CHANGE_MOVE,       /* name: the path it is to have, its own name included */
	CHANGE_COPY,       /* the same */
	CHANGE_ORDER,      /* path: of the child; name: of the sibling it goes before; none: last */
	CHANGE_SET,        /* name: of the property */
	CHANGE_UNSET,      /* the same */
	CHANGE_SET_TYPE,   /* name: the new primary type */
	CHANGE_MIXIN_ADD,  /* name: of the mixin */
	CHANGE_MIXIN_REMOVE,   /* the same */
	CHANGE_ACE_ADD,        /* to the node's list; name: of the principal */
	CHANGE_ACE_REMOVE,     /* the entry that is exactly this; name: the same */
	CHANGE_ACL_CLEAR,      /* name: of the principal whose entries go; none: the whole list */
	CHANGE_CHECKIN,        /* a version is made of the node; no name */
	CHANGE_CHECKOUT,       /* no name */
	CHANGE_RESTORE,        /* name: of a label, else of a version */
	CHANGE_LABEL_ADD,      /* name: the label */
	CHANGE_LABEL_REMOVE,   /* the same */
	CHANGE_VERSION_REMOVE, /* name: of the version that goes */
	CHANGE_KINDS,
};

/* What the property was when it was read. */
enum change_base {
	CHANGE_BASE_UNKNOWN, /* it was not read: whatever it is now is overwritten */
	CHANGE_BASE_ABSENT,
	CHANGE_BASE_VALUE,
};

/* A value of a list that has been checked. */
struct change_value {
	enum bw_value_type type;
	bool               multiple;
	unsigned           n;
	const uint8_t     *at; /* the first one */
};

struct change {
	enum change_kind    kind;
	uint64_t            version;
	struct bw_str       path, name;        /* absent if size 0 */
	enum change_base    base;              /* SET, UNSET */
	struct change_value old, value;        /* old: if base is CHANGE_BASE_VALUE; value: SET */
	struct bw_str       old_type;          /* SET_TYPE; absent: not read */
	unsigned            n_mixins, n_props; /* CREATE; n_props also: restrictions of an entry */
	const uint8_t      *mixins, *props;
	bool                allow;    /* ACE_ADD, ACE_REMOVE, whose privileges are value */
	bool                removing; /* RESTORE; LABEL_ADD: the label moves */
	struct bw_str       of;       /* LABEL_ADD: name of the version */
};

struct changes {
	const uint8_t *p;
	uint32_t       size;
	unsigned       n;
};

/* The list at p of exactly n octets. Everything in it is checked, so that the walks below cannot
 * leave it; what the texts say is not. BW_EPROTO otherwise. Borrows p, and so do all strings. */
int changes_get(const uint8_t *p, size_t n, struct changes *ret);
/* One change after the other from *at = 0 on; false: no more. */
bool changes_next(const struct changes *c, size_t *at, struct change *ret);
/* The mixins of a CREATE, from *at = change.mixins on, n_mixins times; and the values of a value,
 * from *at = value.at on, n times. */
struct bw_str change_next_str(const uint8_t **at);
/* The properties of a CREATE, or the restrictions of an entry, from *at = change.props on, n_props times. */
void change_next_prop(const uint8_t **at, struct bw_str *ret_name, struct change_value *ret);

/* Building: changes_begin, then for each change change_begin, what its kind adds in the order of the
 * layout, change_end; then changes_end. Appends to out. Strings that are absent have size 0. */
struct change_text {
	enum bw_value_type   type;
	bool                 multiple;
	unsigned             n; /* at most 65,535; 1 if not multiple */
	const struct bw_str *values;
};

size_t changes_begin(struct buf *out);
size_t change_begin(struct buf *out, enum change_kind kind, uint64_t version, struct bw_str path,
                    struct bw_str name);
void   change_put_mixin(struct buf *out, size_t change, struct bw_str mixin);
/* The caller sorts. */
void change_put_prop(struct buf *out, size_t change, struct bw_str name,
                     const struct change_text *value);
/* value: NULL unless base is CHANGE_BASE_VALUE. */
void change_put_base(struct buf *out, enum change_base base, const struct change_text *value);
void change_put_value(struct buf *out, const struct change_text *value);
void change_put_type(struct buf *out, struct bw_str type);
/* Of an entry, followed by its restrictions with change_put_prop. */
void change_put_entry(struct buf *out, bool allow, const struct change_text *privileges);
/* Of a RESTORE; of a LABEL_ADD, followed by the version's name with change_put_type. */
void change_put_removing(struct buf *out, bool removing);
void change_end(struct buf *out, size_t changes, size_t change);
/* The list's size, after which it is whole. */
size_t changes_end(struct buf *out, size_t changes);
