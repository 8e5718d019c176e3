/* sessions.c - a bundle for system tests of sessions: one servlet in each of two contexts, t1 at
 * /foo and t2 at /bar, which does what its query says, and listeners that log what they are told.
 *
 *   /foo?do=create,set.v.1,get.v      words joined by commas, parts of a word by dots
 *
 *   peek            absent, or there
 *   create          there, or the error
 *   twice           asks twice: same
 *   new info id     what is said of the session
 *   get.N           N=value, or N=absent
 *   names           of all attributes
 *   set.N.V         V a text; int:5, real:2.5, bool:true, list:a+b
 *   del.N
 *   add.N.D         N=sum
 *   timeout.S
 *   invalidate, change
 *   commit          sends what there is
 *   include.N, forward.N   the servlet at /N of this context, with what is behind as its query
 *   wait.MS
 *   pid             of the worker
 *
 * A word that fails answers with the error's number. Events: "event WHAT(CONTEXT) ..." in the log.
 */
#include <boardwalk/boardwalk.h>
#include <stdlib.h>
#include <unistd.h>

#define WORD_MAX 1024

static struct bw_bundle *bundle;

/* The session as the words before have left it. */
struct state {
	struct bw_req     *req;
	struct bw_session *s;
};

static int say_value(struct bw_req *req, const struct bw_value *v, size_t i)
{
	switch (v->type) {
	case BW_VALUE_LONG:
		return bw_res_printf(req, "%lld",
		                     (long long)(v->is_list ? v->u.i64s[i] : v->u.i64));
	case BW_VALUE_DOUBLE:
		return bw_res_printf(req, "%g", v->is_list ? v->u.f64s[i] : v->u.f64);
	case BW_VALUE_BOOLEAN:
		return bw_res_puts(req, (v->is_list ? v->u.bools[i] : v->u.b) ? "true" : "false");
	default:
		return bw_res_puts(req, v->is_list ? v->u.strings[i].p : v->u.string.p);
	}
}

static int say(struct bw_req *req, const char *name, const struct bw_value *v)
{
	int err = bw_res_printf(req, " %s=", name);

	for (size_t i = 0; err == BW_OK && i < (v->is_list ? v->n : 1); i++) {
		if (i > 0)
			bw_res_puts(req, "+");
		err = say_value(req, v, i);
	}
	return err;
}

static int peek(struct state *st, bool create, const char *absent)
{
	int err = bw_req_session(st->req, create, &st->s);

	if (err == BW_ENOTFOUND && absent)
		return bw_res_printf(st->req, " %s", absent);
	return err != BW_OK ? err : bw_res_puts(st->req, " there");
}

static int twice(struct state *st)
{
	struct bw_session *again = NULL;
	int                err = bw_req_session(st->req, true, &st->s);

	if (err == BW_OK)
		err = bw_req_session(st->req, true, &again);
	return err != BW_OK ? err : bw_res_puts(st->req, again == st->s ? " same" : " other");
}

static int info(struct state *st, const char *which)
{
	struct bw_session_info i;
	int                    err = bw_session_get_info(st->s, &i);

	if (err != BW_OK)
		return err;
	if (strcmp(which, "new") == 0)
		return bw_res_printf(st->req, " new=%s", i.is_new ? "true" : "false");
	return bw_res_printf(st->req, " timeout=%d age=%s", (int)i.timeout_s,
	                     i.created_ms > 1600000000000 && i.accessed_ms >= i.created_ms ? "good"
	                                                                                   : "bad");
}

static int get(struct state *st, const char *name)
{
	struct bw_value v;
	int             err = bw_session_get(st->s, name, &v);

	if (err == BW_ENOTFOUND)
		return bw_res_printf(st->req, " %s=absent", name);
	return err != BW_OK ? err : say(st->req, name, &v);
}

static int set(struct state *st, const char *name, char *text)
{
	struct bw_str   items[8];
	struct bw_value v = BW_V_STRING(bw_str(text));
	size_t          n = 0;

	if (strncmp(text, "int:", 4) == 0)
		v = BW_V_LONG(strtoll(text + 4, NULL, 10));
	else if (strncmp(text, "real:", 5) == 0)
		v = BW_V_DOUBLE(strtod(text + 5, NULL) / 10);
	else if (strncmp(text, "bool:", 5) == 0)
		v = BW_V_BOOLEAN(strcmp(text + 5, "true") == 0);
	if (strncmp(text, "list:", 5) == 0) {
		for (char *rest = text + 5, *item; n < 8 && (item = strsep(&rest, "+"));)
			items[n++] = bw_str(item);
		v = BW_V_STRINGS(items, n);
	}
	return bw_session_set(st->s, name, &v);
}

static int add(struct state *st, const char *name, const char *delta)
{
	int64_t sum;
	int     err = bw_session_add(st->s, name, strtoll(delta, NULL, 10), &sum);

	return err != BW_OK ? err : bw_res_printf(st->req, " %s=%lld", name, (long long)sum);
}

static int names(struct state *st)
{
	struct bw_str name;
	int           err = BW_OK;

	for (size_t i = 0; err == BW_OK && (name = bw_session_name(st->s, i)).p; i++)
		err = bw_res_printf(st->req, " %s", name.p);
	return err;
}

static int dispatch(struct bw_req *req, bool include, const char *name, const char *rest)
{
	char                          path[WORD_MAX];
	struct bw_request_dispatcher *d;

	snprintf(path, sizeof(path), "/%s?do=%s", name, rest ? rest : "");
	d = bw_req_get_dispatcher(req, bw_str(path));
	if (!d)
		return BW_ENOTFOUND;
	return include ? bw_include(req, d) : bw_forward(req, d);
}

static int on_session(struct state *st, const char *word, char *a, char *b)
{
	if (strcmp(word, "new") == 0 || strcmp(word, "info") == 0)
		return info(st, word);
	if (strcmp(word, "id") == 0)
		return bw_res_printf(st->req, " id=%s", bw_session_id(st->s).p);
	if (strcmp(word, "get") == 0)
		return get(st, a);
	if (strcmp(word, "names") == 0)
		return names(st);
	if (strcmp(word, "set") == 0)
		return set(st, a, b);
	if (strcmp(word, "del") == 0)
		return bw_session_set(st->s, a, NULL);
	if (strcmp(word, "add") == 0)
		return add(st, a, b);
	if (strcmp(word, "timeout") == 0)
		return bw_session_set_timeout(st->s, (int32_t)strtol(a, NULL, 10));
	if (strcmp(word, "invalidate") == 0)
		return bw_session_invalidate(st->s);
	if (strcmp(word, "change") == 0)
		return bw_session_change_id(st->s);
	return BW_EINVAL;
}

static int one_word(struct state *st, char *word, char **rest)
{
	char *args = word, *what = strsep(&args, "."), *a = strsep(&args, ".");

	if (strcmp(what, "peek") == 0)
		return peek(st, false, "absent");
	if (strcmp(what, "create") == 0)
		return peek(st, true, NULL);
	if (strcmp(what, "twice") == 0)
		return twice(st);
	if (strcmp(what, "commit") == 0)
		return bw_res_flush(st->req);
	if (strcmp(what, "wait") == 0)
		return bw_sleep_ms(st->req, (uint32_t)strtoul(a, NULL, 10));
	if (strcmp(what, "pid") == 0)
		return bw_res_printf(st->req, " pid=%d", (int)getpid());
	if (strcmp(what, "include") == 0 || strcmp(what, "forward") == 0) {
		char *query = *rest;

		*rest = NULL;
		return dispatch(st->req, *what == 'i', a, query);
	}
	return st->s ? on_session(st, what, a, args) : BW_ENOTFOUND;
}

static int serve(void *self, struct bw_req *req)
{
	struct bw_str query = bw_req_get(req, BW_REQ_QUERY);
	struct state  st = { .req = req };
	char          words[WORD_MAX], *rest = words, *word;

	(void)self;
	if (bw_req_dispatcher(req) == BW_INCLUDE)
		query = bw_req_attr(req, "jakarta.servlet.include.query_string");
	if (query.n < 3 || query.n >= sizeof(words))
		return BW_EINVAL;
	memcpy(words, query.p + 3, query.n - 2);
	bw_res_content_type(req, "text/plain;charset=utf-8");
	while ((word = strsep(&rest, ",")) != NULL) {
		int err = one_word(&st, word, &rest);

		if (err == BW_EGONE || err == BW_EBUSY || err == BW_ETIME)
			return err;
		if (err != BW_OK)
			bw_res_printf(req, " %d", err);
	}
	return BW_OK;
}

/* ---- listeners ---- */

static const char *text_of(const struct bw_value *v, char buf[64])
{
	if (v->type == BW_VALUE_LONG)
		snprintf(buf, 64, "%lld", (long long)v->u.i64);
	else if (v->type == BW_VALUE_STRING && !v->is_list)
		snprintf(buf, 64, "%s", v->u.string.p);
	else
		strcpy(buf, "?");
	return buf;
}

static int on_created(void *self, struct bw_session *s)
{
	struct bw_session_info i;

	bw_log(bundle, NULL, BW_LOG_INFO, "event created(%s)%s", (const char *)self,
	       bw_session_get_info(s, &i) == BW_OK && i.is_new ? "" : " too late");
	return BW_OK;
}

/* Attributes are still there, and may not be changed. */
static int on_destroyed(void *self, struct bw_session *s)
{
	struct bw_value v;
	char            buf[64];
	int             err = bw_session_get(s, "v", &v);

	bw_log(bundle, NULL, BW_LOG_INFO, "event destroyed(%s) v=%s%s", (const char *)self,
	       err == BW_OK ? text_of(&v, buf) : "-",
	       bw_session_set(s, "v", NULL) == BW_ESTATE ? "" : " and could be changed");
	return BW_OK;
}

static int on_added(void *self, struct bw_session *s, const char *name, const struct bw_value *v)
{
	char buf[64];

	(void)s;
	bw_log(bundle, NULL, BW_LOG_INFO, "event added(%s) %s=%s", (const char *)self, name,
	       text_of(v, buf));
	return BW_OK;
}

static int on_replaced(void *self, struct bw_session *s, const char *name, const struct bw_value *v)
{
	char buf[64];

	(void)s;
	bw_log(bundle, NULL, BW_LOG_INFO, "event replaced(%s) %s=%s", (const char *)self, name,
	       text_of(v, buf));
	return BW_OK;
}

static int on_removed(void *self, struct bw_session *s, const char *name, const struct bw_value *v)
{
	char buf[64];

	(void)s;
	bw_log(bundle, NULL, BW_LOG_INFO, "event removed(%s) %s=%s", (const char *)self, name,
	       text_of(v, buf));
	return BW_OK;
}

static int on_id(void *self, struct bw_session *s, struct bw_str old)
{
	bw_log(bundle, NULL, BW_LOG_INFO, "event id(%s) %s", (const char *)self,
	       old.n == 32 && !bw_str_eq(old, bw_session_id(s)) ? "is another" : "is wrong");
	return BW_OK;
}

static const struct bw_servlet servlet = { .size = sizeof(servlet), .service = serve };

static const struct bw_context_helper context = { .size = sizeof(context) };

static const struct bw_listener listener = {
	.size = sizeof(listener),
	.session_created = on_created,
	.session_destroyed = on_destroyed,
	.session_attribute_added = on_added,
	.session_attribute_replaced = on_replaced,
	.session_attribute_removed = on_removed,
	.session_id_changed = on_id,
};

static int start_context(struct bw_bundle *self, const char *name, const char *path)
{
	static const char *const       interfaces[] = { BW_SESSION_LISTENER,
		                                        BW_SESSION_ATTRIBUTE_LISTENER,
		                                        BW_SESSION_ID_LISTENER, NULL };
	const struct bw_service_object object = { .type = &listener, .self = (void *)name };
	const struct bw_prop           props[] = { BW_P_BOOL(BW_LISTENER, true),
		                                   BW_P_STRING(BW_CONTEXT_SELECT, name) };
	int                            err;

	err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, name),
	                          BW_P_STRING(BW_CONTEXT_PATH, path));
	if (err == BW_OK)
		err = bw_register_many(self, interfaces, &object, props, 2, NULL);
	if (err == BW_OK)
		err = bw_register_servlet(self, &servlet, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, name),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/*"));
	return err;
}

static int start(struct bw_bundle *self)
{
	int err;

	bundle = self;
	err = start_context(self, "t1", "/foo");
	return err != BW_OK ? err : start_context(self, "t2", "/bar");
}

BW_BUNDLE(BUNDLE_NAME, "1.0.0", start, NULL);
