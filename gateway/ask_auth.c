/* ask_auth.c - who is it: the questions to auth. Each is answered with a resolver handle, which the
 * gateway carries and cannot read as an authority, only as bytes and a sequence number.
 *
 * Owns: nothing; user and handle are copied into the request's arena.
 * Runs in: the gateway, on a request's fiber.
 * Fails with: BW_ELOGIN, and what ask_peer fails with. Tests: tests/unit/gateway/ask_test.c. */
#include "ask_impl.h"
#include "request.h"
#include "resolver.h"
#include <base/fatal.h>

static int take_handle(void *arg, const struct wire_frame *f)
{
	struct bw_resolver        *r = arg;
	struct wire_message        m;
	const ProtobufCBinaryData *user, *handle;

	ask_parse(f, &m);
	user = &m.u->resolver_handle.user;
	handle = &m.u->resolver_handle.handle;
	if (user->len == 0 || handle->len < HANDLE_FIXED + HANDLE_MAC || handle->len > HANDLE_MAX)
		fatalx("malformed RESOLVER_HANDLE: user of %zu, handle of %zu octets", user->len,
		       handle->len);
	r->user = (struct bw_str){ arena_dup(&r->req->arena, user->data, user->len), user->len };
	r->handle = (struct bw_str){ arena_dup(&r->req->arena, handle->data, handle->len),
		                     handle->len };
	r->sequence = handle_sequence(handle->data);
	/* Auth's channel is closed with repo's, so its answers are for the connection there is now. */
	r->connection = ask_connection();
	return BW_OK;
}

int ask_authenticate_basic(struct bw_req *req, struct bw_str user, struct bw_str password,
                           struct bw_resolver *r)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = ask_bytes(user);
	m.password = ask_bytes(password);
	return ask_peer(WIRE_AUTH, req, WIRE_AUTHENTICATE_BASIC, &m.base, take_handle, r, NULL);
}

int ask_authenticate_anonymous(struct bw_req *req, struct bw_resolver *r)
{
	Bw__Wire__AuthenticateAnonymous m = BW__WIRE__AUTHENTICATE_ANONYMOUS__INIT;

	m.guest = true;
	return ask_peer(WIRE_AUTH, req, WIRE_AUTHENTICATE_ANONYMOUS, &m.base, take_handle, r, NULL);
}

int ask_authenticate_service(struct bw_req *req, struct bw_str bundle, struct bw_str subservice,
                             struct bw_resolver *r)
{
	Bw__Wire__AuthenticateService m = BW__WIRE__AUTHENTICATE_SERVICE__INIT;

	m.bundle = ask_bytes(bundle);
	m.has_subservice = subservice.p != NULL;
	m.subservice = ask_bytes(subservice);
	m.service = true;
	return ask_peer(WIRE_AUTH, req, WIRE_AUTHENTICATE_SERVICE, &m.base, take_handle, r, NULL);
}
