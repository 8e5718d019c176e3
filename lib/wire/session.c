/* session.c - session ids, values and records (layout in session.h).
 *
 * Owns: nothing; strings borrow the record's octets. Runs in: repo (builds), gateway (reads).
 * Fails with: BW_EPROTO in session_record_get only; what it has passed is walked without a check.
 * Tests: tests/unit/wire/session_test.c, fuzz/session_record_get. */
#include <wire/session.h>
#include <base/fatal.h>
#include <sodium.h>
#include <wire/octets.h>

#define RECORD_FIXED 36u
#define VALUE_FIXED  6u

bool session_id_fits(struct bw_str text)
{
	if (text.n != SESSION_ID_SIZE)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '_')
			return false;
	}
	return true;
}

void session_id_hash(struct bw_str id, uint8_t ret[SESSION_HASH_SIZE])
{
	crypto_generichash(ret, SESSION_HASH_SIZE, (const uint8_t *)id.p, id.n, NULL, 0);
}

/* Octets of the UTF-8 character at p (Unicode, table 3-7); 0: none is there. */
static size_t character(const uint8_t *p, size_t left)
{
	size_t  n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint8_t least = 0x80, most = 0xbf;

	if (p[0] > 0xf4 || (p[0] >= 0x80 && p[0] < 0xc2) || left < n)
		return 0;
	if (p[0] == 0xe0)
		least = 0xa0; /* not longer than need be */
	else if (p[0] == 0xed)
		most = 0x9f; /* no surrogates */
	else if (p[0] == 0xf0)
		least = 0x90;
	else if (p[0] == 0xf4)
		most = 0x8f; /* up to U+10FFFF */
	for (size_t i = 1; i < n; i++, least = 0x80, most = 0xbf)
		if (p[i] < least || p[i] > most)
			return 0;
	return n;
}

bool session_name_fits(struct bw_str name)
{
	size_t n;

	if (name.n == 0 || name.n > SESSION_MAX_NAME || memchr(name.p, '\0', name.n) != NULL)
		return false;
	for (size_t i = 0; i < name.n; i += n) {
		n = character((const uint8_t *)name.p + i, name.n - i);
		if (n == 0)
			return false;
	}
	return true;
}

static bool are_strings(struct bw_str value)
{
	const uint8_t *p = (const uint8_t *)value.p;
	size_t         left = value.n;

	while (left >= 4 && left - 4 >= get_u32(p)) {
		size_t n = 4 + (size_t)get_u32(p);

		p += n;
		left -= n;
	}
	return left == 0;
}

static bool are_booleans(struct bw_str value)
{
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] != 0 && value.p[i] != 1)
			return false;
	return true;
}

bool session_value_fits(unsigned kind, struct bw_str value)
{
	if (value.n > SESSION_MAX_VALUE)
		return false;
	switch (kind) {
	case SESSION_STRING:
		return true;
	case SESSION_LONG:
	case SESSION_DOUBLE:
		return value.n == 8;
	case SESSION_BOOLEAN:
		return value.n == 1 && are_booleans(value);
	case SESSION_STRINGS:
		return are_strings(value);
	case SESSION_LONGS:
	case SESSION_DOUBLES:
		return value.n % 8 == 0;
	case SESSION_BOOLEANS:
		return are_booleans(value);
	default:
		return false;
	}
}

/* ---- reading ---- */

/* The attribute at p, which ends at or before end; NULL: it does not. Returns what is behind it. */
static const uint8_t *value_at(const uint8_t *p, const uint8_t *end, struct session_value *ret)
{
	size_t n_name, n_value;

	if (end - p < (ptrdiff_t)VALUE_FIXED)
		return NULL;
	n_name = p[1];
	n_value = get_u32(p + 2);
	if ((size_t)(end - p) - VALUE_FIXED < n_name + n_value + 2)
		return NULL;
	ret->kind = p[0];
	ret->name = (struct bw_str){ (const char *)p + VALUE_FIXED, n_name };
	ret->value = (struct bw_str){ ret->name.p + n_name + 1, n_value };
	return p + VALUE_FIXED + n_name + n_value + 2;
}

static bool check_values(const struct session_record *r)
{
	struct session_value v;
	const uint8_t       *at = r->values;

	for (unsigned i = 0; i < r->n_values; i++) {
		at = value_at(at, r->end, &v);
		if (at == NULL || !session_name_fits(v.name) || v.name.p[v.name.n] != '\0' ||
		    v.value.p[v.value.n] != '\0' || !session_value_fits(v.kind, v.value))
			return false;
	}
	return at == r->end;
}

int session_record_get(const uint8_t *p, size_t n, struct session_record *ret)
{
	struct session_record r;
	uint32_t              size;

	if (n < RECORD_FIXED)
		return BW_EPROTO;
	size = get_u32(p);
	if (size > n || size < RECORD_FIXED + p[5])
		return BW_EPROTO;
	r = (struct session_record){
		.what = p[4],
		.max_inactive = (int32_t)get_u32(p + 8),
		.created_us = get_u64(p + 12),
		.accessed_us = get_u64(p + 20),
		.lease_us = get_u64(p + 28),
		.context = { (const char *)p + RECORD_FIXED, p[5] },
		.n_values = get_u16(p + 6),
		.values = p + RECORD_FIXED + p[5],
		.end = p + size,
	};
	if (r.what < SESSION_OWN || r.what > SESSION_ENDED || !session_name_fits(r.context) ||
	    !check_values(&r))
		return BW_EPROTO;
	*ret = r;
	return BW_OK;
}

bool session_record_next(const struct session_record *r, const uint8_t **at,
                         struct session_value *ret)
{
	if (*at == r->end)
		return false;
	*at = value_at(*at, r->end, ret);
	return true;
}

/* ---- building ---- */

size_t session_record_begin(struct buf *out, const struct session_record *r)
{
	size_t   at = buf_size(out), n = RECORD_FIXED + r->context.n;
	uint8_t *p = buf_reserve(out, n);

	if (r->context.n > UINT8_MAX)
		fatalx("a context's name of %zu octets", r->context.n);
	put_u32(p, (uint32_t)n);
	p[4] = (uint8_t)r->what;
	p[5] = (uint8_t)r->context.n;
	put_u16(p + 6, 0);
	put_u32(p + 8, (uint32_t)r->max_inactive);
	put_u64(p + 12, r->created_us);
	put_u64(p + 20, r->accessed_us);
	put_u64(p + 28, r->lease_us);
	memcpy(p + RECORD_FIXED, r->context.p, r->context.n);
	buf_commit(out, n);
	return at;
}

void session_record_put(struct buf *out, size_t at, const struct session_value *v)
{
	size_t   n = VALUE_FIXED + v->name.n + v->value.n + 2;
	uint8_t *p = buf_reserve(out, n), *record = buf_data(out) + at;

	p[0] = (uint8_t)v->kind;
	p[1] = (uint8_t)v->name.n;
	put_u32(p + 2, (uint32_t)v->value.n);
	p += VALUE_FIXED;
	memcpy(p, v->name.p, v->name.n);
	p += v->name.n;
	*p++ = '\0';
	if (v->value.n > 0)
		memcpy(p, v->value.p, v->value.n);
	p[v->value.n] = '\0';
	buf_commit(out, n);
	put_u32(record, get_u32(record) + (uint32_t)n);
	put_u16(record + 6, (uint16_t)(get_u16(record + 6) + 1));
}
