/* Bindings. Order: take the object, init; destroy, give the object back.
 *
 * Runs in: the worker's thread, on any stack; calls bundle code, which may register services.
 * Logs: an init that failed. Tests: tests/conformance (E). */
#include "listener.h"

#include "upload.h"

#include <base/fatal.h>
#include <base/log.h>
#include <bundle/mark.h>
#include <stdlib.h>

static void (*tell_destroyed)(void);
/* Readings that are out of date and still have bindings, which requests hold. */
static struct reading *retired;

static void forget_retired(struct reading *r);

struct binding_config {
	struct bw_config public;
	const struct reading *reading;
};

static struct bw_str config_param(const struct bw_config *cfg, const char *name)
{
	const struct reading *r = ((const struct binding_config *)cfg)->reading;

	for (size_t i = 0; i < r->n_params; i++)
		if (strcmp(r->params[i].name.p, name) == 0)
			return r->params[i].value;
	return BW_ABSENT;
}

static struct bw_str config_param_name(const struct bw_config *cfg, size_t i)
{
	const struct reading *r = ((const struct binding_config *)cfg)->reading;

	return i < r->n_params ? r->params[i].name : BW_ABSENT;
}

static bool is_listener(const struct binding *b)
{
	return b->kind == READING_LISTENER;
}

static bool is_filter(const struct reading *r)
{
	return (r->kinds & (READING_FILTER | READING_PREPROCESSOR)) != 0;
}

static int init(const struct binding *b)
{
	const struct reading *r = b->reading;
	struct binding_config cfg = {
		.public = { .name = r->name,
		            .context = b->context,
		            .bundle = r->bundle,
		            .param = config_param,
		            .param_name = config_param_name },
		.reading = r,
	};
	int (*fn)(void *self, const struct bw_config *cfg);

	if (is_filter(r))
		fn = ((const struct bw_filter *)r->type)->init;
	else
		fn = ((const struct bw_servlet *)r->type)->init;
	return fn ? fn(b->self, &cfg.public) : BW_OK;
}

static void destroy(const struct binding *b)
{
	const struct reading *r = b->reading;
	void (*fn)(void *self);

	if (is_filter(r))
		fn = ((const struct bw_filter *)r->type)->destroy;
	else
		fn = ((const struct bw_servlet *)r->type)->destroy;
	if (fn)
		fn(b->self);
}

static void give_back(const struct binding *b)
{
	const struct bw_service_object *o = service_object(b->reading->service);

	if (o->make && o->release)
		o->release(o->self, b->self);
}

struct binding *binding_find(const struct reading *r, const struct bw_context *c,
                             enum reading_kind kind)
{
	for (struct binding *b = r->bindings; b; b = b->next)
		if (b->context == c && b->kind == kind && b->refs > 0)
			return b;
	return NULL;
}

static void take_object(struct binding *b)
{
	const struct bw_service_object *o = service_object(b->reading->service);
	int                             err;

	b->helper = context_helper(b->context, b->reading->bundle);
	if (!b->helper) {
		b->failure = FAILURE_CONTEXT;
		return;
	}
	if (b->kind == READING_RESOURCE)
		return;
	b->failure = upload_bind(b->reading, b->context, &b->upload);
	if (b->failure != FAILURE_NONE)
		return;
	b->self = o->make ? o->make(o->self, b->reading->bundle) : o->self;
	if (o->make && !b->self) {
		b->failure = FAILURE_NOT_GETTABLE;
		return;
	}
	if (is_listener(b)) {
		listener_attach(b);
		return;
	}
	b->context->n_clients++;
	err = init(b);
	if (err < 0) {
		log_warning(0, "%s is left out of context %s: its init failed (%d)",
		            b->reading->name.p, b->context->reading->name.p, err);
		b->failure = FAILURE_INIT;
		give_back(b);
		listener_client_gone(b->context);
	}
}

static void bind(struct binding *b)
{
	struct mark before = mark_begin(b->reading->bundle, MARK_INIT);

	take_object(b);
	mark_end(before);
}

struct binding *binding_get(struct reading *r, struct bw_context *c, enum reading_kind kind)
{
	struct binding *b = binding_find(r, c, kind);

	if (b)
		return binding_ref(b);
	b = xcalloc(1, sizeof(*b));
	b->refs = 1;
	b->reading = reading_ref(r);
	b->context = context_ref(c);
	b->kind = kind;
	b->next = r->bindings;
	r->bindings = b;
	bind(b);
	return b;
}

struct binding *binding_ref(struct binding *b)
{
	b->refs++;
	return b;
}

void binding_unref(struct binding *b)
{
	struct binding **at;
	struct mark      before;
	bool             initialised;

	if (!b || --b->refs > 0)
		return;
	initialised = b->failure == FAILURE_NONE && b->kind != READING_RESOURCE;
	if (initialised && is_listener(b) && listener_outlives(b)) {
		b->refs = 1; /* the context's */
		return;
	}
	/* Stays on the list without references while bundle code runs, so that binding_must_wait sees
	 * that the object is not free yet. */
	before = mark_begin(b->reading->bundle, MARK_DESTROY);
	if (initialised && is_listener(b)) {
		listener_detach(b);
		give_back(b);
	} else if (initialised) {
		destroy(b);
		give_back(b);
		listener_client_gone(b->context);
	}
	mark_end(before);
	for (at = &b->reading->bindings; *at != b; at = &(*at)->next)
		;
	*at = b->next;
	if (b->reading->retired && !b->reading->bindings)
		forget_retired(b->reading);
	upload_free(b->upload);
	helper_unref(b->helper);
	context_unref(b->context);
	reading_unref(b->reading);
	free(b);
	if (initialised && tell_destroyed)
		tell_destroyed();
}

/* ---- one object, one life ---- */

static bool has_object(const struct reading *r, bool dying_only)
{
	for (const struct binding *b = r->bindings; b; b = b->next)
		if (b->failure == FAILURE_NONE && b->kind != READING_RESOURCE &&
		    (b->refs == 0 || !dying_only))
			return true;
	return false;
}

static bool has_life(const struct reading *r)
{
	const struct bw_servlet  *servlet = r->type;
	const struct bw_filter   *filter = r->type;
	const struct bw_listener *listener = r->type;

	if (r->kinds & READING_LISTENER)
		return (r->listens & LISTENS_CONTEXT) &&
		       (listener->context_initialized || listener->context_destroyed);
	return is_filter(r) ? filter->init || filter->destroy : servlet->init || servlet->destroy;
}

static bool is_same_object(const struct reading *a, const struct reading *b)
{
	const struct bw_service_object *x = service_object(a->service),
				       *y = service_object(b->service);

	return !x->make && !y->make && x->self == y->self && a->type == b->type;
}

void binding_retire(struct reading *r)
{
	r->retired = true;
	if (r->bindings) {
		r->next_retired = retired;
		retired = r;
	}
}

static void forget_retired(struct reading *r)
{
	struct reading **at = &retired;

	while (*at && *at != r)
		at = &(*at)->next_retired;
	if (*at)
		*at = r->next_retired;
}

bool binding_must_wait(const struct reading *r)
{
	if (service_object(r->service)->make || !has_life(r))
		return false;
	for (const struct reading *old = retired; old; old = old->next_retired)
		if (is_same_object(r, old) && has_object(old, false))
			return true;
	return has_object(r, true);
}

void binding_on_destroyed(void (*on_destroyed)(void))
{
	tell_destroyed = on_destroyed;
}
