/* children.c - lists the children of a resource that somebody may see, page by page.
 *
 * The pages of the cache hold all children, in their order; what may not be seen is left out here.
 * Whether more follows is said of what may be seen alone: hidden children leave no trace, nor may
 * one be named as the place to go on from.
 * Owns: nothing. Runs in: repo's loop. Fails with: see resource.c.
 * Tests: tests/unit/repo/resource_test.c. */
#include "fetch.h"
#include <base/fatal.h>
#include <wire/record.h>

#define PAGE_OCTETS (WIRE_FRAME_MAX - 64u) /* records of one answer */

static void look_up_scopes(struct resources *r, struct cache_entry *parent, struct cache_page *page)
{
	const struct acl_scope *scope = ask_scope_of(r, parent);

	if (page->acl == acl_loads(r->acl))
		return;
	for (unsigned i = 0; i < page->n + page->more; i++) {
		struct record record;

		if (record_get(page->records + page->at[i], page->at[i + 1] - page->at[i],
		               &record) != BW_OK)
			fatalx("a cached record is malformed");
		page->scopes[i] = acl_scope_of_child(r->acl, scope, record.path);
	}
	page->acl = acl_loads(r->acl);
}

static bool is_readable(struct resources *r, const struct ask *ask, const struct cache_page *page,
                        unsigned i)
{
	return ask_allowed(r, ask, page->scopes[i], page->records + page->at[i],
	                   page->at[i + 1] - page->at[i]) &
	       ACL_READ_NODES;
}

/* Takes the page's readable children. True: the answer is complete. */
static bool take_page(struct resources *r, struct ask *ask, const struct cache_page *page)
{
	for (unsigned i = 0; i < page->n; i++) {
		uint32_t n = page->at[i + 1] - page->at[i];

		if (!is_readable(r, ask, page, i))
			continue;
		if (ask->count == ask->question.max || buf_size(&ask->records) + n > PAGE_OCTETS) {
			ask->more = true;
			return true;
		}
		buf_append(&ask->records, page->records + page->at[i], n);
		ask->count++;
	}
	ask->position = page->last_position;
	ask->id = page->last_id;
	if (page->more && ask->count == ask->question.max && is_readable(r, ask, page, page->n)) {
		ask->more = true;
		return true;
	}
	return !page->more;
}

/* Whether the page is the answer, as it stands: all of it, from the first to the last. */
static bool is_whole(struct resources *r, const struct ask *ask, const struct cache_page *page)
{
	if (ask->count > 0 || page->more || page->n > ask->question.max ||
	    page->at[page->n] > PAGE_OCTETS)
		return false;
	for (unsigned i = 0; i < page->n; i++)
		if (!is_readable(r, ask, page, i))
			return false;
	return true;
}

/* From where to list: behind the child `after`, which must be readable, like the parent. */
static enum ask_step begin(struct resources *r, struct ask *ask)
{
	const struct ask_question *q = &ask->question;
	struct cache_entry        *e;
	struct bw_str              path;

	if (ask->begun)
		return ASK_GO_ON;
	if (q->after.p == NULL) {
		ask->begun = true;
		ask->position = INT64_MIN; /* who was put before the first one is below 0 */
		return ASK_GO_ON;
	}
	if (q->after.n == 0 || q->after.n > ASK_MAX_NAME ||
	    memchr(q->after.p, '/', q->after.n) != NULL)
		return ask_fail(r, ask, BW_ENOTFOUND);
	buf_clear(&r->scratch);
	buf_append(&r->scratch, q->path.p, q->path.n > 1 ? q->path.n : 0);
	buf_append(&r->scratch, "/", 1);
	buf_append(&r->scratch, q->after.p, q->after.n);
	path = (struct bw_str){ (char *)buf_data(&r->scratch), buf_size(&r->scratch) };
	if (ask_need(r, ask, path, &e) == ASK_OVER)
		return ASK_OVER;
	if (e == NULL || ask_look(r, ask, e) == 0)
		return ask_fail(r, ask, BW_ENOTFOUND);
	ask->begun = true;
	ask->position = e->position;
	ask->id = e->id;
	return ASK_GO_ON;
}

enum ask_step ask_children(struct resources *r, struct ask *ask)
{
	struct cache_entry *parent;
	struct cache_page  *page;
	struct fetch       *f;
	int                 err;

	if (ask_need(r, ask, ask->question.path, &parent) == ASK_OVER)
		return ASK_OVER;
	if (parent == NULL || ask_look(r, ask, parent) == 0)
		return ask_fail(r, ask, BW_ENOTFOUND);
	if (begin(r, ask) == ASK_OVER)
		return ASK_OVER;
	for (;;) {
		page = cache_find_page(parent, ask->position, ask->id);
		if (page == NULL || page->types != type_loads(r->types))
			break;
		look_up_scopes(r, parent, page);
		if (is_whole(r, ask, page))
			return ask_answer_page(r, ask, page->n, false, page->records,
			                       page->at[page->n]);
		if (take_page(r, ask, page))
			return ask_answer_page(r, ask, ask->count, ask->more,
			                       buf_data(&ask->records), buf_size(&ask->records));
	}
	f = fetch_of(parent, true, ask->position, ask->id);
	if (f == NULL && (err = fetch_page(r, parent, ask->position, ask->id, &f)) != BW_OK)
		return ask_fail(r, ask, err);
	return ask_wait(r, ask, f);
}
