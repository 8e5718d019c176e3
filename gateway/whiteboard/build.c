/* From a set of readings to a snapshot. The result depends on the set alone, never on how it came
 * about, but for one thing: an init that failed is not tried again.
 *
 * Best in ranking order first, each takes what is still free, so that an init that fails leaves its
 * patterns to the next. All of a context's listeners are told before its filters are initialised, and
 * those before its servlets, and nothing is visible before the snapshot is published: no request
 * reaches a servlet without its filters.
 *
 * Owns: the snapshot until it is returned. Runs in: the worker's thread; calls bundle code, which may
 * register services: the readings given are held by the caller meanwhile.
 * Tests: tests/conformance (C, D, E, F), tests/unit/whiteboard/{snapshot,stress}_test.c. */
#include "snapshot.h"

#include "listener.h"
#include "pages.h"
#include "resource.h"

#include <base/fatal.h>
#include <bundle/crash_limits.h>
#include <stdlib.h>

/* Texts of the patterns that are taken in the context being built. */
struct taken {
	const struct bw_str **slots;
	size_t                mask;
};

struct build {
	struct snapshot         *s;
	struct reading *const   *readings;
	size_t                   n;
	size_t                   cap_bindings, cap_failures;
	struct snapshot_context *c; /* being built */
	struct taken             taken;
	struct match_input      *inputs;
	size_t                   n_inputs;

	const struct snapshot_servlet **named; /* in ranking order */
	size_t                          n_named;
};

static uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t             h = 0xcbf29ce484222325u; /* FNV-1a */

	while (n-- > 0)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

/* What can be seen of the snapshot goes through here, so that equal ones are recognised. */
static void sign(struct build *b, uint64_t value)
{
	b->s->signature = (b->s->signature ^ value) * 0x9e3779b97f4a7c15u;
	b->s->signature ^= b->s->signature >> 29;
}

/* ---- records ---- */

static void fail(struct build *b, enum reading_kind kind, const struct reading *r,
                 enum failure_code code, const struct bw_str *items, size_t n)
{
	struct snapshot *s = b->s;
	struct failure  *f;

	if (s->n_failures == b->cap_failures) {
		b->cap_failures = 2 * b->cap_failures + 8;
		s->failures = xrealloc(s->failures, b->cap_failures * sizeof(*s->failures));
	}
	f = &s->failures[s->n_failures++];
	*f = (struct failure){ .kind = kind, .service_id = r->id, .code = code, .n_items = n };
	f->reading = reading_ref((struct reading *)r); /* which is no change of what it says */
	f->context_id = b->c ? b->c->context->reading->id : 0;
	f->items = arena_alloc(&s->arena, (n + 1) * sizeof(*f->items));
	sign(b, ((uint64_t)r->id << 16) ^ ((uint64_t)kind << 8) ^ code);
	sign(b, (uintptr_t)r); /* another reading has other properties to show */
	sign(b, (uint64_t)f->context_id);
	for (size_t i = 0; i < n; i++) {
		f->items[i] =
			(struct bw_str){ arena_dup(&s->arena, items[i].p, items[i].n), items[i].n };
		sign(b, hash_bytes(items[i].p, items[i].n));
	}
}

static void fail_patterns(struct build *b, enum reading_kind kind, const struct reading *r,
                          enum failure_code code)
{
	bool                  is_resource = kind == READING_RESOURCE;
	const struct pattern *patterns = is_resource ? r->resource_patterns : r->patterns;
	size_t                n = is_resource ? r->n_resource_patterns : r->n_patterns;
	struct bw_str        *items = xcalloc(n + 1, sizeof(*items));

	for (size_t i = 0; i < n; i++)
		items[i] = patterns[i].text;
	fail(b, kind, r, code, items, n);
	free(items);
}

/* One record for each of the kinds. */
static void fail_kinds(struct build *b, const struct reading *r, unsigned kinds,
                       enum failure_code code)
{
	if (kinds & READING_CONTEXT)
		fail(b, READING_CONTEXT, r, code, &r->path, r->path.p ? 1 : 0);
	for (unsigned kind = READING_SERVLET; kind <= READING_RESOURCE; kind *= 2)
		if (kinds & kind & (READING_SERVLET | READING_FILTER | READING_RESOURCE))
			fail_patterns(b, kind, r, code);
	if (kinds & READING_LISTENER)
		fail(b, READING_LISTENER, r, code, NULL, 0);
	if (kinds & READING_PREPROCESSOR)
		fail(b, READING_PREPROCESSOR, r, code, NULL, 0);
	if (kinds & READING_ERROR_PAGE) {
		struct bw_str items[PAGES_MAX_LOST];
		size_t        n = pages_list(r, &b->s->arena, items);

		fail(b, READING_ERROR_PAGE, r, code, items, n);
	}
}

/* ---- bindings ---- */

static void hold(struct build *b, struct binding *binding)
{
	struct snapshot *s = b->s;

	if (s->n_bindings == b->cap_bindings) {
		b->cap_bindings = 2 * b->cap_bindings + 8;
		s->bindings = xrealloc(s->bindings, b->cap_bindings * sizeof(struct binding *));
	}
	s->bindings[s->n_bindings++] = binding;
}

/* The kinds that share an object, and so a binding. */
static unsigned kinds_of(enum reading_kind kind)
{
	return kind == READING_SERVLET ? READING_SERVLET | READING_ERROR_PAGE : kind;
}

/* Binds r to a context. NULL if that cannot be, which is recorded, or not yet. */
static struct binding *bind_in(struct build *b, struct reading *r, struct bw_context *context,
                               enum reading_kind kind)
{
	struct binding *binding;

	/* Whoever is bound already has its object, whatever else is about to be destroyed. */
	if (kind != READING_RESOURCE && !binding_find(r, context, kind) && binding_must_wait(r)) {
		b->s->n_waiting++;
		return NULL;
	}
	binding = binding_get(r, context, kind);
	hold(b, binding);
	sign(b, (uintptr_t)binding);
	if (binding->failure == FAILURE_NONE)
		return binding;
	fail_kinds(b, r, r->kinds & kinds_of(kind), binding->failure);
	return NULL;
}

/* To the context being built. */
static struct binding *bind(struct build *b, struct reading *r, enum reading_kind kind)
{
	return bind_in(b, r, b->c->context, kind);
}

/* Is r valid as one of the kinds? An init that has just run may have retired it. */
static bool is_valid(const struct reading *r, unsigned kinds)
{
	return (r->kinds & kinds & ~r->invalid) && !r->retired;
}

/* Is r, as one of the kinds, valid and bound to the context being built? */
static bool is_client(const struct build *b, const struct reading *r, unsigned kinds)
{
	return is_valid(r, kinds) && reading_selects(r, b->c->context->reading);
}

/* ---- preprocessors ---- */

static void bind_preprocessors(struct build *b)
{
	struct snapshot   *s = b->s;
	struct bw_context *server;
	size_t             n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += is_valid(b->readings[i], READING_PREPROCESSOR);
	if (n == 0)
		return;
	server = s->server = context_server();
	s->preprocessors = arena_alloc(&s->arena, n * sizeof(*s->preprocessors));
	for (size_t i = 0; i < b->n && s->n_preprocessors < n; i++) {
		struct reading         *r = b->readings[i];
		struct snapshot_filter *f;
		struct binding         *binding;

		if (!is_valid(r, READING_PREPROCESSOR) ||
		    !(binding = bind_in(b, r, server, READING_PREPROCESSOR)))
			continue;
		f = arena_alloc(&s->arena, sizeof(*f));
		*f = (struct snapshot_filter){ r, reading_type(r), binding->self, r->note, false };
		s->preprocessors[s->n_preprocessors++] = f;
	}
}

/* ---- listeners ---- */

/* What of the events of a request it wants to hear. */
static unsigned listens_to_requests(const struct reading *r)
{
	const struct bw_listener *l = reading_type(r);
	unsigned                  set = 0;

	if (l->request_initialized || l->request_destroyed)
		set |= LISTENS_REQUEST;
	if (l->request_attribute_added || l->request_attribute_replaced ||
	    l->request_attribute_removed)
		set |= LISTENS_REQUEST_ATTRIBUTE;
	return set & r->listens;
}

static void bind_listeners(struct build *b)
{
	struct snapshot_context *c = b->c;
	size_t                   n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += is_client(b, b->readings[i], READING_LISTENER);
	if (n == 0)
		return;
	c->listeners = arena_alloc(&b->s->arena, n * sizeof(*c->listeners));
	for (size_t i = 0; i < b->n && c->n_listeners < n; i++) {
		struct reading *r = b->readings[i];
		struct binding *binding;

		if (!is_client(b, r, READING_LISTENER) || !(binding = bind(b, r, READING_LISTENER)))
			continue;
		c->listeners[c->n_listeners++] =
			(struct snapshot_listener){ r, reading_type(r), binding->self };
		c->listens |= listens_to_requests(r);
	}
	listener_sort(c->context);
}

/* ---- filters ---- */

static void bind_filters(struct build *b)
{
	struct snapshot_context *c = b->c;

	for (size_t i = 0; i < b->n; i++)
		c->n_filters += is_client(b, b->readings[i], READING_FILTER);
	c->filters = arena_alloc(&b->s->arena, (c->n_filters + 1) * sizeof(*c->filters));
	c->n_filters = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct reading         *r = b->readings[i];
		struct snapshot_filter *f;
		struct binding         *binding;

		if (!is_client(b, r, READING_FILTER) || !(binding = bind(b, r, READING_FILTER)))
			continue;
		f = arena_alloc(&b->s->arena, sizeof(*f));
		*f = (struct snapshot_filter){ r, reading_type(r), binding->self, r->note,
			                       r->async };
		c->filters[c->n_filters++] = f;
		c->dispatchers |= r->dispatchers;
	}
}

static bool takes_all(const struct reading *filter)
{
	for (size_t i = 0; i < filter->n_patterns; i++) {
		const struct pattern *p = &filter->patterns[i];

		if (p->kind == PATTERN_DEFAULT || (p->kind == PATTERN_PREFIX && p->key.n == 0))
			return true;
	}
	return false;
}

/* A chain of a servlet: what always runs, and what depends on the path that is asked for. */
static void plan_chain(struct build *b, struct snapshot_servlet *servlet, enum bw_dispatcher type)
{
	const struct snapshot_context *c = b->c;
	struct snapshot_chain         *chain = &servlet->chains[type];

	chain->steps = arena_alloc(&b->s->arena, c->n_filters * sizeof(*chain->steps));
	for (size_t i = 0; i < c->n_filters; i++) {
		const struct reading *r = c->filters[i]->reading;
		bool always = takes_all(r) || reading_filters_name(r, servlet->name);

		if ((r->dispatchers & 1u << type) &&
		    (always || r->n_patterns > 0 || r->n_regexes > 0))
			chain->steps[chain->n++] = (struct snapshot_step){ c->filters[i], always };
	}
}

static void plan_chains(struct build *b, struct snapshot_servlet *servlet)
{
	for (enum bw_dispatcher type = BW_REQUEST; type <= BW_ERROR; type++)
		if (b->c->dispatchers & 1u << type)
			plan_chain(b, servlet, type);
}

/* ---- servlets ---- */

static const struct bw_str **taken_slot(const struct taken *t, const struct bw_str *text)
{
	size_t i = hash_bytes(text->p, text->n) & t->mask;

	while (t->slots[i] && !bw_str_eq(*t->slots[i], *text))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

static bool is_taken(const struct build *b, const struct pattern *p)
{
	return *taken_slot(&b->taken, &p->text) != NULL;
}

static void take(struct build *b, const struct pattern *p, struct snapshot_servlet *servlet)
{
	struct snapshot_pattern *sp = arena_alloc(&b->s->arena, sizeof(*sp));

	servlet->patterns[servlet->n_patterns++] = p;
	*taken_slot(&b->taken, &p->text) = &p->text;
	*sp = (struct snapshot_pattern){ .pattern = p, .servlet = servlet };
	sp->limit = limits_find(b->c->context->reading->name.p, p->text.p);
	if (p->kind == PATTERN_PREFIX)
		sp->prefix =
			(struct bw_str){ arena_dup(&b->s->arena, p->key.p, p->key.n), p->key.n };
	b->inputs[b->n_inputs++] = (struct match_input){ p, sp };
	sign(b, hash_bytes(p->text.p, p->text.n));
}

/* Takes the patterns that are free; those that are not are recorded. */
static void take_patterns(struct build *b, struct snapshot_servlet *servlet, enum reading_kind kind,
                          const struct pattern *patterns, size_t n)
{
	struct bw_str *lost = xcalloc(n + 1, sizeof(*lost));
	size_t         n_lost = 0;

	servlet->patterns = arena_alloc(&b->s->arena, (n + 1) * sizeof(*servlet->patterns));
	for (size_t i = 0; i < n; i++) {
		if (is_taken(b, &patterns[i]))
			lost[n_lost++] = patterns[i].text;
		else
			take(b, &patterns[i], servlet);
	}
	if (n_lost > 0)
		fail(b, kind, servlet->reading, FAILURE_SHADOWED, lost, n_lost);
	free(lost);
}

static bool any_is_free(const struct build *b, const struct pattern *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_taken(b, &patterns[i]))
			return true;
	return false;
}

/* A servlet all of whose patterns are taken is out as a whole, its name included. */
static bool wins_servlet(const struct build *b, const struct reading *r)
{
	return any_is_free(b, r->patterns, r->n_patterns) ||
	       ((r->kinds & READING_SERVLET) && r->n_patterns == 0);
}

static void take_pages(struct build *b, struct snapshot_servlet *servlet)
{
	struct bw_str lost[PAGES_MAX_LOST];
	size_t        n = pages_take(b->c, servlet, &b->s->arena, lost);

	if (n > 0)
		fail(b, READING_ERROR_PAGE, servlet->reading, FAILURE_SHADOWED, lost, n);
}

static struct snapshot_servlet *servlet_new(struct build *b, const struct binding *binding)
{
	struct snapshot_servlet *servlet = arena_alloc(&b->s->arena, sizeof(*servlet));
	const struct reading    *r = binding->reading;

	*servlet = (struct snapshot_servlet){
		.context = b->c, .reading = r, .helper = binding->helper, .note = r->note
	};
	return servlet;
}

static void bind_servlet(struct build *b, struct reading *r)
{
	const struct binding    *tried = binding_find(r, b->c->context, READING_SERVLET);
	bool                     as_servlet = wins_servlet(b, r), as_page = pages_wins(b->c, r);
	struct snapshot_servlet *servlet;
	struct binding          *binding;

	if (!as_servlet && !as_page && !(tried && tried->failure != FAILURE_NONE)) {
		fail_kinds(b, r, r->kinds & kinds_of(READING_SERVLET), FAILURE_SHADOWED);
		return;
	}
	binding = bind(b, r, READING_SERVLET);
	if (!binding)
		return;
	servlet = servlet_new(b, binding);
	servlet->name = r->name;
	servlet->type = reading_type(r);
	servlet->self = binding->self;
	servlet->async = r->async;
	servlet->upload = binding->upload;
	*b->c->last_servlet = servlet;
	b->c->last_servlet = &servlet->next;
	if (as_servlet && r->named)
		b->named[b->n_named++] = servlet;
	take_patterns(b, servlet, READING_SERVLET, r->patterns, r->n_patterns);
	take_pages(b, servlet);
	plan_chains(b, servlet);
}

static void bind_resource(struct build *b, struct reading *r)
{
	struct snapshot_servlet *servlet;
	const struct binding    *binding;

	if (!any_is_free(b, r->resource_patterns, r->n_resource_patterns)) {
		fail_kinds(b, r, READING_RESOURCE, FAILURE_SHADOWED);
		return;
	}
	binding = bind(b, r, READING_RESOURCE);
	if (!binding)
		return;
	servlet = servlet_new(b, binding);
	servlet->type = &resource_servlet;
	servlet->self = servlet;
	*b->c->last_resource = servlet;
	b->c->last_resource = &servlet->next;
	take_patterns(b, servlet, READING_RESOURCE, r->resource_patterns, r->n_resource_patterns);
	plan_chains(b, servlet);
}

static void bind_servlets(struct build *b)
{
	size_t patterns = 0, names = 0, slots = 8;

	for (size_t i = 0; i < b->n; i++)
		if (is_client(b, b->readings[i],
		              READING_SERVLET | READING_ERROR_PAGE | READING_RESOURCE)) {
			patterns +=
				b->readings[i]->n_patterns + b->readings[i]->n_resource_patterns;
			names += b->readings[i]->named;
		}
	while (slots < 2 * patterns)
		slots *= 2;
	b->taken = (struct taken){ xcalloc(slots, sizeof(struct bw_str *)), slots - 1 };
	b->inputs = xcalloc(patterns + 1, sizeof(*b->inputs));
	b->n_inputs = 0;
	b->named = xcalloc(names + 1, sizeof(*b->named));
	b->n_named = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (is_client(b, b->readings[i], READING_SERVLET | READING_ERROR_PAGE))
			bind_servlet(b, b->readings[i]);
		if (is_client(b, b->readings[i], READING_RESOURCE))
			bind_resource(b, b->readings[i]);
	}
	match_compile(&b->c->table, &b->s->arena, b->inputs, b->n_inputs);
	b->c->is_empty = b->n_inputs == 0;
	names_compile(&b->c->names, &b->s->arena, b->named, b->n_named);
	free(b->named);
	free(b->inputs);
	free(b->taken.slots);
}

/* ---- contexts ---- */

/* Keeps search order: a longer path goes before a shorter one, of equal ones the better stays first. */
static void insert_context(struct snapshot *s, struct snapshot_context *c)
{
	size_t i = s->n_contexts++;

	for (; i > 0 && s->contexts[i - 1]->path.n < c->path.n; i--)
		s->contexts[i] = s->contexts[i - 1];
	s->contexts[i] = c;
}

static void add_context(struct build *b, struct reading *r)
{
	struct snapshot         *s = b->s;
	struct bw_context       *context;
	struct snapshot_context *c;

	for (size_t i = 0; i < s->n_contexts; i++) {
		if (bw_str_eq(s->contexts[i]->context->reading->name, r->name)) {
			fail_kinds(b, r, READING_CONTEXT, FAILURE_SHADOWED);
			return;
		}
	}
	context = context_get(r);
	if (!context) {
		fail_kinds(b, r, READING_CONTEXT, FAILURE_NOT_GETTABLE);
		return;
	}
	s->held[s->n_held++] = context;
	c = arena_zalloc(&s->arena, sizeof(*c));
	c->context = context;
	c->path = r->path.n == 1 ? BW_STR("") : r->path;
	c->last_servlet = &c->servlets;
	c->last_resource = &c->resources;
	insert_context(s, c);
}

static void add_contexts(struct build *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += (b->readings[i]->kinds & READING_CONTEXT) != 0;
	b->s->contexts = arena_alloc(&b->s->arena, (n + 1) * sizeof(*b->s->contexts));
	b->s->held = arena_alloc(&b->s->arena, (n + 1) * sizeof(*b->s->held));
	for (size_t i = 0; i < b->n; i++) {
		struct reading *r = b->readings[i];

		if (!(r->kinds & READING_CONTEXT))
			continue;
		if (r->invalid & READING_CONTEXT)
			fail_kinds(b, r, READING_CONTEXT, FAILURE_VALIDATION);
		else
			add_context(b, r);
	}
}

/* Clients that are invalid, or that no context takes. */
static void record_unbound(struct build *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct reading *r = b->readings[i];
		unsigned        kinds = r->kinds & ~(unsigned)READING_CONTEXT;
		bool            bound = false;

		fail_kinds(b, r, kinds & r->invalid, FAILURE_VALIDATION);
		kinds &= ~r->invalid & ~(unsigned)READING_PREPROCESSOR; /* which is in no context */
		for (size_t k = 0; kinds && k < b->s->n_contexts && !bound; k++)
			bound = reading_selects(r, b->s->contexts[k]->context->reading);
		if (!bound)
			fail_kinds(b, r, kinds, FAILURE_NO_CONTEXT);
	}
}

struct snapshot *snapshot_build(struct reading *const *readings, size_t n)
{
	struct build b = { .s = xcalloc(1, sizeof(*b.s)), .readings = readings, .n = n };

	b.s->refs = 1;
	arena_init(&b.s->arena);
	add_contexts(&b);
	record_unbound(&b);
	bind_preprocessors(&b);
	for (size_t i = 0; i < b.s->n_contexts; i++) {
		b.c = b.s->contexts[i];
		sign(&b, (uintptr_t)b.c->context);
		bind_listeners(&b);
		bind_filters(&b);
		bind_servlets(&b);
	}
	return b.s;
}
