/* Contexts and their helpers.
 *
 * Owns: the helper objects it had made; gives them back with the last thing bound through them.
 * Runs in: the worker's thread; calls bundle code (make, release), which may register services.
 * Tests: tests/conformance (C48 to C57). */
#include "context.h"

#include <base/fatal.h>
#include <stdlib.h>

static struct bw_context *server; /* not referenced; NULL while nobody has it */

static struct helper *helper_make(struct bw_context *c, struct bw_bundle *for_bundle)
{
	const struct reading           *r = c->reading;
	const struct bw_service_object *o = r->service ? service_object(r->service) : NULL;
	struct helper                  *h;
	void                           *self = NULL;

	if (o && o->make) {
		self = o->make(o->self, for_bundle);
		if (!self)
			return NULL;
	} else if (o) {
		self = o->self;
	}
	h = xcalloc(1, sizeof(*h));
	h->refs = 1;
	h->context = c;
	h->for_bundle = for_bundle;
	h->type = r->type;
	h->self = self;
	h->next = c->helpers;
	c->helpers = h;
	return h;
}

static struct helper *find(const struct bw_context *c, const struct bw_bundle *for_bundle)
{
	bool           factory = c->reading->service && service_object(c->reading->service)->make;
	struct helper *h = c->helpers;

	if (!factory)
		for_bundle = NULL;
	while (h && h->for_bundle != for_bundle)
		h = h->next;
	return h;
}

const struct helper *context_helper_of(const struct bw_context *c, const struct bw_bundle *bundle)
{
	return find(c, bundle);
}

struct helper *context_helper(struct bw_context *c, struct bw_bundle *for_bundle)
{
	struct helper *h = find(c, for_bundle);

	if (!h)
		return helper_make(c, for_bundle);
	h->refs++;
	return h;
}

void helper_unref(struct helper *h)
{
	const struct bw_service_object *o;
	struct helper                 **at;

	if (!h || --h->refs > 0)
		return;
	for (at = &h->context->helpers; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	if (h->type) {
		o = service_object(h->context->reading->service);
		if (o->make && o->release)
			o->release(o->self, h->self);
	}
	free(h);
}

struct bw_context *context_get(struct reading *r)
{
	struct bw_context *c = r->context;

	if (c)
		return context_ref(c);
	if (r->not_gettable)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->refs = 1;
	c->reading = reading_ref(r);
	c->own = helper_make(c, NULL);
	if (c->own) {
		r->context = c;
		return c;
	}
	r->not_gettable = true;
	context_unref(c);
	return NULL;
}

struct bw_context *context_server(void)
{
	struct reading *r;

	if (server)
		return context_ref(server);
	r = reading_new_server();
	server = context_get(r);
	reading_unref(r);
	return server;
}

struct bw_context *context_ref(struct bw_context *c)
{
	c->refs++;
	return c;
}

void context_unref(struct bw_context *c)
{
	if (!c || --c->refs > 0)
		return;
	if (c == server)
		server = NULL;
	if (c->reading->context == c)
		c->reading->context = NULL;
	helper_unref(c->own);
	attrs_done(&c->attrs);
	reading_unref(c->reading);
	free(c);
}
