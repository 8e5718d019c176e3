/* The servlets and resources of the context being built: who takes which pattern, name and error page,
 * and through which filters each is reached.
 *
 * Runs in: the worker's thread, from snapshot_build; calls bundle code (init).
 * Tests: tests/conformance (A, D, E, G, I), tests/unit/whiteboard/{snapshot,stress}_test.c. */
#include "build_impl.h"
#include "pages.h"
#include "resource.h"

#include <base/fatal.h>
#include <bundle/crash_limits.h>
#include <stdlib.h>

/* ---- chains ---- */

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
	size_t i = build_hash(text->p, text->n) & t->mask;

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
	build_sign(b, build_hash(p->text.p, p->text.n));
}

/* Takes the patterns that are free; those that are not are recorded. */
static void take_patterns(struct build *b, struct snapshot_servlet *servlet, enum reading_kind kind)
{
	const struct pattern *patterns = servlet->reading->patterns;
	size_t                n = servlet->reading->n_patterns, n_lost = 0;
	struct bw_str        *lost = xcalloc(n + 1, sizeof(*lost));

	servlet->patterns = arena_alloc(&b->s->arena, (n + 1) * sizeof(*servlet->patterns));
	for (size_t i = 0; i < n; i++) {
		if (is_taken(b, &patterns[i]))
			lost[n_lost++] = patterns[i].text;
		else
			take(b, &patterns[i], servlet);
	}
	if (n_lost > 0)
		build_fail(b, kind, servlet->reading, FAILURE_SHADOWED, lost, n_lost);
	free(lost);
}

static bool any_is_free(const struct build *b, const struct reading *r)
{
	for (size_t i = 0; i < r->n_patterns; i++)
		if (!is_taken(b, &r->patterns[i]))
			return true;
	return false;
}

/* A servlet all of whose patterns are taken is out as a whole, its name included. */
static bool wins_servlet(const struct build *b, const struct reading *r)
{
	return any_is_free(b, r) || ((r->kinds & READING_SERVLET) && r->n_patterns == 0);
}

static void take_pages(struct build *b, struct snapshot_servlet *servlet)
{
	struct bw_str lost[PAGES_MAX_LOST];
	size_t        n = pages_take(b->c, servlet, &b->s->arena, lost);

	if (n > 0)
		build_fail(b, READING_ERROR_PAGE, servlet->reading, FAILURE_SHADOWED, lost, n);
	if (!(servlet->reading->kinds & READING_ERROR_PAGE))
		return;
	/* No pattern begins like that. */
	servlet->page_subject =
		arena_printf(&b->s->arena, "page %s", reading_name_for_crashes(servlet->reading));
	servlet->page_limit = limits_find(b->c->context->reading->name.p, servlet->page_subject);
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
		build_fail_kinds(b, r, r->kinds & build_kinds_of(READING_SERVLET),
		                 FAILURE_SHADOWED);
		return;
	}
	binding = build_bind(b, r, READING_SERVLET);
	if (!binding)
		return;
	servlet = servlet_new(b, binding);
	servlet->name = r->name;
	servlet->type = r->type;
	servlet->self = binding->self;
	servlet->async = r->async;
	servlet->upload = binding->upload;
	*b->c->last_servlet = servlet;
	b->c->last_servlet = &servlet->next;
	if (as_servlet && r->named)
		b->named[b->n_named++] = servlet;
	take_patterns(b, servlet, READING_SERVLET);
	take_pages(b, servlet);
	plan_chains(b, servlet);
}

static void bind_resource(struct build *b, struct reading *r)
{
	struct snapshot_servlet *servlet;
	const struct binding    *binding;

	if (!any_is_free(b, r)) {
		build_fail_kinds(b, r, READING_RESOURCE, FAILURE_SHADOWED);
		return;
	}
	binding = build_bind(b, r, READING_RESOURCE);
	if (!binding)
		return;
	servlet = servlet_new(b, binding);
	servlet->type = &resource_servlet;
	servlet->self = servlet;
	*b->c->last_resource = servlet;
	b->c->last_resource = &servlet->next;
	take_patterns(b, servlet, READING_RESOURCE);
	plan_chains(b, servlet);
}

void build_servlets(struct build *b)
{
	size_t patterns = 0, names = 0, slots = 8;

	for (size_t i = 0; i < b->n; i++)
		if (build_is_client(b, b->readings[i],
		                    READING_SERVLET | READING_ERROR_PAGE | READING_RESOURCE)) {
			patterns += b->readings[i]->n_patterns;
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
		if (build_is_client(b, b->readings[i], READING_SERVLET | READING_ERROR_PAGE))
			bind_servlet(b, b->readings[i]);
		if (build_is_client(b, b->readings[i], READING_RESOURCE))
			bind_resource(b, b->readings[i]);
	}
	match_compile(&b->c->table, &b->s->arena, b->inputs, b->n_inputs);
	b->c->is_empty = b->n_inputs == 0;
	names_compile(&b->c->names, &b->s->arena, b->named, b->n_named);
	free(b->named);
	free(b->inputs);
	free(b->taken.slots);
}
