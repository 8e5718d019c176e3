/* ask_session.c - the questions to repo about sessions.
 *
 * They carry no handle: a session is found by the hash of its id, which only the client and the
 * worker that serves it know.
 * Owns: nothing; answers are copied into the request's arena before the fiber runs on.
 * Runs in: the gateway, on a request's fiber; ask_session_release anywhere on the loop.
 * Fails with: what repo says in FAILED, and what ask_peer fails with.
 * Tests: tests/unit/gateway/session_test.c. */
#include "ask_session.h"
#include "peers/ask_impl.h"
#include "request.h"
#include <base/fatal.h>

static ProtobufCBinaryData hash_bytes(const uint8_t *hash)
{
	return (ProtobufCBinaryData){ SESSION_HASH_SIZE, (uint8_t *)hash };
}

/* ---- answers ---- */

struct session_record *ask_session_records(struct arena *a, const uint8_t *octets, size_t n,
                                           unsigned count)
{
	struct session_record *records;
	size_t                 at = 0;

	if (count > n) /* a record has an octet at least */
		fatalx("malformed SESSION_DATA: %u records", count);
	records = arena_alloc(a, (count + 1) * sizeof(*records));
	for (unsigned i = 0; i < count; i++) {
		if (session_record_get(octets + at, n - at, &records[i]) != BW_OK)
			fatalx("malformed SESSION_DATA");
		at = (size_t)(records[i].end - octets);
	}
	if (at != n)
		fatalx("malformed SESSION_DATA");
	return records;
}

struct data_call {
	struct bw_req       *req;
	struct ask_sessions *ret;
};

static int take_data(void *arg, const struct wire_frame *f)
{
	struct data_call            *call = arg;
	struct arena                *a = &call->req->arena;
	struct wire_message          m;
	const Bw__Wire__SessionData *answer;
	const uint8_t               *copy;

	ask_parse(f, &m);
	answer = &m.u->session_data;
	copy = (uint8_t *)arena_dup(a, answer->sessions.data, answer->sessions.len);
	call->ret->n = answer->count;
	call->ret->records = ask_session_records(a, copy, answer->sessions.len, answer->count);
	return BW_OK;
}

static int ask_data(struct bw_req *req, enum wire_id id, const ProtobufCMessage *m,
                    struct ask_sessions *ret)
{
	struct data_call call = { req, ret };

	return ask_peer(WIRE_REPO, req, id, m, take_data, &call, NULL);
}

struct changed_call {
	struct bw_req              *req;
	struct ask_session_changed *ret;
};

static int take_changed(void *arg, const struct wire_frame *f)
{
	struct changed_call            *call = arg;
	struct wire_message             m;
	const Bw__Wire__SessionChanged *answer;
	struct bw_str                   old;

	ask_parse(f, &m);
	answer = &m.u->session_changed;
	*call->ret = (struct ask_session_changed){ .lease = answer->lease };
	if (!answer->has_kind)
		return BW_OK;
	old = (struct bw_str){ (char *)answer->value.data, answer->value.len };
	if (!answer->has_value || !session_value_fits(answer->kind, old))
		fatalx("malformed SESSION_CHANGED");
	call->ret->had = true;
	call->ret->kind = answer->kind;
	call->ret->old = request_dup(call->req, old);
	return BW_OK;
}

static int ask_changed(struct bw_req *req, enum wire_id id, const ProtobufCMessage *m,
                       struct ask_session_changed *ret)
{
	struct changed_call call = { req, ret };

	return ask_peer(WIRE_REPO, req, id, m, take_changed, &call, NULL);
}

/* ---- questions ---- */

int ask_session_load(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                     struct ask_sessions *ret)
{
	Bw__Wire__SessionLoad m = BW__WIRE__SESSION_LOAD__INIT;

	m.id = hash_bytes(hash);
	m.context = ask_bytes(context);
	return ask_data(req, WIRE_SESSION_LOAD, &m.base, ret);
}

int ask_session_create(struct bw_req *req, const uint8_t *hash, struct bw_str context, bool join,
                       int32_t max_inactive, struct ask_sessions *ret)
{
	Bw__Wire__SessionCreate m = BW__WIRE__SESSION_CREATE__INIT;

	m.id = hash_bytes(hash);
	m.join = join;
	m.max_inactive = max_inactive;
	m.context = ask_bytes(context);
	return ask_data(req, WIRE_SESSION_CREATE, &m.base, ret);
}

int ask_session_set(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                    struct bw_str name, enum session_kind kind, struct bw_str value,
                    struct ask_session_changed *ret)
{
	Bw__Wire__SessionSet m = BW__WIRE__SESSION_SET__INIT;

	m.id = hash_bytes(hash);
	m.context = ask_bytes(context);
	m.has_kind = m.has_value = value.p != NULL;
	m.kind = kind;
	m.value = ask_bytes(value);
	m.name = ask_bytes(name);
	return ask_changed(req, WIRE_SESSION_SET, &m.base, ret);
}

int ask_session_add(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                    struct bw_str name, int64_t delta, struct ask_session_changed *ret)
{
	Bw__Wire__SessionAdd m = BW__WIRE__SESSION_ADD__INIT;

	m.id = hash_bytes(hash);
	m.context = ask_bytes(context);
	m.delta = (uint64_t)delta;
	m.name = ask_bytes(name);
	return ask_changed(req, WIRE_SESSION_ADD, &m.base, ret);
}

int ask_session_timeout(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                        int32_t max_inactive, struct ask_session_changed *ret)
{
	Bw__Wire__SessionTimeout m = BW__WIRE__SESSION_TIMEOUT__INIT;

	m.id = hash_bytes(hash);
	m.context = ask_bytes(context);
	m.max_inactive = max_inactive;
	return ask_changed(req, WIRE_SESSION_TIMEOUT, &m.base, ret);
}

int ask_session_invalidate(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                           struct ask_sessions *ret)
{
	Bw__Wire__SessionInvalidate m = BW__WIRE__SESSION_INVALIDATE__INIT;

	m.id = hash_bytes(hash);
	m.context = ask_bytes(context);
	return ask_data(req, WIRE_SESSION_INVALIDATE, &m.base, ret);
}

int ask_session_change_id(struct bw_req *req, const uint8_t *hash, const uint8_t *new_hash,
                          struct ask_sessions *ret)
{
	Bw__Wire__SessionChangeId m = BW__WIRE__SESSION_CHANGE_ID__INIT;

	m.id = hash_bytes(hash);
	m.new_id = hash_bytes(new_hash);
	return ask_data(req, WIRE_SESSION_CHANGE_ID, &m.base, ret);
}

void ask_session_release(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                         uint64_t lease)
{
	Bw__Wire__SessionRelease m = BW__WIRE__SESSION_RELEASE__INIT;

	m.id = hash_bytes(hash);
	m.lease = lease;
	m.context = ask_bytes(context);
	(void)ask_tell(WIRE_REPO, req, WIRE_SESSION_RELEASE, &m.base);
}
