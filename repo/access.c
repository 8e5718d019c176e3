/* access.c - what somebody may do on a node, and the node's own list of entries.
 *
 * Both are answered from the entries in memory. A list is told as the changes that would make it.
 * Owns: nothing. Runs in: repo's loop. Fails with: see resource.c; BW_EFORBIDDEN, BW_EINVAL,
 * BW_ETOOBIG. Tests: tests/unit/repo/list_test.c. */
#include "fetch.h"
#include <base/fatal.h>
#include <wire/changes.h>
#include <wire/record.h>

#define ENTRIES_OCTETS (WIRE_FRAME_MAX - 64u)

/* GO_ON: the node is there and may be seen; all bits that the bearer has on it. */
static enum ask_step find(struct resources *r, struct ask *ask, struct cache_entry **ret,
                          uint64_t *ret_allowed)
{
	if (ask_need(r, ask, ask->question.path, ret) == ASK_OVER)
		return ASK_OVER;
	*ret_allowed = *ret != NULL ? ask_look(r, ask, *ret) : 0;
	return *ret_allowed != 0 ? ASK_GO_ON : ask_fail(r, ask, BW_ENOTFOUND);
}

/* ---- ACCESS_ASK ---- */

/* The repository itself, which is no node and is seen by everybody. */
static bool is_repository(const struct ask *ask)
{
	return bw_str_eq(ask->question.path, BW_STR(":repository"));
}

static void put_name(struct buf *out, struct bw_str name)
{
	if (buf_size(out) > 0)
		buf_append(out, " ", 1);
	buf_append(out, name.p, name.n);
}

/* False: one of the names means nothing. */
static bool names_bits(const struct privileges *p, struct bw_str names, uint64_t *ret)
{
	*ret = 0;
	while (names.n > 0) {
		const char   *blank = memchr(names.p, ' ', names.n);
		struct bw_str name = { names.p,
			               blank != NULL ? (size_t)(blank - names.p) : names.n };
		uint64_t      bits = privilege_bits(p, name);

		if (bits == 0)
			return false;
		*ret |= bits;
		names.p += name.n + (blank != NULL);
		names.n -= name.n + (blank != NULL);
	}
	return true;
}

enum ask_step ask_granted(struct resources *r, struct ask *ask)
{
	const struct privileges *p = acl_privileges(r->acl);
	Bw__Wire__AccessGranted  m = BW__WIRE__ACCESS_GRANTED__INIT;
	struct cache_entry      *e;
	uint64_t                 allowed, wanted;

	if (is_repository(ask))
		allowed = acl_allowed(r->acl, acl_scope_at(r->acl, BW_STR("")), ask->question.who);
	else if (find(r, ask, &e, &allowed) == ASK_OVER)
		return ASK_OVER;
	if (!names_bits(p, ask->question.after, &wanted))
		return ask_fail(r, ask, BW_EINVAL);
	buf_clear(&r->scratch);
	if (allowed == ACL_ALL)
		put_name(&r->scratch, BW_STR("jcr:all"));
	for (unsigned bit = 0; allowed != ACL_ALL && bit < PRIVILEGE_MAX; bit++)
		if (allowed >> bit & 1 && privilege_leaf(p, bit).p != NULL)
			put_name(&r->scratch, privilege_leaf(p, bit));
	m.all = (allowed & wanted) == wanted;
	m.privileges = (ProtobufCBinaryData){ buf_size(&r->scratch), buf_data(&r->scratch) };
	wire_answer(ask->asker->chan, &ask->question.q, r->types_counter, r->acl_counter, &m.base);
	ask_end(r, ask);
	return ASK_OVER;
}

/* ---- ACCESS_LIST ---- */

static void put_privileges(struct buf *out, const struct privileges *p,
                           const struct acl_entry *entry)
{
	struct bw_str      names[PRIVILEGE_MAX];
	struct change_text text = { BW_VALUE_STRING, true, 0, names };

	if (entry->privileges == ACL_ALL)
		names[text.n++] = BW_STR("jcr:all");
	for (unsigned bit = 0; entry->privileges != ACL_ALL && bit < PRIVILEGE_MAX; bit++)
		if (entry->privileges >> bit & 1 && privilege_leaf(p, bit).p != NULL)
			names[text.n++] = privilege_leaf(p, bit);
	change_put_entry(out, entry->allow, &text);
}

static void put_entry(struct resources *r, size_t list, const struct ask *ask,
                      const struct acl_entry *entry, struct bw_str principal)
{
	const struct restriction *limit = entry->restriction;
	struct buf               *out = &r->scratch;
	size_t at = change_begin(out, CHANGE_ACE_ADD, 0, ask->question.path, principal);

	put_privileges(out, acl_privileges(r->acl), entry);
	while (limit != NULL) {
		struct change_text text = { BW_VALUE_STRING, true, 0, NULL };
		const char        *name;

		limit = restriction_read(limit, &name, &text.values, &text.n);
		change_put_prop(out, at, bw_str(name), &text);
	}
	change_end(out, list, at);
}

/* How many. */
static unsigned put_entries(struct resources *r, const struct ask *ask)
{
	const struct acl_scope *scope = acl_scope_at(r->acl, ask->question.path);
	const struct acl_entry *entry;
	struct bw_str           principal;
	unsigned                i = 0, n = 0;
	size_t                  list;

	buf_clear(&r->scratch);
	if (scope == NULL)
		return 0;
	list = changes_begin(&r->scratch);
	for (; acl_list_entry(scope, &i, &entry, &principal); n++)
		put_entry(r, list, ask, entry, principal);
	changes_end(&r->scratch, list);
	if (n == 0)
		buf_clear(&r->scratch);
	return n;
}

enum ask_step ask_list(struct resources *r, struct ask *ask)
{
	Bw__Wire__AccessEntries m = BW__WIRE__ACCESS_ENTRIES__INIT;
	struct cache_entry     *e;
	uint64_t                allowed;

	if (find(r, ask, &e, &allowed) == ASK_OVER)
		return ASK_OVER;
	if (!(allowed & ACL_READ_ACL))
		return ask_fail(r, ask, BW_EFORBIDDEN);
	m.count = put_entries(r, ask);
	if (buf_size(&r->scratch) > ENTRIES_OCTETS || m.count > CHANGES_MAX)
		return ask_fail(r, ask, BW_ETOOBIG);
	m.entries = (ProtobufCBinaryData){ buf_size(&r->scratch), buf_data(&r->scratch) };
	wire_answer(ask->asker->chan, &ask->question.q, r->types_counter, r->acl_counter, &m.base);
	ask_end(r, ask);
	return ASK_OVER;
}
