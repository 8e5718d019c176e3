/* Every row of lib/wire/messages.def: its message goes there and back unchanged, with and without
 * its optional fields; any other bytes of it are refused: each truncation, each octet over, a field
 * twice, out of order, unknown or missing; and it is taken from the right side in the right size
 * only. The rows come from the table, so a new one is tested as soon as it has a sample. */
#include <criterion/criterion.h>
#include <wire/messages.h>
#include "wire/samples.h"

#define MAX 4096

static const enum wire_id ids[] = {
#define M(id, name, from, to, answer, max, once) WIRE_##name,
#include <wire/messages.def>
#undef M
};
#define N_IDS (sizeof(ids) / sizeof(ids[0]))

static const char *name_of(enum wire_id id)
{
	return wire_row(id)->name;
}

static const ProtobufCMessage *sample(enum wire_id id)
{
	const ProtobufCMessage *m = sample_of(id);

	cr_assert_not_null(m, "%s has no sample in tests/wire/samples.h", name_of(id));
	return m;
}

/* Reads n octets as a payload of that row, from a block of exactly that size. */
static int get(enum wire_id id, const uint8_t *p, size_t n, struct wire_message *ret)
{
	uint8_t          *exact = malloc(n > 0 ? n : 1);
	struct wire_frame f = { .id = id, .length = (uint32_t)n, .payload = exact };
	uint8_t           again[MAX];
	int               err;

	memcpy(exact, p, n);
	err = wire_message_get(&f, ret);
	if (err == BW_OK) { /* what was accepted is what would have been sent */
		cr_assert(protobuf_c_message_get_packed_size(&ret->u->base) == n, "%s",
		          name_of(id));
		protobuf_c_message_pack(&ret->u->base, again);
		cr_assert(memcmp(again, p, n) == 0, "%s", name_of(id));
	}
	free(exact);
	return err;
}

static size_t pack(enum wire_id id, uint8_t p[MAX])
{
	const ProtobufCMessage *m = sample(id);

	cr_assert_lt(protobuf_c_message_get_packed_size(m), MAX / 2);
	return protobuf_c_message_pack(m, p);
}

Test(rows, round_trip)
{
	struct wire_message m;
	uint8_t             p[MAX];

	for (size_t i = 0; i < N_IDS; i++) {
		size_t n = pack(ids[i], p);

		cr_assert(n <= wire_row(ids[i])->max, "%s", name_of(ids[i]));
		cr_assert(get(ids[i], p, n, &m) == BW_OK, "%s", name_of(ids[i]));
	}
}

Test(rows, every_truncation_is_refused)
{
	struct wire_message m;
	uint8_t             p[MAX];

	for (size_t i = 0; i < N_IDS; i++)
		for (size_t n = pack(ids[i], p); n-- > 0;)
			cr_assert(get(ids[i], p, n, &m) == BW_EPROTO, "%s cut to %zu",
			          name_of(ids[i]), n);
}

Test(rows, every_octet_over_is_refused)
{
	struct wire_message m;
	uint8_t             p[MAX];

	for (size_t i = 0; i < N_IDS; i++) {
		size_t n = pack(ids[i], p);

		for (unsigned octet = 0; octet < 256; octet++) {
			p[n] = (uint8_t)octet;
			cr_assert(get(ids[i], p, n + 1, &m) == BW_EPROTO, "%s and %02x",
			          name_of(ids[i]), octet);
		}
	}
}

/* ---- fields ---- */

/* Octets of the field at p: tag and varint, or tag, size and contents. */
static size_t field_size(const uint8_t *p)
{
	size_t n = 1, size = 0;

	if ((p[0] & 7) == 2) {
		for (unsigned shift = 0;; shift += 7) {
			size |= (size_t)(p[n] & 0x7f) << shift;
			if (!(p[n++] & 0x80))
				return n + size;
		}
	}
	while (p[n++] & 0x80)
		;
	return n;
}

Test(rows, missing_repeated_moved_and_unknown_fields_are_refused)
{
	static const uint8_t unknown[][3] = { { 15 << 3 | 2, 1, 'x' }, { 9 << 3, 0x80, 1 } };
	struct wire_message  m;
	uint8_t              p[MAX], q[MAX];

	for (size_t i = 0; i < N_IDS; i++) {
		const ProtobufCMessageDescriptor *fields = wire_row(ids[i])->fields;
		size_t                            n = pack(ids[i], p), at = 0, size;

		for (unsigned j = 0; j < fields->n_fields; j++, at += size) {
			bool required = fields->fields[j].label == PROTOBUF_C_LABEL_REQUIRED;

			size = field_size(p + at);
			memcpy(q, p, at); /* without it */
			memcpy(q + at, p + at + size, n - at - size);
			cr_assert(get(ids[i], q, n - size, &m) == (required ? BW_EPROTO : BW_OK),
			          "%s: %s", name_of(ids[i]), fields->fields[j].name);
			memcpy(q + n - size, p + at, size); /* at the end */
			cr_assert(j + 1 == fields->n_fields || get(ids[i], q, n, &m) == BW_EPROTO,
			          "%s: %s", name_of(ids[i]), fields->fields[j].name);
			memcpy(q, p, n); /* twice */
			memcpy(q + n, p + at, size);
			cr_assert(get(ids[i], q, n + size, &m) == BW_EPROTO, "%s: %s",
			          name_of(ids[i]), fields->fields[j].name);
			for (unsigned k = 0; k < 2; k++) { /* another one before it */
				memcpy(q, p, at);
				memcpy(q + at, unknown[k], 3);
				memcpy(q + at + 3, p + at, n - at);
				cr_assert(get(ids[i], q, n + 3, &m) == BW_EPROTO, "%s",
				          name_of(ids[i]));
			}
		}
	}
}

/* What boardwalk.proto promises about its messages. */
Test(rows, fields_are_flat_and_the_last_one_required)
{
	for (size_t i = 0; i < N_IDS; i++) {
		const ProtobufCMessageDescriptor *fields = wire_row(ids[i])->fields;

		for (unsigned j = 0; j < fields->n_fields; j++) {
			const ProtobufCFieldDescriptor *field = &fields->fields[j];

			cr_assert(field->type == PROTOBUF_C_TYPE_BYTES ||
			                  field->type == PROTOBUF_C_TYPE_BOOL ||
			                  field->type == PROTOBUF_C_TYPE_UINT32 ||
			                  field->type == PROTOBUF_C_TYPE_UINT64 ||
			                  field->type == PROTOBUF_C_TYPE_SINT32,
			          "%s: %s", name_of(ids[i]), field->name);
			cr_assert(field->label == PROTOBUF_C_LABEL_REQUIRED ||
			                  field->label == PROTOBUF_C_LABEL_OPTIONAL,
			          "%s: %s", name_of(ids[i]), field->name);
		}
		cr_assert(fields->fields[fields->n_fields - 1].label == PROTOBUF_C_LABEL_REQUIRED,
		          "%s: the last field must be required", name_of(ids[i]));
		cr_assert(sizeof(union wire_any) >= fields->sizeof_message,
		          "%s is not in union wire_any", name_of(ids[i]));
	}
}

/* Numbers at the borders of their encodings, against protobuf-c's own reader. */
Test(rows, numbers_are_read_as_protobuf_c_reads_them)
{
	struct wire_message m;
	uint8_t             p[MAX];

	for (unsigned bits = 0; bits < 64; bits++) {
		for (int d = -1; d <= 1; d++) {
			Bw__Wire__HandleClose close = BW__WIRE__HANDLE_CLOSE__INIT, *other;
			Bw__Wire__Failed      failed = BW__WIRE__FAILED__INIT;
			size_t                n;

			close.sequence = (1ull << bits) + (uint64_t)(int64_t)d;
			n = protobuf_c_message_pack(&close.base, p);
			cr_assert_eq(get(WIRE_HANDLE_CLOSE, p, n, &m), BW_OK);
			other = bw__wire__handle_close__unpack(NULL, n, p);
			cr_assert_eq(m.any.handle_close.sequence, other->sequence);
			cr_assert_eq(other->sequence, close.sequence);
			bw__wire__handle_close__free_unpacked(other, NULL);
			failed.code = (int32_t)(uint32_t)close.sequence;
			n = protobuf_c_message_pack(&failed.base, p);
			cr_assert_eq(get(WIRE_FAILED, p, n, &m), BW_OK);
			cr_assert_eq(m.any.failed.code, failed.code);
		}
	}
}

Test(rows, every_changed_octet_is_refused_or_another_message)
{
	struct wire_message m;
	uint8_t             p[MAX];

	for (size_t i = 0; i < N_IDS; i++) {
		size_t n = pack(ids[i], p);

		for (size_t at = 0; at < n; at++) {
			for (unsigned octet = 0; octet < 256; octet++) {
				uint8_t was = p[at];

				p[at] = (uint8_t)octet;
				get(ids[i], p, n, &m); /* holds what it accepts to the rules */
				p[at] = was;
			}
		}
	}
}

/* ---- directions and sizes ---- */

Test(rows, taken_from_the_right_side_only)
{
	static const enum wire_peer peers[] = { WIRE_GATEWAY, WIRE_AUTH, WIRE_REPO };
	struct wire_frame           f;
	uint8_t                     p[WIRE_HEADER];

	for (size_t i = 0; i < N_IDS; i++) {
		const struct wire_row *row = wire_row(ids[i]);

		wire_header_put(p, &(struct wire_frame){ .id = ids[i], .flags = WIRE_END });
		for (unsigned from = 0; from < 3; from++) {
			for (unsigned to = 0; to < 3; to++) {
				bool right = (row->from & peers[from]) && (row->to & peers[to]);

				cr_assert(wire_header_get(p, peers[from], peers[to], &f) ==
				                  (right ? BW_OK : BW_EPROTO),
				          "%s from %u to %u", row->name, from, to);
			}
		}
	}
}

Test(rows, taken_up_to_the_largest_size_only)
{
	struct wire_frame f;
	uint8_t           p[WIRE_HEADER];

	for (size_t i = 0; i < N_IDS; i++) {
		const struct wire_row *row = wire_row(ids[i]);
		enum wire_peer         from = row->from == WIRE_PEER ? WIRE_AUTH : row->from;
		enum wire_peer         to = row->to == WIRE_PEER ? WIRE_GATEWAY : row->to;

		for (int over = -1; over <= 1; over++) {
			wire_header_put(
				p, &(struct wire_frame){ .id = ids[i],
			                                 .flags = WIRE_END,
			                                 .length = row->max + (uint32_t)over });
			cr_assert(wire_header_get(p, from, to, &f) ==
			                  (over > 0 ? BW_EPROTO : BW_OK),
			          "%s", row->name);
		}
	}
}
