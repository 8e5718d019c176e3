/* inventory.c - the parent's list of bundles, from which every worker starts.
 *
 * Owns: the list, the last failures. Runs in: the gateway's parent. Fails with: fatal if the store's state
 * is no state. Tests: tests/unit/gateway/control_test.c. */
#include "control/inventory.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>

#define MAX_CRASHES 3u
#define FORGIVE_US  600000000u /* crashes further apart than this are not counted together */

/* ---- the list -------------------------------------------------------------------------------- */

struct inventory_item *inventory_find(const struct inventory *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->items[i].name, name) == 0)
			return &v->items[i];
	return NULL;
}

static struct inventory_item *add(struct inventory *v, const char *name)
{
	v->items = xrealloc(v->items, (v->n + 1) * sizeof(*v->items));
	v->items[v->n] = (struct inventory_item){ .name = xstrdup(name) };
	return &v->items[v->n++];
}

static void take_away(struct inventory *v, struct inventory_item *item)
{
	free(item->name);
	free(item->refused);
	memmove(item, item + 1, (v->n - (size_t)(item - v->items) - 1) * sizeof(*item));
	v->n--;
}

/* What is started now is the youngest in every worker, and so it is in those that start later: of two that
 * take the same path the older one answers. */
static struct inventory_item *to_end(struct inventory *v, struct inventory_item *item)
{
	struct inventory_item moved = *item;

	memmove(item, item + 1, (v->n - (size_t)(item - v->items) - 1) * sizeof(*item));
	v->items[v->n - 1] = moved;
	return &v->items[v->n - 1];
}

void inventory_read(struct inventory *v, const char *folder)
{
	struct store s;
	char         err[512];

	*v = (struct inventory){ .folder = folder };
	if (folder == NULL)
		return;
	if (!store_read(folder, &s, err, sizeof(err)))
		fatalx("%s", err);
	for (size_t i = 0; i < s.n_bundles; i++) {
		struct inventory_item *item = add(v, s.bundles[i].name);

		item->generation = s.bundles[i].generation;
		item->stopped = s.bundles[i].stopped;
	}
	store_done(&s);
}

static void free_failure(struct inventory_failure *f)
{
	free(f->name);
	free(f->reason);
	*f = (struct inventory_failure){ 0 };
}

void inventory_done(struct inventory *v)
{
	while (v->n > 0)
		take_away(v, &v->items[v->n - 1]);
	for (size_t i = 0; i < INVENTORY_FAILURES; i++)
		free_failure(&v->failures[i]);
	free(v->items);
	free(v->remembered);
	*v = (struct inventory){ 0 };
}

/* ---- what happens to it ------------------------------------------------------------------------ */

static void forget_failure(struct inventory *v, const char *name)
{
	for (size_t i = 0; i < INVENTORY_FAILURES; i++)
		if (v->failures[i].name != NULL && strcmp(v->failures[i].name, name) == 0)
			free_failure(&v->failures[i]);
}

void inventory_apply(struct inventory *v, enum bundle_action action, const char *name,
                     uint64_t generation)
{
	struct inventory_item *item = inventory_find(v, name);

	forget_failure(v, name);
	if (action == BUNDLE_UNINSTALL) {
		if (item != NULL)
			take_away(v, item);
		return;
	}
	if (item == NULL)
		item = add(v, name);
	else if (action != BUNDLE_STOP)
		item = to_end(v, item);
	item->stopped = action == BUNDLE_STOP;
	if (!item->stopped)
		item->generation = generation;
	free(item->refused);
	item->refused = NULL;
	item->untold = false;
	item->crashes = 0;
}

void inventory_fail(struct inventory *v, const char *name, uint64_t generation, const char *reason)
{
	struct inventory_failure *f = &v->failures[0];

	forget_failure(v, name);
	for (size_t i = 1; i < INVENTORY_FAILURES; i++)
		if (v->failures[i].at_us < f->at_us)
			f = &v->failures[i];
	free_failure(f);
	*f = (struct inventory_failure){ .name = xstrdup(name),
		                         .reason = xstrdup(reason),
		                         .generation = generation,
		                         .at_us = clock_mono_us() };
}

/* Takes reason, heap. */
static void refuse(struct inventory_item *item, char *reason)
{
	item->refused = reason;
	item->untold = true;
	log_error(0, "bundle %s, generation %" PRIu64 ", is refused: it %s", item->name,
	          item->generation, item->refused);
}

static void count_crash(struct inventory_item *item, const char *how, unsigned most)
{
	uint64_t now_us = clock_mono_us();

	if (now_us - item->crashed_us > FORGIVE_US)
		item->crashes = 0;
	item->crashed_us = now_us;
	if (++item->crashes < most || item->refused != NULL)
		return;
	refuse(item, item->crashes == 1 ? xstrdup(how)
	                                : xasprintf("%s, %u times in a row", how, item->crashes));
}

static struct inventory_item *find_generation(const struct inventory *v, uint64_t generation)
{
	for (size_t i = 0; generation != 0 && i < v->n; i++)
		if (v->items[i].generation == generation)
			return &v->items[i];
	return NULL;
}

void inventory_crash(struct inventory *v, uint64_t generation, const char *how)
{
	struct inventory_item *item = find_generation(v, generation);

	if (item != NULL)
		count_crash(item, how, MAX_CRASHES);
}

bool inventory_fail_start(struct inventory *v, uint64_t generation, const char *why, unsigned tries)
{
	struct inventory_item *item = find_generation(v, generation);

	if (item == NULL || item->refused != NULL)
		return true;
	count_crash(item, why, tries);
	return item->refused != NULL;
}

struct inventory_item *inventory_untold(const struct inventory *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->items[i].untold)
			return &v->items[i];
	return NULL;
}

void inventory_remember(struct inventory *v, const char *text)
{
	free(v->remembered);
	v->remembered = xstrdup(text);
}

/* ---- what others see --------------------------------------------------------------------------- */

static enum bundle_state state_of(const struct inventory_item *item)
{
	if (item->stopped)
		return BUNDLE_STOPPED;
	return item->refused != NULL ? BUNDLE_REFUSED : BUNDLE_ACTIVE;
}

struct bundle_list inventory_rows(const struct inventory *v)
{
	struct bundle_row *rows = xcalloc(v->n + 1, sizeof(*rows));

	for (size_t i = 0; i < v->n; i++) {
		const struct inventory_item *item = &v->items[i];
		struct bundle_row           *row = &rows[i];

		*row = (struct bundle_row){ .name = item->name,
			                    .generation = item->generation,
			                    .state = state_of(item),
			                    .reason = item->refused,
			                    .footprint = store_footprint(v->folder, item->name) };
		if (row->state == BUNDLE_ACTIVE)
			row->file = store_file(v->folder, item->name, item->generation);
	}
	return (struct bundle_list){
		rows, v->n, { v->remembered, v->folder ? store_remembered(v->folder) : NULL }
	};
}

void inventory_rows_free(struct bundle_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free((char *)(uintptr_t)l->rows[i].file);
		free((char *)(uintptr_t)l->rows[i].footprint);
	}
	free((struct bundle_row *)(uintptr_t)l->rows);
	free((char *)(uintptr_t)l->remembered[1]);
	*l = (struct bundle_list){ 0 };
}

json_t *inventory_describe(const struct inventory *v)
{
	static const char *const states[] = { [BUNDLE_ACTIVE] = "started",
		                              [BUNDLE_STOPPED] = "stopped",
		                              [BUNDLE_REFUSED] = "refused" };
	json_t                  *installed = json_array(), *failed = json_array();

	for (size_t i = 0; i < v->n; i++) {
		const struct inventory_item *item = &v->items[i];

		json_array_append_new(installed,
		                      json_pack("{s:s, s:I, s:s, s:s*}", "name", item->name,
		                                "generation", (json_int_t)item->generation, "state",
		                                states[state_of(item)], "reason", item->refused));
	}
	for (size_t i = 0; i < INVENTORY_FAILURES; i++) {
		const struct inventory_failure *f = &v->failures[i];

		if (f->name != NULL)
			json_array_append_new(
				failed, json_pack("{s:s, s:I, s:s}", "name", f->name, "generation",
			                          (json_int_t)f->generation, "reason", f->reason));
	}
	return json_pack("{s:o, s:o}", "installed", installed, "failed", failed);
}
