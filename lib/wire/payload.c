/* payload.c - reads a payload strictly: exactly the bytes that protobuf-c would write for that
 * message, and no others.
 *
 * protobuf-c's own unpacker takes what any protobuf reader takes: fields twice or in another order,
 * numbers with idle octets, so that one message has many forms and some can be lengthened without
 * notice. It also copies each field. Here the descriptors that protoc-c has generated are walked
 * once, field by field in ascending order: a field is there once or, if optional, not; numbers have
 * their shortest form; nothing follows the last one. Bytes fields point into the payload.
 * Messages are flat: bytes, numbers and truth values, none of them repeated (a test holds
 * boardwalk.proto to that).
 *
 * Owns: nothing. Runs in: gateway, auth, repo, on the loop. Fails with: BW_EPROTO.
 * Tests: tests/wire/rows_test.c, against protobuf-c; fuzz/wire_message_get. */
#include <base/fatal.h>
#include <wire/messages.h>

enum { VARINT = 0, DELIMITED = 2 }; /* protobuf's wire types, as far as they are used here */

struct cursor {
	const uint8_t *p, *end;
};

/* A number in its shortest form. */
static bool take_number(struct cursor *c, uint64_t *ret)
{
	uint64_t v = 0;
	uint8_t  octet;

	for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
		octet = *c->p++;
		v |= (uint64_t)(octet & 0x7f) << shift;
		if (octet & 0x80)
			continue;
		if ((octet == 0 && shift > 0) || (shift == 63 && octet > 1))
			return false;
		*ret = v;
		return true;
	}
	return false;
}

static bool take_bytes(struct cursor *c, ProtobufCBinaryData *ret)
{
	uint64_t n;

	if (!take_number(c, &n) || n > (uint64_t)(c->end - c->p))
		return false;
	ret->data = (uint8_t *)c->p; /* not written to: who reads a payload does not own it */
	ret->len = n;
	c->p += n;
	return true;
}

static bool take_value(struct cursor *c, ProtobufCType type, void *ret)
{
	uint64_t v;

	if (type == PROTOBUF_C_TYPE_BYTES)
		return take_bytes(c, ret);
	if (!take_number(c, &v))
		return false;
	switch (type) {
	case PROTOBUF_C_TYPE_UINT64:
		*(uint64_t *)ret = v;
		return true;
	case PROTOBUF_C_TYPE_UINT32:
		*(uint32_t *)ret = (uint32_t)v;
		return v <= UINT32_MAX;
	case PROTOBUF_C_TYPE_SINT32: /* 0, -1, 1, -2 ... */
		*(int32_t *)ret = (int32_t)((uint32_t)v >> 1 ^ -((uint32_t)v & 1));
		return v <= UINT32_MAX;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)ret = (protobuf_c_boolean)v;
		return v <= 1;
	default:
		fatalx("boardwalk.proto uses a type that payload.c does not read");
	}
}

static bool take_tag(struct cursor *c, const ProtobufCFieldDescriptor *field)
{
	struct cursor ahead = *c;
	uint64_t      tag;
	unsigned      type = field->type == PROTOBUF_C_TYPE_BYTES ? DELIMITED : VARINT;

	if (!take_number(&ahead, &tag) || tag != ((uint64_t)field->id << 3 | type))
		return false;
	*c = ahead;
	return true;
}

int wire_message_get(const struct wire_frame *f, struct wire_message *ret)
{
	const struct wire_row *row = wire_row(f->id);
	struct cursor          c = { f->payload, f->payload + f->length };
	uint8_t               *m = (uint8_t *)&ret->any;

	ret->u = NULL;
	if (!row)
		return BW_EPROTO;
	protobuf_c_message_init(row->fields, m);
	for (unsigned i = 0; i < row->fields->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &row->fields->fields[i];
		bool optional = field->label != PROTOBUF_C_LABEL_REQUIRED;

		if (!take_tag(&c, field)) {
			if (!optional)
				return BW_EPROTO;
			continue;
		}
		if (!take_value(&c, field->type, m + field->offset))
			return BW_EPROTO;
		if (optional)
			*(protobuf_c_boolean *)(m + field->quantifier_offset) = true;
	}
	if (c.p != c.end)
		return BW_EPROTO;
	ret->u = &ret->any;
	return BW_OK;
}
