/* session.c - a request's sessions: found by the cookie, made, changed, ended.
 *
 *   cookie --hash--> LOAD --> own: LIVE          none, but others live --CREATE, join--> LIVE
 *                        `--> ended: told        none at all --a new id, CREATE, cookie--> LIVE
 *
 * An id that repo does not know is never taken over: whoever sent it may have chosen it.
 * Owns: nothing beyond the request's arena. Runs in: the gateway, on a request's fiber.
 * Fails with: BW_ENOTFOUND, BW_ESTATE, BW_EINVAL, BW_ETOOBIG, and what ask_session fails with.
 * Tests: tests/unit/gateway/session_test.c, tests/system/session_test.c. */
#include "session.h"
#include "ask_session.h"
#include "request.h"
#include "settings.h"
#include "whiteboard/snapshot.h"
#include <base/fatal.h>
#include <sys/random.h>

static int32_t first_timeout_s;

void sessions_init(const struct gateway_settings *settings)
{
	session_cookie_init(settings->session_cookie);
	first_timeout_s = (int32_t)settings->session_timeout_s;
	session_watch_init();
}

void sessions_done(void)
{
	session_watch_done();
}

/* ---- ids ---- */

static void set_id(struct req_sessions *all, struct bw_str id)
{
	all->id = id;
	all->lives = false;
	if (id.p != NULL)
		session_id_hash(id, all->hash);
}

/* 192 random bits in the alphabet of RFC 4648 section 5. */
static struct bw_str draw_id(struct bw_req *req)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t bits[SESSION_ID_SIZE];
	char    text[SESSION_ID_SIZE];

	if (getrandom(bits, sizeof(bits), 0) != sizeof(bits))
		fatal("getrandom");
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = alphabet[bits[i] & 63];
	return (struct bw_str){ arena_dup(&req->arena, text, sizeof(text)), sizeof(text) };
}

/* The first time a request asks for any. */
static int look_for_id(struct bw_req *req)
{
	struct req_sessions *all;
	struct bw_str        id;
	int                  err;

	if (req->sessions != NULL)
		return BW_OK;
	err = session_cookie_get(req, &id);
	if (err != BW_OK)
		return err;
	all = arena_zalloc(&req->arena, sizeof(*all));
	set_id(all, id);
	req->sessions = all;
	return BW_OK;
}

/* ---- finding and making ---- */

static struct bw_session *find(const struct req_sessions *all, struct bw_str context)
{
	struct bw_session *s = all->first;

	while (s != NULL && !bw_str_eq(s->context, context))
		s = s->next;
	return s; /* the newest one: others of this context are void */
}

static struct bw_session *add(struct bw_req *req, struct bw_str context)
{
	struct bw_session *s = arena_zalloc(&req->arena, sizeof(*s));

	s->req = req;
	s->arena = &req->arena;
	s->context = context;
	s->id = req->sessions->id;
	s->next = req->sessions->first;
	req->sessions->first = s;
	return s;
}

/* What came with an answer besides: sessions whose time is over. */
static void tell_ended(struct bw_req *req, const struct session_record *r)
{
	struct bw_session *s = add(req, request_dup(req, r->context));

	session_fill(s, r);
	s->lease_us = 0;
	s->state = SESSION_ENDING;
	session_tell_end(s);
}

/* Takes an answer of SESSION_DATA. Returns the session that it brings, or NULL. */
static struct bw_session *take(struct bw_req *req, const struct ask_sessions *answer,
                               struct bw_str context)
{
	struct req_sessions *all = req->sessions;
	struct bw_session   *own = NULL;

	all->lives = false;
	for (unsigned i = 0; i < answer->n; i++)
		if (answer->records[i].what == SESSION_ENDED)
			tell_ended(req, &answer->records[i]);
	/* After those that ended, which may be of this context as well: find takes the newest. */
	for (unsigned i = 0; i < answer->n; i++) {
		const struct session_record *r = &answer->records[i];

		all->lives |= r->what != SESSION_ENDED;
		if (r->what != SESSION_OWN && r->what != SESSION_NEW)
			continue;
		own = add(req, context);
		session_fill(own, r);
		own->state = SESSION_LIVE;
	}
	return own;
}

/* The first time a request looks at a context's session. */
static int load(struct bw_req *req, struct bw_str context, struct bw_session **ret)
{
	struct req_sessions *all = req->sessions;
	struct ask_sessions  answer;
	int                  err;

	*ret = NULL;
	if (all->id.p != NULL) {
		err = ask_session_load(req, all->hash, context, &answer);
		if (err != BW_OK)
			return err;
		*ret = take(req, &answer, context);
		if (!all->lives)
			set_id(all, BW_ABSENT);
	}
	if (*ret == NULL)
		*ret = add(req, context); /* NONE: it is not asked for again */
	return BW_OK;
}

/* Under the id that the client has. *ret NULL: nothing lives there any more. */
static int join(struct bw_req *req, struct bw_str context, struct bw_session **ret)
{
	struct req_sessions *all = req->sessions;
	struct ask_sessions  answer;
	int err = ask_session_create(req, all->hash, context, true, first_timeout_s, &answer);

	if (err == BW_OK)
		*ret = take(req, &answer, context);
	return err;
}

static int create(struct bw_req *req, struct bw_str context, struct bw_session **ret)
{
	struct req_sessions *all = req->sessions;
	struct bw_session   *s = NULL;
	struct ask_sessions  answer;
	int                  err = BW_OK;

	if (req->committed || req->closed)
		return BW_ESTATE;
	if (all->lives)
		err = join(req, context, &s);
	if (err == BW_OK && s == NULL) {
		set_id(all, draw_id(req));
		err = ask_session_create(req, all->hash, context, false, first_timeout_s, &answer);
		if (err == BW_OK)
			err = session_cookie_put(req, all->id);
		if (err != BW_OK) { /* made or not: nobody will know its id */
			set_id(all, BW_ABSENT);
			return err;
		}
		s = take(req, &answer, context);
	}
	if (err != BW_OK)
		return err;
	*ret = s;
	if (s->is_new)
		session_tell_created(s);
	return BW_OK;
}

int session_of_request(struct bw_req *req, bool may_create, struct bw_session **ret)
{
	struct bw_str      context;
	struct bw_session *s;
	int                err = request_check(req);

	if (err != BW_OK)
		return err;
	if (req->context == NULL || req->context == req->snapshot->server)
		return BW_ESTATE;
	err = look_for_id(req);
	if (err != BW_OK)
		return err;
	context = req->context->reading->name;
	s = find(req->sessions, context);
	if (s == NULL && (err = load(req, context, &s)) != BW_OK)
		return err;
	if (s->state != SESSION_LIVE) {
		if (!may_create)
			return BW_ENOTFOUND;
		err = create(req, context, &s);
	}
	if (err == BW_OK)
		*ret = s;
	return err;
}

/* ---- reading ---- */

struct bw_str session_id(const struct bw_session *s)
{
	return s->id;
}

static bool is_readable(const struct bw_session *s)
{
	return s->state == SESSION_LIVE || s->state == SESSION_ENDING;
}

int session_info(const struct bw_session *s, struct bw_session_info *ret)
{
	if (!is_readable(s))
		return BW_ESTATE;
	*ret = (struct bw_session_info){
		.is_new = s->is_new,
		.created_ms = (int64_t)(s->created_us / 1000),
		.accessed_ms = (int64_t)(s->accessed_us / 1000),
		.timeout_s = s->max_inactive,
	};
	return BW_OK;
}

int session_get(const struct bw_session *s, const char *name, struct bw_value *ret)
{
	const struct session_attr *attr;

	if (!is_readable(s))
		return BW_ESTATE;
	attr = session_attr_find(s, bw_str(name));
	if (attr == NULL)
		return BW_ENOTFOUND;
	*ret = attr->value;
	return BW_OK;
}

struct bw_str session_name(const struct bw_session *s, size_t i)
{
	const struct session_attr *attr = is_readable(s) ? s->attrs : NULL;

	while (attr != NULL && i-- > 0)
		attr = attr->next;
	return attr != NULL ? attr->name : BW_ABSENT;
}

/* ---- changing ---- */

static int check_live(const struct bw_session *s)
{
	return s->state == SESSION_LIVE ? BW_OK : BW_ESTATE;
}

int session_set_timeout(struct bw_session *s, int32_t seconds)
{
	struct ask_session_changed changed;
	int                        err = check_live(s);

	if (err == BW_OK)
		err = ask_session_timeout(s->req, s->req->sessions->hash, s->context, seconds,
		                          &changed);
	if (err != BW_OK)
		return err;
	s->max_inactive = seconds;
	s->lease_us = changed.lease;
	return BW_OK;
}

/* A change of an attribute has been made: here, too, and told. name and new: in the arena. */
static void changed(struct bw_session *s, struct bw_str name,
                    const struct ask_session_changed *answer, const struct bw_value *new)
{
	struct bw_value old;

	session_attr_put(s, name, new);
	if (answer->had)
		session_value_unpack(s->arena, answer->kind, answer->old, &old);
	if (answer->had || new != NULL)
		session_tell_attribute(s, name, answer->had ? &old : NULL, new);
}

int session_set(struct bw_session *s, const char *name, const struct bw_value *value)
{
	struct ask_session_changed answer;
	bool                       removes = value == NULL || value->type == 0;
	enum session_kind          kind = SESSION_STRING;
	struct bw_str              octets = BW_ABSENT, key;
	struct bw_value            copy;
	int                        err = check_live(s);

	if (err != BW_OK)
		return err;
	if (name == NULL || !session_name_fits(bw_str(name)))
		return BW_EINVAL;
	if (!removes)
		err = session_value_pack(s->arena, value, &kind, &octets);
	if (err != BW_OK)
		return err;
	key = request_dup(s->req, bw_str(name));
	err = ask_session_set(s->req, s->req->sessions->hash, s->context, key, kind, octets,
	                      &answer);
	if (err != BW_OK)
		return err;
	if (!removes)
		session_value_unpack(s->arena, kind, octets, &copy);
	changed(s, key, &answer, removes ? NULL : &copy);
	return BW_OK;
}

int session_add(struct bw_session *s, const char *name, int64_t delta, int64_t *ret)
{
	struct ask_session_changed answer;
	struct bw_value            old = BW_V_LONG(0), new;
	struct bw_str              key;
	int                        err = check_live(s);

	if (err != BW_OK)
		return err;
	if (name == NULL || !session_name_fits(bw_str(name)))
		return BW_EINVAL;
	key = request_dup(s->req, bw_str(name));
	err = ask_session_add(s->req, s->req->sessions->hash, s->context, key, delta, &answer);
	if (err != BW_OK)
		return err;
	if (answer.had)
		session_value_unpack(s->arena, answer.kind, answer.old, &old);
	new = BW_V_LONG((int64_t)((uint64_t)old.u.i64 + (uint64_t)delta)); /* it fits, says repo */
	changed(s, key, &answer, &new);
	if (ret != NULL)
		*ret = new.u.i64;
	return BW_OK;
}

/* ---- ending ---- */

/* The last session has gone: the cookie is worth nothing. */
static void retire(struct bw_req *req)
{
	set_id(req->sessions, BW_ABSENT);
	if (!req->committed && !req->closed)
		(void)session_cookie_put(req, BW_ABSENT); /* the other one was put as well */
}

int session_invalidate(struct bw_session *s)
{
	struct bw_req      *req = s->req;
	struct ask_sessions answer;
	bool                others = false;
	int                 err = check_live(s);

	if (err == BW_OK)
		err = ask_session_invalidate(req, req->sessions->hash, s->context, &answer);
	if (err != BW_OK)
		return err;
	s->state = SESSION_VOID; /* if another request was first, it tells the listeners */
	s->lease_us = 0;
	for (unsigned i = 0; i < answer.n; i++) {
		const struct session_record *r = &answer.records[i];

		if (r->what != SESSION_ENDED) {
			others = true;
			continue;
		}
		session_fill(s, r); /* as it was in the end, not as this request has seen it */
		s->lease_us = 0;
		s->state = SESSION_ENDING;
	}
	req->sessions->lives = others;
	if (!others)
		retire(req);
	if (s->state == SESSION_ENDING)
		session_tell_end(s);
	return BW_OK;
}

/* ---- another id ---- */

/* Each context with a session hears of it. One that this request has not looked at is read for
 * that. */
static void tell_id(struct bw_req *req, struct bw_str context, struct bw_str old_id)
{
	struct bw_session *s = find(req->sessions, context);

	if (!session_hears_id(context))
		return;
	if ((s == NULL || s->state == SESSION_NONE) &&
	    load(req, request_dup(req, context), &s) != BW_OK)
		return;
	if (s->state == SESSION_LIVE)
		session_tell_id(s, old_id);
}

int session_change_id(struct bw_session *s)
{
	struct bw_req       *req = s->req;
	struct req_sessions *all = req != NULL ? req->sessions : NULL;
	struct ask_sessions  answer;
	uint8_t              hash[SESSION_HASH_SIZE];
	struct bw_str        old_id, id;
	int                  err = check_live(s);

	if (err != BW_OK)
		return err;
	if (req->committed || req->closed)
		return BW_ESTATE;
	old_id = all->id;
	id = draw_id(req);
	session_id_hash(id, hash);
	err = ask_session_change_id(req, all->hash, hash, &answer);
	if (err == BW_OK && answer.n == 0)
		err = BW_ESTATE;
	if (err != BW_OK)
		return err;
	set_id(all, id);
	all->lives = true;
	(void)session_cookie_put(req, id); /* as the old one was */
	for (struct bw_session *each = all->first; each != NULL; each = each->next)
		if (each->state == SESSION_LIVE)
			each->id = id;
	for (unsigned i = 0; i < answer.n; i++)
		tell_id(req, answer.records[i].context, old_id);
	return BW_OK;
}

/* ---- the end of the request ---- */

void sessions_release(struct bw_req *req)
{
	for (struct bw_session *s = req->sessions->first; s != NULL; s = s->next) {
		if (s->state != SESSION_LIVE || s->lease_us == 0)
			continue;
		ask_session_release(req, req->sessions->hash, s->context, s->lease_us);
		s->lease_us = 0;
	}
}
