/* messages.h - the protocol as constants and checks, expanded from messages.def.
 *
 * Frame on the wire, little endian, 36 octets of header:
 *
 *    0  u32  length     octets after the header, at most the row's
 *    4  u32  call       drawn by the asking side, upward; an answer repeats it
 *    8  u64  request    request id, for every log line
 *   16  u64  types      repo's answers: counter of type and script changes, else 0
 *   24  u64  acl        repo's answers: counter of access control changes, else 0
 *   32  u16  id         messages.def
 *   34  u16  flags      MORE, END, CANCEL
 *
 * A plain message has flags END. MORE: further frames of the same call follow. CANCEL (from the
 * asking side, empty): the answer is not wanted any more. No message of messages.def is sent in
 * pieces or is worth cancelling at the other end yet, so any flags but END are refused. */
#pragma once
#include <boardwalk/err.h>
#include <boardwalk/types.h>
#include <wire/boardwalk.pb-c.h>

#define WIRE_VERSION   3
#define WIRE_HEADER    36u
#define WIRE_FRAME_MAX 262144u /* payload octets */
/* Of RESOURCE_COMMIT alone: 4 MiB of changes and their wrapping. What is behind it on the connection
 * waits for some milliseconds; commits of that size are rare, and their values are small, for large
 * ones are uploads. */
#define WIRE_COMMIT_MAX 4325376u
#define WIRE_IDS        128u  /* ids are below; sets of ids are 128 bits */
#define WIRE_HANDLES    32u   /* resolver handles in one answer, at most */
#define WIRE_TOKEN_MAX  4096u /* octets of a session or bearer token */

enum wire_flag { WIRE_MORE = 1, WIRE_END = 2, WIRE_CANCEL = 4 };
enum wire_peer { WIRE_GATEWAY = 1, WIRE_AUTH = 2, WIRE_REPO = 4, WIRE_PEER = 7 };

enum wire_id {
	WIRE_NONE = 0,
#define M(id, name, from, to, answer, max, once) WIRE_##name = id,
#include <wire/messages.def>
#undef M
};

struct wire_row {
	const char                       *name;
	enum wire_peer                    from, to;
	enum wire_id                      answer; /* WIRE_NONE: one way */
	uint32_t                          max;    /* payload octets */
	bool                              once;
	const ProtobufCMessageDescriptor *fields;
};

struct wire_frame {
	uint32_t       length, call;
	uint64_t       request, types, acl;
	enum wire_id   id;
	unsigned       flags;
	const uint8_t *payload; /* borrowed until the handler returns */
};

/* The row of an id, NULL if there is none. */
const struct wire_row *wire_row(unsigned id);
/* The text of err.h for BW_OK or a BW_E*; NULL for a number that is none. */
const char *wire_err_text(int err);
/* Payloads of this id hold a password or a token: channels wipe the buffers they went through. */
bool wire_is_secret(enum wire_id id);
/* Reads a header; BW_EPROTO if the id is unknown, the direction wrong, the length over the row's
 * maximum, the flags nonsense, or a counter set that is not repo's. payload is set to
 * p + WIRE_HEADER. p has at least WIRE_HEADER octets; the payload may not have arrived yet. */
int  wire_header_get(const uint8_t *p, enum wire_peer from, enum wire_peer to,
                     struct wire_frame *ret);
void wire_header_put(uint8_t *p, const struct wire_frame *f);

/* Reads a payload into the message of its row. Exactly what protobuf-c writes for a message is
 * taken: BW_EPROTO for a missing, repeated, misplaced or unknown field, a number longer than it
 * need be, anything cut or added. Bytes fields point into the payload: they are borrowed as long
 * as it is, have no NUL behind them, and are NULL where absent. u is NULL on failure. */
union wire_any {
	ProtobufCMessage                base;
	Bw__Wire__AuthenticateBasic     authenticate_basic;
	Bw__Wire__AuthenticateAnonymous authenticate_anonymous;
	Bw__Wire__AuthenticateService   authenticate_service;
	Bw__Wire__ResolverHandle        resolver_handle;
	Bw__Wire__AuthenticateToken     authenticate_token;
	Bw__Wire__AuthenticateBearer    authenticate_bearer;
	Bw__Wire__SessionEnd            session_end;
	Bw__Wire__SessionEnded          session_ended;
	Bw__Wire__AccountChange         account_change;
	Bw__Wire__AccountChanged        account_changed;
	Bw__Wire__AccountRead           account_read;
	Bw__Wire__AccountText           account_text;
	Bw__Wire__ResourceResolve       resource_resolve;
	Bw__Wire__ResourceGet           resource_get;
	Bw__Wire__ResourceChildren      resource_children;
	Bw__Wire__HandleClose           handle_close;
	Bw__Wire__ResourceFound         resource_found;
	Bw__Wire__ResourcePage          resource_page;
	Bw__Wire__ResourceCommit        resource_commit;
	Bw__Wire__Committed             committed;
	Bw__Wire__EventSubscribe        event_subscribe;
	Bw__Wire__EventWatch            event_watch;
	Bw__Wire__Events                events;
	Bw__Wire__Search                search;
	Bw__Wire__SearchPage            search_page;
	Bw__Wire__AccessList            access_list;
	Bw__Wire__AccessEntries         access_entries;
	Bw__Wire__AccessAsk             access_ask;
	Bw__Wire__AccessGranted         access_granted;
	Bw__Wire__CacheFigures          cache_figures;
	Bw__Wire__CacheState            cache_state;
	Bw__Wire__SessionLoad           session_load;
	Bw__Wire__SessionCreate         session_create;
	Bw__Wire__SessionSet            session_set;
	Bw__Wire__SessionAdd            session_add;
	Bw__Wire__SessionTimeout        session_timeout;
	Bw__Wire__SessionInvalidate     session_invalidate;
	Bw__Wire__SessionChangeId       session_change_id;
	Bw__Wire__SessionRelease        session_release;
	Bw__Wire__SessionWatch          session_watch;
	Bw__Wire__SessionData           session_data;
	Bw__Wire__SessionChanged        session_changed;
	Bw__Wire__BlobWrite             blob_write;
	Bw__Wire__BlobWritten           blob_written;
	Bw__Wire__BlobRead              blob_read;
	Bw__Wire__BlobData              blob_data;
	Bw__Wire__VersionList           version_list;
	Bw__Wire__VersionGet            version_get;
	Bw__Wire__NamespaceFind         namespace_find;
	Bw__Wire__Namespace namespace;
	Bw__Wire__Hello  hello;
	Bw__Wire__Failed failed;
};
struct wire_message {
	union wire_any *u;
	union wire_any  any; /* what u points to */
};
int wire_message_get(const struct wire_frame *f, struct wire_message *ret);
