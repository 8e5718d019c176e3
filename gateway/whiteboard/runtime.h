/* runtime.h - the properties of the runtime service (OSGi 140.9): what a service's whiteboard
 * target is matched against, and what the records say of this server. */
#pragma once
#include <base/ldap.h>
#include <boardwalk/service.h>

#define RUNTIME_INTERFACE "org.osgi.service.servlet.runtime.HttpServiceRuntime"

/* listen: the setting of the public listener, as ADDRESS:PORT; NULL: not known. Before
 * whiteboard_init. */
void runtime_init(const char *listen);
void runtime_done(void);
/* All of them, of the moment; borrowed until the next call. */
size_t runtime_props(const struct bw_prop **ret);
/* ldap.h's lookup over them; map is not looked at. */
bool runtime_lookup(void *map, const char *key, size_t i, struct ldap_value *ret);
