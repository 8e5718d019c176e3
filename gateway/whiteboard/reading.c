/* Readings: which properties count, their life, their order. parse.c makes values of the properties.
 *
 * Owns: copies of the relevant properties, blanks at both ends dropped; all strings of a reading
 * point into them or are literals. Runs in: the worker's thread. Fails with: nothing.
 * Tests: tests/conformance (C, E), tests/unit/whiteboard/snapshot_test.c. */
#include "reading.h"

#include "filter.h"
#include "props.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <strings.h>

#define WHITEBOARD "osgi.http.whiteboard."

static const char *const init_prefixes[] = { BW_CONTEXT_INIT, BW_SERVLET_INIT, BW_FILTER_INIT,
	                                     BW_PREPROCESSOR_INIT };

/* ---- which properties count ---- */

static bool is_init(const char *name)
{
	for (size_t i = 0; i < sizeof(init_prefixes) / sizeof(*init_prefixes); i++)
		if (strncmp(name, init_prefixes[i], strlen(init_prefixes[i])) == 0)
			return true;
	return false;
}

static bool is_whiteboard(const char *name)
{
	return strncmp(name, WHITEBOARD, sizeof(WHITEBOARD) - 1) == 0;
}

static bool is_relevant(const char *name)
{
	return is_whiteboard(name) || is_init(name);
}

static void trim_in_place(const char *text)
{
	struct bw_str s = prop_trim(text);
	char         *to = (char *)text; /* of our own copy */

	memmove(to, s.p, s.n);
	to[s.n] = '\0';
}

static void copy_props(struct reading *r)
{
	const struct bw_prop *all;
	size_t                n = service_props(r->service, &all);
	struct bw_prop       *some = xcalloc(n + 1, sizeof(*some));

	for (size_t i = 0; i < n; i++)
		if (is_relevant(all[i].name))
			some[r->n_props++] = all[i];
	r->props = props_dup(some, r->n_props);
	free(some);
	for (size_t i = 0; i < r->n_props; i++) {
		const struct bw_prop *p = &r->props[i];

		if (!is_whiteboard(p->name))
			continue;
		if (p->type == BW_PROP_STRING)
			trim_in_place(p->u.string);
		else if (p->type == BW_PROP_STRINGS)
			for (size_t k = 0; p->u.strings[k]; k++)
				trim_in_place(p->u.strings[k]);
	}
}

bool reading_is_current(const struct reading *r, const struct bw_service *s)
{
	const struct bw_prop *all;
	size_t                n = service_props(s, &all), relevant = 0;

	for (size_t i = 0; i < n; i++) {
		const struct bw_prop *old;

		if (!is_relevant(all[i].name))
			continue;
		relevant++;
		old = props_find(r->props, r->n_props, all[i].name);
		if (!old || !prop_equal(old, &all[i], is_whiteboard(all[i].name)))
			return false;
	}
	return relevant == r->n_props;
}

/* ---- life ---- */

struct reading *reading_new(struct bw_service *s, enum reading_role role)
{
	struct reading *r;

	if (!reading_has_role(s, role))
		return NULL;
	r = xcalloc(1, sizeof(*r));
	r->refs = 1;
	r->role = role;
	r->service = service_ref(s);
	r->bundle = service_bundle(s);
	r->id = service_id(s);
	r->ranking = service_ranking(s);
	copy_props(r);
	reading_parse(r);
	if (r->kinds)
		return r;
	reading_unref(r);
	return NULL;
}

struct reading *reading_new_default(void)
{
	struct reading *r = xcalloc(1, sizeof(*r));

	r->refs = 1;
	r->id = -1;
	r->ranking = INT32_MIN;
	r->kinds = READING_CONTEXT;
	r->named = true;
	r->name = BW_STR("default");
	r->path = BW_STR("/");
	return r;
}

struct reading *reading_new_server(void)
{
	struct reading *r = reading_new_default();

	r->id = -2;
	r->name = BW_STR("boardwalk");
	return r;
}

struct reading *reading_ref(struct reading *r)
{
	r->refs++;
	return r;
}

void reading_unref(struct reading *r)
{
	if (!r || --r->refs > 0)
		return;
	filter_free(r);
	ldap_free(r->select);
	free(r->patterns);
	free(r->params);
	free(r->servlet_names);
	free(r->codes);
	free(r->error_names);
	free(r->made_name);
	free(r->note);
	free(r->props);
	service_unref(r->service);
	free(r);
}

/* The built-in context has the lowest ranking. There it yields to services of its name, so that any of
 * them replaces it, and goes before all others, so that a context that takes every path (the engine's)
 * can place itself behind it. */
static int lowest_rank_order(const struct reading *r)
{
	if (r->ranking != INT32_MIN || r->id < 0)
		return 1;
	return r->kinds & READING_CONTEXT && bw_str_eq(r->name, BW_STR("default")) ? 0 : 2;
}

int reading_compare(const struct reading *a, const struct reading *b)
{
	int oa = lowest_rank_order(a), ob = lowest_rank_order(b);

	if (a->ranking != b->ranking)
		return a->ranking > b->ranking ? -1 : 1;
	if (oa != ob)
		return oa - ob;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (int)a->role - (int)b->role;
}

/* The built-in context's properties. */
static bool default_lookup(void *map, const char *key, size_t i, struct ldap_value *ret)
{
	const struct reading *r = map;

	*ret = (struct ldap_value){ .type = LDAP_STRING };
	if (strcasecmp(key, BW_CONTEXT_NAME) == 0)
		ret->string = r->name.p;
	else if (strcasecmp(key, BW_CONTEXT_PATH) == 0)
		ret->string = r->path.p;
	return ret->string && i == 0;
}

bool reading_selects(const struct reading *client, const struct reading *context)
{
	if (!client->select)
		return bw_str_eq(context->name, BW_STR("default"));
	if (!context->service)
		return ldap_match(client->select, default_lookup, (void *)context);
	return ldap_match(client->select, service_ldap_lookup, context->service);
}
