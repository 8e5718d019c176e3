/* registry.h - the service registry of one worker: (interfaces, object, properties, bundle) entries
 * that come and go at run time. The whiteboard, the engine's mount tree and the requirement table
 * all live from its events.
 *
 * No lock is held and nothing is half done while a listener or bundle code runs, so both may
 * register and unregister themselves. Properties are copied at registration; a listener that needs
 * old ones copies them. */
#pragma once
#include <base/ldap.h>
#include <boardwalk/bundle.h>

struct registry;

enum registry_event { REGISTRY_REGISTERED, REGISTRY_MODIFIED, REGISTRY_UNREGISTERING };

/* s: borrowed; service_ref to keep. During UNREGISTERING the object may still be used; after it
 * only by those who hold a reference ("unregistered but still held"). */
typedef void (*registry_listener_cb)(void *arg, enum registry_event event, struct bw_service *s);

struct registry *registry_new(void);
void             registry_free(struct registry *r);
/* Delivers what is there already as REGISTERED, then everything later, in order. */
void registry_listen(struct registry *r, registry_listener_cb cb, void *arg);
/* cb(arg) is called no more, also not for an event that is being delivered. */
void registry_unlisten(struct registry *r, registry_listener_cb cb, void *arg);

int registry_register(struct registry *r, struct bw_bundle *b, const char *const *interfaces,
                      const struct bw_service_object *object, const struct bw_prop *props,
                      size_t n_props, struct bw_service **ret_service);
/* The same with a table for each interface. */
int  registry_register_as(struct registry *r, struct bw_bundle *b, const struct bw_interface *as,
                          size_t n_as, const struct bw_service_object *object,
                          const struct bw_prop *props, size_t n_props,
                          struct bw_service **ret_service);
int  registry_modify(struct bw_service *s, const struct bw_prop *props, size_t n_props);
void registry_unregister(struct bw_service *s);
/* Takes back all of a bundle's registrations. */
void registry_unregister_bundle(struct registry *r, struct bw_bundle *b);

/* ---- exchange.c: one generation of a bundle in the place of another ----
 *
 *   registry_stage_begin   what the new one registers is collected, and nobody hears of it
 *   registry_stage         who keeps objects initialises them, out of sight
 *   registry_exchange      the old one's registrations leave and the new one's come, in one step
 *   registry_stage_drop    or: what was collected has never been
 *
 * What an init registers or changes while it is made ready is collected too, and made ready with
 * the exchange. One stage at a time. */

/* Besides the ordinary events, which an exchange delivers between begin and publish. */
struct registry_exchange {
	/* Makes ready what services (n of them) will need once those of from (may be NULL) have
	 * gone, as if these were not there. False: it cannot be had; reason says why, as "its init
	 * ...". */
	bool (*stage)(void *arg, struct bw_service *const *services, size_t n,
	              const struct bw_bundle *from, char *reason, size_t size);
	void (*begin)(void *arg);
	/* All events are delivered: shows the new state, in one step. */
	void (*publish)(void *arg);
	/* Lets go of the old state, and of what is left of the stage. Comes alone after a drop. */
	void (*end)(void *arg);
};

/* hooks: static. Each may be NULL but end. */
void registry_listen_exchange(struct registry *r, const struct registry_exchange *hooks, void *arg);
/* Not from inside of a hook. */
void registry_unlisten_exchange(struct registry *r, const struct registry_exchange *hooks);
void registry_stage_begin(struct registry *r, struct bw_bundle *b);
/* from: whose place it will be; NULL: nobody's. After false only registry_stage_drop. */
bool registry_stage(struct registry *r, const struct bw_bundle *from, char *reason, size_t size);
/* published(from) runs when new requests see the new state and before anything of from is
 * destroyed; services of from can be named until it returns. Either side may be absent: from NULL,
 * nothing staged. */
void registry_exchange(struct registry *r, struct bw_bundle *from,
                       void (*published)(struct bw_bundle *from));
void registry_stage_drop(struct registry *r);
/* Registers a stand-in for a service in the stage: with its id, so that it keeps its place among
 * equal ones. */
int registry_stage_stand_in(struct registry *r, struct bw_bundle *b, const struct bw_service *of,
                            const struct bw_interface *as, size_t n_as, const struct bw_prop *props,
                            size_t n_props);
/* Calls each(arg, s) for the live registrations of b, in order; each must not register. */
void registry_each(struct registry *r, const struct bw_bundle                *b,
                   void (*each)(void *arg, const struct bw_service *s), void *arg);

struct bw_service *service_ref(struct bw_service *s);
/* The last reference gives a singleton back: release(self, self), if it has one. What a factory
 * made is given back by who had it made. */
void service_unref(struct bw_service *s);

int64_t           service_id(const struct bw_service *s);
int32_t           service_ranking(const struct bw_service *s); /* 0 unless an int32 property */
struct bw_bundle *service_bundle(const struct bw_service *s);
bool              service_is(const struct bw_service *s, const char *interface);
/* The table it was registered with for that interface; NULL: it was not. */
const void                     *service_type(const struct bw_service *s, const char *interface);
const struct bw_service_object *service_object(const struct bw_service *s);
const struct bw_prop           *service_prop(const struct bw_service *s,
                                             const char              *name); /* exact name; NULL */
size_t service_props(const struct bw_service *s, const struct bw_prop **ret);
/* ldap.h's lookup over a service's properties, with objectClass and service.id. */
bool service_ldap_lookup(void *service, const char *key, size_t i, struct ldap_value *ret);
/* Higher ranking first, then lower id: <0, 0, >0. */
int service_compare(const struct bw_service *a, const struct bw_service *b);

/* String+ : the items of a string or strings property, blanks at both ends dropped; 0 if absent,
 * empty or of another type. ret[i] borrow the service until it is modified, at most max. */
size_t service_strings(const struct bw_service *s, const char *name, struct bw_str *ret,
                       size_t max);
