/* What a thing can do when it is called: the words of do= and init=, each a call of the public API.
 *
 *   label            writes the thing's label          write(t)        writes t
 *   chain            the rest of the chain             status(n)       sets the status
 *   header(N,v)      sets a header                     sendError(n,t)  ends with an error page
 *   flush            commits                           fail(name,t)    returns this error
 *   err(n)           returns this number               deny            returns BW_DECLINED
 *   block            waits for "resume", block(ms) in a real gateway not longer than that
 *                                  user(u,type)    says who is there
 *   log              logs servlet path and path info   step(S B: /b)   any step of a row
 *   reset            takes back all                   resetBody       the body alone
 *   redirect(l)      to there                         hasHeader(N)    writes that header of the response
 *   failBecause(name,cause)  returns this error, which another one led to
 *   inside(t)        writes whether t is in the whiteboard's records    who(/a,t)  ... in the route of /a
 *
 * A family of words has a file and a table of its own, named in tables[]. Tests: every row file. */
#include "actions.h"

#include "contexts.h"
#include "dispatching.h"
#include "forms.h"

#include <stdlib.h>

static int do_label(struct action *x)
{
	return bw_res_puts(x->req, x->thing->label);
}

static int do_write(struct action *x)
{
	return bw_res_puts(x->req, x->a);
}

static int do_chain(struct action *x)
{
	return bw_chain_next(x->chain, x->req);
}

static int do_status(struct action *x)
{
	return bw_res_status(x->req, atoi(x->a));
}

static int do_header(struct action *x)
{
	return bw_res_set_header(x->req, x->a, bw_str(x->b));
}

static int do_send_error(struct action *x)
{
	int err = bw_res_send_error(x->req, atoi(x->a), x->b);

	if (err == BW_ESTATE)
		things_log(&things.calls, "state");
	return BW_OK; /* what the caller does not return does not travel */
}

static int note_state(int err)
{
	if (err == BW_ESTATE)
		things_log(&things.calls, "state");
	return BW_OK;
}

static int do_reset(struct action *x)
{
	return note_state(bw_res_reset(x->req));
}

static int do_reset_body(struct action *x)
{
	return note_state(bw_res_reset_body(x->req));
}

static int do_redirect(struct action *x)
{
	return note_state(bw_res_redirect(x->req, bw_str(x->a)));
}

static int do_has_header(struct action *x)
{
	struct bw_str value = bw_res_get_header(x->req, x->a);

	return bw_res_puts(x->req, value.p ? value.p : "-");
}

static int do_flush(struct action *x)
{
	return bw_res_flush(x->req);
}

static int do_fail(struct action *x)
{
	return bw_req_fail(x->req, x->a, x->b);
}

struct search {
	const char *text;
	bool        found;
};

static void search_json(void *arg, struct bw_str json)
{
	struct search *s = arg;

	s->found = memmem(json.p, json.n, s->text, strlen(s->text)) != NULL;
}

static int do_inside(struct action *x)
{
	int64_t       before = bw_runtime_change_count();
	struct search s = { .text = x->a };

	bw_runtime_snapshot(search_json, &s);
	if (bw_runtime_change_count() != before)
		return BW_ESTATE; /* looking changes nothing */
	return bw_res_puts(x->req, s.found ? "yes" : "no");
}

static int do_who(struct action *x)
{
	struct search s = { .text = x->b };
	int           err = bw_runtime_route("GET", x->a, search_json, &s);

	return bw_res_puts(x->req, err != BW_OK ? "400" : s.found ? "yes" : "no");
}

static int do_fail_because(struct action *x)
{
	return bw_req_fail_because(x->req, x->a, "because of another", x->b);
}

static int do_err(struct action *x)
{
	return atoi(x->a);
}

static int do_deny(struct action *x)
{
	(void)x;
	return BW_DECLINED;
}

static int do_user(struct action *x)
{
	int err = bw_req_set_attr(x->req, "org.osgi.service.http.authentication.remote.user",
	                          bw_str(x->a));

	return err != BW_OK ? err
	                    : bw_req_set_attr(x->req, "org.osgi.service.http.authentication.type",
	                                      bw_str(x->b));
}

static int do_log(struct action *x)
{
	struct bw_str sp = bw_req_get(x->req, BW_REQ_SERVLET_PATH);
	struct bw_str pi = bw_req_get(x->req, BW_REQ_PATH_INFO);

	things_log(&things.calls, "sp %s", sp.p ? sp.p : "-");
	things_log(&things.calls, "pi %s", pi.p ? pi.p : "-");
	return BW_OK;
}

static int do_step(struct action *x)
{
	things_step(x->a);
	return BW_OK;
}

static int do_block(struct action *x)
{
	return stage_block(x->req, x->a ? (unsigned)atoi(x->a) : 0);
}

/* A second call of the chain is refused with a state error, which the row wants to see. */
static int do_again(struct action *x)
{
	int err = bw_chain_next(x->chain, x->req);

	if (err == BW_ESTATE)
		things_log(&things.calls, "state");
	return BW_OK;
}

static const struct word common_words[] = {
	{ "label", do_label },
	{ "write", do_write },
	{ "chain", do_chain },
	{ "again", do_again },
	{ "status", do_status },
	{ "header", do_header },
	{ "sendError", do_send_error },
	{ "flush", do_flush },
	{ "reset", do_reset },
	{ "resetBody", do_reset_body },
	{ "redirect", do_redirect },
	{ "hasHeader", do_has_header },
	{ "fail", do_fail },
	{ "failBecause", do_fail_because },
	{ "inside", do_inside },
	{ "who", do_who },
	{ "err", do_err },
	{ "deny", do_deny },
	{ "user", do_user },
	{ "log", do_log },
	{ "step", do_step },
	{ "block", do_block },
	{ NULL, NULL },
};

static const struct word *const tables[] = { common_words, context_words,  dispatching_words,
	                                     form_words,   listener_words, watching_words };

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct word *w = tables[i]; w->name; w++)
			if (strcmp(w->name, name) == 0)
				return w;
	stage_fail("no such action: %s", name);
}

struct script {
	size_t n;
	struct call {
		const struct word *word;
		const char        *a, *b;
	} calls[];
};

static struct call call_of(const char *text)
{
	struct call  c = { NULL, NULL, NULL };
	char        *name, *argument;
	struct words args = { NULL, 0 };

	if (!text_call(text, &name, &argument))
		name = text_printf("%s", text);
	else if (strcmp(name, "step") == 0)
		c.a = argument;
	else
		args = text_split(argument, ",");
	if (args.n > 0)
		c.a = text_value(args.items[0]);
	if (args.n > 1)
		c.b = text_value(args.items[1]);
	c.word = find_word(name);
	return c;
}

struct script *script_parse(const char *text)
{
	struct words   w = text_split(text, "+");
	struct script *s = text_alloc(sizeof(*s) + w.n * sizeof(struct call));

	s->n = w.n;
	for (size_t i = 0; i < w.n; i++)
		s->calls[i] = call_of(w.items[i]);
	return s;
}

int script_run(const struct script *s, struct thing *t, struct bw_req *req, struct bw_chain *chain)
{
	struct action x = { .thing = t, .req = req, .chain = chain };

	for (size_t i = 0; i < s->n; i++) {
		int err;

		x.a = s->calls[i].a;
		x.b = s->calls[i].b;
		err = s->calls[i].word->fn(&x);
		if (err != BW_OK)
			return err;
	}
	return BW_OK;
}
