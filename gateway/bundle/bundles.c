/* Bundles: the table of names, what a worker loads at its start, and what it tells about them.
 * generations.c has the orders.
 *
 * Owns: the names (process lifetime). Runs in: the loop's stack, and before and after the loop.
 * Logs: each bundle that is loaded, started or refused.
 * Tests: tests/unit/whiteboard/bundles_test.c. */
#include "bundles.h"

#include "generations.h"
#include "library.h"
#include "mark.h"
#include "remember.h"
#include "whiteboard/dispatch.h"
#include "whiteboard/registry.h"

#include <base/buf.h>
#include <base/conf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <jansson.h>
#include <stdlib.h>

static struct bundle_entry      *entries, **last_entry = &entries;
static uint32_t                  last_id;
static struct registry          *registry;
static const struct bundle_list *told; /* while bundles are loaded */

/* ---- names ---- */

struct bundle_entry *entries_find(const char *name)
{
	struct bundle_entry *e = entries;

	while (e && strcmp(e->name, name) != 0)
		e = e->next;
	return e;
}

struct bundle_entry *entries_get(const char *name)
{
	struct bundle_entry *e = entries_find(name);

	if (e)
		return e;
	e = xcalloc(1, sizeof(*e));
	e->id = ++last_id;
	e->name = xstrdup(name);
	*last_entry = e;
	last_entry = &e->next;
	return e;
}

void entries_to_end(struct bundle_entry *e)
{
	struct bundle_entry **at = &entries;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (last_entry == &e->next)
		last_entry = at;
	e->next = NULL;
	*last_entry = e;
	last_entry = &e->next;
}

void entries_tell_doubt(void)
{
	const struct bundle_entry *e = entries;

	while (e && (!e->current || !e->current->doubtful))
		e = e->next;
	dispatch_doubt(e ? e->current : NULL);
}

struct registry *bundles_registry(void)
{
	return registry;
}

struct bw_bundle *bundles_builtin(const char *name)
{
	struct bundle_entry *e = entries_get(name);
	struct bw_bundle    *b = e->current;

	if (b)
		return b;
	b = xcalloc(1, sizeof(*b));
	generation_belongs(b, e);
	b->version = BOARDWALK_VERSION;
	b->life = LIFE_SERVING;
	e->current = b;
	e->builtin = true;
	return b;
}

/* ---- loading ---- */

static const struct bundle_row *find_row(const struct bundle_list *installed, const char *name)
{
	for (size_t i = 0; installed && i < installed->n; i++)
		if (strcmp(installed->rows[i].name, name) == 0)
			return &installed->rows[i];
	return NULL;
}

/* A name that is free. */
static bool take_name(struct bw_bundle *b, const char *name)
{
	struct bundle_entry *e = entries_get(name);

	if (e->current)
		return false;
	generation_belongs(b, e);
	e->current = b;
	return true;
}

static void reject(struct bw_bundle *b, const char *reason)
{
	char *copy = xstrdup(reason);

	log_error(0, "bundle %s is refused: it %s", b->file, reason);
	free(b->failure); /* which may be the reason */
	b->failure = copy;
	b->state = BUNDLE_REFUSED;
	b->life = LIFE_SERVING;
	if (b->uses == 0)
		library_close(b);
}

/* It is listed as refused, under its name if that is known and free, else under its file's, and what it
 * registered when it last ran answers 503. */
static void refuse(struct bw_bundle *b, const char *reason)
{
	char *name = NULL, *footprint = NULL;
	bool  known;

	reject(b, reason);
	known = remember_find(told, b->file, b->name, &name, &footprint);
	if (b->name || (known && take_name(b, name)) || take_name(b, b->file))
		b->doubtful = !known || !footprint_register(registry, b, footprint);
	else /* the settings name the file twice */
		generation_leave(b);
	free(name);
	free(footprint);
}

/* Its name is another's, which serves. */
static void refuse_second(struct bw_bundle *b)
{
	reject(b, "has the symbolic name of another bundle");
	if (!take_name(b, b->file))
		generation_leave(b);
}

static void start(struct bw_bundle *b)
{
	char *failure = generation_start(b);

	if (failure) {
		registry_unregister_bundle(registry, b);
		refuse(b, failure);
		free(failure);
		return;
	}
	b->life = LIFE_SERVING;
	log_info(0, "bundle %s %s is started, from %s", b->name, b->version, b->file);
}

/* A file whose symbolic name tells itself. */
static void load_file(const char *file, const struct bundle_list *installed)
{
	struct bw_bundle        *b = generation_new(NULL, 0, file);
	const struct bundle_row *row = find_row(installed, file);
	const char              *reason = row ? row->reason : library_open(b);
	struct bundle_entry     *e;

	if (reason) { /* a row with the file's name: its constructors crash */
		refuse(b, reason);
		return;
	}
	row = find_row(installed, b->descriptor->symbolic_name);
	if (row && row->generation != 0) {
		generation_leave(b);
		return;
	}
	e = entries_get(b->descriptor->symbolic_name);
	if (e->current) {
		refuse_second(b);
		return;
	}
	generation_belongs(b, e);
	generation_describe(b, b->descriptor->version, b->descriptor->build);
	e->current = b;
	if (row)
		refuse(b, row->reason);
	else
		start(b);
}

/* In the entry's place, without a file. */
static void stand_in_row(struct bundle_entry *e, const struct bundle_row *row,
                         enum bundle_state state, const char *reason)
{
	struct bw_bundle *b = generation_new(e, row->generation, NULL);
	bool              known;

	e->current = b;
	b->state = state;
	b->failure = reason ? xstrdup(reason) : NULL;
	b->life = LIFE_SERVING;
	known = row->footprint && footprint_register(registry, b, row->footprint);
	if (row->footprint && !known)
		log_error(0, "bundle %s: its footprint cannot be read", row->name);
	b->doubtful = !known && state == BUNDLE_REFUSED;
}

/* As it was installed: all of it, or nothing. */
static void load_row(const struct bundle_row *row)
{
	struct bundle_entry *e = entries_get(row->name);
	struct bundle_order  o = { .action = BUNDLE_INSTALL,
		                   .name = row->name,
		                   .generation = row->generation,
		                   .file = row->file };
	char                 reason[256];

	if (e->current)
		log_error(0, "bundle %s is listed twice", row->name);
	else if (row->state != BUNDLE_ACTIVE)
		stand_in_row(e, row, row->state, row->reason);
	else if (bundles_prepare(&o, reason, sizeof(reason)) == BW_OK)
		bundles_publish(row->generation);
	else
		stand_in_row(e, row, BUNDLE_REFUSED, reason);
}

void bundles_init(struct registry *r, struct shared_worker *me, uint64_t drain_ms)
{
	registry = r;
	bundles_use(r);
	mark_init(me);
	generations_init(me, drain_ms);
}

void bundles_load(const struct conf_list *files, const struct bundle_list *installed)
{
	told = installed;
	for (size_t i = 0; i < files->n; i++)
		load_file(files->items[i], installed);
	for (size_t i = 0; installed && i < installed->n; i++)
		if (installed->rows[i].generation != 0)
			load_row(&installed->rows[i]);
	told = NULL;
	entries_tell_doubt();
}

/* ---- the end ---- */

static void stop_entry(struct bundle_entry *e)
{
	struct bw_bundle *b = e->current;

	if (!b || e->builtin)
		return;
	generation_stop(b);
	registry_unregister_bundle(registry, b);
	e->current = NULL;
	generation_leave(b);
}

/* In the reverse order of their starts: one that came later may rest on one that was there. */
void bundles_stop(void)
{
	struct bundle_entry **all;
	size_t                n = 0;

	generations_drop();
	for (struct bundle_entry *e = entries; e; e = e->next)
		n++;
	all = xcalloc(n + 1, sizeof(struct bundle_entry *));
	n = 0;
	for (struct bundle_entry *e = entries; e; e = e->next)
		all[n++] = e;
	while (n > 0)
		stop_entry(all[--n]);
	free(all);
}

void bundles_done(void)
{
	bundles_stop();
	generations_done();
	dispatch_doubt(NULL);
	while (entries) {
		struct bundle_entry *e = entries;

		entries = e->next;
		free(e->current);
		free(e->name);
		free(e);
	}
	last_entry = &entries;
	registry = NULL;
}

/* ---- looking ---- */

static const char *state_text(const struct bw_bundle *b)
{
	switch (b->state) {
	case BUNDLE_ACTIVE:
		return "ACTIVE";
	case BUNDLE_STOPPED:
		return "RESOLVED";
	case BUNDLE_REFUSED:
		return "INSTALLED";
	}
	return "";
}

static void count(void *arg, const struct bw_service *s)
{
	(void)s;
	++*(json_int_t *)arg;
}

/* NULL or what is no UTF-8 becomes null. */
static json_t *text(const char *s)
{
	json_t *j = s ? json_string(s) : NULL;

	return j ? j : json_null();
}

static json_t *describe(const struct bundle_entry *e)
{
	const struct bw_bundle *b = e->current;
	bool                    active = b->state == BUNDLE_ACTIVE, known;
	json_int_t              services = 0;

	/* No more than a worker knows that has never had it started: they are compared. */
	known = active || b->generation == 0;
	registry_each(registry, b, count, &services);
	return json_pack("{so so so sI ss so so sI sI}", "name", text(e->name), "version",
	                 text(known ? b->version : NULL), "build", text(known ? b->build : NULL),
	                 "generation", (json_int_t)b->generation, "state", state_text(b), "reason",
	                 text(b->failure), "file", text(active ? b->file : NULL), "services",
	                 services, "mapped", (json_int_t)generation_count_mapped(e));
}

void bundles_remember(struct buf *json)
{
	json_t *all = json_object();
	char   *dump;

	for (const struct bundle_entry *e = entries; e; e = e->next)
		if (e->current && e->current->generation == 0 && !e->builtin &&
		    e->current->state == BUNDLE_ACTIVE)
			remember_put(all, registry, e->current);
	dump = json_dumps(all, JSON_COMPACT);
	if (!dump)
		fatalx("out of memory");
	buf_append(json, dump, strlen(dump));
	free(dump);
	json_decref(all);
}

void bundles_put_refused(struct buf *words)
{
	for (const struct bundle_entry *e = entries; e; e = e->next) {
		const struct bw_bundle *b = e->current;

		if (!b || b->state != BUNDLE_REFUSED || !b->failure)
			continue;
		buf_append(words, e->name, strlen(e->name) + 1);
		buf_printf(words, "%llu", (unsigned long long)b->generation);
		buf_append(words, "", 1);
		buf_append(words, b->failure, strlen(b->failure) + 1);
	}
}

void bundles_describe(struct buf *json)
{
	json_t *all = json_array();
	char   *dump;

	for (const struct bundle_entry *e = entries; e; e = e->next)
		if (e->current && !e->builtin)
			json_array_append_new(all, describe(e));
	dump = json_dumps(all, JSON_COMPACT);
	if (!dump)
		fatalx("out of memory");
	buf_append(json, dump, strlen(dump));
	free(dump);
	json_decref(all);
}

bool bundles_footprint(const char *name, struct buf *json)
{
	const struct bundle_entry *e = entries_find(name);

	if (!e || !e->current || e->builtin)
		return false;
	footprint_write(registry, e->current, json);
	return true;
}
