/* Generations of bundles: one worker's part of an order.
 *
 *               prepare                publish
 *    file ----> PREPARED ------------> SERVING ---- another is published, or stop, uninstall
 *                  |                                    |
 *                  | drop, or it failed                 v
 *                  +--------------------------------> LEAVING --uses == 0--> unmapped, freed
 *                                                       |
 *                                                       +--not in time, NODELETE--> KEPT (counted)
 *
 * A stopped or refused bundle has a generation too: one without a library, whose services are
 * stand-ins. So each order is the same exchange: something, or nothing, in the place of something,
 * or nothing.
 *
 * What holds a generation: each of its services, and these are held by the whiteboard's readings,
 * so by bindings, snapshots and requests, and by the engine's mounted servlets and the calls in
 * them. A KEPT one that drains after all is unmapped like any other. dlclose runs from bundles_tend
 * alone: an unref may happen deep inside of the very code that would be unmapped.
 *
 * Owns: all generations. Runs in: the loop's stack. Logs: each change, what is kept.
 * Fails with: the errors of bundles_prepare. Tests: tests/unit/whiteboard/generations_test.c. */
#include "generations.h"

#include "library.h"
#include "mark.h"
#include "shared.h"
#include "whiteboard/registry.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <base/symbolic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TEND_MS 1000
#define REFUSAL UINT64_MAX /* number of an order that is given and obeyed in one go */

static struct bw_bundle     *generations; /* all but built-in ones, the newest first */
static struct shared_worker *me;
static uint64_t              drain_us;
static void (*wake)(void);
static struct {
	uint64_t             generation; /* 0: no order is in work */
	struct bundle_entry *entry;
	struct bw_bundle    *next; /* NULL: it is uninstalled */
} order;

/* ---- one generation ---- */

struct bw_bundle *generation_new(struct bundle_entry *e, uint64_t generation, const char *file)
{
	struct bw_bundle *b = xcalloc(1, sizeof(*b));

	b->generation = generation;
	b->file = file ? xstrdup(file) : NULL;
	b->life = LIFE_PREPARED;
	if (e)
		generation_belongs(b, e);
	b->next = generations;
	generations = b;
	return b;
}

void generation_belongs(struct bw_bundle *b, struct bundle_entry *e)
{
	b->id = e->id;
	b->name = e->name;
}

void generation_describe(struct bw_bundle *b, const char *version, const char *build)
{
	free((char *)b->version);
	free((char *)b->build);
	b->version = version ? xstrdup(version) : NULL;
	b->build = build ? xstrdup(build) : NULL;
}

char *generation_start(struct bw_bundle *b)
{
	struct mark before = mark_begin(b, MARK_START);
	int         err = b->descriptor->start(bundles_host(), b);

	mark_end(before);
	b->running = err == BW_OK;
	return b->running ? NULL : xasprintf("failed to start (%d)", err);
}

void generation_stop(struct bw_bundle *b)
{
	struct mark before;

	if (!b->running)
		return;
	b->running = false;
	if (!b->descriptor->stop)
		return;
	before = mark_begin(b, MARK_STOP);
	b->descriptor->stop(b);
	mark_end(before);
}

static void on_unused(struct bw_bundle *b)
{
	(void)b;
	if (wake)
		wake();
}

void generation_leave(struct bw_bundle *b)
{
	b->life = LIFE_LEAVING;
	b->left_us = clock_mono_us();
	b->on_unused = on_unused;
	if (wake)
		wake();
}

static void generation_free(struct bw_bundle **at)
{
	struct bw_bundle *b = *at;

	*at = b->next;
	free((char *)b->version);
	free((char *)b->build);
	free(b->file);
	free(b->failure);
	free(b);
}

size_t generation_count_mapped(const struct bundle_entry *e)
{
	size_t n = 0;

	for (const struct bw_bundle *b = generations; b; b = b->next)
		n += b->name == e->name && b->file && b != e->current && b->life >= LIFE_LEAVING;
	return n;
}

/* ---- what has left ---- */

size_t bundles_kept(void)
{
	size_t n = 0;

	for (const struct bw_bundle *b = generations; b; b = b->next)
		n += b->life == LIFE_KEPT;
	return n;
}

static void keep(struct bw_bundle *b, const char *why)
{
	if (b->life == LIFE_KEPT)
		return;
	b->life = LIFE_KEPT;
	log_error(0, "bundle %s, generation %llu stays mapped: %s", b->name ? b->name : b->file,
	          (unsigned long long)b->generation, why);
}

static void tell_kept(void)
{
	size_t n = bundles_kept();

	if (!me)
		return;
	atomic_store(&me->bundles_kept, (uint32_t)n);
	if (n >= BUNDLES_KEPT_MAX && !atomic_exchange(&me->wants_successor, 1))
		log_warning(0, "%zu old generations of bundles are mapped: a successor is due", n);
}

/* True: it is gone. */
static bool unmap(struct bw_bundle **at)
{
	struct bw_bundle *b = *at;

	if (b->uses > 0 || b->stuck)
		return false;
	if (library_close(b)) {
		log_debug(0, "bundle %s, generation %llu is unmapped", b->name ? b->name : b->file,
		          (unsigned long long)b->generation);
		generation_free(at);
		return true;
	}
	b->stuck = true;
	keep(b, "the linker does not unmap it");
	return false;
}

uint32_t bundles_tend(void)
{
	uint64_t          now_us = clock_mono_us();
	struct bw_bundle *b, **at = &generations;
	bool              again = false;

	while ((b = *at) != NULL) {
		if (b->life >= LIFE_LEAVING && unmap(at))
			continue;
		if (b->life == LIFE_LEAVING && now_us - b->left_us >= drain_us)
			keep(b, "requests are still in it");
		again |= b->life == LIFE_LEAVING;
		at = &b->next;
	}
	tell_kept();
	return again ? TEND_MS : 0;
}

void bundles_on_work(void (*fn)(void))
{
	wake = fn;
}

void generations_init(struct shared_worker *worker, uint64_t drain_ms)
{
	me = worker;
	drain_us = drain_ms * 1000;
}

void generations_done(void)
{
	struct bw_bundle **at = &generations;

	while (*at) {
		if (!unmap(at)) {
			log_warning(0, "bundle %s is left with %u uses", (*at)->name, (*at)->uses);
			at = &(*at)->next;
		}
	}
	me = NULL;
	wake = NULL;
}

/* ---- prepare ---- */

__attribute__((format(printf, 4, 5))) static int refuse(int err, char *reason, size_t n,
                                                        const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, n, format, args);
	va_end(args);
	return err;
}

static bool needs_file(enum bundle_action action)
{
	return action == BUNDLE_INSTALL || action == BUNDLE_UPDATE || action == BUNDLE_START;
}

/* Does the order fit the state that the bundle is in? */
static int check_order(const struct bundle_order *o, const struct bundle_entry *e, char *reason,
                       size_t n)
{
	const struct bw_bundle *b = e ? e->current : NULL;

	if (order.generation)
		return refuse(BW_ESTATE, reason, n, "has to wait: another order is in work");
	if (!symbolic_name_ok(o->name) || o->generation == 0 || (needs_file(o->action) && !o->file))
		return refuse(BW_EINVAL, reason, n, "is no order: name, generation or file");
	if (e && e->builtin)
		return refuse(BW_EEXIST, reason, n, "has the name of a part of the server");
	if (o->action == BUNDLE_INSTALL && b)
		return refuse(BW_EEXIST, reason, n, "is installed already");
	if (o->action != BUNDLE_INSTALL && !b)
		return refuse(BW_ENOTFOUND, reason, n, "is not installed");
	if (o->action == BUNDLE_START && b->state == BUNDLE_ACTIVE)
		return refuse(BW_ESTATE, reason, n, "is started already");
	if (o->action == BUNDLE_STOP && b->state == BUNDLE_STOPPED)
		return refuse(BW_ESTATE, reason, n, "is stopped already");
	return BW_OK;
}

/* Maps and starts b in the registry's stage, and has its services initialised. */
static int make_ready(struct bw_bundle *b, const struct bw_bundle *old, char *reason, size_t n)
{
	const char *problem = library_open(b);
	char       *failure;
	int         err;

	if (problem)
		return refuse(BW_EINVAL, reason, n, "%s", problem);
	if (strcmp(b->descriptor->symbolic_name, b->name) != 0)
		return refuse(BW_EINVAL, reason, n, "calls itself %s",
		              b->descriptor->symbolic_name);
	generation_describe(b, b->descriptor->version, b->descriptor->build);
	failure = generation_start(b);
	if (failure) {
		err = refuse(BW_ESERVLET, reason, n, "%s", failure);
		free(failure);
		return err;
	}
	return registry_stage(bundles_registry(), old, reason, n) ? BW_OK : BW_ESERVLET;
}

/* As if it had never been. */
static void give_up(struct bw_bundle *b)
{
	b->life = LIFE_LEAVING; /* what its stop or a destroy registers is refused */
	generation_stop(b);
	registry_stage_drop(bundles_registry());
	generation_leave(b);
}

/* A stopped bundle is one whose stand-ins serve. */
static int stand_in(struct bw_bundle *b, const struct bw_bundle *of, char *reason, size_t n)
{
	b->state = BUNDLE_STOPPED;
	generation_describe(b, of->version, of->build);
	footprint_stage(bundles_registry(), b, of);
	return registry_stage(bundles_registry(), of, reason, n) ? BW_OK : BW_ESERVLET;
}

int bundles_prepare(const struct bundle_order *o, char *reason, size_t n)
{
	struct bundle_entry *e = entries_find(o->name);
	struct bw_bundle    *old = e ? e->current : NULL, *b = NULL;
	int                  err = check_order(o, e, reason, n);

	if (err != BW_OK)
		return err;
	e = entries_get(o->name);
	if (o->action != BUNDLE_UNINSTALL) {
		bool runs = needs_file(o->action);

		/* What is stopped is stopped as it was: its number is what the store has. */
		b = generation_new(e, runs ? o->generation : old->generation,
		                   runs ? o->file : NULL);
		registry_stage_begin(bundles_registry(), b);
		err = needs_file(o->action) ? make_ready(b, old, reason, n)
		                            : stand_in(b, old, reason, n);
	}
	if (err != BW_OK) {
		give_up(b);
		bundles_tend();
		log_error(0, "bundle %s, generation %llu: it %s", o->name,
		          (unsigned long long)o->generation, reason);
		return err;
	}
	order.generation = o->generation;
	order.entry = e;
	order.next = b;
	return BW_OK;
}

/* ---- refuse ---- */

static void refuse_for(struct bw_bundle *b, const char *why)
{
	char *copy = xstrdup(why);

	free(b->failure);
	b->failure = copy;
	b->state = BUNDLE_REFUSED;
}

int bundles_refuse(const char *name, const char *why, char *reason, size_t n)
{
	struct bundle_entry *e = entries_find(name);
	struct bw_bundle    *b, *old = e ? e->current : NULL;

	if (order.generation)
		return refuse(BW_ESTATE, reason, n, "has to wait: another order is in work");
	if (!old || e->builtin || old->state == BUNDLE_STOPPED)
		return BW_OK;
	if (old->state == BUNDLE_REFUSED) { /* it has found out itself */
		refuse_for(old, why);
		return BW_OK;
	}
	b = generation_new(e, old->generation, NULL);
	registry_stage_begin(bundles_registry(), b);
	if (stand_in(b, old, reason, n) != BW_OK) {
		give_up(b);
		return BW_ESERVLET;
	}
	refuse_for(b, why);
	order.generation = REFUSAL;
	order.entry = e;
	order.next = b;
	bundles_publish(REFUSAL);
	return BW_OK;
}

/* ---- publish, drop ---- */

void bundles_publish(uint64_t generation)
{
	struct bundle_entry *e = order.entry;
	struct bw_bundle    *old, *b = order.next;

	if (generation == 0 || generation != order.generation)
		return;
	order.generation = 0;
	old = e->current;
	e->current = b;
	/* The youngest now, as in the store, in whose order others start. */
	if (b && b->state == BUNDLE_ACTIVE)
		entries_to_end(e);
	if (b)
		b->life = LIFE_SERVING;
	if (old)
		old->life = LIFE_LEAVING; /* it may not register any more */
	registry_exchange(bundles_registry(), old, generation_stop);
	if (old)
		generation_leave(old);
	entries_tell_doubt();
	bundles_tend(); /* nobody may be in it */
	log_info(0, "bundle %s, generation %llu: %s", e->name,
	         (unsigned long long)(b ? b->generation : generation),
	         !b                           ? "uninstalled"
	         : b->state == BUNDLE_ACTIVE  ? "serves"
	         : b->state == BUNDLE_STOPPED ? "stopped"
	                                      : "refused");
}

void generations_drop(void)
{
	bundles_drop(order.generation);
}

void bundles_drop(uint64_t generation)
{
	if (generation == 0 || generation != order.generation)
		return;
	order.generation = 0;
	if (order.next)
		give_up(order.next);
	bundles_tend();
	log_info(0, "bundle %s, generation %llu: dropped", order.entry->name,
	         (unsigned long long)generation);
}
