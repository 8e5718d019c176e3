/* restriction.c - restrictions of entries, from the database's JSON to yes or no.
 *
 * An item's text is its node's path, and for a property a slash and its name. Patterns come from
 * whoever edits lists and paths from everybody: matching is linear for one star after the other and
 * never recurses.
 *
 * Owns: nothing; what is parsed lives in the caller's arena. Runs in: repo's loop.
 * Fails with: BW_EIO. Tests: tests/unit/repo/acl_test.c, tests/conformance/acl.rows. */
#include "restriction.h"

#include <boardwalk/err.h>
#include <jansson.h>

#define MAX_ITEM (2048u + 1u + 255u) /* a path, a slash, a name */

/* An item as one restriction looks at it. */
struct view {
	struct bw_str          node; /* of the entry */
	const struct acl_item *item;
	struct bw_str          text; /* of the item */
	struct bw_str          name; /* its last name; size 0: the root */
};

typedef bool holds_fn(const struct view *v, const struct bw_str *values, unsigned n);

struct restriction {
	struct restriction *next; /* names upward */
	const char         *name; /* of kinds[] */
	holds_fn           *holds;
	unsigned            n;
	struct bw_str       values[];
};

static bool is_one_of(struct bw_str s, const struct bw_str *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (bw_str_eq(s, values[i]))
			return true;
	return false;
}

static bool starts_with(struct bw_str s, struct bw_str with)
{
	return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

/* Behind the entry's node; the item is at or below it. */
static struct bw_str rest_of(const struct view *v)
{
	return (struct bw_str){ v->text.p + v->node.n, v->text.n - v->node.n };
}

/* Stars stand for any octets, slashes too. After a mismatch only the last star takes one more. */
static bool star_matches(struct bw_str pattern, struct bw_str text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, taken = 0;

	while (t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			taken = t;
		} else if (p < pattern.n && pattern.p[p] == text.p[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++taken;
		} else
			return false;
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

/* The value is glued to the node's path: without a star that path and all below (only below, if it
 * ends with a slash), with stars the whole text; the empty value is the node alone. */
static bool glob_holds(const struct view *v, struct bw_str value)
{
	struct bw_str rest = rest_of(v);

	if (value.n == 0)
		return rest.n == 0 && v->item->property.p == NULL;
	if (memchr(value.p, '*', value.n) != NULL)
		return star_matches(value, rest);
	if (!starts_with(rest, value))
		return false;
	if (value.p[value.n - 1] == '/')
		return rest.n > value.n;
	return rest.n == value.n || rest.p[value.n] == '/';
}

static bool globs_hold(const struct view *v, const struct bw_str *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (glob_holds(v, values[i]))
			return true;
	return false;
}

/* The type itself: neither sub types nor mixins count. */
static bool nt_names_hold(const struct view *v, const struct bw_str *values, unsigned n)
{
	return v->item->type.p != NULL && is_one_of(v->item->type, values, n);
}

static bool item_names_hold(const struct view *v, const struct bw_str *values, unsigned n)
{
	return v->name.n > 0 && is_one_of(v->name, values, n);
}

static bool prefixes_hold(const struct view *v, const struct bw_str *values, unsigned n)
{
	const char *colon = v->name.n > 0 ? memchr(v->name.p, ':', v->name.n) : NULL;

	return is_one_of(
		(struct bw_str){ v->name.p, colon != NULL ? (size_t)(colon - v->name.p) : 0 },
		values, n);
}

/* The entry's node and those of its properties that are listed. */
static bool current_holds(const struct view *v, const struct bw_str *values, unsigned n)
{
	if (!bw_str_eq(v->item->path, v->node))
		return false;
	return v->item->property.p == NULL || is_one_of(BW_STR("*"), values, n) ||
	       is_one_of(v->item->property, values, n);
}

static bool ends_with(struct bw_str s, struct bw_str with)
{
	return s.n >= with.n && memcmp(s.p + s.n - with.n, with.p, with.n) == 0;
}

/* Behind the node the text ends with the value, or has it before a slash. At the root the slash that
 * a value may begin with is the node's own. */
static bool subtrees_hold(const struct view *v, const struct bw_str *values, unsigned n)
{
	struct bw_str rest = v->node.n == 1 ? v->text : rest_of(v);

	for (unsigned i = 0; i < n; i++) {
		struct bw_str value = values[i];
		const char   *at = rest.p, *end = rest.p + rest.n;
		bool          inside = value.n > 0 && value.p[value.n - 1] == '/';

		if (!inside && ends_with(rest, value))
			return true;
		for (; (at = memmem(at, (size_t)(end - at), value.p, value.n)) != NULL; at++)
			if (inside || (at + value.n < end && at[value.n] == '/'))
				return true;
	}
	return false;
}

static const struct {
	const char *name;
	holds_fn   *holds;
} kinds[] = {
	{ "rep:glob", globs_hold },        { "rep:globs", globs_hold },
	{ "rep:ntNames", nt_names_hold },  { "rep:itemNames", item_names_hold },
	{ "rep:prefixes", prefixes_hold }, { "rep:current", current_holds },
	{ "rep:subtrees", subtrees_hold },
};

/* -1: there is none of that name. */
static int kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int parse_one(const char *name, const json_t *list, struct arena *arena,
                     struct restriction **first)
{
	size_t              n = json_array_size(list);
	int                 kind = kind_of(name);
	struct restriction *r;

	if (!json_is_array(list) || kind < 0)
		return BW_EIO;
	r = arena_alloc(arena, sizeof(*r) + n * sizeof(r->values[0]));
	*r = (struct restriction){ NULL, kinds[kind].name, kinds[kind].holds, (unsigned)n };
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(list, i);

		if (!json_is_string(value))
			return BW_EIO;
		r->values[i].n = json_string_length(value);
		r->values[i].p = arena_dup(arena, json_string_value(value), r->values[i].n);
	}
	while (*first != NULL && strcmp((*first)->name, r->name) < 0)
		first = &(*first)->next;
	r->next = *first;
	*first = r;
	return BW_OK;
}

int restriction_parse(const char *json, size_t n, struct arena *arena,
                      const struct restriction **ret)
{
	json_t             *all = json_loadb(json, n, 0, NULL), *list;
	struct restriction *first = NULL;
	const char         *name;
	int                 err = json_is_object(all) ? BW_OK : BW_EIO;

	json_object_foreach (all, name, list)
		if (err == BW_OK)
			err = parse_one(name, list, arena, &first);
	json_decref(all);
	*ret = first;
	return err;
}

const struct restriction *restriction_read(const struct restriction *r, const char **ret_name,
                                           const struct bw_str **ret_values, unsigned *ret_n)
{
	*ret_name = r->name;
	*ret_values = r->values;
	*ret_n = r->n;
	return r->next;
}

static struct bw_str last_name(struct bw_str text)
{
	const char *slash = memrchr(text.p, '/', text.n);

	return (struct bw_str){ slash + 1, (size_t)(text.p + text.n - slash - 1) };
}

bool restriction_holds(const struct restriction *r, struct bw_str node, const struct acl_item *item)
{
	char        text[MAX_ITEM];
	struct view v = { .node = node, .item = item, .text = item->path };

	if (r == NULL)
		return true;
	if (item->property.p != NULL) {
		size_t n = item->path.n > 1 ? item->path.n : 0;

		if (n + 1 + item->property.n > sizeof(text)) /* such an item cannot be stored */
			return false;
		memcpy(text, item->path.p, n);
		text[n] = '/';
		memcpy(text + n + 1, item->property.p, item->property.n);
		v.text = (struct bw_str){ text, n + 1 + item->property.n };
	}
	v.name = last_name(v.text);
	for (; r != NULL; r = r->next)
		if (!r->holds(&v, r->values, r->n))
			return false;
	return true;
}
