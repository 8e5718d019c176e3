/* Named values. There are few of them, and each look-up is one of a servlet's own: a list will do.
 *
 * Owns: the entries and their values. Runs in: the worker's thread. Fails with: nothing.
 * Tests: tests/unit/gateway/value_test.c. */
#include "attrs.h"

#include <base/fatal.h>
#include <stdlib.h>

/* The link that leads to the entry, or the one behind the last. */
static struct attrs_entry **find(struct attrs *a, const char *name)
{
	struct attrs_entry **at = &a->first;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

const struct bw_value *attrs_find(const struct attrs *a, const char *name)
{
	for (const struct attrs_entry *e = a->first; e; e = e->next)
		if (strcmp(e->name, name) == 0)
			return e->value;
	return NULL;
}

struct bw_str attrs_name(const struct attrs *a, size_t i)
{
	const struct attrs_entry *e = a->first;

	while (e && i-- > 0)
		e = e->next;
	return e ? (struct bw_str){ e->name, e->n } : BW_ABSENT;
}

static struct attrs_entry *entry_new(const char *name)
{
	size_t              n = strlen(name);
	struct attrs_entry *e = xmalloc(sizeof(*e) + n + 1);

	e->next = NULL;
	e->value = NULL;
	e->n = n;
	memcpy(e->name, name, n + 1);
	return e;
}

void attrs_set(struct attrs *a, const char *name, const struct bw_value *value,
               struct bw_value **ret_old)
{
	struct attrs_entry **at = find(a, name), *e = *at;

	*ret_old = e ? e->value : NULL;
	if (value && value->type != 0) {
		if (!e)
			e = *at = entry_new(name);
		e->value = value_dup(value);
	} else if (e) {
		*at = e->next;
		free(e);
	}
}

void attrs_done(struct attrs *a)
{
	while (a->first) {
		struct attrs_entry *e = a->first;

		a->first = e->next;
		free(e->value);
		free(e);
	}
}
