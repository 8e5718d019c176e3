/* Exchanging what one generation of a bundle has registered for what another has.
 *
 *    begin hooks
 *    UNREGISTERING of each old service, the last one first   ordinary events: who knows nothing of
 *    REGISTERED of each new service, in order                exchanges follows all the same
 *    publish hooks                                           new requests see the new state
 *    published(from)                                         the old one's stop
 *    end hooks                                               destroys, as far as no request holds
 *
 * Nothing can ask between the first event and the last hook of publish: no fiber runs meanwhile.
 *
 * Owns: while it runs, one reference to each service that leaves, since the old one's stop may
 * still name them. Runs in: the worker's thread, on the loop's stack. Fails with: false of
 * registry_stage. Tests: tests/unit/whiteboard/generations_test.c. */
#include "registry_impl.h"

#include <base/fatal.h>
#include <stdlib.h>

void registry_listen_exchange(struct registry *r, const struct registry_exchange *hooks, void *arg)
{
	struct exchanger  *x = xcalloc(1, sizeof(*x));
	struct exchanger **at = &r->exchangers;

	x->hooks = hooks;
	x->arg = arg;
	while (*at)
		at = &(*at)->next;
	*at = x;
}

void registry_unlisten_exchange(struct registry *r, const struct registry_exchange *hooks)
{
	struct exchanger **at = &r->exchangers, *x;

	while ((x = *at) != NULL && x->hooks != hooks)
		at = &x->next;
	if (x) {
		*at = x->next;
		free(x);
	}
}

void registry_stage_begin(struct registry *r, struct bw_bundle *b)
{
	if (r->staging || r->staged.first)
		fatalx("registry: a stage is open already");
	r->staging = b;
}

bool registry_stage(struct registry *r, const struct bw_bundle *from, char *reason, size_t size)
{
	struct bw_service **services;
	size_t              n = 0, i = 0;
	bool                ok = true;

	for (struct bw_service *s = r->staged.first; s; s = s->next)
		n++;
	/* A list of its own: an init that runs now may register more. */
	services = xcalloc(n + 1, sizeof(*services));
	for (struct bw_service *s = r->staged.first; s; s = s->next)
		services[i++] = service_ref(s);
	for (struct exchanger *x = r->exchangers; ok && x; x = x->next)
		if (x->hooks->stage)
			ok = x->hooks->stage(x->arg, services, n, from, reason, size);
	while (i > 0)
		service_unref(services[--i]);
	free(services);
	return ok;
}

static void end_hooks(struct registry *r)
{
	for (struct exchanger *x = r->exchangers; x; x = x->next)
		x->hooks->end(x->arg);
}

/* Those of b, the last one first; their references go into the list. */
static void withdraw(struct registry *r, struct bw_bundle *b, struct services *ret)
{
	struct bw_service *s = r->live.last;

	while (s) {
		if (s->bundle != b) {
			s = s->prev;
			continue;
		}
		service_unlink(&r->live, s);
		s->registry = NULL;
		service_link(ret, s);
		registry_post(r, REGISTRY_UNREGISTERING, s);
		s = r->live.last; /* listeners ran: the list may be another one now */
	}
}

static void come(struct registry *r)
{
	struct bw_service *s;

	r->staging = NULL;
	while ((s = r->staged.first) != NULL) {
		service_unlink(&r->staged, s);
		s->staged = false;
		service_link(&r->live, s);
		registry_post(r, REGISTRY_REGISTERED, s);
	}
}

void registry_exchange(struct registry *r, struct bw_bundle *from,
                       void (*published)(struct bw_bundle *from))
{
	struct services left = { NULL, NULL };

	for (struct exchanger *x = r->exchangers; x; x = x->next)
		if (x->hooks->begin)
			x->hooks->begin(x->arg);
	if (from)
		withdraw(r, from, &left);
	come(r);
	for (struct exchanger *x = r->exchangers; x; x = x->next)
		if (x->hooks->publish)
			x->hooks->publish(x->arg);
	if (from && published)
		published(from);
	end_hooks(r);
	while (left.first) {
		struct bw_service *s = left.first;

		service_unlink(&left, s);
		service_unref(s);
	}
}

void registry_stage_drop(struct registry *r)
{
	/* The other way round than an end of serving: what was bound is let go first, then the
	 * services, so that a destroy may still name them. */
	end_hooks(r);
	while (r->staged.last)
		registry_unregister(r->staged.last);
	r->staging = NULL;
}

int registry_stage_stand_in(struct registry *r, struct bw_bundle *b, const struct bw_service *of,
                            const struct bw_interface *as, size_t n_as, const struct bw_prop *props,
                            size_t n_props)
{
	struct bw_service *s;
	int                err;

	err = registry_register_as(r, b, as, n_as, &(struct bw_service_object){ .self = NULL },
	                           props, n_props, &s);
	if (err == BW_OK && of)
		s->id = of->id;
	return err;
}

void registry_each(struct registry *r, const struct bw_bundle                *b,
                   void (*each)(void *arg, const struct bw_service *s), void *arg)
{
	for (const struct bw_service *s = r->live.first; s; s = s->next)
		if (s->bundle == b)
			each(arg, s);
}
