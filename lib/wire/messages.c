/* messages.c - the rows of messages.def as a table, and the frame header. Payloads: payload.c.
 *
 * Owns: nothing. Runs in: gateway, auth, repo, on the loop; never blocks.
 * Fails with: BW_EPROTO, for the caller to close the connection on.
 * Tests: tests/unit/wire/messages_test.c, and every row in tests/wire/rows_test.c. */
#include <wire/messages.h>
#include <wire/octets.h>

/* The fields of each row. The preprocessor cannot lower a name, so a row has a line here as well;
 * without it this file does not compile. */
#define FIELDS_AUTHENTICATE_BASIC     bw__wire__authenticate_basic__descriptor
#define FIELDS_AUTHENTICATE_ANONYMOUS bw__wire__authenticate_anonymous__descriptor
#define FIELDS_AUTHENTICATE_SERVICE   bw__wire__authenticate_service__descriptor
#define FIELDS_RESOLVER_HANDLE        bw__wire__resolver_handle__descriptor
#define FIELDS_AUTHENTICATE_TOKEN     bw__wire__authenticate_token__descriptor
#define FIELDS_AUTHENTICATE_BEARER    bw__wire__authenticate_bearer__descriptor
#define FIELDS_SESSION_END            bw__wire__session_end__descriptor
#define FIELDS_SESSION_ENDED          bw__wire__session_ended__descriptor
#define FIELDS_ACCOUNT_CHANGE         bw__wire__account_change__descriptor
#define FIELDS_ACCOUNT_CHANGED        bw__wire__account_changed__descriptor
#define FIELDS_ACCOUNT_READ           bw__wire__account_read__descriptor
#define FIELDS_ACCOUNT_TEXT           bw__wire__account_text__descriptor
#define FIELDS_RESOURCE_RESOLVE       bw__wire__resource_resolve__descriptor
#define FIELDS_RESOURCE_GET           bw__wire__resource_get__descriptor
#define FIELDS_RESOURCE_CHILDREN      bw__wire__resource_children__descriptor
#define FIELDS_HANDLE_CLOSE           bw__wire__handle_close__descriptor
#define FIELDS_RESOURCE_FOUND         bw__wire__resource_found__descriptor
#define FIELDS_RESOURCE_PAGE          bw__wire__resource_page__descriptor
#define FIELDS_RESOURCE_COMMIT        bw__wire__resource_commit__descriptor
#define FIELDS_COMMITTED              bw__wire__committed__descriptor
#define FIELDS_EVENT_SUBSCRIBE        bw__wire__event_subscribe__descriptor
#define FIELDS_EVENT_WATCH            bw__wire__event_watch__descriptor
#define FIELDS_EVENTS                 bw__wire__events__descriptor
#define FIELDS_SEARCH                 bw__wire__search__descriptor
#define FIELDS_SEARCH_PAGE            bw__wire__search_page__descriptor
#define FIELDS_ACCESS_LIST            bw__wire__access_list__descriptor
#define FIELDS_ACCESS_ENTRIES         bw__wire__access_entries__descriptor
#define FIELDS_ACCESS_ASK             bw__wire__access_ask__descriptor
#define FIELDS_ACCESS_GRANTED         bw__wire__access_granted__descriptor
#define FIELDS_CACHE_FIGURES          bw__wire__cache_figures__descriptor
#define FIELDS_CACHE_STATE            bw__wire__cache_state__descriptor
#define FIELDS_SESSION_LOAD           bw__wire__session_load__descriptor
#define FIELDS_SESSION_CREATE         bw__wire__session_create__descriptor
#define FIELDS_SESSION_SET            bw__wire__session_set__descriptor
#define FIELDS_SESSION_ADD            bw__wire__session_add__descriptor
#define FIELDS_SESSION_TIMEOUT        bw__wire__session_timeout__descriptor
#define FIELDS_SESSION_INVALIDATE     bw__wire__session_invalidate__descriptor
#define FIELDS_SESSION_CHANGE_ID      bw__wire__session_change_id__descriptor
#define FIELDS_SESSION_RELEASE        bw__wire__session_release__descriptor
#define FIELDS_SESSION_WATCH          bw__wire__session_watch__descriptor
#define FIELDS_SESSION_DATA           bw__wire__session_data__descriptor
#define FIELDS_SESSION_CHANGED        bw__wire__session_changed__descriptor
#define FIELDS_BLOB_WRITE             bw__wire__blob_write__descriptor
#define FIELDS_BLOB_WRITTEN           bw__wire__blob_written__descriptor
#define FIELDS_BLOB_READ              bw__wire__blob_read__descriptor
#define FIELDS_BLOB_DATA              bw__wire__blob_data__descriptor
#define FIELDS_VERSION_LIST           bw__wire__version_list__descriptor
#define FIELDS_VERSION_GET            bw__wire__version_get__descriptor
#define FIELDS_NAMESPACE_FIND         bw__wire__namespace_find__descriptor
#define FIELDS_NAMESPACE              bw__wire__namespace__descriptor
#define FIELDS_HELLO                  bw__wire__hello__descriptor
#define FIELDS_FAILED                 bw__wire__failed__descriptor

static const struct wire_row rows[] = {
#define M(id, name, from, to, answer, max, once) \
	[id] = { #name, WIRE_##from, WIRE_##to, WIRE_##answer, max, once, &FIELDS_##name },
#include <wire/messages.def>
#undef M
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

_Static_assert(N_ROWS <= WIRE_IDS, "an id needs a place in the sets of ids");

/* What must hold for every row, checked by the compiler: an id stands once; an answer goes the
 * opposite way of its question and answers nothing else itself; a payload fits a frame. */
enum {
#define M(id, name, from, to, answer, max, once) ID_##id##_STANDS_ONCE,
#include <wire/messages.def>
#undef M
};
enum {
	NONE_FROM = 0,
	NONE_TO = 0,
	NONE_IS_ASKED = 0,
#define M(id, name, from, to, answer, max, once) \
	name##_FROM = WIRE_##from, name##_TO = WIRE_##to, \
	name##_IS_ASKED = WIRE_##answer != WIRE_NONE,
#include <wire/messages.def>
#undef M
};
#define M(id, name, from, to, answer, max, once) \
	_Static_assert(id > 0, #name ": 0 is no message"); \
	_Static_assert(max <= (id == WIRE_RESOURCE_COMMIT ? WIRE_COMMIT_MAX : WIRE_FRAME_MAX), \
	               #name ": too large for a frame"); \
	_Static_assert(WIRE_##answer == WIRE_NONE || \
	                       (answer##_FROM == name##_TO && answer##_TO == name##_FROM), \
	               #name ": its answer must go the opposite way"); \
	_Static_assert(!answer##_IS_ASKED, #name ": its answer is a question"); \
	_Static_assert(!(once) || WIRE_##answer == WIRE_NONE, #name ": once, yet answered");
#include <wire/messages.def>
#undef M

const struct wire_row *wire_row(unsigned id)
{
	return id < N_ROWS && rows[id].name ? &rows[id] : NULL;
}

const char *wire_err_text(int err)
{
	switch (err) {
	case BW_OK:
		return "done";
#define X(constant, value, name, status, text) \
	case constant: \
		return text;
		BW_ERRORS(X)
#undef X
	default:
		return NULL;
	}
}

bool wire_is_secret(enum wire_id id)
{
	return id == WIRE_AUTHENTICATE_BASIC || id == WIRE_ACCOUNT_CHANGE ||
	       (id >= WIRE_AUTHENTICATE_TOKEN && id <= WIRE_SESSION_END);
}

int wire_header_get(const uint8_t *p, enum wire_peer from, enum wire_peer to,
                    struct wire_frame *ret)
{
	unsigned               id = get_u16(p + 32), flags = get_u16(p + 34);
	uint32_t               length = get_u32(p);
	uint64_t               types = get_u64(p + 16), acl = get_u64(p + 24);
	const struct wire_row *row = wire_row(id);

	if (!row || !(row->from & from) || !(row->to & to) || length > row->max ||
	    flags != WIRE_END)
		return BW_EPROTO;
	if (from != WIRE_REPO && (types || acl))
		return BW_EPROTO;
	*ret = (struct wire_frame){
		.length = length,
		.call = get_u32(p + 4),
		.request = get_u64(p + 8),
		.types = types,
		.acl = acl,
		.id = id,
		.flags = flags,
		.payload = p + WIRE_HEADER,
	};
	return BW_OK;
}

void wire_header_put(uint8_t *p, const struct wire_frame *f)
{
	put_u32(p, f->length);
	put_u32(p + 4, f->call);
	put_u64(p + 8, f->request);
	put_u64(p + 16, f->types);
	put_u64(p + 24, f->acl);
	put_u16(p + 32, (uint16_t)f->id);
	put_u16(p + 34, (uint16_t)f->flags);
}
