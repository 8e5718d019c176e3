/* The listeners of a row, and the words that go with them and with preprocessors.
 *
 *   L A: context request rank=5     the words name interfaces: context, contextAttr, request,
 *                                   requestAttr, session, sessionAttr, sessionId
 *
 * A context's beginning and end are in log: as init A, destroy A. Everything else is in calls: as A
 * in, A out of a request, A added k=1, A replaced k=1, A removed k=1 of an attribute, with the
 * value that was told, and A created, A destroyed, A changed of a session.
 *
 *   setattr(k,v)   sets an attribute of the request, removes it if v is -
 *   ctxattr(k,v)   the same of the context; v may be int:5, or bools:1.0 for a list
 *   sees(k)        notes that attribute of the context      where     notes the context's name
 *   answered       notes the status
 *   pass           the rest of the chain; notes and returns its error
 *   ignore         the rest of the chain; its error goes no further
 *
 * Tests: every row file. */
#include "actions.h"

#include <stdlib.h>

/* ---- the callbacks ---- */

static int on_initialized(void *self, struct bw_context *context)
{
	struct thing *t = thing_of(self);

	things.alive++;
	things_log(&things.life, "init %s", t->label);
	t->context = context;
	if (t->on_init)
		script_run(t->on_init, t, NULL, NULL);
	return t->init_fails ? BW_EIO : BW_OK;
}

static int on_destroyed(void *self, struct bw_context *context)
{
	(void)context;
	things.alive--;
	things_log(&things.life, "destroy %s", thing_of(self)->label);
	return BW_OK;
}

static int note(void *self, const char *what)
{
	things_log(&things.calls, "%s %s", thing_of(self)->label, what);
	return thing_of(self)->init_fails ? BW_EIO : BW_OK;
}

static int note_value(void *self, const char *what, const char *name, struct bw_str value)
{
	things_log(&things.calls, "%s %s %s=%.*s", thing_of(self)->label, what, name, (int)value.n,
	           value.p);
	return thing_of(self)->init_fails ? BW_EIO : BW_OK;
}

static int on_request_in(void *self, struct bw_req *req)
{
	(void)req;
	return note(self, "in");
}

static int on_request_out(void *self, struct bw_req *req)
{
	(void)req;
	return note(self, "out");
}

static int on_session_created(void *self, struct bw_session *session)
{
	(void)session;
	return note(self, "created");
}

static int on_session_destroyed(void *self, struct bw_session *session)
{
	(void)session;
	return note(self, "destroyed");
}

static int on_id_changed(void *self, struct bw_session *session, struct bw_str old_id)
{
	(void)session;
	(void)old_id;
	return note(self, "changed");
}

#define ON_REQUEST_ATTRIBUTE(what) \
	static int on_request_##what(void *self, struct bw_req *req, const char *name, \
	                             struct bw_str value) \
	{ \
		(void)req; \
		return note_value(self, #what, name, value); \
	}
#define ON_ATTRIBUTE(of, what) \
	static int on_##of##_##what(void *self, struct bw_##of *of, const char *name, \
	                            const struct bw_value *value) \
	{ \
		(void)of; \
		return note_value(self, #what, name, value->u.string); \
	}
ON_REQUEST_ATTRIBUTE(added)
ON_REQUEST_ATTRIBUTE(replaced)
ON_REQUEST_ATTRIBUTE(removed)
ON_ATTRIBUTE(context, added)
ON_ATTRIBUTE(context, replaced)
ON_ATTRIBUTE(context, removed)
ON_ATTRIBUTE(session, added)
ON_ATTRIBUTE(session, replaced)
ON_ATTRIBUTE(session, removed)

const struct bw_listener listener_type = {
	.size = sizeof(listener_type),
	.context_initialized = on_initialized,
	.context_destroyed = on_destroyed,
	.context_attribute_added = on_context_added,
	.context_attribute_replaced = on_context_replaced,
	.context_attribute_removed = on_context_removed,
	.request_initialized = on_request_in,
	.request_destroyed = on_request_out,
	.request_attribute_added = on_request_added,
	.request_attribute_replaced = on_request_replaced,
	.request_attribute_removed = on_request_removed,
	.session_created = on_session_created,
	.session_destroyed = on_session_destroyed,
	.session_attribute_added = on_session_added,
	.session_attribute_replaced = on_session_replaced,
	.session_attribute_removed = on_session_removed,
	.session_id_changed = on_id_changed,
};

const char *interface_of(const char *word)
{
	static const struct {
		const char *word, *interface;
	} words[] = {
		{ "context", BW_CONTEXT_LISTENER },
		{ "contextAttr", BW_CONTEXT_ATTRIBUTE_LISTENER },
		{ "request", BW_REQUEST_LISTENER },
		{ "requestAttr", BW_REQUEST_ATTRIBUTE_LISTENER },
		{ "session", BW_SESSION_LISTENER },
		{ "sessionAttr", BW_SESSION_ATTRIBUTE_LISTENER },
		{ "sessionId", BW_SESSION_ID_LISTENER },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].interface;
	stage_fail("no such listener: %s", word);
}

/* ---- the words ---- */

static struct bw_context *context_of(const struct action *x)
{
	return x->req ? bw_req_context(x->req) : x->thing->context;
}

static int do_set_attr(struct action *x)
{
	return bw_req_set_attr(x->req, x->a, bw_str(x->b));
}

static int do_context_attr(struct action *x)
{
	struct bw_value value = BW_V_STRING(bw_str(x->b));
	bool            bools[8];

	if (x->b && text_begins(x->b, "int:"))
		value = BW_V_LONG(atoll(x->b + 4));
	if (x->b && text_begins(x->b, "bools:")) {
		value = (struct bw_value){ .type = BW_VALUE_BOOLEAN, .is_list = true };
		value.u.bools = bools;
		for (const char *c = x->b + 6; *c && value.n < 8; c++)
			if (*c != '.')
				bools[value.n++] = *c == '1';
	}
	return bw_context_set_attr(context_of(x), x->a, x->b ? &value : NULL);
}

static int do_sees(struct action *x)
{
	char            buf[256];
	size_t          need;
	struct bw_value value;

	if (bw_context_attr(context_of(x), x->a, buf, sizeof(buf), &value, &need) == BW_OK)
		things_log(&things.calls, "%s=%.*s", x->a, (int)value.u.string.n, value.u.string.p);
	else
		things_log(&things.calls, "%s=-", x->a);
	return BW_OK;
}

static int do_where(struct action *x)
{
	things_log(&things.calls, "%s", bw_context_get(context_of(x), BW_CONTEXT_FIELD_NAME).p);
	return BW_OK;
}

static int do_answered(struct action *x)
{
	things_log(&things.calls, "status %d", bw_res_get_status(x->req));
	return BW_OK;
}

static int do_pass(struct action *x)
{
	int err = bw_chain_next(x->chain, x->req);

	if (err != BW_OK)
		things_log(&things.calls, "error %d", err);
	return err;
}

static int do_ignore(struct action *x)
{
	bw_chain_next(x->chain, x->req);
	return BW_OK;
}

const struct word listener_words[] = {
	{ "setattr", do_set_attr },  { "ctxattr", do_context_attr },
	{ "sees", do_sees },         { "where", do_where },

	{ "answered", do_answered }, { "pass", do_pass },
	{ "ignore", do_ignore },     { NULL, NULL },
};
