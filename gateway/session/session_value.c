/* session_value.c - a session's attributes: as the API has them, and as octets on the wire.
 *
 * Owns: nothing; everything is in an arena, what was replaced too, so that a value once read stays.
 * Runs in: the gateway. Fails with: BW_EINVAL, BW_ETOOBIG. Tests:
 * tests/unit/gateway/session_test.c. */
#include "session.h"
#include <endian.h>

/* ---- to octets ---- */

static void put_64(char *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static uint64_t double_bits(double d)
{
	uint64_t v;

	memcpy(&v, &d, sizeof(v));
	return v;
}

/* Octets of the list's items; SIZE_MAX: too many, or there is an item that is none. */
static size_t list_size(const struct bw_value *v)
{
	size_t n = 0;

	if (v->n > SESSION_MAX_VALUE)
		return SIZE_MAX;
	if (v->type == BW_VALUE_BOOLEAN)
		return v->n;
	if (v->type != BW_VALUE_STRING)
		return 8 * v->n;
	for (size_t i = 0; i < v->n; i++) {
		n += 4;
		if (n > SESSION_MAX_VALUE || v->u.strings[i].n > SESSION_MAX_VALUE - n)
			return SIZE_MAX;
		n += v->u.strings[i].n;
	}
	return n;
}

static void put_strings(char *p, const struct bw_value *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct bw_str s = v->u.strings[i];
		uint32_t      size = htole32((uint32_t)s.n);

		memcpy(p, &size, sizeof(size));
		p += sizeof(size);
		if (s.n > 0)
			memcpy(p, s.p, s.n);
		p += s.n;
	}
}

static bool is_list_of_strings(const struct bw_value *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->u.strings[i].p == NULL)
			return false;
	return true;
}

static int pack_list(struct arena *a, const struct bw_value *v, enum session_kind *ret_kind,
                     struct bw_str *ret)
{
	size_t n;
	char  *p;

	if (v->n > 0 &&
	    (v->u.strings == NULL || (v->type == BW_VALUE_STRING && !is_list_of_strings(v))))
		return BW_EINVAL;
	n = list_size(v);
	if (n > SESSION_MAX_VALUE)
		return BW_ETOOBIG;
	p = arena_alloc(a, n + 1);
	*ret = (struct bw_str){ p, n };
	switch (v->type) {
	case BW_VALUE_STRING:
		*ret_kind = SESSION_STRINGS;
		put_strings(p, v);
		return BW_OK;
	case BW_VALUE_LONG:
		*ret_kind = SESSION_LONGS;
		for (size_t i = 0; i < v->n; i++)
			put_64(p + 8 * i, (uint64_t)v->u.i64s[i]);
		return BW_OK;
	case BW_VALUE_DOUBLE:
		*ret_kind = SESSION_DOUBLES;
		for (size_t i = 0; i < v->n; i++)
			put_64(p + 8 * i, double_bits(v->u.f64s[i]));
		return BW_OK;
	case BW_VALUE_BOOLEAN:
		*ret_kind = SESSION_BOOLEANS;
		for (size_t i = 0; i < v->n; i++)
			p[i] = v->u.bools[i];
		return BW_OK;
	default:
		return BW_EINVAL;
	}
}

int session_value_pack(struct arena *a, const struct bw_value *v, enum session_kind *ret_kind,
                       struct bw_str *ret)
{
	char *p;

	if (v->is_list)
		return pack_list(a, v, ret_kind, ret);
	p = arena_alloc(a, 8);
	*ret = (struct bw_str){ p, 8 };
	switch (v->type) {
	case BW_VALUE_STRING:
		*ret_kind = SESSION_STRING;
		*ret = v->u.string;
		return ret->p == NULL ? BW_EINVAL : ret->n > SESSION_MAX_VALUE ? BW_ETOOBIG : BW_OK;
	case BW_VALUE_LONG:
		*ret_kind = SESSION_LONG;
		put_64(p, (uint64_t)v->u.i64);
		return BW_OK;
	case BW_VALUE_DOUBLE:
		*ret_kind = SESSION_DOUBLE;
		put_64(p, double_bits(v->u.f64));
		return BW_OK;
	case BW_VALUE_BOOLEAN:
		*ret_kind = SESSION_BOOLEAN;
		p[0] = v->u.b;
		ret->n = 1;
		return BW_OK;
	default:
		return BW_EINVAL;
	}
}

/* ---- from octets ---- */

static uint64_t get_64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static double get_double(const char *p)
{
	uint64_t v = get_64(p);
	double   d;

	memcpy(&d, &v, sizeof(d));
	return d;
}

static struct bw_str take_string(struct arena *a, const char **p)
{
	uint32_t size;

	memcpy(&size, *p, sizeof(size));
	size = le32toh(size);
	*p += sizeof(size) + size;
	return (struct bw_str){ arena_dup(a, *p - size, size), size };
}

static void unpack_strings(struct arena *a, struct bw_str octets, struct bw_value *ret)
{
	const char    *p = octets.p, *end = octets.p + octets.n;
	struct bw_str *items;
	uint32_t       size;

	ret->n = 0;
	while (p < end) {
		memcpy(&size, p, sizeof(size));
		p += sizeof(size) + le32toh(size);
		ret->n++;
	}
	items = arena_alloc(a, (ret->n + 1) * sizeof(*items));
	p = octets.p;
	for (size_t i = 0; i < ret->n; i++)
		items[i] = take_string(a, &p);
	ret->u.strings = items;
}

static void unpack_list(struct arena *a, enum session_kind kind, struct bw_str octets,
                        struct bw_value *ret)
{
	int64_t *longs = arena_alloc(a, octets.n + 8);
	double  *doubles = (double *)(void *)longs;
	bool    *bools = (bool *)(void *)longs;

	ret->is_list = true;
	ret->n = kind == SESSION_BOOLEANS ? octets.n : octets.n / 8;
	switch (kind) {
	case SESSION_STRINGS:
		ret->type = BW_VALUE_STRING;
		unpack_strings(a, octets, ret);
		return;
	case SESSION_LONGS:
		ret->type = BW_VALUE_LONG;
		for (size_t i = 0; i < ret->n; i++)
			longs[i] = (int64_t)get_64(octets.p + 8 * i);
		ret->u.i64s = longs;
		return;
	case SESSION_DOUBLES:
		ret->type = BW_VALUE_DOUBLE;
		for (size_t i = 0; i < ret->n; i++)
			doubles[i] = get_double(octets.p + 8 * i);
		ret->u.f64s = doubles;
		return;
	default:
		ret->type = BW_VALUE_BOOLEAN;
		for (size_t i = 0; i < ret->n; i++)
			bools[i] = octets.p[i] != 0;
		ret->u.bools = bools;
	}
}

void session_value_unpack(struct arena *a, enum session_kind kind, struct bw_str octets,
                          struct bw_value *ret)
{
	*ret = (struct bw_value){ .type = BW_VALUE_STRING };
	switch (kind) {
	case SESSION_STRING:
		ret->u.string = (struct bw_str){ arena_dup(a, octets.p, octets.n), octets.n };
		return;
	case SESSION_LONG:
		*ret = BW_V_LONG((int64_t)get_64(octets.p));
		return;
	case SESSION_DOUBLE:
		*ret = BW_V_DOUBLE(get_double(octets.p));
		return;
	case SESSION_BOOLEAN:
		*ret = BW_V_BOOLEAN(octets.p[0] != 0);
		return;
	default:
		unpack_list(a, kind, octets, ret);
	}
}

/* ---- a session's own ---- */

static int compare(struct bw_str a, struct bw_str b)
{
	int diff = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return diff != 0 ? diff : (a.n > b.n) - (a.n < b.n);
}

struct session_attr *session_attr_find(const struct bw_session *s, struct bw_str name)
{
	struct session_attr *attr = s->attrs;

	while (attr != NULL && !bw_str_eq(attr->name, name))
		attr = attr->next;
	return attr;
}

void session_attr_put(struct bw_session *s, struct bw_str name, const struct bw_value *value)
{
	struct session_attr **at = &s->attrs, *attr;
	int                   diff = 1;

	while (*at != NULL && (diff = compare((*at)->name, name)) < 0)
		at = &(*at)->next;
	if (*at != NULL && diff == 0)
		*at = (*at)->next;
	if (value == NULL)
		return;
	attr = arena_alloc(s->arena, sizeof(*attr));
	*attr = (struct session_attr){ *at, name, *value };
	*at = attr;
}

void session_fill(struct bw_session *s, const struct session_record *r)
{
	struct session_attr **end = &s->attrs;
	const uint8_t        *at = r->values;
	struct session_value  v;

	s->is_new = r->what == SESSION_NEW;
	s->max_inactive = r->max_inactive;
	s->created_us = r->created_us;
	s->accessed_us = r->accessed_us;
	s->lease_us = r->lease_us;
	while (session_record_next(r, &at, &v)) { /* repo has sorted them */
		struct session_attr *attr = arena_alloc(s->arena, sizeof(*attr));

		attr->name = (struct bw_str){ arena_dup(s->arena, v.name.p, v.name.n), v.name.n };
		session_value_unpack(s->arena, v.kind, v.value, &attr->value);
		*end = attr;
		end = &attr->next;
	}
	*end = NULL;
}
