/* The whiteboard: follows the registry, keeps the readings in ranking order and the current snapshot.
 *
 * One rule: whatever changes, the whole state is computed anew from the readings and published if it
 * differs. Bundle code that registers services while that goes on (an init, a destroy) marks it
 * stale, and it is computed once more before the outermost call returns.
 *
 * Owns: one reference to each reading, one to the current snapshot. Runs in: the worker's thread, on
 * any stack. Tests: tests/conformance, tests/unit/whiteboard/snapshot_test.c. */
#include "whiteboard.h"

#include "registry.h"
#include "snapshot.h"
#include "stage.h"
#include "watch.h"

#include <base/fatal.h>
#include <stdlib.h>

static struct {
	struct reading **readings; /* in ranking order, referenced */
	size_t           n, cap;
	struct registry *registry;
	struct snapshot *current; /* NULL: not started, or done */
	uint64_t         number;
	bool             collecting; /* services that were there before are being told */
	bool             updating, stale;
	size_t           n_waiting; /* singletons that wait for their old binding's end */
	struct stage     stage;     /* of a bundle's generation that is not published yet */
	struct snapshot *replaced;  /* held while a generation is exchanged */
} wb;

struct snapshot *snapshot_current(void)
{
	return wb.current;
}

/* ---- from readings to the current snapshot ---- */

/* Returns NULL if nothing differs from the current one. */
static struct snapshot *rebuild(void)
{
	size_t           n = wb.n;
	struct reading **readings = xcalloc(n + 1, sizeof(struct reading *));
	struct snapshot *s;

	/* Bundle code may change wb.readings while we build. */
	for (size_t i = 0; i < n; i++)
		readings[i] = reading_ref(wb.readings[i]);
	s = snapshot_build(readings, n);
	for (size_t i = 0; i < n; i++)
		reading_unref(readings[i]);
	free(readings);
	wb.n_waiting = s->n_waiting;
	if (!wb.current || s->signature != wb.current->signature)
		return s;
	snapshot_unref(s);
	return NULL;
}

static void update(void)
{
	wb.stale = true;
	if (wb.updating || wb.collecting)
		return;
	wb.updating = true;
	while (wb.stale) {
		struct snapshot *s, *old = wb.current;

		wb.stale = false;
		s = rebuild();
		if (!s)
			continue;
		s->number = ++wb.number;
		wb.current = s; /* from here on new requests see it */
		snapshot_unref(old);
		watch_changed();
	}
	wb.updating = false;
}

static void on_destroyed(void)
{
	if (wb.n_waiting > 0)
		update();
}

/* ---- the readings ---- */

/* Takes the reference. */
static void insert(struct reading *r)
{
	size_t i;

	if (wb.n == wb.cap) {
		wb.cap = 2 * wb.cap + 16;
		wb.readings = xrealloc(wb.readings, wb.cap * sizeof(struct reading *));
	}
	for (i = wb.n++; i > 0 && reading_compare(r, wb.readings[i - 1]) < 0; i--)
		wb.readings[i] = wb.readings[i - 1];
	wb.readings[i] = r;
}

/* Gives the reference. */
static struct reading *take_out(struct reading **at)
{
	struct reading *r = *at;

	memmove(at, at + 1, (size_t)(wb.readings + wb.n - at - 1) * sizeof(*at));
	wb.n--;
	return r;
}

/* Those of a service, by role; NULL where it has none. */
struct readings_of {
	struct reading *role[READING_ROLES];
	size_t          n;
};

/* Gives the references. */
static void take_out_all(const struct bw_service *s, struct readings_of *ret)
{
	*ret = (struct readings_of){ .n = 0 };
	for (size_t i = 0; i < wb.n;) {
		struct reading *r = wb.readings[i];

		if (r->service != s) {
			i++;
			continue;
		}
		ret->role[r->role] = take_out(&wb.readings[i]);
		ret->n++;
	}
}

/* Takes the references. */
static void insert_all(const struct readings_of *all)
{
	for (enum reading_role role = 0; role < READING_ROLES; role++)
		if (all->role[role])
			insert(all->role[role]);
}

static void read_all(struct bw_service *s, struct readings_of *ret)
{
	*ret = (struct readings_of){ .n = 0 };
	for (enum reading_role role = 0; role < READING_ROLES; role++)
		ret->n += (ret->role[role] = reading_new(s, role)) != NULL;
}

static void retire_all(const struct readings_of *all)
{
	for (enum reading_role role = 0; role < READING_ROLES; role++)
		if (all->role[role])
			binding_retire(all->role[role]);
}

static void unref_all(const struct readings_of *all)
{
	for (enum reading_role role = 0; role < READING_ROLES; role++)
		reading_unref(all->role[role]);
}

static bool are_current(const struct readings_of *all, const struct bw_service *s)
{
	enum reading_role role = 0;

	while (role < READING_ROLES && !all->role[role])
		role++;
	return role < READING_ROLES && reading_is_current(all->role[role], s);
}

static void on_modified(struct bw_service *s)
{
	struct readings_of old, new;
	bool               changes = false;

	take_out_all(s, &old);
	if (are_current(&old, s)) {
		/* Only their place in the order, or what context.select of others looks at. */
		for (enum reading_role role = 0; role < READING_ROLES; role++) {
			struct reading *r = old.role[role];

			changes = changes ||
			          (r && (role == ROLE_CONTEXT || r->ranking != service_ranking(s)));
			if (r)
				r->ranking = service_ranking(s);
		}
		insert_all(&old);
		if (changes)
			update();
		return;
	}
	read_all(s, &new);
	insert_all(&new);
	retire_all(&old);
	if (old.n + new.n > 0)
		update();
	unref_all(&old);
}

static void on_registered(struct bw_service *s)
{
	struct readings_of all = { .n = 0 };
	struct reading    *r;

	while ((r = stage_take(&wb.stage, s)) != NULL) {
		all.role[r->role] = r;
		all.n++;
	}
	if (all.n == 0)
		read_all(s, &all);
	insert_all(&all);
	if (all.n > 0)
		update();
}

static void on_unregistering(const struct bw_service *s)
{
	struct readings_of all;

	take_out_all(s, &all);
	retire_all(&all);
	if (all.n > 0)
		update();
	unref_all(&all);
}

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	(void)arg;
	switch (event) {
	case REGISTRY_REGISTERED:
		on_registered(s);
		break;
	case REGISTRY_MODIFIED:
		on_modified(s);
		break;
	case REGISTRY_UNREGISTERING:
		on_unregistering(s);
		break;
	}
}

/* ---- exchanging generations ---- */

/* Others' registrations that an init makes meanwhile wait, as in update: the snapshot that is being
 * built shares its bindings with the next one. */
static bool on_stage(void *arg, struct bw_service *const *services, size_t n,
                     const struct bw_bundle *from, char *reason, size_t size)
{
	bool ok;

	(void)arg;
	wb.updating = true;
	ok = stage_build(&wb.stage, wb.readings, wb.n, services, n, from, reason, size);
	wb.updating = false;
	if (wb.stale)
		update();
	return ok;
}

static void on_begin(void *arg)
{
	(void)arg;
	/* What is only in the old snapshot shall live until the old generation was stopped. */
	wb.replaced = snapshot_ref(wb.current);
	wb.collecting = true;
}

static void on_publish(void *arg)
{
	(void)arg;
	wb.collecting = false;
	update();
}

static void on_end(void *arg)
{
	struct snapshot *replaced = wb.replaced;

	(void)arg;
	wb.replaced = NULL;
	stage_done(&wb.stage);
	snapshot_unref(replaced);
}

static const struct registry_exchange exchange = {
	.stage = on_stage, .begin = on_begin, .publish = on_publish, .end = on_end
};

void whiteboard_init(struct registry *r)
{
	binding_on_destroyed(on_destroyed);
	wb.registry = r;
	insert(reading_new_default());
	wb.collecting = true;
	registry_listen(r, on_event, NULL);
	wb.collecting = false;
	registry_listen_exchange(r, &exchange, NULL);
	watch_init(r);
	update();
}

void whiteboard_done(void)
{
	struct snapshot *last;

	registry_unlisten(wb.registry, on_event, NULL);
	registry_unlisten_exchange(wb.registry, &exchange);
	watch_done(wb.registry);
	while (wb.n > 0) {
		struct reading *r = take_out(&wb.readings[wb.n - 1]);

		binding_retire(r);
		reading_unref(r);
	}
	update(); /* destroys what no request holds */
	last = wb.current;
	wb.current = NULL;
	snapshot_unref(last);
	free(wb.readings);
	wb.readings = NULL;
	wb.cap = 0;
}
