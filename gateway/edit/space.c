/* space.c - the transient space: its tree of items and slots, and its log (space.h).
 *
 * Owns: its arena, which ends with the request's. Runs in: a request's fiber; never waits. Fails with: nothing;
 * callers ask for room first. Tests: tests/unit/gateway/edit_test.c, tests/conformance/resolver. */
#include "space.h"
#include <string.h>

#define FIRST_BUCKETS 16u
#define CHANGE_OCTETS 64u /* what a change costs besides its texts */

/* ---- texts ---- */

struct bw_str space_dup(struct space *s, struct bw_str text)
{
	return text.p ? (struct bw_str){ arena_dup(s->arena, text.p, text.n), text.n } : BW_ABSENT;
}

struct bw_str space_join(struct arena *a, struct bw_str folder, struct bw_str name)
{
	size_t n = folder.n > 1 ? folder.n : 0; /* the root ends in the slash itself */
	char  *p = arena_alloc(a, n + name.n + 2);

	memcpy(p, folder.p, n);
	p[n] = '/';
	memcpy(p + n + 1, name.p, name.n);
	p[n + 1 + name.n] = '\0';
	return (struct bw_str){ p, n + 1 + name.n };
}

size_t space_value_size(const struct change_text *v)
{
	size_t size = 0;

	for (unsigned i = 0; i < v->n; i++)
		size += v->values[i].n + 5; /* as encoded */
	return size;
}

void space_value_copy(struct space *s, const struct change_text *v, struct change_text *ret)
{
	struct bw_str *values = arena_alloc(s->arena, (v->n + 1) * sizeof(*values));

	for (unsigned i = 0; i < v->n; i++)
		values[i] = space_dup(s, v->values[i]);
	*ret = *v;
	ret->values = values;
}

bool space_value_eq(const struct change_text *a, const struct change_text *b)
{
	if (a->type != b->type || a->multiple != b->multiple || a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (!bw_str_eq(a->values[i], b->values[i]))
			return false;
	return true;
}

/* ---- what is found by owner and name ---- */

static struct space_key **bucket(const struct space *s, const void *owner, struct bw_str name)
{
	uint64_t h = (uint64_t)(uintptr_t)owner * 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (uint8_t)name.p[i]) * 0x100000001b3u;
	return &s->buckets[(h ^ h >> 32) & (s->n_buckets - 1)];
}

static struct space_key *find_key(const struct space *s, const void *owner, struct bw_str name,
                                  bool is_property)
{
	struct space_key *key = *bucket(s, owner, name);

	while (key && (key->owner != owner || key->is_property != is_property ||
	               !bw_str_eq(key->name, name)))
		key = key->next;
	return key;
}

static void grow(struct space *s)
{
	struct space_key **old = s->buckets, *key, *next, **at;
	unsigned           n_old = s->n_buckets;

	s->n_buckets *= 2;
	s->buckets = arena_zalloc(s->arena, s->n_buckets * sizeof(*s->buckets));
	for (unsigned i = 0; i < n_old; i++) {
		for (key = old[i]; key; key = next) {
			next = key->next;
			at = bucket(s, key->owner, key->name);
			key->next = *at;
			*at = key;
		}
	}
}

static void add_key(struct space *s, struct space_key *key, const void *owner, struct bw_str name,
                    bool is_property)
{
	struct space_key **at;

	if (s->n_keys++ >= s->n_buckets)
		grow(s);
	key->owner = owner;
	key->name = space_dup(s, name);
	key->is_property = is_property;
	at = bucket(s, owner, name);
	key->next = *at;
	*at = key;
}

/* ---- items and slots ---- */

static void init_item(struct space_item *item)
{
	TAILQ_INIT(&item->slots);
	TAILQ_INIT(&item->last);
}

static void end(void *arg)
{
	struct space *s = arg;

	arena_done(&s->own);
}

/* Empty, in an arena that is. */
static void begin(struct space *s)
{
	s->arena = &s->own;
	s->n_buckets = FIRST_BUCKETS;
	s->buckets = arena_zalloc(s->arena, s->n_buckets * sizeof(*s->buckets));
	STAILQ_INIT(&s->log);
	init_item(&s->root);
	s->root.origin = BW_STR("/");
}

struct space *space_new(struct arena *a)
{
	struct space *s = arena_zalloc(a, sizeof(*s));

	arena_init(&s->own);
	arena_on_done(a, end, s);
	begin(s);
	return s;
}

void space_clear(struct space *s)
{
	arena_done(&s->own);
	memset(s, 0, sizeof(*s));
	arena_init(&s->own);
	begin(s);
}

struct space_item *space_item_new(struct space *s)
{
	struct space_item *item = arena_zalloc(s->arena, sizeof(*item));

	init_item(item);
	item->fresh = true;
	return item;
}

struct space_slot *space_slot(const struct space *s, const struct space_item *item,
                              struct bw_str name)
{
	return (struct space_slot *)find_key(s, item, name, false);
}

struct space_slot *space_slot_make(struct space *s, struct space_item *item, struct bw_str name)
{
	struct space_slot *slot = space_slot(s, item, name);

	if (slot)
		return slot;
	slot = arena_zalloc(s->arena, sizeof(*slot));
	TAILQ_INIT(&slot->before);
	add_key(s, &slot->key, item, name, false);
	TAILQ_INSERT_TAIL(&item->slots, slot, next);
	return slot;
}

/* The next segment of a canonical path from *at on, which is behind a slash. */
static bool next_segment(struct bw_str path, size_t *at, struct bw_str *ret)
{
	const char *slash;

	if (*at >= path.n)
		return false;
	slash = memchr(path.p + *at, '/', path.n - *at);
	ret->p = path.p + *at;
	ret->n = slash ? (size_t)(slash - ret->p) : path.n - *at;
	*at += ret->n + 1;
	return true;
}

/* The place of what is left of path behind item, of which nothing is touched. */
static bool find_stored(const struct space *s, const struct space_item *item, struct bw_str path,
                        struct bw_str left, struct space_spot *ret)
{
	if (!item->origin.p)
		return false;
	*ret = (struct space_spot){ .fresh = item->fresh };
	/* Mostly it is stored where it seems to be. */
	if (item->origin.n + left.n + (item->origin.n > 1) == path.n &&
	    memcmp(item->origin.p, path.p, item->origin.n) == 0)
		ret->stored = path;
	else
		ret->stored = space_join(s->arena, item->origin, left);
	return true;
}

bool space_find(const struct space *s, struct bw_str path, struct space_spot *ret)
{
	const struct space_item *item = &s->root;
	const struct space_slot *slot;
	struct bw_str            segment;
	size_t                   at = 1, from;

	for (from = at; next_segment(path, &at, &segment); from = at) {
		slot = space_slot(s, item, segment);
		if (slot && slot->item)
			item = slot->item;
		else if (slot && slot->cut)
			return false;
		else
			return find_stored(s, item, path,
			                   (struct bw_str){ path.p + from, path.n - from }, ret);
	}
	*ret = (struct space_spot){ (struct space_item *)item, item->origin, item->fresh };
	return true;
}

bool space_find_child(const struct space *s, const struct space_item *item, struct bw_str name,
                      struct space_spot *ret)
{
	const struct space_slot *slot = space_slot(s, item, name);

	if (slot && slot->item)
		*ret = (struct space_spot){ slot->item, slot->item->origin, slot->item->fresh };
	else if ((slot && slot->cut) || !item->origin.p)
		return false;
	else
		*ret = (struct space_spot){ NULL, space_join(s->arena, item->origin, name),
			                    item->fresh };
	return true;
}

struct space_item *space_touch(struct space *s, struct bw_str path)
{
	struct space_item *item = &s->root, *child;
	struct space_slot *slot;
	struct bw_str      segment;
	size_t             at = 1;

	while (next_segment(path, &at, &segment)) {
		slot = space_slot_make(s, item, segment);
		if (!slot->item) {
			child = space_item_new(s);
			child->at = slot;
			child->origin = space_join(s->arena, item->origin, segment);
			child->fresh = item->fresh;
			slot->item = child;
		}
		item = slot->item;
	}
	return item;
}

/* ---- what stands where ---- */

static void displace(struct space_slot *slot)
{
	if (slot->in)
		TAILQ_REMOVE(slot->in, slot, place);
	slot->in = NULL;
}

void space_cut(struct space_slot *slot)
{
	displace(slot);
	if (slot->item)
		slot->item->at = NULL;
	slot->item = NULL;
	slot->cut = true;
}

void space_order(struct space_item *parent, struct space_slot *slot, struct space_slot *next)
{
	displace(slot);
	if (next && next->in) {
		slot->in = next->in;
		TAILQ_INSERT_BEFORE(next, slot, place);
	} else {
		slot->in = next ? &next->before : &parent->last;
		TAILQ_INSERT_TAIL(slot->in, slot, place);
	}
}

void space_put(struct space_slot *slot, struct space_item *item, struct space_item *parent)
{
	slot->cut = true; /* what is stored under this name is not what is here */
	slot->item = item;
	item->at = slot;
	space_order(parent, slot, NULL);
}

/* ---- copies ---- */

struct pair {
	STAILQ_ENTRY(pair) next;
	struct space_item *from, *to;
};
STAILQ_HEAD(pairs, pair);

static struct space_item *copy_later(struct space *s, struct pairs *left, struct space_item *from)
{
	struct pair *p = arena_alloc(s->arena, sizeof(*p));

	p->from = from;
	p->to = space_item_new(s);
	STAILQ_INSERT_TAIL(left, p, next);
	return p->to;
}

/* The slots of the same names, in a list of the copy. */
static void copy_places(struct space *s, const struct space_places *from, struct space_item *to,
                        struct space_places *list)
{
	const struct space_slot *slot;
	struct space_slot       *copy;

	TAILQ_FOREACH (slot, from, place) {
		copy = space_slot(s, to, slot->key.name);
		copy->in = list;
		TAILQ_INSERT_TAIL(list, copy, place);
	}
}

/* All of an item but what is below its slots' items, which is left for later. */
static void copy_item(struct space *s, struct space_item *from, struct space_item *to,
                      struct pairs *left)
{
	struct space_slot *slot, *copy;
	struct space_prop *prop;

	to->origin = from->origin;
	to->type = from->type;
	from->create = NULL;
	from->copied = true;
	for (struct space_prop *p = from->props; p; p = p->next) {
		p->amend = NULL;
		prop = space_prop_make(s, to, p->key.name);
		prop->removed = p->removed;
		prop->value = p->value;
	}
	TAILQ_FOREACH (slot, &from->slots, next) {
		copy = space_slot_make(s, to, slot->key.name);
		copy->cut = slot->cut;
		if (!slot->item)
			continue;
		copy->item = copy_later(s, left, slot->item);
		copy->item->at = copy;
	}
	TAILQ_FOREACH (slot, &from->slots, next)
		copy_places(s, &slot->before, to, &space_slot(s, to, slot->key.name)->before);
	copy_places(s, &from->last, to, &to->last);
}

struct space_item *space_item_copy(struct space *s, struct space_item *item)
{
	struct pairs       left = STAILQ_HEAD_INITIALIZER(left);
	struct space_item *copy = copy_later(s, &left, item);
	struct pair       *p;

	while ((p = STAILQ_FIRST(&left)) != NULL) {
		STAILQ_REMOVE_HEAD(&left, next);
		copy_item(s, p->from, p->to, &left);
	}
	return copy;
}

/* The slot to visit behind this one, below top: its item's first, else its next neighbour, else that of
 * the nearest one above which has one. */
static const struct space_slot *next_slot(const struct space_slot *slot,
                                          const struct space_item *top)
{
	if (slot->item && !TAILQ_EMPTY(&slot->item->slots))
		return TAILQ_FIRST(&slot->item->slots);
	while (!TAILQ_NEXT(slot, next)) {
		if (slot->key.owner == top)
			return NULL;
		slot = ((const struct space_item *)slot->key.owner)->at;
	}
	return TAILQ_NEXT(slot, next);
}

unsigned space_count(const struct space_item *item, unsigned most)
{
	const struct space_slot *slot = TAILQ_FIRST(&item->slots);
	unsigned                 n = 1;

	for (; slot && n <= most; slot = next_slot(slot, item))
		n += slot->item != NULL;
	return n;
}

/* ---- properties ---- */

struct space_prop *space_prop(const struct space *s, const struct space_item *item,
                              struct bw_str name)
{
	return (struct space_prop *)find_key(s, item, name, true);
}

struct space_prop *space_prop_make(struct space *s, struct space_item *item, struct bw_str name)
{
	struct space_prop *prop = space_prop(s, item, name);

	if (prop)
		return prop;
	prop = arena_zalloc(s->arena, sizeof(*prop));
	add_key(s, &prop->key, item, name, true);
	prop->next = item->props;
	item->props = prop;
	return prop;
}

/* ---- the log ---- */

bool space_has_room(const struct space *s, unsigned n, size_t octets)
{
	return s->n_changes + n <= CHANGES_MAX && octets <= SPACE_MAX_OCTETS &&
	       s->octets + octets + n * (size_t)CHANGE_OCTETS <= SPACE_MAX_OCTETS;
}

struct space_change *space_log(struct space *s, enum change_kind kind, struct bw_str path,
                               struct bw_str name, size_t octets)
{
	struct space_change *c = arena_zalloc(s->arena, sizeof(*c));

	c->kind = kind;
	c->path = space_dup(s, path);
	c->name = space_dup(s, name);
	STAILQ_INSERT_TAIL(&s->log, c, next);
	s->n_changes++;
	s->octets += CHANGE_OCTETS + path.n + name.n + octets;
	return c;
}

void space_log_of(struct space_item *item, struct space_change *c)
{
	c->of_item = item->changes;
	item->changes = c;
}

static size_t octets_of(const struct space_change *c)
{
	return CHANGE_OCTETS + c->path.n + c->name.n +
	       (c->base == CHANGE_BASE_VALUE ? space_value_size(&c->old) : 0) +
	       (c->set.removed ? 0 : space_value_size(&c->set.value));
}

bool space_void(struct space *s, struct space_item *item)
{
	if (item->copied)
		return !item->changes;
	for (struct space_change *c = item->changes; c; c = c->of_item) {
		c->is_void = true;
		s->n_changes--;
		s->octets -= octets_of(c);
	}
	item->changes = NULL;
	return true;
}
