/* gateway/peers/ahead.c: for whom handles are fetched ahead and how many, which one a request gets, when
 * those in stock are worth nothing, and what becomes of one that repo refuses. */
#include "bundle/bundles.h"
#include "peers.h"

#define LOTS 64u

static struct bw_resolver *got[LOTS]; /* of the requests, in the order in which they got theirs */
static int                 results[LOTS];
static unsigned            n_got;
static struct bw_req      *requests[256];
static unsigned            n_requests;
static struct bw_bundle    bundle = { .name = "boardwalk.demo" };

static void note(struct bw_resolver *r, int err)
{
	got[n_got % LOTS] = r;
	results[n_got++ % LOTS] = err;
}

static void guest(struct bw_req *req)
{
	struct bw_resolver *r = resolver_new(req, RESOLVER_ANONYMOUS);

	note(r, resolver_mint(r));
}

static void service(struct bw_req *req)
{
	struct bw_resolver *r = NULL;
	int                 err = resolver_of_service(req, &bundle, NULL, &r);

	note(r, err);
}

static void begin(void (*serve)(struct bw_req *req))
{
	requests[n_requests++] = start(serve);
}

static void end_world(void)
{
	while (n_requests > 0)
		request_release(requests[--n_requests]);
	world_done();
}

static unsigned asked(void)
{
	return auth.last.q.id == WIRE_AUTHENTICATE_SERVICE
	               ? auth.last.m.u->authenticate_service.count
	               : auth.last.m.u->authenticate_anonymous.count;
}

static uint64_t last_got(void)
{
	cr_assert_eq(results[(n_got - 1) % LOTS], BW_OK);
	return got[(n_got - 1) % LOTS]->sequence;
}

/* A stock of 32 of the guest's, numbered from there on; ten requests have been served. */
static void fill(uint64_t sequence)
{
	for (unsigned i = 1; i < 10; i++) {
		begin(guest);
		cr_assert(auth.n_questions == i && asked() == 1);
		cr_assert_eq(auth.last.q.request, 0x1234);
		answer_handle("anonymous", i);
	}
	begin(guest);
	cr_assert(auth.n_questions == 10 && asked() == 32);
	answer_handles(&auth.last.q, "anonymous", sequence - 1, 32, 0);
	cr_assert(n_got == 10 && last_got() == sequence - 1);
	cr_assert_eq(auth.n_questions, 10);
}

/* ---- how many ---- */

Test(ahead, half_is_replaced_with_one_message_that_nobody_waits_for)
{
	world_ready();
	fill(100); /* 31 are left */
	for (unsigned i = 0; i < 14; i++) {
		begin(guest);
		cr_assert_eq(last_got(), 100 + i);
		cr_assert_eq(auth.n_questions, 10);
	}
	begin(guest);
	cr_assert_eq(last_got(), 114);
	cr_assert(auth.n_questions == 11 && asked() == 16 && auth.last.q.request == 0);
	for (unsigned i = 0; i < 5; i++)
		begin(guest);
	cr_assert(auth.n_questions == 11 && last_got() == 119);
	answer_handles(&auth.last.q, "anonymous", 200, 16, 0);
	for (unsigned i = 0; i < 11; i++)
		begin(guest);
	cr_assert_eq(last_got(), 130); /* the oldest first */
	begin(guest);
	cr_assert_eq(last_got(), 200);
	cr_assert_str_eq(got[(n_got - 1) % LOTS]->user.p, "anonymous");
	cr_assert(got[(n_got - 1) % LOTS]->ahead);
	end_world();
}

Test(ahead, who_is_rarely_used_is_asked_for_one_at_a_time)
{
	world_ready();
	for (unsigned i = 1; i <= 30; i++) {
		begin(guest);
		cr_assert(auth.n_questions == i && asked() == 1);
		answer_handle("anonymous", i);
		cr_assert_eq(last_got(), i);
		pass_ms(112); /* 9 times a second */
	}
	end_world();
}

Test(ahead, stock_of_an_identity_no_longer_in_use_is_used_up_and_not_replaced)
{
	world_ready();
	fill(100);
	pass_ms(2000);
	for (unsigned i = 0; i < 31; i++) {
		begin(guest);
		cr_assert(last_got() == 100 + i && auth.n_questions == 10);
		pass_ms(200);
	}
	begin(guest);
	cr_assert(auth.n_questions == 11 && asked() == 1);
	answer_handle("anonymous", 500);
	cr_assert_eq(last_got(), 500);
	end_world();
}

Test(ahead, herd_at_the_start_is_served_by_few_messages_in_its_order)
{
	world_ready();
	auth.deaf = true;
	for (unsigned i = 0; i < 64; i++)
		begin(guest);
	cr_assert_eq(n_got, 0);
	auth.deaf = false;
	turn();
	/* One each for nine, 32 for the next ones, then 16 whenever no more than 16 would be left. */
	cr_assert(auth.n_questions == 9 + 4 && asked() == 16);
	answer_handles(&auth.last.q, "anonymous", 7000, 16, 0);
	cr_assert_eq(n_got, 16);
	for (unsigned i = 0; i < 16; i++)
		cr_assert(got[i]->req == requests[i] && got[i]->sequence == 7000 + i);
	cr_assert_eq(auth.n_questions, 9 + 4); /* enough is on its way */
	end_world();
}

Test(ahead, user_is_never_fetched_for)
{
	world_ready();
	fill(100);
	for (unsigned i = 0; i < 20; i++) {
		struct bw_req      *req = requests[0];
		struct bw_resolver *r = resolver_new(req, RESOLVER_USER);

		cr_assert_eq(resolver_mint(r), BW_ESTATE);
	}
	cr_assert_eq(auth.n_questions, 10);
	end_world();
}

Test(ahead, identities_have_a_stock_each)
{
	world_ready();
	fill(100);
	for (unsigned i = 0; i < 10; i++) {
		begin(service);
		cr_assert_eq(auth.n_questions, 11 + i);
		cr_assert_eq(auth.last.q.id, WIRE_AUTHENTICATE_SERVICE);
		cr_assert_eq(asked(), i < 9 ? 1u : 32u);
		if (i < 9)
			answer_handle("svc", 1000 + i);
	}
	answer_handles(&auth.last.q, "svc", 2000, 3, 0); /* fewer than asked: the rest at once */
	cr_assert(last_got() == 2000 && auth.n_questions == 21 && asked() == 30);
	begin(service);
	cr_assert_eq(last_got(), 2001);
	cr_assert_str_eq(got[(n_got - 1) % LOTS]->user.p, "svc");
	begin(guest);
	cr_assert_eq(last_got(), 100);
	end_world();
}

/* A servlet that makes up subservices: no more than there are places, and none is mistaken. */
static void services(struct bw_req *req)
{
	struct bw_resolver *r;
	char                name[16];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "sub%u", i);
		note(NULL, resolver_of_service(req, &bundle, name, &r));
		cr_assert_eq(r->sequence, 5000 + i);
	}
}

Test(ahead, more_identities_than_places)
{
	world_ready();
	begin(services);
	for (unsigned i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "sub%u", i);
		cr_assert_eq(auth.n_questions, i + 1);
		cr_assert(memcmp(auth.last.m.u->authenticate_service.subservice.data, name,
		                 strlen(name)) == 0);
		answer_handle("svc", 5000 + i);
		pass_ms(1);
	}
	cr_assert_eq(n_got, 100);
	end_world();
}

/* ---- which are worth nothing ---- */

Test(ahead, those_with_less_than_ten_seconds_to_live_are_dropped)
{
	world_ready();
	fill(100);
	for (unsigned i = 0; i < 15; i++)
		begin(guest);
	cr_assert_eq(auth.n_questions, 11);
	pass_ms(20000);
	answer_handles(&auth.last.q, "anonymous", 200, 8, 0); /* asked for 20 s ago */
	begin(guest);
	cr_assert(last_got() == 115);
	pass_ms(30000);
	begin(guest);
	cr_assert_eq(last_got(), 116); /* 50 s old */
	pass_ms(1);
	begin(guest);
	cr_assert(n_got == 27 && asked() == 1); /* all are too old now */
	answer_handle("anonymous", 300);
	cr_assert_eq(last_got(), 300);
	end_world();
}

static void lose(struct fake *p)
{
	fake_stop(p);
	turn();
	fake_start(p);
	pass_ms(2000);
	cr_assert(ask_is_ready());
}

Test(ahead, loss_of_either_peer_empties_the_stock)
{
	struct fake *const peers[] = { &repo, &auth };

	world_ready();
	for (unsigned i = 0; i < 2; i++) {
		auth.n_questions = n_got = 0;
		fill(100);
		lose(peers[i]);
		begin(guest);
		cr_assert(auth.n_questions == 11 && n_got == 10);
		answer_handle("anonymous", 900);
		cr_assert_eq(last_got(), 900);
		pass_ms(2000);
	}
	end_world();
}

Test(ahead, loss_of_auth_ends_what_waits)
{
	world_ready();
	auth.deaf = true;
	for (unsigned i = 0; i < 40; i++)
		begin(guest);
	fake_stop(&auth);
	turn();
	cr_assert_eq(n_got, 40);
	for (unsigned i = 0; i < 40; i++)
		cr_assert_eq(results[i], BW_EGONE);
	begin(guest); /* while auth is away */
	cr_assert(n_got == 41 && results[40] == BW_EGONE);
	end_world();
}

Test(ahead, other_principals_make_those_in_stock_worthless)
{
	world_ready();
	fill(100);
	for (unsigned i = 0; i < 15; i++)
		begin(guest);
	answer_handles(&auth.last.q, "anonymous", 200, 16, 60); /* larger ones */
	begin(guest);
	cr_assert_eq(last_got(), 200);
	cr_assert_eq(got[(n_got - 1) % LOTS]->handle.n, HANDLE_FIXED + 8 * 60 + HANDLE_MAC);
	end_world();
}

Test(ahead, refusal_is_everybodys_and_empties_the_stock)
{
	world_ready();
	fill(100);
	for (unsigned i = 0; i < 15; i++)
		begin(guest);
	answer_failed(&auth, BW_ELOGIN);
	cr_assert_eq(auth.n_questions, 11); /* not asked again for nobody */
	begin(guest);
	cr_assert(auth.n_questions == 12 && asked() == 1 && n_got == 25);
	answer_failed(&auth, BW_ELOGIN);
	cr_assert(n_got == 26 && results[25] == BW_ELOGIN);
	end_world();
}

Test(ahead, handle_for_a_request_that_has_ended_is_the_next_ones)
{
	world_ready();
	begin(guest);
	request_abort(requests[0], false);
	cr_assert(n_got == 1 && results[0] == BW_EGONE);
	answer_handle("anonymous", 77);
	begin(guest);
	cr_assert(auth.n_questions == 1 && last_got() == 77);
	end_world();
}

Test(ahead, more_than_was_asked_for_is_fatal, .exit_code = 1)
{
	world_ready();
	begin(guest);
	answer_handles(&auth.last.q, "anonymous", 1, 2, 0);
}

/* ---- refused by repo ---- */

static void read_twice(struct bw_req *req)
{
	struct bw_resolver *r = resolver_new(req, RESOLVER_ANONYMOUS);
	struct record       rec;

	note(r, ask_resource_get(r, BW_STR("/a"), &rec));
	note(r, ask_resource_get(r, BW_STR("/b"), &rec));
}

static bool asked_repo(const char *path, bool whole, uint64_t sequence)
{
	const Bw__Wire__ResourceGet *m = &repo.last.m.u->resource_get;

	return repo.last.q.id == WIRE_RESOURCE_GET && asked_path(path) && m->has_handle == whole &&
	       m->sequence == sequence && (!whole || handle_sequence(m->handle.data) == sequence);
}

Test(ahead, refused_at_its_opening_is_replaced_once)
{
	static const int refusals[] = { BW_EEXPIRED, BW_ECLOSED, BW_EFOREIGN };

	world_ready();
	fill(100);
	for (unsigned i = 0; i < 3; i++) {
		n_got = 0;
		begin(read_twice);
		cr_assert(asked_repo("/a", true, 100 + i));
		answer_failed(&repo, refusals[i]);
		cr_assert(auth.n_questions == 11 + i && asked() == 1);
		answer_handle("anonymous", 400 + i);
		cr_assert(n_got == 0 && asked_repo("/a", true, 400 + i));
		cr_assert_eq(shared.handles_open, 1);
		answer_found("/a", NULL, 2);
		cr_assert(n_got == 1 && results[0] == BW_OK && asked_repo("/b", false, 400 + i));
		answer_failed(&repo, BW_ECLOSED); /* a later refusal is an answer */
		cr_assert(n_got == 2 && results[1] == BW_ECLOSED);
		cr_assert(auth.n_questions == 11 + i && repo.closed_sequence == 400 + i);
		cr_assert(repo.n_closes_of_handles == i + 1 && shared.handles_open == 0);
	}
	end_world();
}

Test(ahead, replacement_that_is_refused_is_not_replaced)
{
	world_ready();
	fill(100);
	n_got = 0;
	begin(read_twice);
	answer_failed(&repo, BW_ECLOSED);
	answer_handle("anonymous", 400);
	answer_failed(&repo, BW_ECLOSED);
	cr_assert(n_got == 1 && results[0] == BW_ECLOSED && auth.n_questions == 11);
	cr_assert(asked_repo("/b", false, 400));
	end_world();
}

Test(ahead, handle_that_was_not_in_stock_is_not_replaced)
{
	world_ready();
	begin(read_twice);
	answer_handle("anonymous", 1);
	answer_failed(&repo, BW_EEXPIRED);
	cr_assert(n_got == 1 && results[0] == BW_EEXPIRED && auth.n_questions == 1);
	end_world();
}

Test(ahead, other_failures_at_the_opening_are_answers)
{
	static const int failures[] = { BW_ENOTFOUND, BW_EBUSY, BW_EIO };

	world_ready();
	fill(100);
	for (unsigned i = 0; i < 3; i++) {
		n_got = 0;
		begin(read_twice);
		answer_failed(&repo, failures[i]);
		cr_assert(n_got == 1 && results[0] == failures[i] && auth.n_questions == 10);
		cr_assert(asked_repo("/b", false, 100 + i));
		answer_failed(&repo, BW_ENOTFOUND);
	}
	end_world();
}
