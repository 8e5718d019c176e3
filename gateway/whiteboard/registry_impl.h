/* registry_impl.h - what registry.c and exchange.c share. */
#pragma once
#include "registry.h"

#include <bundle/bundles.h>

struct bw_service {
	struct bw_service       *next, *prev; /* of the list it is in */
	struct registry         *registry;    /* NULL: unregistered */
	unsigned                 refs;
	bool                     announced; /* REGISTERED went out, so UNREGISTERING has to */
	bool                     staged;    /* collected for an exchange; nobody has heard of it */
	int64_t                  id;
	struct bw_bundle        *bundle; /* held: what it points to is that bundle's */
	struct bw_service_object object;
	struct bw_prop          *props; /* one block with all it points to */
	size_t                   n_props;
	struct bw_prop          *classes; /* objectClass: the interfaces, as a strings property */
	const void             **types;   /* heap: the table of each of them */
};

struct event {
	struct event       *next;
	enum registry_event type;
	struct bw_service  *service; /* referenced */
};

struct listener {
	struct listener     *next;
	registry_listener_cb cb; /* NULL: does not listen any more */
	void                *arg;
};

struct services {
	struct bw_service *first, *last;
};

/* Who makes ready for an exchange; exchange.c. */
struct exchanger {
	struct exchanger               *next;
	const struct registry_exchange *hooks;
	void                           *arg;
};

struct registry {
	struct services   live;   /* by registration */
	struct services   staged; /* what staging has registered */
	struct bw_bundle *staging;
	struct exchanger *exchangers;
	struct listener  *listeners, *last_listener;
	struct event     *queue, *queue_last;
	bool              delivering;
	int64_t           next_id;
};

/* Queues the event, and delivers it unless another one is being delivered. */
void registry_post(struct registry *r, enum registry_event type, struct bw_service *s);
void service_link(struct services *list, struct bw_service *s);
void service_unlink(struct services *list, struct bw_service *s);
