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
	    size > HANDLE_MAX || size * answer->count != answer->handles.len)
		fatalx("malformed RESOLVER_HANDLE: user of %zu, %u handles of %zu octets",
		       answer->user.len, answer->count, answer->handles.len);
	*ret = (struct ask_handles){
		.user = { (char *)answer->user.data, answer->user.len },
		.first = answer->handles.data,
		.size = size,
		.n = answer->count,
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

static int take_handle(void *arg, const struct wire_frame *f)
{
	struct bw_resolver *r = arg;
	struct ask_handles  h;

	ask_take_handles(f, 1, &h);
	ask_set_handle(r, h.user, h.first, h.size);
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
