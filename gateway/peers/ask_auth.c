/* ask_auth.c - who is it: the questions to auth. Each is answered with resolver handles, which the
 * gateway carries and cannot read as an authority, only as bytes and a sequence number.
 *
 * Owns: nothing; user and handle are copied into the request's arena.
 * Runs in: the gateway, on a request's fiber.
 * Fails with: BW_ELOGIN, and what ask_peer fails with. Tests: tests/unit/gateway/ask_test.c. */
#include "ask_impl.h"
#include "request.h"
#include "resolver.h"
#include <base/fatal.h>

void ask_take_handles(const struct wire_frame *f, unsigned asked, struct ask_handles *ret)
{
	struct wire_message             m;
	const Bw__Wire__ResolverHandle *answer;
	size_t                          size;

	ask_parse(f, &m);
	answer = &m.u->resolver_handle;
	size = answer->count > 0 ? answer->handles.len / answer->count : 0;
	if (answer->user.len == 0 || answer->count > asked || size < HANDLE_FIXED + HANDLE_MAC ||
	    size > HANDLE_MAX || size * answer->count != answer->handles.len ||
	    answer->has_token != answer->has_token_s)
		fatalx("malformed RESOLVER_HANDLE: user of %zu, %u handles of %zu octets",
		       answer->user.len, answer->count, answer->handles.len);
	*ret = (struct ask_handles){
		.user = { (char *)answer->user.data, answer->user.len },
		.first = answer->handles.data,
		.size = size,
		.n = answer->count,
		.token = { (char *)answer->token.data, answer->token.len },
		.token_s = answer->token_s,
		.impersonator = { (char *)answer->impersonator.data, answer->impersonator.len },
	};
}

void ask_set_handle(struct bw_resolver *r, struct bw_str user, const uint8_t *handle, size_t size)
{
	r->user = request_dup(r->req, user);
	r->handle = (struct bw_str){ arena_dup(&r->req->arena, handle, size), size };
	r->sequence = handle_sequence(handle);
	/* Auth's channel is closed with repo's, so its answers are for the connection there is now. */
	r->connection = ask_connection();
}

/* ---- who logs in ---- */

struct login_call {
	struct bw_resolver *r;
	struct ask_login   *login; /* may be NULL */
};

static int take_login(void *arg, const struct wire_frame *f)
{
	struct login_call *call = arg;
	struct ask_login  *login = call->login;
	struct ask_handles h;

	ask_take_handles(f, 1, &h);
	ask_set_handle(call->r, h.user, h.first, h.size);
	if (login && h.token.p) {
		login->token = request_dup(call->r->req, h.token);
		login->token_s = h.token_s;
	}
	if (login && h.impersonator.p)
		login->impersonator = request_dup(call->r->req, h.impersonator);
	return BW_OK;
}

static void on_refused(void *arg, const struct wire_frame *f)
{
	struct login_call  *call = arg;
	struct wire_message m;

	ask_parse(f, &m);
	if (call->login)
		call->login->retry_after_s = m.u->failed.retry_after;
}

static int ask_login(struct bw_req *req, enum wire_id id, const ProtobufCMessage *m,
                     struct ask_login *login, struct bw_resolver *r)
{
	struct login_call call = { r, login };

	return ask_peer_told(WIRE_AUTH, req, id, m, take_login, on_refused, &call, NULL);
}

int ask_authenticate_basic(struct bw_req *req, struct bw_str user, struct bw_str password,
                           struct ask_login *login, struct bw_resolver *r)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = ask_bytes(user);
	m.password = ask_bytes(password);
	if (login) {
		m.address = ask_bytes(login->address);
		m.has_sudo = login->sudo.p != NULL;
		m.sudo = ask_bytes(login->sudo);
		m.want_session = login->want_session;
	}
	return ask_login(req, WIRE_AUTHENTICATE_BASIC, &m.base, login, r);
}

int ask_authenticate_token(struct bw_req *req, struct bw_str token, struct ask_login *login,
                           struct bw_resolver *r)
{
	Bw__Wire__AuthenticateToken m = BW__WIRE__AUTHENTICATE_TOKEN__INIT;

	if (token.n > WIRE_TOKEN_MAX)
		return BW_ELOGIN;
	m.token = ask_bytes(token);
	if (login) {
		m.address = ask_bytes(login->address);
		m.has_sudo = login->sudo.p != NULL;
		m.sudo = ask_bytes(login->sudo);
	}
	return ask_login(req, WIRE_AUTHENTICATE_TOKEN, &m.base, login, r);
}

int ask_authenticate_bearer(struct bw_req *req, struct bw_str token, struct ask_login *login,
                            struct bw_resolver *r)
{
	Bw__Wire__AuthenticateBearer m = BW__WIRE__AUTHENTICATE_BEARER__INIT;

	if (token.n > WIRE_TOKEN_MAX)
		return BW_ELOGIN;
	m.token = ask_bytes(token);
	if (login) {
		m.address = ask_bytes(login->address);
		m.has_sudo = login->sudo.p != NULL;
		m.sudo = ask_bytes(login->sudo);
	}
	return ask_login(req, WIRE_AUTHENTICATE_BEARER, &m.base, login, r);
}

static int take_ended(void *arg, const struct wire_frame *f)
{
	bool               *was_live = arg;
	struct wire_message m;

	ask_parse(f, &m);
	*was_live = m.u->session_ended.was_live;
	return BW_OK;
}

int ask_session_end(struct bw_req *req, struct bw_str token, bool *ret_was_live)
{
	Bw__Wire__SessionEnd m = BW__WIRE__SESSION_END__INIT;
	bool                 was_live = false;
	int                  err = BW_OK;

	if (token.n <= WIRE_TOKEN_MAX) {
		m.token = ask_bytes(token);
		err = ask_peer(WIRE_AUTH, req, WIRE_SESSION_END, &m.base, take_ended, &was_live,
		               NULL);
	}
	if (err == BW_OK && ret_was_live)
		*ret_was_live = was_live;
	return err;
}

/* ---- the guest and service users ---- */

static int take_handle(void *arg, const struct wire_frame *f)
{
	struct bw_resolver *r = arg;
	struct ask_handles  h;

	ask_take_handles(f, 1, &h);
	ask_set_handle(r, h.user, h.first, h.size);
	return BW_OK;
}

enum wire_id ask_handles_question(union wire_any *m, struct bw_str bundle, struct bw_str subservice,
                                  unsigned count)
{
	if (!bundle.p) {
		bw__wire__authenticate_anonymous__init(&m->authenticate_anonymous);
		m->authenticate_anonymous.count = count;
		return WIRE_AUTHENTICATE_ANONYMOUS;
	}
	bw__wire__authenticate_service__init(&m->authenticate_service);
	m->authenticate_service.bundle = ask_bytes(bundle);
	m->authenticate_service.has_subservice = subservice.p != NULL;
	m->authenticate_service.subservice = ask_bytes(subservice);
	m->authenticate_service.count = count;
	return WIRE_AUTHENTICATE_SERVICE;
}

int ask_handle(struct bw_resolver *r)
{
	union wire_any m;
	enum wire_id   id = ask_handles_question(&m, r->bundle, r->subservice, 1);

	return ask_peer(WIRE_AUTH, r->req, id, &m.base, take_handle, r, NULL);
}
