/* space.h - the transient space: what one resolver is about to change, and how its tree looks then.
 *
 * Two views of the same changes. The log has them in order, as RESOURCE_COMMIT will carry them. The
 * tree has the places that they touch and the way there, as an overlay over what repo has stored:
 *
 *    item    a node as the resolver sees it: where its content is stored (origin), which properties
 *            are other than there, its slots
 *    slot    a name below an item. The item there; or, without one, the stored child of that name
 *            (untouched), or nothing (cut)
 *
 * A move carries an item with all that hangs on it to another slot; its origin stays, so whatever is
 * below it and not touched is still read from where repo has it. A copy is a second item with the same
 * origin. Nothing is ever undone one by one: revert drops the whole space.
 *
 * Order: what has a place of its own (new, moved here, ordered) stands in a list, either behind all
 * stored children or before the stored position of one of them; the others come as repo lists them.
 *
 * All of it is in an arena of its own, so that a servlet that commits again and again takes no more memory
 * than its largest commit: what a reader is given of it is a copy in the request's. */
#pragma once
#include <base/arena.h>
#include <boardwalk/edit.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <wire/changes.h>

#define SPACE_MAX_OCTETS ((size_t)4 * 1024 * 1024)
#define SPACE_MAX_PATH   2048u
#define SPACE_MAX_VALUES 65535u

/* A property of a change: what it is to be. */
struct space_value {
	struct space_value *next; /* of the same CREATE */
	struct bw_str       name;
	bool                removed;
	struct change_text  value;
};

struct space_change {
	STAILQ_ENTRY(space_change) next;
	/* Another change of the same item, not of its place. */
	struct space_change *of_item;
	bool                 is_void; /* the item is removed later on: it is not sent */
	enum change_kind     kind;    /* SET also stands for UNSET: the value says which */
	uint64_t             version;
	struct bw_str        path, name;
	enum change_base     base;     /* SET */
	struct change_text   old;      /* SET, if base is CHANGE_BASE_VALUE */
	struct bw_str        old_type; /* SET_TYPE */
	struct space_value   set;      /* SET; its value also: privileges of an entry */
	bool                 allow;    /* ACE_ADD, ACE_REMOVE */
	struct space_value  *props;    /* CREATE, unsorted; restrictions of an entry, sorted */
	unsigned             n_props;
	const struct bw_str *mixins; /* CREATE */
	unsigned             n_mixins;
};

/* What is found by its owner, an item, and its name: slots and properties. */
struct space_key {
	struct space_key *next; /* in the bucket */
	const void       *owner;
	struct bw_str     name;
	bool              is_property;
};

struct space_prop {
	struct space_key   key;
	struct space_prop *next; /* of the item */
	bool               removed;
	struct change_text value;
	/* The change that made it so; a later one amends it. NULL: somebody has copied that change's
	 * outcome, so a later one stands for itself. */
	struct space_value *amend;
};

TAILQ_HEAD(space_places, space_slot);

struct space_slot {
	struct space_key key; /* owner: the item it is below */
	TAILQ_ENTRY(space_slot) next;
	struct space_item   *item;
	bool                 cut;
	struct space_places *in; /* the list it is placed in; NULL: it stands where repo lists it */
	TAILQ_ENTRY(space_slot) place;
	struct space_places before; /* what is placed before the stored position of this name */
};

struct space_item {
	struct space_slot *at;     /* NULL: the root, or not in the tree any more */
	struct bw_str      origin; /* where it is stored; absent: nowhere */
	/* Made by this space, by a create or a copy, or below such a one: what others change in its
	 * origin is no conflict. */
	bool fresh;
	bool copied; /* somebody has copied what its changes made */
	/* Its changes, the last one first; repo gives it another version for each of them. */
	struct space_change *changes;
	/* The change that made it, which may still be amended; NULL: there is none. */
	struct space_change *create;
	struct bw_str        type; /* primary type, if it is another one; else absent */
	struct space_prop   *props;
	TAILQ_HEAD(, space_slot) slots;
	struct space_places last;
};

struct space {
	struct arena      *arena; /* its own */
	struct arena       own;
	struct space_item  root;
	struct space_key **buckets;
	unsigned           n_keys, n_buckets; /* n_buckets: a power of two */
	STAILQ_HEAD(, space_change) log;
	unsigned n_changes;
	size_t   octets;
	bool unsure; /* since the last refresh a stored child that others are placed before may be gone */
};

/* In the request's arena a, and ends with it. */
struct space *space_new(struct arena *a);
/* Nothing is pending any more; nothing that was in it may be looked at. */
void space_clear(struct space *s);

/* ---- places ---- */

struct space_spot {
	struct space_item *item;   /* NULL: nothing touches this node itself */
	struct bw_str      stored; /* where to read it; absent: it is not stored at all */
	bool               fresh;
};

/* Where the node at a canonical path is. False: there is none in this space, whatever is stored. That
 * a stored one exists has to be asked of repo. */
bool space_find(const struct space *s, struct bw_str path, struct space_spot *ret);
/* The same for a child of item. */
bool space_find_child(const struct space *s, const struct space_item *item, struct bw_str name,
                      struct space_spot *ret);
/* The item at a path that space_find has found; made if there was none. */
struct space_item *space_touch(struct space *s, struct bw_str path);
/* NULL: none. */
struct space_slot *space_slot(const struct space *s, const struct space_item *item,
                              struct bw_str name);
struct space_slot *space_slot_make(struct space *s, struct space_item *item, struct bw_str name);
/* Nothing is there any more. */
void space_cut(struct space_slot *slot);
/* The item comes to stand in that slot, which is empty, behind all others. */
void space_put(struct space_slot *slot, struct space_item *item, struct space_item *parent);
/* An item that is stored nowhere. */
struct space_item *space_item_new(struct space *s);
/* A second one with the same content; what made the first one so is not amended any more. */
struct space_item *space_item_copy(struct space *s, struct space_item *item);
/* Items in item and below, itself included; counting ends above most. */
unsigned space_count(const struct space_item *item, unsigned most);
/* slot, a child of parent, goes before next, another one; NULL: behind all. */
void space_order(struct space_item *parent, struct space_slot *slot, struct space_slot *next);

/* ---- properties ---- */

/* NULL: as it is stored. */
struct space_prop *space_prop(const struct space *s, const struct space_item *item,
                              struct bw_str name);
struct space_prop *space_prop_make(struct space *s, struct space_item *item, struct bw_str name);

/* ---- the log ---- */

/* Whether there is room for so many more changes with so many octets. */
bool space_has_room(const struct space *s, unsigned n, size_t octets);
/* A change at the end of the log, counted with octets of values beside its path and name. Both are
 * copied, and everything else is cleared. */
struct space_change *space_log(struct space *s, enum change_kind kind, struct bw_str path,
                               struct bw_str name, size_t octets);

/* c is a change of item alone. */
void space_log_of(struct space_item *item, struct space_change *c);
/* The item is to be removed: what was to change in it need not be. False: there is such a change, and it
 * has to stay, for somebody has copied what it made. */
bool space_void(struct space *s, struct space_item *item);

struct bw_str space_dup(struct space *s, struct bw_str text);
/* folder/name. */
struct bw_str space_join(struct arena *a, struct bw_str folder, struct bw_str name);
size_t        space_value_size(const struct change_text *v);
void space_value_copy(struct space *s, const struct change_text *v, struct change_text *ret);
bool space_value_eq(const struct change_text *a, const struct change_text *b);
