/* lib/wire/messages.c: the table, the frame header with every reason to refuse it, and
 * payloads of every size. (Each row's payload: tests/wire/rows_test.c.) */
#include <criterion/criterion.h>
#include <wire/messages.h>

Test(messages, row_is_found_by_id_alone)
{
	const struct wire_row *row = wire_row(WIRE_RESOURCE_GET);

	cr_assert_not_null(row);
	cr_assert_str_eq(row->name, "RESOURCE_GET");
	cr_assert(row->from == WIRE_GATEWAY && row->to == WIRE_REPO);
	cr_assert_eq(row->answer, WIRE_RESOURCE_FOUND);
	cr_assert(row->fields == &bw__wire__resource_get__descriptor);
	for (unsigned id = 0; id < 70000; id++) {
		bool listed = false;

#define M(number, name, from, to, answer, max, once) listed = listed || id == number;
#include <wire/messages.def>
#undef M
		cr_assert(listed == (wire_row(id) != NULL), "id %u", id);
	}
}

Test(messages, error_text_is_known_for_errors_only)
{
	cr_assert_str_eq(wire_err_text(BW_EGONE), "the other side is gone");
	cr_assert_str_eq(wire_err_text(BW_OK), "done");
	cr_assert_null(wire_err_text(1));
	cr_assert_null(wire_err_text(-1000));
}

static const struct wire_frame sample = {
	.length = 70000,
	.call = 0x01020304,
	.request = 0x1112131415161718,
	.types = 0x2122232425262728,
	.acl = 0x3132333435363738,
	.id = WIRE_RESOURCE_FOUND,
	.flags = WIRE_END,
};

Test(messages, header_has_the_layout_that_is_written_down)
{
	static const uint8_t expected[WIRE_HEADER] = {
		0x70, 0x11, 0x01, 0x00, 0x04, 0x03, 0x02, 0x01, 0x18, 0x17, 0x16, 0x15,
		0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
		0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 44,   0,    2,    0,
	};
	uint8_t           p[WIRE_HEADER];
	struct wire_frame f;

	wire_header_put(p, &sample);
	cr_assert(memcmp(p, expected, sizeof(p)) == 0);
	cr_assert_eq(wire_header_get(p, WIRE_REPO, WIRE_GATEWAY, &f), BW_OK);
	cr_assert(f.length == sample.length && f.call == sample.call &&
	          f.request == sample.request);
	cr_assert(f.types == sample.types && f.acl == sample.acl);
	cr_assert(f.id == sample.id && f.flags == sample.flags && f.payload == p + WIRE_HEADER);
}

Test(messages, header_is_refused_for_each_reason)
{
	static const struct {
		const char       *why;
		enum wire_peer    from, to;
		struct wire_frame f;
	} rows[] = {
		{ "id 0", WIRE_GATEWAY, WIRE_REPO, { .id = 0, .flags = WIRE_END } },
		{ "id between rows", WIRE_GATEWAY, WIRE_REPO, { .id = 39, .flags = WIRE_END } },
		{ "id beyond the table",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = 60000, .flags = WIRE_END } },
		{ "answer from below",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_FOUND, .flags = WIRE_END } },
		{ "question of the other process",
		  WIRE_GATEWAY,
		  WIRE_AUTH,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_END } },
		{ "FAILED from below",
		  WIRE_GATEWAY,
		  WIRE_AUTH,
		  { .id = WIRE_FAILED, .flags = WIRE_END } },
		{ "too long",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_HANDLE_CLOSE, .flags = WIRE_END, .length = 65 } },
		{ "absurdly long",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_END, .length = UINT32_MAX } },
		{ "no flags", WIRE_GATEWAY, WIRE_REPO, { .id = WIRE_RESOURCE_GET } },
		{ "MORE",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_MORE } },
		{ "MORE and END",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_MORE | WIRE_END } },
		{ "CANCEL",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_CANCEL } },
		{ "unknown flag",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_END | 0x8000 } },
		{ "counter from the gateway",
		  WIRE_GATEWAY,
		  WIRE_REPO,
		  { .id = WIRE_RESOURCE_GET, .flags = WIRE_END, .types = 1 } },
		{ "counter from auth",
		  WIRE_AUTH,
		  WIRE_GATEWAY,
		  { .id = WIRE_RESOLVER_HANDLE, .flags = WIRE_END, .acl = 1 } },
	};
	uint8_t           p[WIRE_HEADER];
	struct wire_frame f = { .call = 77 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wire_header_put(p, &rows[i].f);
		cr_assert(wire_header_get(p, rows[i].from, rows[i].to, &f) == BW_EPROTO, "%s",
		          rows[i].why);
		cr_assert(f.call == 77, "%s: *ret was touched", rows[i].why);
	}
}

/* A RESOURCE_FOUND of n octets of record in *ret, its frame returned. */
static struct wire_frame pack_found(size_t n, uint8_t **ret)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;
	uint8_t                *record = calloc(1, n + 1);

	memset(record, 'r', n);
	m.resolved = 5;
	m.record = (ProtobufCBinaryData){ n, record };
	*ret = malloc(protobuf_c_message_get_packed_size(&m.base));
	n = protobuf_c_message_pack(&m.base, *ret);
	free(record);
	return (struct wire_frame){
		.id = WIRE_RESOURCE_FOUND,
		.length = (uint32_t)n,
		.flags = WIRE_END,
		.payload = *ret,
	};
}

Test(messages, large_and_empty_fields_are_read)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 16383, 16384, 250000 };
	struct wire_message m;
	struct wire_frame   f;
	uint8_t            *p;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		f = pack_found(sizes[i], &p);
		cr_assert_eq(wire_message_get(&f, &m), BW_OK);
		cr_assert_eq(m.u->resource_found.resolved, 5);
		cr_assert_eq(m.u->resource_found.record.len, sizes[i]);
		/* In place. */
		cr_assert_eq(m.u->resource_found.record.data, p + f.length - sizes[i]);
		f.length--;
		cr_assert_eq(wire_message_get(&f, &m), BW_EPROTO);
		cr_assert_null(m.u);
		free(p);
	}
}
