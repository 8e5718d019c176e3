/* Who would answer a request, what would run for it, and why each other candidate would not: OSGi's
 * RequestInfoDTO (140.9), with the reasons. It takes the way of a request through the same snapshot
 * and the same functions, so that what it says is what happens.
 *
 * Owns: nothing. Runs in: the worker's thread, without a pause. Fails with: BW_EINVAL.
 * Tests: tests/unit/whiteboard/inspect_test.c, tests/conformance (O). */
#include "inspect.h"

#include "dispatch.h"
#include "records.h"
#include "whiteboard.h"

#include <bundle/crash_limits.h>
#include <path.h>

struct route {
	struct json_out       *j;
	struct arena          *arena;
	const struct snapshot *s;
	struct bw_str          path;
	bool                   found;
	struct snapshot_hit    hit; /* if found */
};

static struct {
	const struct bw_servlet *type; /* NULL: there is none */
	int (*explain)(struct json_out *j, struct bw_str path);
} way;

void inspect_on_route(const struct bw_servlet *type,
                      int (*explain)(struct json_out *j, struct bw_str path))
{
	way.type = type;
	way.explain = explain;
}

/* ---- who lost ---- */

struct loser {
	const char           *kind; /* "servlet", "resource", "filter", "context" */
	const struct reading *reading;
	struct bw_str         context; /* its name; absent if it is in none */
	struct bw_str         pattern; /* absent if none is meant */
	const char           *code;
	const char           *reason;
};

static void put_loser(const struct route *r, const struct loser *l)
{
	struct json_out *j = r->j;

	json_out_object(j);
	record_str(j, "kind", bw_str(l->kind));
	record_str(j, "name", l->reading->name);
	record_service(j, l->reading);
	record_str(j, "context", l->context);
	record_str(j, "pattern", l->pattern);
	record_str(j, "code", bw_str(l->code));
	record_str(j, "reason", bw_str(l->reason));
	json_out_object_end(j);
}

/* a is better placed than b, or was when the snapshot was built. */
static const char *why_ranked(const struct route *r, const struct reading *a,
                              const struct reading *b)
{
	if (b->id < 0)
		return "is a service, and what is built in gives way to any";
	if (a->ranking > b->ranking)
		return arena_printf(r->arena, "is ranked higher (%d against %d)", a->ranking,
		                    b->ranking);
	return "is ranked the same and was registered earlier";
}

static const char *kind_name(enum pattern_kind kind)
{
	static const char *const names[] = {
		[PATTERN_EXACT] = "an exact pattern",
		[PATTERN_ROOT] = "the pattern of the context's root",
		[PATTERN_PREFIX] = "a prefix",
		[PATTERN_EXTENSION] = "an extension",
		[PATTERN_DEFAULT] = "the default",
	};

	return names[kind];
}

/* Both take the path; winner goes first (Jakarta Servlet 12.1). */
static const char *why_pattern(const struct route *r, const struct pattern *winner,
                               const struct pattern *loser)
{
	if (winner->kind == loser->kind)
		return arena_printf(r->arena, "%s goes first: of two such the longer one does",
		                    winner->text.p);
	return arena_printf(r->arena, "%s goes first: %s goes before %s", winner->text.p,
	                    kind_name(winner->kind), kind_name(loser->kind));
}

static const char *servlet_kind(const struct snapshot_servlet *s)
{
	return s->name.p ? "servlet" : "resource";
}

/* Those of a list that take the rest of the path, but for the one that answers. */
static void put_list_losers(const struct route *r, const struct snapshot_servlet *first,
                            struct bw_str rest, const char *code, const char *reason)
{
	const struct pattern *winner = r->found ? r->hit.pattern->pattern : NULL;

	for (const struct snapshot_servlet *s = first; s; s = s->next) {
		for (size_t i = 0; i < s->n_patterns; i++) {
			const struct pattern *p = s->patterns[i];

			if (p == winner || !pattern_filters(p, dispatch_path(rest)))
				continue;
			put_loser(r,
			          &(struct loser){ .kind = servlet_kind(s),
			                           .reading = s->reading,
			                           .context = s->context->context->reading->name,
			                           .pattern = p->text,
			                           .code = code ? code : "LESS_SPECIFIC",
			                           .reason = reason ? reason
			                                            : why_pattern(r, winner, p) });
		}
	}
}

static void put_context_losers(const struct route *r, const struct snapshot_context *c,
                               struct bw_str rest, const char *code, const char *reason)
{
	put_list_losers(r, c->servlets, rest, code, reason);
	put_list_losers(r, c->resources, rest, code, reason);
}

static const char *why_context(const struct route *r, const struct snapshot_context *winner,
                               const struct snapshot_context *loser)
{
	const struct reading *w = winner->context->reading, *l = loser->context->reading;

	if (w->path.n != l->path.n)
		return arena_printf(r->arena,
		                    "context %s is searched before: its path %s is longer",
		                    w->name.p, w->path.p);
	return arena_printf(r->arena, "context %s is searched before: it %s", w->name.p,
	                    why_ranked(r, w, l));
}

/* In the order of search: contexts that have nothing for the path, the one that answers, and those
 * that are not asked any more. */
static void put_active_losers(const struct route *r)
{
	bool passed = false;

	for (size_t i = 0; i < r->s->n_contexts; i++) {
		const struct snapshot_context *c = r->s->contexts[i];
		struct bw_str                  rest;

		if (!snapshot_contains(c, r->path, &rest))
			continue;
		if (r->found && c == r->hit.context) {
			passed = true;
			put_context_losers(r, c, rest, NULL, NULL);
		} else if (passed) {
			put_context_losers(r, c, rest, "CONTEXT_SEARCHED_LATER",
			                   why_context(r, r->hit.context, c));
		} else {
			put_loser(r, &(struct loser){ .kind = "context",
			                              .reading = c->context->reading,
			                              .context = c->context->reading->name,
			                              .code = "NO_PATTERN_MATCHES",
			                              .reason = arena_printf(
							      r->arena, "no pattern in it takes %s",
							      dispatch_path(rest).p) });
		}
	}
}

/* ---- who failed ---- */

static const struct snapshot_context *find_context(const struct route *r, int64_t id)
{
	for (size_t i = 0; i < r->s->n_contexts; i++)
		if (r->s->contexts[i]->context->reading->id == id)
			return r->s->contexts[i];
	return NULL;
}

/* Whoever is active in c with that pattern; NULL. */
static const struct reading *holder_of(const struct snapshot_context *c, struct bw_str pattern)
{
	const struct snapshot_servlet *const lists[] = { c->servlets, c->resources };

	for (size_t k = 0; k < 2; k++)
		for (const struct snapshot_servlet *s = lists[k]; s; s = s->next)
			for (size_t i = 0; i < s->n_patterns; i++)
				if (bw_str_eq(s->patterns[i]->text, pattern))
					return s->reading;
	return NULL;
}

/* The active context of the same name; NULL. */
static const struct reading *named_as(const struct route *r, const struct reading *context)
{
	for (size_t i = 0; i < r->s->n_contexts; i++)
		if (bw_str_eq(r->s->contexts[i]->context->reading->name, context->name))
			return r->s->contexts[i]->context->reading;
	return NULL;
}

static const char *why_failed(const struct route *r, const struct failure *f,
                              const struct snapshot_context *c, struct bw_str pattern)
{
	const struct reading *holder = c && pattern.p               ? holder_of(c, pattern)
	                               : f->kind == READING_CONTEXT ? named_as(r, f->reading)
	                                                            : NULL;

	switch (f->code) {
	case FAILURE_NO_CONTEXT:
		return "its osgi.http.whiteboard.context.select takes no active context";
	case FAILURE_CONTEXT:
		return "the context's helper gave no instance for its bundle";
	case FAILURE_SHADOWED:
		if (!holder)
			return "a better one has this";
		return arena_printf(r->arena, "%s has this %s: it %s", holder->note,
		                    f->kind == READING_CONTEXT ? "name" : "pattern",
		                    why_ranked(r, holder, f->reading));
	case FAILURE_INIT:
		return "its init returned an error; it is tried again when its properties change";
	case FAILURE_NOT_GETTABLE:
		return "its factory gave no object";
	case FAILURE_VALIDATION:
		return "a property of its registration is missing, malformed or of the wrong type";
	default:
		return "not known";
	}
}

/* Would the pattern, in the context it was for or in any, take the path? */
static bool would_take(const struct route *r, struct bw_str text, const struct snapshot_context *c)
{
	struct pattern p;
	struct bw_str  rest;

	if (!pattern_parse(text, &p))
		return false;
	if (c)
		return snapshot_contains(c, r->path, &rest) &&
		       pattern_filters(&p, dispatch_path(rest));
	for (size_t i = 0; i < r->s->n_contexts; i++)
		if (snapshot_contains(r->s->contexts[i], r->path, &rest) &&
		    pattern_filters(&p, dispatch_path(rest)))
			return true;
	return false;
}

static void put_failed(const struct route *r, const struct failure *f, const char *kind,
                       struct bw_str pattern, const struct snapshot_context *c)
{
	put_loser(r, &(struct loser){ .kind = kind,
	                              .reading = f->reading,
	                              .context = c ? c->context->reading->name : BW_ABSENT,
	                              .pattern = pattern,
	                              .code = record_failure(f->code),
	                              .reason = why_failed(r, f, c, pattern) });
}

static void put_failed_patterns(const struct route *r, const struct failure *f)
{
	const struct snapshot_context *c = find_context(r, f->context_id);

	for (size_t i = 0; i < f->n_items; i++)
		if (would_take(r, f->items[i], c))
			put_failed(r, f, f->kind == READING_RESOURCE ? "resource" : "servlet",
			           f->items[i], c);
}

/* A filter that is missing where it should have run is worth more than a servlet that lost. */
static void put_failed_filter(const struct route *r, const struct failure *f)
{
	const struct snapshot_context *c = find_context(r, f->context_id);
	struct bw_str                  rest;

	if (!r->found || (c && c != r->hit.context) ||
	    !snapshot_contains(r->hit.context, r->path, &rest))
		return;
	if (reading_filters(f->reading, dispatch_path(rest), r->hit.pattern->servlet->name))
		put_failed(r, f, "filter", BW_ABSENT, c);
}

static void put_failed_context(const struct route *r, const struct failure *f)
{
	struct bw_str path = f->reading->path;

	if (path.n == 1)
		path = BW_STR("");
	if (path.p && path.n <= r->path.n && memcmp(path.p, r->path.p, path.n) == 0 &&
	    (path.n == r->path.n || r->path.p[path.n] == '/'))
		put_failed(r, f, "context", BW_ABSENT, NULL);
}

static void put_failed_losers(const struct route *r)
{
	for (size_t i = 0; i < r->s->n_failures; i++) {
		const struct failure *f = &r->s->failures[i];

		if (f->kind == READING_SERVLET || f->kind == READING_RESOURCE)
			put_failed_patterns(r, f);
		else if (f->kind == READING_FILTER)
			put_failed_filter(r, f);
		else if (f->kind == READING_CONTEXT)
			put_failed_context(r, f);
	}
}

/* ---- who answers ---- */

static void put_chain(const struct route *r)
{
	const struct snapshot_servlet *s = r->found ? r->hit.pattern->servlet : NULL;
	const struct snapshot_chain   *chain = s ? &s->chains[BW_REQUEST] : NULL;

	json_out_key(r->j, "filterDTOs");
	json_out_array(r->j);
	for (size_t i = 0; s && i < chain->n; i++)
		if (snapshot_step_runs(&chain->steps[i], dispatch_path(r->hit.rest), s->name))
			record_filter(r->j, chain->steps[i].filter->reading,
			              s->context->context->reading->id);
	json_out_array_end(r->j);
	json_out_key(r->j, "preprocessorDTOs");
	json_out_array(r->j);
	for (size_t i = 0; i < r->s->n_preprocessors; i++)
		record_preprocessor(r->j, r->s->preprocessors[i]->reading);
	json_out_array_end(r->j);
}

static void put_servlet(const struct route *r)
{
	const struct snapshot_servlet *s = r->found ? r->hit.pattern->servlet : NULL;

	json_out_key(r->j, "servletDTO");
	if (s && s->name.p)
		record_servlet(r->j, s);
	else
		json_out_null(r->j);
	json_out_key(r->j, "resourceDTO");
	if (s && !s->name.p)
		record_resource(r->j, s);
	else
		json_out_null(r->j);
}

/* Of a preprocessor that is not run for now; NULL. */
static const struct shared_limit *held_before(const struct route *r)
{
	for (size_t i = 0; i < r->s->n_preprocessors; i++) {
		const struct shared_limit *l = r->s->preprocessors[i]->limit;

		if (l && limits_hold(l))
			return l;
	}
	return NULL;
}

/* The context's stand-in is asked before the servlet's. */
static bool put_unavailable(const struct route *r)
{
	const struct shared_limit *before = held_before(r);
	const struct bw_bundle    *context, *doubt = dispatch_doubtful(r->found ? &r->hit : NULL);

	if (doubt)
		return record_unavailable(r->j, before, doubt);
	if (before || !r->found)
		return record_unavailable(r->j, before, NULL);
	context = r->hit.context->context->reading->bundle;
	return record_unavailable(r->j, r->hit.pattern->limit,
	                          bundle_is_stood_in_for(context)
	                                  ? context
	                                  : r->hit.pattern->servlet->reading->bundle);
}

/* What is known before the servlet runs; 0: the rest is its own business. */
static void put_status(const struct route *r, struct bw_str method)
{
	const struct bw_servlet *type = r->found ? r->hit.pattern->servlet->type : NULL;
	bool                     unavailable = put_unavailable(r);
	int                      known = 0, status;

	if (type && way.type == type)
		known = way.explain(r->j, r->path);
	status = unavailable ? 503 : !type ? 404 : servlet_refuses(type, method);
	record_int(r->j, "status", status != 0 ? status : known);
}

static void put_answer(const struct route *r, struct bw_str method)
{
	const struct snapshot_servlet *s = r->found ? r->hit.pattern->servlet : NULL;
	const struct reading          *c = s ? s->context->context->reading : NULL;

	record_int(r->j, "servletContextId", c ? c->id : 0);
	record_str(r->j, "context", c ? c->name : BW_ABSENT);
	record_str(r->j, "contextPath", s ? s->context->path : BW_ABSENT);
	record_str(r->j, "pattern", s ? r->hit.pattern->pattern->text : BW_ABSENT);
	put_status(r, method);
	put_servlet(r);
	put_chain(r);
}

int inspect_route(const char *method, const char *target, struct buf *to)
{
	struct json_out    j;
	struct arena       arena;
	struct path_target t;
	struct route       r = { .j = &j, .arena = &arena, .s = snapshot_current() };
	int                err;

	arena_init(&arena);
	json_out_init(&j, to);
	json_out_object(&j);
	record_str(&j, "method", bw_str(method));
	record_str(&j, "target", bw_str(target));
	err = path_canonical(&arena, bw_str(target), &t);
	record_str(&j, "path", err == BW_OK ? t.path : BW_ABSENT);
	if (err == BW_OK) {
		r.path = t.path;
		r.found = snapshot_find(r.s, t.path, &r.hit);
		put_answer(&r, bw_str(method));
		json_out_key(&j, "others");
		json_out_array(&j);
		put_active_losers(&r);
		put_failed_losers(&r);
		json_out_array_end(&j);
	} else {
		record_int(&j, "status", 400);
	}
	json_out_object_end(&j);
	arena_done(&arena);
	return err;
}
