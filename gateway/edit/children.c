/* children.c - the children of a resource through a resolver with pending changes, in their order.
 *
 * A page is put together as it is asked for. Repo lists the stored children; what the space has put
 * before the stored position of one of them comes before it, what has gone or has another place is left
 * out, and behind the last one come those that were put there:
 *
 *    stored    a   b   c   d            b was removed, d ordered before a, n is new
 *    placed  d |                n
 *    shown   d a       c        n
 *
 * A page goes on behind a name: from that name's place, which is either in one of the lists or where repo
 * has it, even if nothing of it is shown there any more.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo. Fails with: as
 * reading does. Tests: tests/unit/gateway/edit_test.c, tests/conformance/resolver. */
#include "look.h"
#include "request.h"

struct listing {
	struct bw_resolver      *r;
	struct bw_str            path;   /* of the parent */
	struct bw_str            stored; /* where repo has it; absent: nowhere */
	const struct space_item *item;   /* NULL: nothing of it is changed */
	struct bw_resource     **children;
	size_t n, max; /* max: one more than asked for tells whether more follow */
};

static bool is_full(const struct listing *l)
{
	return l->n >= l->max;
}

static void show(struct listing *l, struct bw_str name)
{
	l->children[l->n++] = resolver_show(l->r, space_join(&l->r->req->arena, l->path, name));
}

/* Those of a list from this slot on. */
static void show_placed(struct listing *l, const struct space_slot *slot)
{
	for (; slot && !is_full(l); slot = TAILQ_NEXT(slot, place))
		show(l, slot->key.name);
}

/* At the stored position of a child: what was put before it, and itself if it still stands there. */
static void show_position(struct listing *l, const struct bw_resource *stored)
{
	const struct space_slot *slot = NULL;

	if (l->item)
		slot = space_slot(l->r->space, l->item, stored->record.name);
	if (slot)
		show_placed(l, TAILQ_FIRST(&slot->before));
	if ((!slot || (!slot->cut && !slot->in)) && !is_full(l))
		show(l, stored->record.name);
}

/* The stored ones behind that name (absent: from the first), and then those at the end. */
static int show_stored(struct listing *l, struct bw_str after)
{
	struct bw_resource **page;
	size_t               n;
	bool                 more = l->stored.p != NULL;
	int                  err;

	while (more && !is_full(l)) {
		err = resolver_page(l->r, l->stored, after,
		                    l->max < RESOLVER_PAGE ? l->max : RESOLVER_PAGE, &page, &n,
		                    &more);
		if (err != BW_OK)
			return err;
		for (size_t i = 0; i < n && !is_full(l); i++)
			show_position(l, page[i]);
		more = more && n > 0;
		if (n > 0)
			after = page[n - 1]->record.name;
	}
	if (!more && l->item)
		show_placed(l, TAILQ_FIRST(&l->item->last));
	return BW_OK;
}

/* The slot whose list this is, NULL: it is that of the end. */
static const struct space_slot *anchor_of(const struct space_item   *item,
                                          const struct space_places *list)
{
	if (list == &item->last)
		return NULL;
	return (const struct space_slot *)((const char *)list -
	                                   offsetof(struct space_slot, before));
}

/* Behind one that has a place of its own: the rest of its list, then what that list stands before. */
static int show_after_placed(struct listing *l, const struct space_slot *slot)
{
	const struct space_slot *anchor = anchor_of(l->item, slot->in);

	show_placed(l, TAILQ_NEXT(slot, place));
	if (!anchor || is_full(l))
		return BW_OK;
	if (!anchor->cut && !anchor->in)
		show(l, anchor->key.name);
	return is_full(l) ? BW_OK : show_stored(l, anchor->key.name);
}

/* After a refresh a stored child that others stand before may be gone: those come to stand at the
 * end. */
static int check_anchors(struct bw_resolver *r, struct space_item *item)
{
	struct space_slot  *slot, *placed;
	struct bw_resource *stored;
	int                 err;

	TAILQ_FOREACH (slot, &item->slots, next) {
		if (TAILQ_EMPTY(&slot->before))
			continue;
		err = resolver_read(r, space_join(&r->req->arena, item->origin, slot->key.name),
		                    &stored);
		if (err != BW_OK && err != BW_ENOTFOUND)
			return err;
		while (err == BW_ENOTFOUND && (placed = TAILQ_FIRST(&slot->before)) != NULL)
			space_order(item, placed, NULL);
	}
	return BW_OK;
}

static int list(struct listing *l, struct bw_str after)
{
	const struct space_slot *slot = NULL;

	if (l->item && after.p)
		slot = space_slot(l->r->space, l->item, after);
	return slot && slot->in ? show_after_placed(l, slot) : show_stored(l, after);
}

int look_children(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                  struct bw_resource ***ret, size_t *ret_n, bool *ret_more)
{
	struct listing    l = { .r = r, .path = path, .max = max + 1 };
	struct space_spot spot;
	int               err;

	if (!space_find(r->space, path, &spot))
		return BW_ENOTFOUND;
	err = look_at(r, &spot, NULL);
	if (err == BW_OK && spot.item && r->space->unsure)
		err = check_anchors(r, spot.item);
	if (err != BW_OK)
		return err;
	l.stored = spot.stored;
	l.item = spot.item;
	l.children = arena_alloc(&r->req->arena, l.max * sizeof(struct bw_resource *));
	err = list(&l, after);
	if (err != BW_OK)
		return err;
	*ret = l.children;
	*ret_more = l.n > max;
	*ret_n = l.n > max ? max : l.n;
	return BW_OK;
}
