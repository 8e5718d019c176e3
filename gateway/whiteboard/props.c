/* Arrays of properties. Runs in: anywhere, keeps nothing. Tests: tests/unit/whiteboard/registry_test.c. */
#include "props.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <strings.h>

static size_t text_size(const struct bw_prop *p)
{
	size_t n = strlen(p->name) + 1;

	if (p->type == BW_PROP_STRING)
		n += strlen(p->u.string) + 1;
	else if (p->type == BW_PROP_STRINGS)
		for (size_t i = 0; p->u.strings[i]; i++)
			n += strlen(p->u.strings[i]) + 1;
	return n;
}

static size_t n_pointers(const struct bw_prop *p)
{
	size_t n = 0;

	if (p->type != BW_PROP_STRINGS)
		return 0;
	while (p->u.strings[n])
		n++;
	return n + 1;
}

static const char *put_text(char **at, const char *s)
{
	size_t n = strlen(s) + 1;
	char  *to = memcpy(*at, s, n);

	*at += n;
	return to;
}

/* The block: the array, then the pointers of all lists, then all text. */
struct bw_prop *props_dup(const struct bw_prop *props, size_t n)
{
	size_t          pointers = 0, text = 0;
	struct bw_prop *copy;
	const char    **list;
	char           *at;

	for (size_t i = 0; i < n; i++) {
		pointers += n_pointers(&props[i]);
		text += text_size(&props[i]);
	}
	copy = xmalloc(n * sizeof(*copy) + pointers * sizeof(*list) + text + 1);
	list = (const char **)(copy + n);
	at = (char *)(list + pointers);
	for (size_t i = 0; i < n; i++) {
		copy[i] = props[i];
		copy[i].name = put_text(&at, props[i].name);
		if (props[i].type == BW_PROP_STRING) {
			copy[i].u.string = put_text(&at, props[i].u.string);
		} else if (props[i].type == BW_PROP_STRINGS) {
			copy[i].u.strings = list;
			for (size_t k = 0; props[i].u.strings[k]; k++)
				*list++ = put_text(&at, props[i].u.strings[k]);
			*list++ = NULL;
		}
	}
	return copy;
}

bool props_ok(const struct bw_prop *props, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct bw_prop *p = &props[i];

		if (!p->name || p->type < BW_PROP_STRING || p->type > BW_PROP_BOOL)
			return false;
		if ((p->type == BW_PROP_STRING && !p->u.string) ||
		    (p->type == BW_PROP_STRINGS && !p->u.strings))
			return false;
		for (size_t k = 0; k < i; k++)
			if (strcasecmp(p->name, props[k].name) == 0)
				return false;
	}
	return true;
}

const struct bw_prop *props_find(const struct bw_prop *props, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(props[i].name, name) == 0)
			return &props[i];
	return NULL;
}

static bool same_text(const char *a, const char *b, bool trimmed)
{
	return trimmed ? bw_str_eq(prop_trim(a), prop_trim(b)) : strcmp(a, b) == 0;
}

bool prop_equal(const struct bw_prop *a, const struct bw_prop *b, bool trimmed)
{
	size_t i = 0;

	if (a->type != b->type)
		return false;
	switch (a->type) {
	case BW_PROP_STRING:
		return same_text(a->u.string, b->u.string, trimmed);
	case BW_PROP_STRINGS:
		for (; a->u.strings[i] && b->u.strings[i]; i++)
			if (!same_text(a->u.strings[i], b->u.strings[i], trimmed))
				return false;
		return !a->u.strings[i] && !b->u.strings[i];
	case BW_PROP_INT:
		return a->u.i32 == b->u.i32;
	case BW_PROP_LONG:
		return a->u.i64 == b->u.i64;
	case BW_PROP_BOOL:
		return a->u.b == b->u.b;
	}
	return false;
}

struct bw_str prop_trim(const char *s)
{
	size_t n = strlen(s);

	while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	while (n > 0 && (*s == ' ' || *s == '\t')) {
		s++;
		n--;
	}
	return (struct bw_str){ s, n };
}

bool prop_ldap_value(const struct bw_prop *p, size_t i, struct ldap_value *ret)
{
	if (p->type == BW_PROP_STRINGS) {
		/* i counts up from 0 and stops at the first false, so it never passes the NULL. */
		*ret = (struct ldap_value){ .type = LDAP_STRING, .string = p->u.strings[i] };
		return p->u.strings[i] != NULL;
	}
	if (i > 0)
		return false;
	switch (p->type) {
	case BW_PROP_INT:
		*ret = (struct ldap_value){ .type = LDAP_INTEGER, .integer = p->u.i32 };
		return true;
	case BW_PROP_LONG:
		*ret = (struct ldap_value){ .type = LDAP_INTEGER, .integer = p->u.i64 };
		return true;
	case BW_PROP_BOOL:
		*ret = (struct ldap_value){ .type = LDAP_BOOL, .boolean = p->u.b };
		return true;
	default:
		*ret = (struct ldap_value){ .type = LDAP_STRING, .string = p->u.string };
		return true;
	}
}
