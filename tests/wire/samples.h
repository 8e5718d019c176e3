/* samples.h - one filled message for each row of messages.def, found by the row's id. A row without
 * a sample fails tests/wire/rows_test.c. Every field of a sample is set, so that a round trip that
 * loses one is seen. */
#pragma once
#include <string.h>
#include <wire/messages.h>

#define SAMPLE_BYTES(text) \
	{ \
		sizeof(text) - 1, (uint8_t *)(text) \
	}

static Bw__Wire__AuthenticateBasic sample_authenticate_basic = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__authenticate_basic__descriptor),
	.user = SAMPLE_BYTES("admin"),
	.password = SAMPLE_BYTES("a:b\0c"),
};
static Bw__Wire__AuthenticateAnonymous sample_authenticate_anonymous = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__authenticate_anonymous__descriptor),
	.count = WIRE_HANDLES,
};
static Bw__Wire__AuthenticateService sample_authenticate_service = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__authenticate_service__descriptor),
	.bundle = SAMPLE_BYTES("boardwalk.demo"),
	.has_subservice = 1,
	.subservice = SAMPLE_BYTES("jobs"),
	.count = 1,
};
static Bw__Wire__ResolverHandle sample_resolver_handle = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resolver_handle__descriptor),
	.user = SAMPLE_BYTES("anonymous"),
	.count = 2,
	.handles = SAMPLE_BYTES("\1\2\3 as good \0\377as any two"),
};
static Bw__Wire__ResourceResolve sample_resource_resolve = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resource_resolve__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = UINT64_MAX,
	.path = SAMPLE_BYTES("/content/test.print.html/suffix"),
};
static Bw__Wire__ResourceGet sample_resource_get = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resource_get__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 1ull << 40,
	.path = SAMPLE_BYTES("/content/test"),
};
static Bw__Wire__ResourceChildren sample_resource_children = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resource_children__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 300,
	.has_after = 1,
	.after = SAMPLE_BYTES("a"),
	.max = 256,
	.path = SAMPLE_BYTES("/content/dam"),
};
static Bw__Wire__HandleClose sample_handle_close = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__handle_close__descriptor),
	.sequence = 127,
};
static Bw__Wire__ResourceFound sample_resource_found = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resource_found__descriptor),
	.resolved = 13,
	.record = SAMPLE_BYTES("not a record, but that is not looked at here"),
};
static Bw__Wire__ResourcePage sample_resource_page = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resource_page__descriptor),
	.more = 1,
	.count = 2,
	.records = SAMPLE_BYTES("two records"),
};
static Bw__Wire__Hello sample_hello = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__hello__descriptor),
	.wire_version = WIRE_VERSION,
	.build = SAMPLE_BYTES("0.1.0"),
	.channel = SAMPLE_BYTES("0123456789abcdef"),
};
static Bw__Wire__Failed sample_failed = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__failed__descriptor),
	.code = BW_EBUSY,
	.has_retry_after = 1,
	.retry_after = 1,
	.text = SAMPLE_BYTES("queue full"),
};

/* NULL: no sample for this row. */
static inline const ProtobufCMessage *sample_of(enum wire_id id)
{
	static const ProtobufCMessage *const all[] = {
		&sample_authenticate_basic.base,
		&sample_authenticate_anonymous.base,
		&sample_authenticate_service.base,
		&sample_resolver_handle.base,
		&sample_resource_resolve.base,
		&sample_resource_get.base,
		&sample_resource_children.base,
		&sample_handle_close.base,
		&sample_resource_found.base,
		&sample_resource_page.base,
		&sample_hello.base,
		&sample_failed.base,
	};
	const struct wire_row *row = wire_row(id);

	for (size_t i = 0; row && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->descriptor == row->fields)
			return all[i];
	return NULL;
}
