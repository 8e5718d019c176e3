/* gateway/session/session.c and its files, ask_session.c: which questions repo is asked, what becomes of
 * its answers, which cookie the client gets, and that nobody's id is taken over. Repo answers what
 * a test lets it (peers.h). */
#include "peers.h"
#include "gateway/session/ask_session.h"
#include "gateway/session/session.h"
#include "gateway/whiteboard/snapshot.h"
#include <math.h>

#define ID_1 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcd-_"

static struct reading          reading = { .name = BW_STR("shop") };
static struct bw_context       context = { .reading = &reading };
static struct snapshot         snapshot;
static struct gateway_settings session_settings;
static char                    cookie_name[] = "JSESSIONID";

static void begin(void)
{
	world_ready();
	session_settings.session_cookie = cookie_name;
	session_settings.session_timeout_s = 1800;
	sessions_init(&session_settings);
}

static void end(void)
{
	sessions_done();
	world_done();
}

TestSuite(session, .init = begin, .fini = end);

/* ---- one request ---- */

static struct bw_session *session;
static int                result;
static bool               ended;
static int (*work)(struct bw_req *req);
static struct bw_res_header cookie_header;
static bool                 is_https, is_committed;

static struct bw_context *in_context = &context;

static void serve(struct bw_req *req)
{
	req->context = in_context;
	req->snapshot = &snapshot;
	req->scheme = is_https ? BW_STR("https") : BW_STR("http");
	req->committed = is_committed;
	req->headers = &cookie_header;
	req->n_headers = cookie_header.value.p != NULL;
	result = work(req);
	if (req->sessions != NULL)
		sessions_release(req);
	ended = true;
}

/* Begins a request; it runs until it asks repo something or ends. cookie: the header's value; NULL.
 */
static struct bw_req *request(const char *cookie, int (*what)(struct bw_req *req))
{
	cookie_header = (struct bw_res_header){ BW_STR("cookie"), bw_str(cookie) };
	work = what;
	ended = false;
	result = -100;
	return start(serve);
}

static int peek(struct bw_req *req)
{
	return session_of_request(req, false, &session);
}

static int create(struct bw_req *req)
{
	return session_of_request(req, true, &session);
}

/* ---- repo's answers ---- */

struct known {
	enum session_what what;
	const char       *context;
	uint64_t          lease;
	const char       *value; /* of the attribute v; NULL: it has none */
};

static void answer_sessions(const struct known *all, unsigned n)
{
	Bw__Wire__SessionData m = BW__WIRE__SESSION_DATA__INIT;
	struct buf            out;

	buf_init(&out);
	for (unsigned i = 0; i < n; i++) {
		struct session_record r = {
			.what = all[i].what,
			.max_inactive = 1800,
			.created_us = 1796000000000000,
			.accessed_us = 1796000001000000,
			.lease_us = all[i].lease,
			.context = bw_str(all[i].context),
		};
		size_t at = session_record_begin(&out, &r);

		if (all[i].value != NULL)
			session_record_put(&out, at,
			                   &(struct session_value){ BW_STR("v"),
			                                            bw_str(all[i].value),
			                                            SESSION_STRING });
	}
	m.count = n;
	m.sessions = (ProtobufCBinaryData){ buf_size(&out), buf_data(&out) };
	wire_answer(repo.chan, &repo.last.q, 0, 0, &m.base);
	buf_done(&out);
	turn();
}

#define ANSWER(...) \
	answer_sessions((const struct known[]){ __VA_ARGS__ }, \
	                sizeof((const struct known[]){ __VA_ARGS__ }) / sizeof(struct known))

static void answer_none(void)
{
	answer_sessions(NULL, 0);
}

static void answer_changed(const char *old, uint64_t lease)
{
	Bw__Wire__SessionChanged m = BW__WIRE__SESSION_CHANGED__INIT;

	m.has_kind = m.has_value = old != NULL;
	m.kind = SESSION_STRING;
	if (old != NULL)
		m.value = (ProtobufCBinaryData){ strlen(old), (uint8_t *)old };
	m.lease = lease;
	wire_answer(repo.chan, &repo.last.q, 0, 0, &m.base);
	turn();
}

/* The id whose hash this is. */
static bool is_hash_of(const ProtobufCBinaryData *b, struct bw_str id)
{
	uint8_t hash[SESSION_HASH_SIZE];

	session_id_hash(id, hash);
	return b->len == sizeof(hash) && memcmp(b->data, hash, sizeof(hash)) == 0;
}

/* The one Set-Cookie of a response, "" if there is none. */
static const char *cookie_of(const struct bw_req *req)
{
	const char *value = "";

	for (size_t i = 0; i < req->n_res_headers; i++) {
		if (!bw_str_eq(req->res_headers[i].name, BW_STR("set-cookie")))
			continue;
		cr_assert_str_eq(value, "", "two cookies");
		value = req->res_headers[i].value.p;
	}
	return value;
}

static struct bw_str id_in(const char *cookie)
{
	cr_assert(strncmp(cookie, "JSESSIONID=", 11) == 0 && strlen(cookie) > 43, "%s", cookie);
	return (struct bw_str){ cookie + 11, 32 };
}

/* ---- what is asked ---- */

Test(session, without_a_cookie_nobody_is_asked)
{
	struct bw_req *req = request(NULL, peek);

	cr_assert(ended && result == BW_ENOTFOUND && repo.n_questions == 0);
	request_release(req);
	req = request("other=1; JSESSIONID=too-short; JSESSIONID=" ID_1 "x", peek);
	cr_assert(ended && result == BW_ENOTFOUND && repo.n_questions == 0);
	request_release(req);
	req = request("JSESSIONID", peek);
	cr_assert(ended && result == BW_ESYNTAX && repo.n_questions == 0);
	request_release(req);
}

static int peek_twice(struct bw_req *req)
{
	cr_assert_eq(session_of_request(req, false, &session), BW_ENOTFOUND);
	return session_of_request(req, false, &session);
}

Test(session, a_request_asks_once)
{
	struct bw_req *req = request("a=b; JSESSIONID=" ID_1, peek_twice);

	cr_assert_eq(repo.last.q.id, WIRE_SESSION_LOAD);
	cr_assert_eq(repo.last.q.request, 0x1234);
	cr_assert(is_hash_of(&repo.last.m.u->session_load.id, BW_STR(ID_1)));
	cr_assert(memcmp(repo.last.m.u->session_load.context.data, "shop", 4) == 0);
	ANSWER({ .what = SESSION_OTHER, .context = "forum" });
	cr_assert(ended && result == BW_ENOTFOUND && repo.n_questions == 1);
	request_release(req);
}

static int look_at_it(struct bw_req *req)
{
	struct bw_session_info info;
	struct bw_session     *again;
	struct bw_value        v;
	int                    err = session_of_request(req, true, &session);

	cr_assert_eq(err, BW_OK);
	cr_assert_eq(session_of_request(req, true, &again), BW_OK);
	cr_assert_eq(again, session);
	cr_assert_eq(session_info(session, &info), BW_OK);
	cr_assert(!info.is_new && info.created_ms == 1796000000000 && info.timeout_s == 1800);
	cr_assert_eq(info.accessed_ms, 1796000001000);
	cr_assert_eq(session_get(session, "w", &v), BW_ENOTFOUND);
	cr_assert_eq(session_get(session, "v", &v), BW_OK);
	cr_assert(v.type == BW_VALUE_STRING && bw_str_eq(v.u.string, BW_STR("kept")));
	cr_assert(bw_str_eq(session_name(session, 0), BW_STR("v")));
	cr_assert_null(session_name(session, 1).p);
	cr_assert(bw_str_eq(session_id(session), BW_STR(ID_1)));
	return BW_OK;
}

Test(session, what_was_read_is_read_again_for_nothing)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, look_at_it);

	ANSWER({ .what = SESSION_OWN, .context = "shop", .value = "kept" });
	cr_assert(ended && result == BW_OK && repo.n_questions == 1);
	cr_assert_str_eq(cookie_of(req), "");
	request_release(req);
}

/* ---- making one ---- */

Test(session, an_id_that_repo_does_not_know_is_not_taken_over)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, create);
	struct bw_str  id;

	answer_none();
	cr_assert_eq(repo.last.q.id, WIRE_SESSION_CREATE);
	cr_assert(!repo.last.m.u->session_create.join);
	cr_assert_eq(repo.last.m.u->session_create.max_inactive, 1800);
	cr_assert(!is_hash_of(&repo.last.m.u->session_create.id, BW_STR(ID_1)));
	ANSWER({ .what = SESSION_NEW, .context = "shop" });
	cr_assert(ended && result == BW_OK);
	id = id_in(cookie_of(req));
	cr_assert(is_hash_of(&repo.last.m.u->session_create.id, id) && session_id_fits(id));
	cr_assert(bw_str_eq(session_id(session), id));
	cr_assert_str_eq(cookie_of(req) + 43, "; Path=/; HttpOnly; SameSite=Lax");
	request_release(req);
}

Test(session, over_tls_the_cookie_is_secure)
{
	struct bw_req *req;

	is_https = true;
	req = request(NULL, create);
	ANSWER({ .what = SESSION_NEW, .context = "shop" });
	cr_assert_str_eq(cookie_of(req) + 43, "; Path=/; Secure; HttpOnly; SameSite=Lax");
	request_release(req);
}

Test(session, another_contexts_id_is_joined)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, create);

	ANSWER({ .what = SESSION_OTHER, .context = "forum" });
	cr_assert(repo.last.q.id == WIRE_SESSION_CREATE && repo.last.m.u->session_create.join);
	cr_assert(is_hash_of(&repo.last.m.u->session_create.id, BW_STR(ID_1)));
	ANSWER({ .what = SESSION_NEW, .context = "shop" });
	cr_assert(ended && result == BW_OK);
	cr_assert_str_eq(cookie_of(req), "");
	request_release(req);
	/* It has gone meanwhile. */
	req = request("JSESSIONID=" ID_1, create);
	ANSWER({ .what = SESSION_OTHER, .context = "forum" });
	answer_none();
	cr_assert(repo.last.q.id == WIRE_SESSION_CREATE && !repo.last.m.u->session_create.join);
	ANSWER({ .what = SESSION_NEW, .context = "shop" });
	cr_assert(ended && result == BW_OK);
	cr_assert(!bw_str_eq(id_in(cookie_of(req)), BW_STR(ID_1)));
	request_release(req);
}

static int create_twice(struct bw_req *req)
{
	struct bw_session *again;
	int                err = session_of_request(req, true, &session);

	if (err == BW_OK)
		err = session_of_request(req, true, &again);
	cr_assert_eq(again, session);
	return err;
}

/* The old one of this context ended while the new one was being made. */
Test(session, the_new_one_is_found_and_not_the_ended_one)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, create_twice);

	ANSWER({ .what = SESSION_OTHER, .context = "forum" });
	ANSWER({ .what = SESSION_ENDED, .context = "shop", .value = "old" },
	       { .what = SESSION_NEW, .context = "shop" });
	cr_assert(ended && result == BW_OK && repo.n_questions == 2);
	request_release(req);
}

Test(session, none_is_made_after_the_head_has_gone)
{
	struct bw_req *req;

	is_committed = true;
	req = request(NULL, create);
	cr_assert(ended && result == BW_ESTATE && repo.n_questions == 0);
	request_release(req);
}

/* Preprocessors have the server's own context, and management none at all. */
Test(session, there_is_none_without_a_context_of_ones_own)
{
	static struct bw_context server = { .reading = &reading };
	struct bw_context *const contexts[] = { &server, NULL };

	snapshot.server = &server;
	for (size_t i = 0; i < 2; i++) {
		struct bw_req *req;

		in_context = contexts[i];
		req = request("JSESSIONID=" ID_1, create);
		cr_assert(ended && result == BW_ESTATE && repo.n_questions == 0, "%zu", i);
		request_release(req);
	}
}

Test(session, a_failure_leaves_no_cookie)
{
	struct bw_req *req = request(NULL, create);

	answer_failed(&repo, BW_EGONE);
	cr_assert(ended && result == BW_EGONE);
	cr_assert_str_eq(cookie_of(req), "");
	request_release(req);
	fake_stop(&repo);
	turn();
	req = request("JSESSIONID=" ID_1, peek);
	cr_assert(ended && result == BW_EGONE);
	request_release(req);
}

/* ---- changing ---- */

static struct bw_value value_seen;
static int             get_result;

static int set_it(struct bw_req *req)
{
	int err = session_of_request(req, false, &session);

	if (err == BW_OK)
		err = session_set(session, "v", &BW_V_STRING(BW_STR("new")));
	get_result = session_get(session, "v", &value_seen);
	return err;
}

Test(session, a_change_is_sent_at_its_call)
{
	struct bw_req              *req = request("JSESSIONID=" ID_1, set_it);
	const Bw__Wire__SessionSet *m;

	ANSWER({ .what = SESSION_OWN, .context = "shop", .value = "old" });
	cr_assert(!ended && repo.last.q.id == WIRE_SESSION_SET);
	m = &repo.last.m.u->session_set;
	cr_assert(is_hash_of(&m->id, BW_STR(ID_1)) && m->kind == SESSION_STRING);
	cr_assert(m->value.len == 3 && memcmp(m->value.data, "new", 3) == 0 && m->name.len == 1);
	answer_changed("old", 0);
	cr_assert(ended && result == BW_OK && get_result == BW_OK);
	cr_assert(bw_str_eq(value_seen.u.string, BW_STR("new")));
	request_release(req);
	/* Refused: the request goes on seeing what there was. */
	req = request("JSESSIONID=" ID_1, set_it);
	ANSWER({ .what = SESSION_OWN, .context = "shop", .value = "old" });
	answer_failed(&repo, BW_ETOOBIG);
	cr_assert(ended && result == BW_ETOOBIG);
	cr_assert(bw_str_eq(value_seen.u.string, BW_STR("old")));
	request_release(req);
}

static int bad_changes(struct bw_req *req)
{
	static char     large[SESSION_MAX_VALUE + 1];
	char            name[300];
	struct bw_value v = BW_V_STRING(BW_STR("x"));

	cr_assert_eq(session_of_request(req, false, &session), BW_OK);
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	cr_assert_eq(session_set(session, name, &v), BW_EINVAL);
	cr_assert_eq(session_set(session, "", &v), BW_EINVAL);
	cr_assert_eq(session_set(session, NULL, &v), BW_EINVAL);
	cr_assert_eq(session_set(session, "\xff", &v), BW_EINVAL);
	cr_assert_eq(session_add(session, "\xff", 1, NULL), BW_EINVAL);
	v.type = BW_VALUE_DATE;
	cr_assert_eq(session_set(session, "v", &v), BW_EINVAL);
	v = BW_V_STRING(BW_ABSENT);
	cr_assert_eq(session_set(session, "v", &v), BW_EINVAL);
	v = BW_V_STRING(((struct bw_str){ large, sizeof(large) }));
	cr_assert_eq(session_set(session, "v", &v), BW_ETOOBIG);
	return BW_OK;
}

Test(session, bad_changes_are_not_sent)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, bad_changes);

	ANSWER({ .what = SESSION_OWN, .context = "shop" });
	cr_assert(ended && result == BW_OK && repo.n_questions == 1);
	request_release(req);
}

/* ---- the end ---- */

static int invalidate(struct bw_req *req)
{
	struct bw_value v;
	int             err = session_of_request(req, false, &session);

	if (err == BW_OK)
		err = session_invalidate(session);
	if (err != BW_OK)
		return err;
	cr_assert_eq(session_get(session, "v", &v), BW_ESTATE);
	cr_assert_eq(session_set(session, "v", NULL), BW_ESTATE);
	cr_assert_eq(session_invalidate(session), BW_ESTATE);
	cr_assert_eq(session_change_id(session), BW_ESTATE);
	cr_assert(bw_str_eq(session_id(session), BW_STR(ID_1)));
	return session_of_request(req, false, &session);
}

Test(session, the_cookie_goes_with_the_last_one)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, invalidate);

	ANSWER({ .what = SESSION_OWN, .context = "shop", .value = "x" });
	cr_assert_eq(repo.last.q.id, WIRE_SESSION_INVALIDATE);
	ANSWER({ .what = SESSION_ENDED, .context = "shop", .value = "x" });
	cr_assert(ended && result == BW_ENOTFOUND);
	cr_assert_str_eq(cookie_of(req), "JSESSIONID=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
	request_release(req);
	req = request("JSESSIONID=" ID_1, invalidate);
	ANSWER({ .what = SESSION_OWN, .context = "shop", .value = "x" });
	ANSWER({ .what = SESSION_ENDED, .context = "shop", .value = "x" },
	       { .what = SESSION_OTHER, .context = "forum" });
	cr_assert(ended && result == BW_ENOTFOUND);
	cr_assert_str_eq(cookie_of(req), "");
	request_release(req);
}

Test(session, a_lease_is_given_back_at_the_end)
{
	struct bw_req *req = request("JSESSIONID=" ID_1, peek);
	unsigned       before = repo.n_questions;

	ANSWER({ .what = SESSION_OWN, .context = "shop", .lease = 4711 });
	cr_assert(ended && result == BW_OK);
	turn();
	cr_assert(repo.n_questions == before + 1 && repo.last.q.id == WIRE_SESSION_RELEASE);
	cr_assert_eq(repo.last.m.u->session_release.lease, 4711);
	cr_assert(is_hash_of(&repo.last.m.u->session_release.id, BW_STR(ID_1)));
	request_release(req);
}

/* ---- those that end by themselves ---- */

Test(session, one_question_waits_for_them)
{
	pass_ms(500);
	cr_assert(repo.n_questions == 1 && repo.last.q.id == WIRE_SESSION_WATCH);
	cr_assert_eq(repo.last.m.u->session_watch.max, SESSION_BATCH);
	pass_ms(10000);
	cr_assert_eq(repo.n_questions, 1);
	ANSWER({ .what = SESSION_ENDED, .context = "shop", .value = "x" },
	       { .what = SESSION_ENDED, .context = "no such context" });
	pass_ms(10);
	pass_ms(10);
	cr_assert(repo.n_questions == 2 && repo.last.q.id == WIRE_SESSION_WATCH);
	fake_stop(&repo);
	turn();
	fake_start(&repo);
	pass_ms(1000);
	pass_ms(1000);
	cr_assert(repo.n_questions == 3 && repo.last.q.id == WIRE_SESSION_WATCH);
}

/* ---- values ---- */

static bool same(const struct bw_value *a, const struct bw_value *b)
{
	if (a->type != b->type || a->is_list != b->is_list || (a->is_list && a->n != b->n))
		return false;
	for (size_t i = 0; i < (a->is_list ? a->n : 1); i++) {
		bool l = a->is_list;

		switch (a->type) {
		case BW_VALUE_LONG:
			if ((l ? a->u.i64s[i] : a->u.i64) != (l ? b->u.i64s[i] : b->u.i64))
				return false;
			break;
		case BW_VALUE_DOUBLE:
			if (memcmp(l ? &a->u.f64s[i] : &a->u.f64, l ? &b->u.f64s[i] : &b->u.f64,
			           8) != 0)
				return false;
			break;
		case BW_VALUE_BOOLEAN:
			if ((l ? a->u.bools[i] : a->u.b) != (l ? b->u.bools[i] : b->u.b))
				return false;
			break;
		default:
			if (!bw_str_eq(l ? a->u.strings[i] : a->u.string,
			               l ? b->u.strings[i] : b->u.string))
				return false;
		}
	}
	return true;
}

Test(session_value, round_trip)
{
	static const struct bw_str strings[] = { BW_STR("a"), BW_STR(""), BW_STR("b\0\xff") };
	static const int64_t       longs[] = { INT64_MIN, -1, 0, INT64_MAX };
	static const double        doubles[] = { -0.0, 1e308, INFINITY, NAN };
	static const bool          bools[] = { true, false };
	const struct bw_value      values[] = {
		     BW_V_STRING(BW_STR("")),
		     BW_V_STRING(BW_STR("a\0b\xff")),
		     BW_V_LONG(INT64_MIN),
		     BW_V_LONG(1),
		     BW_V_DOUBLE(-0.0),
		     BW_V_DOUBLE(NAN),
		     BW_V_BOOLEAN(true),
		     BW_V_BOOLEAN(false),
		     BW_V_STRINGS(strings, 3),
		     BW_V_STRINGS(NULL, 0),
		     { .type = BW_VALUE_LONG, .is_list = true, .n = 4, .u.i64s = longs },
		     { .type = BW_VALUE_DOUBLE, .is_list = true, .n = 4, .u.f64s = doubles },
		     { .type = BW_VALUE_BOOLEAN, .is_list = true, .n = 2, .u.bools = bools },
	};
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		enum session_kind kind;
		struct bw_str     octets;
		struct bw_value   again;

		cr_assert_eq(session_value_pack(&a, &values[i], &kind, &octets), BW_OK, "%zu", i);
		cr_assert(octets.p != NULL && session_value_fits(kind, octets), "%zu", i);
		session_value_unpack(&a, kind, octets, &again);
		cr_assert(same(&values[i], &again), "%zu", i);
	}
	arena_done(&a);
}

Test(session_value, bad_ones)
{
	static const struct bw_str absent[] = { BW_STR("a"), BW_ABSENT };
	static char                large[SESSION_MAX_VALUE];
	const struct bw_str        two[] = { { large, 40000 }, { large, 40000 } };
	const struct bw_str        wraps[] = { { large, SIZE_MAX - 3 } };
	const struct {
		struct bw_value v;
		int             err;
	} rows[] = {
		{ BW_V_STRINGS(absent, 2), BW_EINVAL },
		{ BW_V_STRINGS(NULL, 1), BW_EINVAL },
		{ BW_V_STRINGS(two, 2), BW_ETOOBIG },
		{ BW_V_STRINGS(wraps, 1), BW_ETOOBIG },
		{ BW_V_STRING(((struct bw_str){ large, SIZE_MAX })), BW_ETOOBIG },
		{ { .type = BW_VALUE_LONG, .is_list = true, .n = 8193, .u.i64s = (int64_t *)large },
		  BW_ETOOBIG },
		{ { .type = BW_VALUE_LONG,
		    .is_list = true,
		    .n = SIZE_MAX,
		    .u.i64s = (int64_t *)large },
		  BW_ETOOBIG },
		{ { .type = BW_VALUE_NAME, .is_list = true, .n = 0 }, BW_EINVAL },
		{ { .type = BW_VALUE_URI, .u.string = BW_STR("x") }, BW_EINVAL },
		{ { .type = 99, .u.i64 = 1 }, BW_EINVAL },
	};
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum session_kind kind;
		struct bw_str     octets;

		cr_assert_eq(session_value_pack(&a, &rows[i].v, &kind, &octets), rows[i].err, "%zu",
		             i);
	}
	arena_done(&a);
}
