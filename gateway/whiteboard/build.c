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
#include "build_impl.h"
#include "listener.h"
#include "pages.h"
#include "preprocess.h"

#include <base/fatal.h>
#include <bundle/crash_limits.h>
#include <stdlib.h>

uint64_t build_hash(const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t             h = 0xcbf29ce484222325u; /* FNV-1a */

	while (n-- > 0)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

/* What can be seen of the snapshot goes through here, so that equal ones are recognised. */
void build_sign(struct build *b, uint64_t value)
{
	b->s->signature = (b->s->signature ^ value) * 0x9e3779b97f4a7c15u;
	b->s->signature ^= b->s->signature >> 29;
}

/* ---- records ---- */

void build_fail(struct build *b, enum reading_kind kind, const struct reading *r,
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
	build_sign(b, ((uint64_t)r->id << 16) ^ ((uint64_t)kind << 8) ^ code);
	build_sign(b, (uintptr_t)r); /* another reading has other properties to show */
	build_sign(b, (uint64_t)f->context_id);
	for (size_t i = 0; i < n; i++) {
		f->items[i] =
			(struct bw_str){ arena_dup(&s->arena, items[i].p, items[i].n), items[i].n };
		build_sign(b, build_hash(items[i].p, items[i].n));
	}
}

static void fail_patterns(struct build *b, enum reading_kind kind, const struct reading *r,
                          enum failure_code code)
{
	struct bw_str *items = xcalloc(r->n_patterns + 1, sizeof(*items));

	for (size_t i = 0; i < r->n_patterns; i++)
		items[i] = r->patterns[i].text;
	build_fail(b, kind, r, code, items, r->n_patterns);
	free(items);
}

/* One record for each of the kinds. */
void build_fail_kinds(struct build *b, const struct reading *r, unsigned kinds,
                      enum failure_code code)
{
	if (kinds & READING_CONTEXT)
		build_fail(b, READING_CONTEXT, r, code, &r->path, r->path.p ? 1 : 0);
	for (unsigned kind = READING_SERVLET; kind <= READING_RESOURCE; kind *= 2)
		if (kinds & kind & (READING_SERVLET | READING_FILTER | READING_RESOURCE))
			fail_patterns(b, kind, r, code);
	if (kinds & READING_LISTENER)
		build_fail(b, READING_LISTENER, r, code, NULL, 0);
	if (kinds & READING_PREPROCESSOR)
		build_fail(b, READING_PREPROCESSOR, r, code, NULL, 0);
	if (kinds & READING_ERROR_PAGE) {
		struct bw_str items[PAGES_MAX_LOST];
		size_t        n = pages_list(r, &b->s->arena, items);

		build_fail(b, READING_ERROR_PAGE, r, code, items, n);
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
unsigned build_kinds_of(enum reading_kind kind)
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
	build_sign(b, (uintptr_t)binding);
	if (binding->failure == FAILURE_NONE)
		return binding;
	build_fail_kinds(b, r, r->kinds & build_kinds_of(kind), binding->failure);
	return NULL;
}

/* To the context being built. */
struct binding *build_bind(struct build *b, struct reading *r, enum reading_kind kind)
{
	return bind_in(b, r, b->c->context, kind);
}

/* Is r valid as one of the kinds? An init that has just run may have retired it. */
static bool is_valid(const struct reading *r, unsigned kinds)
{
	return (r->kinds & kinds & ~r->invalid) && !r->retired;
}

/* Is r, as one of the kinds, valid and bound to the context being built? */
bool build_is_client(const struct build *b, const struct reading *r, unsigned kinds)
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
		*f = (struct snapshot_filter){ .reading = r,
			                       .type = r->type,
			                       .self = binding->self,
			                       .note = r->note,
			                       .subject = reading_name_for_crashes(r) };
		f->limit = limits_find(PREPROCESS_SCOPE, f->subject);
		s->preprocessors[s->n_preprocessors++] = f;
	}
}

/* ---- listeners ---- */

/* What of the events of a request it wants to hear. */
static unsigned listens_to_requests(const struct reading *r)
{
	const struct bw_listener *l = r->type;
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
		n += build_is_client(b, b->readings[i], READING_LISTENER);
	if (n == 0)
		return;
	c->listeners = arena_alloc(&b->s->arena, n * sizeof(*c->listeners));
	for (size_t i = 0; i < b->n && c->n_listeners < n; i++) {
		struct reading *r = b->readings[i];
		struct binding *binding;

		if (!build_is_client(b, r, READING_LISTENER) ||
		    !(binding = build_bind(b, r, READING_LISTENER)))
			continue;
		c->listeners[c->n_listeners++] =
			(struct snapshot_listener){ r, r->type, binding->self };
		c->listens |= listens_to_requests(r);
	}
	listener_sort(c->context);
}

/* ---- filters ---- */

static void bind_filters(struct build *b)
{
	struct snapshot_context *c = b->c;

	for (size_t i = 0; i < b->n; i++)
		c->n_filters += build_is_client(b, b->readings[i], READING_FILTER);
	c->filters = arena_alloc(&b->s->arena, (c->n_filters + 1) * sizeof(*c->filters));
	c->n_filters = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct reading         *r = b->readings[i];
		struct snapshot_filter *f;
		struct binding         *binding;

		if (!build_is_client(b, r, READING_FILTER) ||
		    !(binding = build_bind(b, r, READING_FILTER)))
			continue;
		f = arena_alloc(&b->s->arena, sizeof(*f));
		*f = (struct snapshot_filter){ .reading = r,
			                       .type = r->type,
			                       .self = binding->self,
			                       .note = r->note,
			                       .async = r->async };
		c->filters[c->n_filters++] = f;
		c->dispatchers |= r->dispatchers;
	}
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
			build_fail_kinds(b, r, READING_CONTEXT, FAILURE_SHADOWED);
			return;
		}
	}
	context = context_get(r);
	if (!context) {
		build_fail_kinds(b, r, READING_CONTEXT, FAILURE_NOT_GETTABLE);
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
			build_fail_kinds(b, r, READING_CONTEXT, FAILURE_VALIDATION);
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

		build_fail_kinds(b, r, kinds & r->invalid, FAILURE_VALIDATION);
		kinds &= ~r->invalid & ~(unsigned)READING_PREPROCESSOR; /* which is in no context */
		for (size_t k = 0; kinds && k < b->s->n_contexts && !bound; k++)
			bound = reading_selects(r, b->s->contexts[k]->context->reading);
		if (!bound)
			build_fail_kinds(b, r, kinds, FAILURE_NO_CONTEXT);
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
		build_sign(&b, (uintptr_t)b.c->context);
		bind_listeners(&b);
		bind_filters(&b);
		build_servlets(&b);
	}
	return b.s;
}
