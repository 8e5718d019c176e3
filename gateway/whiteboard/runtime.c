/* The runtime service's properties. It is the whiteboard's own, not in the registry: its id is 0.
 *
 * Owns: the endpoint's text. Runs in: the worker's thread. Fails with: nothing.
 * Tests: tests/unit/whiteboard/inspect_test.c, tests/conformance (E44, O). */
#include "runtime.h"

#include "props.h"
#include "snapshot.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <strings.h>

enum { OBJECT_CLASS, ENDPOINT, CHANGE_COUNT, ID, PORT, N_PROPS };

static const char *const classes[] = { RUNTIME_INTERFACE, NULL };
static const char       *endpoints[] = { "/", NULL, NULL }; /* relative; absolute, heap, if known */
static int               port;                              /* 0: not known */

static struct bw_prop props[N_PROPS] = {
	[OBJECT_CLASS] = { "objectClass", BW_PROP_STRINGS, { .strings = classes } },
	[ENDPOINT] = { "osgi.http.endpoint", BW_PROP_STRINGS, { .strings = endpoints } },
	[CHANGE_COUNT] = { "service.changecount", BW_PROP_LONG, { .i64 = 0 } },
	[ID] = { "service.id", BW_PROP_LONG, { .i64 = 0 } },
	[PORT] = { "org.osgi.service.http.port", BW_PROP_INT, { .i32 = 0 } },
};

void runtime_init(const char *listen)
{
	const char *colon = listen ? strrchr(listen, ':') : NULL;

	runtime_done();
	if (!colon)
		return;
	port = atoi(colon + 1);
	/* Of a port that the kernel chooses, and of the names that lead to a listener on all
	 * addresses, nothing is known. */
	if (port != 0 && listen[0] != '*' && listen[0] != ':')
		endpoints[1] = xasprintf("http://%s/", listen);
}

void runtime_done(void)
{
	free((char *)endpoints[1]);
	endpoints[1] = NULL;
	port = 0;
}

size_t runtime_props(const struct bw_prop **ret)
{
	const struct snapshot *s = snapshot_current();

	props[CHANGE_COUNT].u.i64 = s ? (int64_t)s->number : 0;
	props[PORT].u.i32 = port;
	*ret = props;
	return port ? N_PROPS : PORT;
}

bool runtime_lookup(void *map, const char *key, size_t i, struct ldap_value *ret)
{
	const struct bw_prop *all;
	size_t                n = runtime_props(&all);

	(void)map;
	for (size_t k = 0; k < n; k++)
		if (strcasecmp(all[k].name, key) == 0)
			return prop_ldap_value(&all[k], i, ret);
	return false;
}
