/* acl_reference.c - see acl_reference.h. */
#include "acl_reference.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_in(const char *name, const char *const *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static bool is_member(const char *name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
	size_t n = strlen(text), k = strlen(with);

	return n >= k && strcmp(text + n - k, with) == 0;
}

static bool is_at_or_below(const char *path, const char *node)
{
	char below[REFERENCE_TEXT + 2];

	snprintf(below, sizeof(below), "%s/", strcmp(node, "/") == 0 ? "" : node);
	return strcmp(path, node) == 0 || starts(path, below);
}

/* ---- restrictions ---- */

/* Whether the pattern's first p octets match the text's first t: all answers of shorter ones first. */
static bool stars_match(const char *pattern, const char *text)
{
	static bool match[2 * REFERENCE_TEXT][2 * REFERENCE_TEXT];
	size_t      n = strlen(pattern), m = strlen(text);

	cr_assert(n < 2 * REFERENCE_TEXT && m < 2 * REFERENCE_TEXT);
	for (size_t p = 0; p <= n; p++)
		for (size_t t = 0; t <= m; t++)
			match[p][t] = p == 0 ? t == 0
			              : pattern[p - 1] == '*'
			                      ? match[p - 1][t] || (t > 0 && match[p][t - 1])
			                      : t > 0 && pattern[p - 1] == text[t - 1] &&
			                                match[p - 1][t - 1];
	return match[n][m];
}

static bool glob_holds(const char *node, const char *value, const char *text, bool property)
{
	char whole[2 * REFERENCE_TEXT], below[2 * REFERENCE_TEXT + 1];

	if (*value == '\0')
		return !property && strcmp(text, node) == 0;
	snprintf(whole, sizeof(whole), "%s%s", node, value);
	if (strchr(value, '*') != NULL)
		return stars_match(whole, text);
	if (ends(value, "/"))
		return starts(text, whole) && strcmp(text, whole) != 0;
	snprintf(below, sizeof(below), "%s/", whole);
	return strcmp(text, whole) == 0 || starts(text, below);
}

static bool subtree_holds(const char *node, const char *value, const char *text)
{
	const char *rest = text + (strcmp(node, "/") == 0 ? 0 : strlen(node));
	char        inside[REFERENCE_TEXT];

	snprintf(inside, sizeof(inside), "%s%s", value, ends(value, "/") ? "" : "/");
	return strstr(rest, inside) != NULL || (!ends(value, "/") && ends(rest, value));
}

static const char *prefix_of(const char *name, char *room, size_t n)
{
	const char *colon = strchr(name, ':');

	snprintf(room, n, "%.*s", colon != NULL ? (int)(colon - name) : 0, name);
	return room;
}

static bool restriction_of(const struct reference_entry *e, unsigned kind,
                           const struct reference_item *item, const char *text)
{
	const char *const *values = e->values[kind];
	unsigned           n = e->n_values[kind];
	const char        *name = strrchr(text, '/') + 1;
	char               room[REFERENCE_TEXT];

	switch (kind) {
	case GLOB:
	case GLOBS:
		for (unsigned i = 0; i < n; i++)
			if (glob_holds(e->node, values[i], text, item->property != NULL))
				return true;
		return false;
	case NT_NAMES:
		return item->type != NULL && is_in(item->type, values, n);
	case ITEM_NAMES:
		return *name != '\0' && is_in(name, values, n);
	case PREFIXES:
		return is_in(prefix_of(name, room, sizeof(room)), values, n);
	case CURRENT:
		return strcmp(item->node, e->node) == 0 &&
		       (item->property == NULL || is_in("*", values, n) ||
		        is_in(item->property, values, n));
	default:
		for (unsigned i = 0; i < n; i++)
			if (subtree_holds(e->node, values[i], text))
				return true;
		return false;
	}
}

static bool restrictions_hold(const struct reference_entry *e, const struct reference_item *item)
{
	char text[2 * REFERENCE_TEXT];

	for (unsigned kind = 0; kind < KINDS; kind++) {
		if (!e->restricted[kind])
			continue;
		if (item == NULL) /* none ever holds for the whole repository */
			return false;
		snprintf(text, sizeof(text), "%s%s%s",
		         item->property != NULL && strcmp(item->node, "/") == 0 ? "" : item->node,
		         item->property != NULL ? "/" : "",
		         item->property != NULL ? item->property : "");
		if (!restriction_of(e, kind, item, text))
			return false;
	}
	return true;
}

/* ---- evaluation ---- */

/* 2: the principal is a user of the session; 1: a group; 0: neither. */
static int class_of(const struct reference *r, const char *principal)
{
	if (is_member(principal, r->users) || is_member(principal, r->services))
		return 2;
	return is_member(principal, r->groups) ? 1 : 0;
}

/* Nobody but service users whose own lists count. */
static bool is_own_session(const struct reference *r)
{
	if (*r->users != NULL || *r->groups != NULL || *r->services == NULL)
		return false;
	for (const char *const *s = r->services; *s != NULL; s++)
		if (!is_member(*s, r->own_lists))
			return false;
	return true;
}

static bool bears_on(const struct reference *r, const struct reference_entry *e,
                     const struct reference_item *item)
{
	if (e->own != is_own_session(r) || class_of(r, e->principal) == 0)
		return false;
	if (item == NULL ? e->node[0] != '\0'
	                 : e->node[0] == '\0' || !is_at_or_below(item->node, e->node))
		return false;
	return restrictions_hold(e, item);
}

/* Users before groups, the deeper node before the higher, the later entry before the earlier. */
static bool goes_before(const struct reference *r, const struct reference_entry *a,
                        const struct reference_entry *b)
{
	int x = class_of(r, a->principal), y = class_of(r, b->principal);

	if (x != y)
		return x > y;
	if (strlen(a->node) != strlen(b->node))
		return strlen(a->node) > strlen(b->node);
	return a > b;
}

bool reference_has(const struct reference *r, const struct reference_item *item, const char *leaf)
{
	const struct reference_entry *first = NULL;

	for (unsigned i = 0; i < r->n; i++) {
		const struct reference_entry *e = &r->entries[i];

		if ((e->all || is_in(leaf, e->privileges, e->n_privileges)) &&
		    bears_on(r, e, item) && (first == NULL || goes_before(r, e, first)))
			first = e;
	}
	return first != NULL && first->allow;
}

void reference_move(struct reference *r, const char *from, const char *to)
{
	char     path[2 * REFERENCE_TEXT];
	unsigned kept = 0;

	for (unsigned i = 0; i < r->n; i++) {
		struct reference_entry *e = &r->entries[i];

		if (!e->own && is_at_or_below(e->node, from)) {
			if (to == NULL)
				continue;
			snprintf(path, sizeof(path), "%s%s", to, e->node + strlen(from));
			cr_assert(strlen(path) < sizeof(e->node));
			strcpy(e->node, path);
		}
		r->entries[kept++] = *e;
	}
	r->n = kept;
}
