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
	.address = SAMPLE_BYTES("\x7f\0\0\1"),
	.has_sudo = 1,
	.sudo = SAMPLE_BYTES("bob"),
	.want_session = 1,
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
	.has_token = 1,
	.token = SAMPLE_BYTES("header.claims.mac"),
	.has_token_s = 1,
	.token_s = 1800,
	.has_impersonator = 1,
	.impersonator = SAMPLE_BYTES("ada"),
	.handles = SAMPLE_BYTES("\1\2\3 as good \0\377as any two"),
};
static Bw__Wire__AuthenticateToken sample_authenticate_token = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__authenticate_token__descriptor),
	.address = SAMPLE_BYTES("\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1"),
	.has_sudo = 1,
	.sudo = SAMPLE_BYTES("bob"),
	.token = SAMPLE_BYTES("header.claims.mac"),
};
static Bw__Wire__AuthenticateBearer sample_authenticate_bearer = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__authenticate_bearer__descriptor),
	.address = SAMPLE_BYTES("\x7f\0\0\1"),
	.has_sudo = 1,
	.sudo = SAMPLE_BYTES("bob"),
	.token = SAMPLE_BYTES("header.claims.signature"),
};
static Bw__Wire__SessionEnd sample_session_end = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_end__descriptor),
	.token = SAMPLE_BYTES("header.claims.mac"),
};
static Bw__Wire__SessionEnded sample_session_ended = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_ended__descriptor),
	.was_live = 1,
};
static Bw__Wire__AccountChange sample_account_change = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__account_change__descriptor),
	.handle = SAMPLE_BYTES("\1\2\3"),
	.what = 4,
	.name = SAMPLE_BYTES("ada"),
	.has_password = 1,
	.password = SAMPLE_BYTES("new"),
	.has_old = 1,
	.old = SAMPLE_BYTES("old"),
	.has_reason = 1,
	.reason = SAMPLE_BYTES("away"),
	.has_members = 1,
	.members = SAMPLE_BYTES("+bob\n-eve\n"),
	.address = SAMPLE_BYTES("\x7f\0\0\1"),
};
static Bw__Wire__AccountChanged sample_account_changed = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__account_changed__descriptor),
	.changed = 1,
};
static Bw__Wire__AccountRead sample_account_read = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__account_read__descriptor),
	.handle = SAMPLE_BYTES("\1\2\3"),
	.what = 1,
	.has_name = 1,
	.name = SAMPLE_BYTES("ada"),
	.has_after = 1,
	.after = SAMPLE_BYTES("bob"),
	.max = 100,
};
static Bw__Wire__AccountText sample_account_text = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__account_text__descriptor),
	.json = SAMPLE_BYTES("{}"),
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
static Bw__Wire__ResourceCommit sample_resource_commit = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__resource_commit__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 1ull << 40,
	.changes = SAMPLE_BYTES("not a list of changes, but that is not looked at here"),
};
static Bw__Wire__Committed sample_committed = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__committed__descriptor),
	.changed = 10000,
};
static Bw__Wire__EventSubscribe sample_event_subscribe = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__event_subscribe__descriptor),
	.count = 1,
	.patterns = SAMPLE_BYTES("a pattern"),
};
static Bw__Wire__EventWatch sample_event_watch = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__event_watch__descriptor),
	.max = 4096,
};
static Bw__Wire__Events sample_events = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__events__descriptor),
	.count = 1,
	.events = SAMPLE_BYTES("an event"),
};
static Bw__Wire__Search sample_search = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__search__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 300,
	.terms = SAMPLE_BYTES("some terms"),
};
static Bw__Wire__SearchPage sample_search_page = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__search_page__descriptor),
	.page = SAMPLE_BYTES("a page"),
};
static Bw__Wire__AccessList sample_access_list = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__access_list__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 9,
	.path = SAMPLE_BYTES("/content"),
};
static Bw__Wire__AccessEntries sample_access_entries = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__access_entries__descriptor),
	.count = 2,
	.entries = SAMPLE_BYTES("not a list of changes, but that is not looked at here"),
};
static Bw__Wire__AccessAsk sample_access_ask = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__access_ask__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 9,
	.path = SAMPLE_BYTES("/content"),
	.privileges = SAMPLE_BYTES("jcr:read jcr:write"),
};
static Bw__Wire__AccessGranted sample_access_granted = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__access_granted__descriptor),
	.all = 1,
	.privileges = SAMPLE_BYTES("rep:readNodes rep:readProperties"),
};
static Bw__Wire__CacheFigures sample_cache_figures = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__cache_figures__descriptor),
	.zero = 0,
};
static Bw__Wire__CacheState sample_cache_state = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__cache_state__descriptor),
	.bytes = 1ull << 40,
	.max_bytes = UINT64_MAX,
	.entries = 300,
	.hits = 4,
	.misses = 5,
	.evictions = 6,
	.stale = 7,
};
static Bw__Wire__SessionLoad sample_session_load = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_load__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.context = SAMPLE_BYTES("default"),
};
static Bw__Wire__SessionCreate sample_session_create = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_create__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.join = 1,
	.max_inactive = -1,
	.context = SAMPLE_BYTES("default"),
};
static Bw__Wire__SessionSet sample_session_set = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_set__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.context = SAMPLE_BYTES("default"),
	.has_kind = 1,
	.kind = 8,
	.has_value = 1,
	.value = SAMPLE_BYTES("\0\1"),
	.name = SAMPLE_BYTES("flags"),
};
static Bw__Wire__SessionAdd sample_session_add = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_add__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.context = SAMPLE_BYTES("default"),
	.delta = (uint64_t)-1,
	.name = SAMPLE_BYTES("n"),
};
static Bw__Wire__SessionTimeout sample_session_timeout = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_timeout__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.context = SAMPLE_BYTES("default"),
	.max_inactive = 1800,
};
static Bw__Wire__SessionInvalidate sample_session_invalidate = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_invalidate__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.context = SAMPLE_BYTES("default"),
};
static Bw__Wire__SessionChangeId sample_session_change_id = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_change_id__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.new_id = SAMPLE_BYTES("fedcba9876543210fedcba9876543210"),
};
static Bw__Wire__SessionRelease sample_session_release = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_release__descriptor),
	.id = SAMPLE_BYTES("0123456789abcdef0123456789abcdef"),
	.lease = 1796000000000000,
	.context = SAMPLE_BYTES("default"),
};
static Bw__Wire__SessionWatch sample_session_watch = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_watch__descriptor),
	.max = 64,
};
static Bw__Wire__SessionData sample_session_data = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_data__descriptor),
	.count = 1,
	.sessions = SAMPLE_BYTES("a record"),
};
static Bw__Wire__SessionChanged sample_session_changed = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__session_changed__descriptor),
	.has_kind = 1,
	.kind = 1,
	.has_value = 1,
	.value = SAMPLE_BYTES("old"),
	.lease = 1,
};
static Bw__Wire__BlobWrite sample_blob_write = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__blob_write__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 3,
	.has_upload = 1,
	.upload = SAMPLE_BYTES("1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
	.offset = 65536,
	.data = SAMPLE_BYTES("\0\377"),
};
static Bw__Wire__BlobWritten sample_blob_written = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__blob_written__descriptor),
	.upload = SAMPLE_BYTES("1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
	.length = 65538,
};
static Bw__Wire__BlobRead sample_blob_read = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__blob_read__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 4,
	.value = SAMPLE_BYTES("not a value, but that is not looked at here"),
	.property = SAMPLE_BYTES("jcr:data"),
	.offset = 1ull << 29,
	.max = 196608,
	.has_version = 1,
	.version = SAMPLE_BYTES("1.0"),
	.has_below = 1,
	.below = SAMPLE_BYTES("jcr:content"),
	.path = SAMPLE_BYTES("/content/film"),
};
static Bw__Wire__BlobData sample_blob_data = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__blob_data__descriptor),
	.data = SAMPLE_BYTES("\0\1\2"),
};
static Bw__Wire__VersionList sample_version_list = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__version_list__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 4,
	.has_after = 1,
	.after = SAMPLE_BYTES("1.0"),
	.max = 64,
	.path = SAMPLE_BYTES("/content/page"),
};
static Bw__Wire__VersionGet sample_version_get = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__version_get__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 4,
	.version = SAMPLE_BYTES("released"),
	.has_below = 1,
	.below = SAMPLE_BYTES("jcr:content"),
	.path = SAMPLE_BYTES("/content/page"),
};
static Bw__Wire__NamespaceFind sample_namespace_find = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__namespace_find__descriptor),
	.has_handle = 1,
	.handle = SAMPLE_BYTES("\1\2\3"),
	.sequence = 4,
	.uri = SAMPLE_BYTES("http://www.jcp.org/jcr/1.0"),
};
static Bw__Wire__Namespace sample_namespace = {
	.base = PROTOBUF_C_MESSAGE_INIT(&bw__wire__namespace__descriptor),
	.prefix = SAMPLE_BYTES("jcr"),
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
		&sample_authenticate_token.base,
		&sample_authenticate_bearer.base,
		&sample_session_end.base,
		&sample_session_ended.base,
		&sample_account_change.base,
		&sample_account_changed.base,
		&sample_account_read.base,
		&sample_account_text.base,
		&sample_resource_resolve.base,
		&sample_resource_get.base,
		&sample_resource_children.base,
		&sample_handle_close.base,
		&sample_resource_found.base,
		&sample_resource_page.base,
		&sample_resource_commit.base,
		&sample_committed.base,
		&sample_event_subscribe.base,
		&sample_event_watch.base,
		&sample_events.base,
		&sample_search.base,
		&sample_search_page.base,
		&sample_access_list.base,
		&sample_access_entries.base,
		&sample_access_ask.base,
		&sample_access_granted.base,
		&sample_cache_figures.base,
		&sample_cache_state.base,
		&sample_session_load.base,
		&sample_session_create.base,
		&sample_session_set.base,
		&sample_session_add.base,
		&sample_session_timeout.base,
		&sample_session_invalidate.base,
		&sample_session_change_id.base,
		&sample_session_release.base,
		&sample_session_watch.base,
		&sample_session_data.base,
		&sample_session_changed.base,
		&sample_blob_write.base,
		&sample_blob_written.base,
		&sample_blob_read.base,
		&sample_blob_data.base,
		&sample_version_list.base,
		&sample_version_get.base,
		&sample_namespace_find.base,
		&sample_namespace.base,
		&sample_hello.base,
		&sample_failed.base,
	};
	const struct wire_row *row = wire_row(id);

	for (size_t i = 0; row && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->descriptor == row->fields)
			return all[i];
	return NULL;
}
