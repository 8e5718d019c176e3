/* gateway/peers/ask.c, ask_auth.c, ask_repo.c: the order in which peers are found and lost, and what a
 * question becomes when it is answered, refused, overtaken by the end of its request or peer. */
#include "peers.h"

/* ---- finding and losing ---- */

Test(ask, auth_is_greeted_after_repo_with_its_channel)
{
	world_ready();
	cr_assert(repo.connects == 1 && repo.hellos == 1 && auth.connects == 1 && auth.hellos == 1);
	cr_assert(memcmp(auth.channel, "channel00000001", 16) == 0);
	cr_assert_eq(shared.ready, 1);
	world_done();
}

Test(ask, auth_hears_nothing_before_repo_has_greeted)
{
	world_new();
	fake_start(&auth);
	pass_ms(5000);
	cr_assert(auth.connects == 0 && !ask_is_ready());
	fake_start(&repo);
	repo.deaf = true; /* in its backlog, but not greeted */
	pass_ms(5000);
	cr_assert(auth.connects == 0 && !ask_is_ready());
	repo.deaf = false;
	pass_ms(5000);
	cr_assert(auth.connects == 1 && ask_is_ready());
	world_done();
}

Test(ask, attempts_back_off_to_a_tenth_of_a_second)
{
	static const uint32_t expected[] = { 10, 20, 40, 80, 100, 100, 100 };

	world_new();
	for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		cr_assert_eq(n_linked, i + 1);
		cr_assert_eq(linked_ms[i], expected[i]);
		pass_ms(expected[i] - 1);
		cr_assert_eq(n_linked, i + 1);
		pass_ms(1);
	}
	fake_start(&repo);
	fake_start(&auth);
	pass_ms(1000);
	cr_assert(ask_is_ready());
	pass_ms(2000); /* steady: a loss starts with the first delay again */
	n_linked = 0;
	fake_stop(&repo);
	turn();
	cr_assert(n_linked == 1 && linked_ms[0] == 10);
	world_done();
}

Test(ask, peer_that_greets_and_goes_is_not_asked_in_a_tight_loop)
{
	world_ready();
	for (int i = 0; i < 12; i++) {
		n_linked = 0;
		wire_chan_free(repo.chan);
		repo.chan = NULL;
		turn();
		cr_assert_eq(n_linked, 1);
		pass_ms(linked_ms[0]);
		cr_assert(ask_is_ready());
	}
	cr_assert_eq(linked_ms[0], 1000);
	world_done();
}

Test(ask, when_repo_goes_auth_is_greeted_anew)
{
	world_ready();
	pass_ms(2000);
	fake_stop(&repo);
	turn();
	cr_assert(auth.closes == 1 && !ask_is_ready() && shared.ready == 0);
	fake_start(&repo);
	pass_ms(20);
	cr_assert(repo.connects == 2 && auth.connects == 2 && ask_is_ready() && shared.ready == 1);
	cr_assert(memcmp(auth.channel, "channel00000002", 16) == 0);
	world_done();
}

Test(ask, when_auth_goes_repo_stays)
{
	world_ready();
	pass_ms(2000);
	fake_stop(&auth);
	turn();
	cr_assert(repo.closes == 0 && !ask_is_ready() && shared.ready == 0);
	fake_start(&auth);
	pass_ms(20);
	cr_assert(repo.connects == 1 && auth.connects == 2 && ask_is_ready());
	cr_assert(memcmp(auth.channel, "channel00000001", 16) == 0);
	world_done();
}

/* ---- asking auth ---- */

static struct bw_resolver *resolver;
static int                 result, done;
static char                told_user[64];
static size_t              resolved;
static uint64_t            types;
static char                told_path[64];

static void login(struct bw_req *req)
{
	resolver = resolver_new(req, RESOLVER_USER);
	result = ask_authenticate_basic(req, BW_STR("admin"), BW_STR("pass:word"), NULL, resolver);
	snprintf(told_user, sizeof(told_user), "%.*s", (int)resolver->user.n, resolver->user.p);
	done++;
}

Test(ask, login_brings_user_and_handle)
{
	struct bw_req *req;

	world_ready();
	req = start(login);
	cr_assert_eq(auth.last.q.id, WIRE_AUTHENTICATE_BASIC);
	cr_assert_eq(auth.last.q.request, 0x1234);
	cr_assert_eq(auth.last.m.u->authenticate_basic.user.len, 5);
	cr_assert(memcmp(auth.last.m.u->authenticate_basic.password.data, "pass:word", 9) == 0);
	cr_assert_eq(done, 0);
	answer_handle("admin", 4711);
	cr_assert(done == 1 && result == BW_OK && resolver->sequence == 4711);
	cr_assert_str_eq(told_user, "admin");
	cr_assert_eq(resolver->handle.n, HANDLE_FIXED + HANDLE_MAC);
	request_release(req);
	world_done();
}

static struct ask_login terms;

static void login_with_terms(struct bw_req *req)
{
	terms = (struct ask_login){
		.address = BW_STR("\x7f\0\0\1"),
		.sudo = BW_STR("bob"),
		.want_session = true,
	};
	resolver = resolver_new(req, RESOLVER_USER);
	result = ask_authenticate_basic(req, BW_STR("ada"), BW_STR("x"), &terms, resolver);
	done++;
}

static void token_login(struct bw_req *req)
{
	terms = (struct ask_login){ .sudo = BW_STR("bob") };
	resolver = resolver_new(req, RESOLVER_USER);
	result = ask_authenticate_token(req, BW_STR("a.b.c"), &terms, resolver);
	done++;
}

static void bearer_login(struct bw_req *req)
{
	static const char long_token[WIRE_TOKEN_MAX + 1];

	terms = (struct ask_login){ .address = BW_STR("\x7f\0\0\1") };
	resolver = resolver_new(req, RESOLVER_USER);
	cr_assert_eq(ask_authenticate_bearer(req, (struct bw_str){ long_token, sizeof(long_token) },
	                                     &terms, resolver),
	             BW_ELOGIN);
	result = ask_authenticate_bearer(req, BW_STR("a.b.c"), &terms, resolver);
	done++;
}

static void end_session(struct bw_req *req)
{
	bool was_live = false;

	result = ask_session_end(req, BW_STR("a.b.c"), &was_live);
	done += was_live ? 1 : 100;
}

/* The handle, a token, and who acts as the user. */
static void answer_session(void)
{
	static const struct handle_key key = { .id = 1 };
	static uint8_t                 bytes[HANDLE_MAX];
	struct handle                  h = { .kind = HANDLE_USER, .sequence = 1 };
	Bw__Wire__ResolverHandle       m = BW__WIRE__RESOLVER_HANDLE__INIT;

	m.user = ask_bytes(BW_STR("bob"));
	m.count = 1;
	m.handles = (ProtobufCBinaryData){ handle_put(&h, NULL, &key, bytes), bytes };
	m.has_token = m.has_token_s = m.has_impersonator = 1;
	m.token = ask_bytes(BW_STR("x.y.z"));
	m.token_s = 1800;
	m.impersonator = ask_bytes(BW_STR("ada"));
	wire_answer(auth.chan, &auth.last.q, 0, 0, &m.base);
	turn();
}

Test(ask, what_goes_with_a_login_and_comes_back)
{
	const Bw__Wire__AuthenticateBasic *m;
	struct bw_req                     *req;

	world_ready();
	req = start(login_with_terms);
	m = &auth.last.m.u->authenticate_basic;
	cr_assert(m->address.len == 4 && m->want_session && m->has_sudo && m->sudo.len == 3);
	answer_session();
	cr_assert(done == 1 && result == BW_OK);
	cr_assert(bw_str_eq(resolver->user, BW_STR("bob")));
	cr_assert(bw_str_eq(terms.token, BW_STR("x.y.z")) && terms.token_s == 1800);
	cr_assert(bw_str_eq(terms.impersonator, BW_STR("ada")));
	request_release(req);
	world_done();
}

Test(ask, tokens_in_place_of_a_password)
{
	Bw__Wire__SessionEnded ended = BW__WIRE__SESSION_ENDED__INIT;
	struct bw_req         *req;

	world_ready();
	req = start(token_login);
	cr_assert_eq(auth.last.q.id, WIRE_AUTHENTICATE_TOKEN);
	cr_assert_eq(auth.last.m.u->authenticate_token.token.len, 5);
	cr_assert(auth.last.m.u->authenticate_token.has_sudo);
	answer_handle("ada", 1);
	cr_assert(done == 1 && result == BW_OK && terms.token.p == NULL);
	cr_assert(terms.impersonator.p == NULL);
	request_release(req);

	req = start(bearer_login);
	cr_assert_eq(auth.last.q.id, WIRE_AUTHENTICATE_BEARER);
	cr_assert_eq(auth.last.m.u->authenticate_bearer.address.len, 4);
	answer_failed(&auth, BW_ELOGIN);
	cr_assert(done == 2 && result == BW_ELOGIN);
	request_release(req);

	req = start(end_session);
	cr_assert_eq(auth.last.q.id, WIRE_SESSION_END);
	ended.was_live = true;
	wire_answer(auth.chan, &auth.last.q, 0, 0, &ended.base);
	turn();
	cr_assert(done == 3 && result == BW_OK);
	request_release(req);
	world_done();
}

Test(ask, refusals_and_ends_of_a_login)
{
	struct bw_req *req;

	world_ready();
	req = start(login);
	answer_failed(&auth, BW_ELOGIN);
	cr_assert(done == 1 && result == BW_ELOGIN && resolver->handle.p == NULL);
	request_release(req);

	req = start(login); /* the client goes: the answer comes for nobody */
	request_abort(req, false);
	cr_assert(done == 2 && result == BW_EGONE);
	request_release(req);
	answer_handle("admin", 1);
	cr_assert_eq(done, 2);

	req = start(login); /* the deadline passes */
	request_abort(req, true);
	cr_assert(done == 3 && result == BW_ETIME);
	request_release(req);
	answer_failed(&auth, BW_ELOGIN);

	req = start(login); /* auth goes */
	fake_stop(&auth);
	turn();
	cr_assert(done == 4 && result == BW_EGONE);
	request_release(req);

	req = start(login); /* auth is away */
	cr_assert(done == 5 && result == BW_EGONE);
	request_release(req);
	world_done();
}

Test(ask, end_of_the_worker_ends_what_is_asked)
{
	struct bw_req *req;

	world_ready();
	req = start(login);
	ask_done();
	cr_assert(done == 1 && result == BW_EGONE);
	request_release(req);
	world_done();
}

Test(ask, malformed_handle_is_fatal, .exit_code = 1)
{
	Bw__Wire__ResolverHandle m = BW__WIRE__RESOLVER_HANDLE__INIT;

	world_ready();
	start(login);
	m.user = (ProtobufCBinaryData){ 1, (uint8_t *)"a" };
	m.count = 1;
	m.handles = (ProtobufCBinaryData){ 3, (uint8_t *)"abc" };
	wire_answer(auth.chan, &auth.last.q, 0, 0, &m.base);
	turn();
}

/* ---- asking repo ---- */

static void resolve_twice(struct bw_req *req)
{
	struct record rec;

	resolver = resolver_new(req, RESOLVER_ANONYMOUS);
	result = ask_resource_resolve(resolver, BW_STR("/content/a.html"), &resolved, &rec, &types);
	if (result == BW_OK)
		snprintf(told_path, sizeof(told_path), "%s", rec.path.p);
	done++;
	result = ask_resource_get(resolver, BW_STR("/content/b"), &rec);
	done++;
}

Test(ask, first_question_carries_the_handle_and_later_ones_its_number)
{
	struct bw_req *req;

	world_ready();
	req = start(resolve_twice);
	cr_assert(repo.n_questions == 0 && auth.last.q.id == WIRE_AUTHENTICATE_ANONYMOUS);
	answer_handle("anonymous", 99);
	cr_assert_eq(repo.last.q.id, WIRE_RESOURCE_RESOLVE);
	cr_assert(repo.last.m.u->resource_resolve.has_handle);
	cr_assert(repo.last.m.u->resource_resolve.sequence == 99 && asked_path("/content/a.html"));
	cr_assert_eq(shared.handles_open, 1);
	answer_found("/content/a", NULL, 10);
	cr_assert(done == 1 && result == BW_OK && resolved == 10 && types == 77);
	cr_assert_str_eq(told_path, "/content/a");
	cr_assert_eq(repo.last.q.id, WIRE_RESOURCE_GET);
	cr_assert_not(repo.last.m.u->resource_get.has_handle);
	cr_assert(repo.last.m.u->resource_get.sequence == 99 && asked_path("/content/b"));
	cr_assert_eq(repo.n_closes_of_handles, 0);
	answer_failed(&repo, BW_ENOTFOUND);
	cr_assert(done == 2 && result == BW_ENOTFOUND);
	turn();
	cr_assert(repo.n_closes_of_handles == 1 && repo.closed_sequence == 99);
	cr_assert_eq(shared.handles_open, 0);
	request_release(req);
	world_done();
}

Test(ask, aborted_request_closes_its_handle_once)
{
	struct bw_req *req;

	world_ready();
	req = start(resolve_twice);
	answer_handle("anonymous", 5);
	request_abort(req, false);
	cr_assert(done == 2 && result == BW_EGONE);
	resolvers_close(req);
	turn();
	cr_assert(repo.n_closes_of_handles == 1 && repo.closed_sequence == 5);
	request_release(req);
	world_done();
}

Test(ask, handle_that_was_never_sent_is_not_closed)
{
	struct bw_req *req;

	world_ready();
	req = start(resolve_twice);
	request_abort(req, false); /* while auth is asked */
	turn();
	cr_assert(done == 2 && repo.n_questions == 0 && repo.n_closes_of_handles == 0);
	request_release(req);
	world_done();
}

Test(ask, handle_of_a_lost_connection_is_worth_nothing)
{
	struct bw_req *req;

	world_ready();
	req = start(resolve_twice);
	answer_handle("anonymous", 5);
	fake_stop(&repo); /* the first question ends, the second is not even sent */
	turn();
	cr_assert(done == 2 && result == BW_EGONE);
	fake_start(&repo);
	pass_ms(2000);
	cr_assert(ask_is_ready() && repo.n_questions == 1 && repo.n_closes_of_handles == 0);
	request_release(req);
	world_done();
}

static void ask_before_and_after(struct bw_req *req)
{
	struct req_wait elsewhere = { .cancel = NULL };
	struct record   rec;

	resolver = resolver_new(req, RESOLVER_ANONYMOUS);
	ask_resource_get(resolver, BW_STR("/a"), &rec);
	request_park(req, &elsewhere); /* busy with something while repo is replaced */
	result = ask_resource_get(resolver, BW_STR("/a"), &rec);
	done++;
}

Test(ask, new_connection_does_not_get_an_old_handle)
{
	struct bw_req *req;

	world_ready();
	req = start(ask_before_and_after);
	answer_handle("anonymous", 5);
	answer_found("/a", NULL, 2);
	fake_stop(&repo);
	turn();
	fake_start(&repo);
	pass_ms(2000);
	cr_assert(ask_is_ready() && done == 0);
	request_wake(req);
	turn();
	cr_assert(done == 1 && result == BW_EGONE);
	cr_assert(repo.n_questions == 1 && repo.n_closes_of_handles == 0);
	request_release(req);
	world_done();
}

Test(ask, malformed_record_is_fatal, .exit_code = 1)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;

	world_ready();
	start(resolve_twice);
	answer_handle("anonymous", 5);
	m.record = (ProtobufCBinaryData){ 3, (uint8_t *)"abc" };
	wire_answer(repo.chan, &repo.last.q, 0, 0, &m.base);
	turn();
}

Test(ask, more_resolved_than_was_asked_is_fatal, .exit_code = 1)
{
	world_ready();
	start(resolve_twice);
	answer_handle("anonymous", 5);
	answer_found("/content/a", NULL, 16);
}
