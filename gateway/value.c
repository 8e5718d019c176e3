/* Plain data: is it well formed, and its copies.
 *
 * Runs in: anywhere, keeps nothing. Fails with: nothing. Tests: tests/unit/gateway/value_test.c. */
#include "value.h"

#include <base/fatal.h>

static size_t item_size(const struct bw_value *v)
{
	switch (v->type) {
	case BW_VALUE_STRING:
		return sizeof(struct bw_str);
	case BW_VALUE_LONG:
		return sizeof(int64_t);
	case BW_VALUE_DOUBLE:
		return sizeof(double);
	case BW_VALUE_BOOLEAN:
		return sizeof(bool);
	default:
		return 0; /* a type of the repository alone */
	}
}

bool value_ok(const struct bw_value *v)
{
	if (item_size(v) == 0)
		return false;
	if (!v->is_list)
		return v->type != BW_VALUE_STRING || v->u.string.p;
	if (v->n > 0 && !v->u.strings)
		return false;
	for (size_t i = 0; v->type == BW_VALUE_STRING && i < v->n; i++)
		if (!v->u.strings[i].p)
			return false;
	return true;
}

size_t value_size(const struct bw_value *v)
{
	size_t size = v->is_list ? v->n * item_size(v) : 0;

	if (v->type != BW_VALUE_STRING)
		return size;
	if (!v->is_list)
		return v->u.string.n + 1;
	for (size_t i = 0; i < v->n; i++)
		size += v->u.strings[i].n + 1;
	return size;
}

static struct bw_str put_text(char **at, struct bw_str s)
{
	char *to = *at;

	memcpy(to, s.p, s.n);
	to[s.n] = '\0';
	*at += s.n + 1;
	return (struct bw_str){ to, s.n };
}

void value_copy(const struct bw_value *v, struct bw_value *ret, void *mem)
{
	struct bw_str *strings = mem;
	char          *text = mem;

	*ret = *v;
	if (!v->is_list) {
		if (v->type == BW_VALUE_STRING)
			ret->u.string = put_text(&text, v->u.string);
		return;
	}
	ret->u.strings = mem; /* whichever of the lists it is */
	if (v->type != BW_VALUE_STRING) {
		if (v->n > 0)
			memcpy(mem, v->u.i64s, v->n * item_size(v));
		return;
	}
	text = (char *)(strings + v->n);
	for (size_t i = 0; i < v->n; i++)
		strings[i] = put_text(&text, v->u.strings[i]);
}

struct bw_value *value_dup(const struct bw_value *v)
{
	struct bw_value *copy = xmalloc(sizeof(*copy) + value_size(v));

	value_copy(v, copy, copy + 1);
	return copy;
}
