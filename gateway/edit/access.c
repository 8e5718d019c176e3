/* access.c - include/boardwalk/acl.h: what is granted, and lists of entries.
 *
 * Changes of lists are pending like others, in the log of the space; they touch no item of it. Reading
 * goes to repo, for what is stored at the place.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo. Fails with:
 * BW_EINVAL, BW_ENOTFOUND, BW_EFORBIDDEN, BW_ETOOBIG. Tests: tests/conformance/resolver/access.rows. */
#include "edit.h"
#include "peers/ask.h"
#include "request.h"
#include <boardwalk/acl.h>
#include <wire/cursor.h>

/* Where what is at path is stored. */
static int find_stored(struct bw_resolver *r, struct bw_str path, struct bw_str *ret)
{
	struct space_spot spot;
	int               err = edit_begin(r);

	if (err != BW_OK)
		return err;
	if (!resolver_is_canonical(path))
		return edit_fail(r, BW_EINVAL, path, "not an absolute path");
	*ret = path;
	if (r->space == NULL)
		return BW_OK;
	*ret = space_find(r->space, path, &spot) ? spot.stored : BW_ABSENT;
	return ret->p != NULL ? BW_OK : BW_ENOTFOUND;
}

/* ---- what is granted ---- */

static struct bw_str join(struct arena *a, const struct bw_str *names, size_t n)
{
	size_t size = 0, at = 0;
	char  *text;

	for (size_t i = 0; i < n; i++)
		size += names[i].n + 1;
	text = arena_alloc(a, size + 1);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			text[at++] = ' ';
		memcpy(text + at, names[i].p, names[i].n);
		at += names[i].n;
	}
	return (struct bw_str){ text, at };
}

static const struct bw_str *split(struct arena *a, struct bw_str text, size_t *ret_n)
{
	size_t         n = text.n > 0, at = 0;
	struct bw_str *names;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == ' ';
	names = arena_alloc(a, (n + 1) * sizeof(*names));
	for (size_t i = 0; i < n; i++) {
		const char *blank = memchr(text.p + at, ' ', text.n - at);
		size_t      size = blank != NULL ? (size_t)(blank - text.p) - at : text.n - at;

		names[i] = (struct bw_str){ arena_dup(a, text.p + at, size), size };
		at += size + 1;
	}
	*ret_n = n;
	return names;
}

static int granted(struct bw_resolver *r, struct bw_str path, const struct bw_str *names, size_t n,
                   bool *ret_all, const struct bw_str **ret, size_t *ret_n)
{
	struct arena *a = &r->req->arena;
	struct bw_str stored = BW_STR(":repository"), all;
	int           err = path.p != NULL ? find_stored(r, path, &stored) : edit_begin(r);

	for (size_t i = 0; err == BW_OK && i < n; i++)
		if (names[i].n == 0 || memchr(names[i].p, ' ', names[i].n) != NULL)
			err = edit_fail(r, BW_EINVAL, path, "\"%.*s\" is not a privilege",
			                EDIT_TEXT(names[i]));
	if (err == BW_OK)
		err = ask_access_granted(r, stored, join(a, names, n), ret_all, &all);
	if (err == BW_OK)
		*ret = split(a, all, ret_n);
	return err;
}

/* ---- reading a list ---- */

static const struct bw_str *texts(struct arena *a, const struct change_value *v)
{
	struct bw_str *ret = arena_alloc(a, (v->n + 1) * sizeof(*ret));
	const uint8_t *at = v->at;

	for (unsigned i = 0; i < v->n; i++)
		ret[i] = change_next_str(&at);
	return ret;
}

static void entry_of(struct arena *a, const struct change *ch, struct bw_entry *ret)
{
	struct bw_restriction *limits = arena_alloc(a, (ch->n_props + 1) * sizeof(*limits));
	const uint8_t         *at = ch->props;
	struct change_value    value;

	for (unsigned i = 0; i < ch->n_props; i++) {
		change_next_prop(&at, &limits[i].name, &value);
		limits[i].values = texts(a, &value);
		limits[i].n_values = value.n;
	}
	*ret = (struct bw_entry){ ch->name,    ch->allow, texts(a, &ch->value),
		                  ch->value.n, limits,    ch->n_props };
}

static int entries(struct bw_resolver *r, struct bw_str path, const struct bw_entry **ret,
                   size_t *ret_n)
{
	struct arena    *a = &r->req->arena;
	struct bw_entry *list;
	struct changes   changes;
	struct change    ch;
	struct bw_str    stored;
	size_t           at = 0, n = 0;
	int              err = find_stored(r, path, &stored);

	if (err == BW_OK)
		err = ask_access_list(r, stored, &changes);
	if (err != BW_OK)
		return err;
	list = arena_alloc(a, (changes.n + 1) * sizeof(*list));
	while (n < changes.n && changes_next(&changes, &at, &ch))
		entry_of(a, &ch, &list[n++]);
	*ret = list;
	*ret_n = n;
	return BW_OK;
}

/* ---- changing one ---- */

/* The restrictions of an entry into its change, by name. */
static void put_limits(struct space *s, struct space_change *c, const struct bw_entry *entry)
{
	for (size_t i = 0; i < entry->n_restrictions; i++) {
		const struct bw_restriction *limit = &entry->restrictions[i];
		struct change_text  value = { BW_VALUE_STRING, true, (unsigned)limit->n_values,
			                      limit->values };
		struct space_value *v = arena_zalloc(s->arena, sizeof(*v)), **place = &c->props;

		while (*place != NULL && str_compare((*place)->name, limit->name) < 0)
			place = &(*place)->next;
		v->name = space_dup(s, limit->name);
		space_value_copy(s, &value, &v->value);
		v->next = *place;
		*place = v;
		c->n_props++;
	}
}

/* BW_EINVAL: no builder could write it. *ret_octets: beside path and name. */
static int check(struct bw_resolver *r, struct bw_str path, const struct bw_entry *entry,
                 size_t *ret_octets)
{
	struct change_text text = { BW_VALUE_STRING, true, (unsigned)entry->n_privileges,
		                    entry->privileges };

	if (entry->principal.n == 0)
		return edit_fail(r, BW_EINVAL, path, "an entry is somebody's");
	if (entry->n_privileges > SPACE_MAX_VALUES || entry->n_restrictions > SPACE_MAX_VALUES)
		return edit_fail(r, BW_ETOOBIG, path, "too many privileges or restrictions");
	*ret_octets = space_value_size(&text);
	for (size_t i = 0; i < entry->n_restrictions; i++) {
		const struct bw_restriction *limit = &entry->restrictions[i];

		for (size_t k = 0; k < i; k++)
			if (bw_str_eq(entry->restrictions[k].name, limit->name))
				return edit_fail(r, BW_EINVAL, path, "\"%.*s\" a second time",
				                 EDIT_TEXT(limit->name));
		if (limit->name.n == 0 || limit->n_values > SPACE_MAX_VALUES)
			return edit_fail(r, BW_EINVAL, path, "not a restriction");
		text = (struct change_text){ BW_VALUE_STRING, true, (unsigned)limit->n_values,
			                     limit->values };
		*ret_octets += limit->name.n + space_value_size(&text);
	}
	return BW_OK;
}

static int find(struct bw_resolver *r, struct bw_str path, size_t octets, struct edit_node *ret)
{
	int err = edit_find(r, path, ret);

	return err == BW_OK ? edit_room(r, 1, path, path.n + octets) : err;
}

static int change(struct bw_resolver *r, struct bw_str path, const struct bw_entry *entry, bool add)
{
	struct edit_node     node;
	struct space_change *c;
	size_t               octets = 0;
	int                  err = edit_begin(r);

	if (err == BW_OK)
		err = check(r, path, entry, &octets);
	if (err == BW_OK)
		err = find(r, path, entry->principal.n + octets, &node);
	if (err != BW_OK)
		return err;
	c = space_log(r->space, add ? CHANGE_ACE_ADD : CHANGE_ACE_REMOVE, path, entry->principal,
	              octets);
	c->version = edit_version(&node);
	c->allow = entry->allow;
	space_value_copy(r->space,
	                 &(struct change_text){ BW_VALUE_STRING, true,
	                                        (unsigned)entry->n_privileges, entry->privileges },
	                 &c->set.value);
	put_limits(r->space, c, entry);
	return BW_OK;
}

static int clear(struct bw_resolver *r, struct bw_str path, struct bw_str principal)
{
	struct edit_node node;
	int              err = edit_begin(r);

	if (err == BW_OK)
		err = find(r, path, principal.n, &node);
	if (err == BW_OK)
		space_log(r->space, CHANGE_ACL_CLEAR, path, principal, 0)->version =
			edit_version(&node);
	return err;
}

const struct bw_access resolver_access = {
	.size = sizeof(resolver_access),
	.granted = granted,
	.entries = entries,
	.change = change,
	.clear = clear,
};
