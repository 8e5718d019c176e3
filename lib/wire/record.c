/* record.c - reads and writes encoded resources (layout in record.h).
 *
 * Owns: nothing; strings borrow the record's octets.
 * Runs in: repo (builds, filters), gateway (reads in place).
 * Fails with: BW_EPROTO in record_get only. What it has passed can be walked without a check: every
 * size, every NUL and the order of the properties have been looked at once.
 * Tests: tests/unit/wire/record_test.c, fuzz/record_get. */
#include <wire/record.h>
#include <wire/cursor.h>

#define RECORD_FIXED  24u
#define PROP_OVERHEAD 4u /* u32 size */

/* ---- checking ---- */

/* One property, exactly as long as it says; its name goes to *ret_name. */
static bool check_prop(struct cursor *c, struct bw_str *ret_name)
{
	const uint8_t *p;
	struct cursor  prop;
	struct bw_str  value;
	unsigned       type, n;

	if (!take(c, PROP_OVERHEAD, &p))
		return false;
	prop = (struct cursor){ c->p, c->at, c->at + get_u32(p) };
	if (!take(c, get_u32(p), &p) || !take_str(&prop, ret_name) || !take(&prop, 3, &p))
		return false;
	type = p[0] & ~RECORD_MULTIPLE;
	n = get_u16(p + 1);
	if (type < BW_VALUE_STRING || type > BW_VALUE_BINARY ||
	    (!(p[0] & RECORD_MULTIPLE) && n != 1))
		return false;
	while (n-- > 0)
		if (!take_str(&prop, &value))
			return false;
	return prop.at == prop.end;
}

static bool check_props(struct cursor *c, unsigned n)
{
	struct bw_str name, before = BW_STR("");

	for (unsigned i = 0; i < n; i++) {
		if (!check_prop(c, &name) || name.n == 0 || str_compare(before, name) >= 0)
			return false;
		before = name;
	}
	return true;
}

static struct bw_str name_of(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return (struct bw_str){ slash + 1, path.n - (size_t)(slash + 1 - path.p) };
}

int record_get(const uint8_t *p, size_t n, struct record *ret)
{
	struct cursor c;
	struct record r = { .p = p };
	struct bw_str type;

	if (n < RECORD_FIXED || get_u32(p) > n || get_u32(p) < RECORD_FIXED)
		return BW_EPROTO;
	r.size = get_u32(p);
	r.n_chain = get_u16(p + 4);
	r.n_props = get_u16(p + 6);
	r.id = get_u64(p + 8);
	r.version = get_u64(p + 16);
	c = (struct cursor){ p, RECORD_FIXED, r.size };
	if (!take_str(&c, &r.path) || !take_str(&c, &r.primary_type) ||
	    !take_str(&c, &r.resource_type) || !take_str(&c, &r.super_type))
		return BW_EPROTO;
	if (r.path.n == 0 || r.path.p[0] != '/')
		return BW_EPROTO;
	r.name = name_of(r.path);
	r.chain_at = (uint32_t)c.at;
	for (unsigned i = 0; i < r.n_chain; i++)
		if (!take_str(&c, &type))
			return BW_EPROTO;
	r.props_at = (uint32_t)c.at;
	if (!check_props(&c, r.n_props) || c.at != r.size)
		return BW_EPROTO;
	*ret = r;
	return BW_OK;
}

/* ---- walking: sizes have been checked ---- */

/* The i-th of a run of strings. */
static struct bw_str nth_str(const uint8_t *p, unsigned i)
{
	while (i-- > 0)
		p += STR_OVERHEAD + (size_t)get_u32(p);
	return str_at(p);
}

struct bw_str record_chain(const struct record *r, unsigned i)
{
	return i < r->n_chain ? nth_str(r->p + r->chain_at, i) : BW_ABSENT;
}

static void prop_at(const struct record *r, const uint8_t *p, struct record_prop *ret)
{
	const uint8_t *after;

	ret->name = str_at(p + PROP_OVERHEAD);
	after = (const uint8_t *)ret->name.p + ret->name.n + 1;
	ret->type = after[0] & ~RECORD_MULTIPLE;
	ret->multiple = after[0] & RECORD_MULTIPLE;
	ret->n = get_u16(after + 1);
	ret->values_at = (uint32_t)(after + 3 - r->p);
}

bool record_prop(const struct record *r, struct bw_str name, struct record_prop *ret)
{
	const uint8_t *p = r->p + r->props_at;

	for (unsigned i = 0; i < r->n_props; i++) {
		int diff = str_compare(str_at(p + PROP_OVERHEAD), name);

		if (diff == 0)
			prop_at(r, p, ret);
		if (diff >= 0)
			return diff == 0;
		p += PROP_OVERHEAD + (size_t)get_u32(p);
	}
	return false;
}

bool record_prop_at(const struct record *r, unsigned i, struct record_prop *ret)
{
	const uint8_t *p = r->p + r->props_at;

	if (i >= r->n_props)
		return false;
	while (i-- > 0)
		p += PROP_OVERHEAD + (size_t)get_u32(p);
	prop_at(r, p, ret);
	return true;
}

struct bw_str record_value(const struct record *r, const struct record_prop *prop, unsigned i)
{
	return i < prop->n ? nth_str(r->p + prop->values_at, i) : BW_ABSENT;
}

/* ---- building ---- */

/* Raises a 16-bit counter; false when it is full. A record with so many parts is larger than a
 * frame in any case, so what is left out here never goes to anybody: sending fails as too big. */
static bool count(uint8_t *p)
{
	if (get_u16(p) == UINT16_MAX)
		return false;
	put_u16(p, (uint16_t)(get_u16(p) + 1));
	return true;
}

size_t record_begin(struct buf *out, uint64_t id, uint64_t version, struct bw_str path,
                    struct bw_str primary_type, struct bw_str resource_type,
                    struct bw_str super_type)
{
	size_t   at = buf_size(out);
	uint8_t *p = buf_reserve(out, RECORD_FIXED);

	memset(p, 0, 8);
	put_u64(p + 8, id);
	put_u64(p + 16, version);
	buf_commit(out, RECORD_FIXED);
	append_str(out, path);
	append_str(out, primary_type);
	append_str(out, resource_type);
	append_str(out, super_type);
	return at;
}

void record_put_chain(struct buf *out, size_t at, struct bw_str type)
{
	if (count(buf_data(out) + at + 4))
		append_str(out, type);
}

size_t record_put_prop(struct buf *out, size_t at, struct bw_str name, enum bw_value_type type,
                       bool multiple)
{
	size_t   prop = buf_size(out);
	uint8_t *p;

	if (!count(buf_data(out) + at + 6))
		return SIZE_MAX;
	memset(buf_reserve(out, PROP_OVERHEAD), 0, PROP_OVERHEAD);
	buf_commit(out, PROP_OVERHEAD);
	append_str(out, name);
	p = buf_reserve(out, 3);
	p[0] = (uint8_t)(type | (multiple ? RECORD_MULTIPLE : 0));
	put_u16(p + 1, 0);
	buf_commit(out, 3);
	put_u32(buf_data(out) + prop, (uint32_t)(buf_size(out) - prop - PROP_OVERHEAD));
	return prop;
}

void record_put_value(struct buf *out, size_t prop, struct bw_str value)
{
	uint8_t *p;

	if (prop == SIZE_MAX)
		return;
	p = buf_data(out) + prop;
	if (!count(p + PROP_OVERHEAD + STR_OVERHEAD + get_u32(p + PROP_OVERHEAD) + 1))
		return;
	append_str(out, value);
	p = buf_data(out) + prop;
	put_u32(p, (uint32_t)(buf_size(out) - prop - PROP_OVERHEAD));
}

void record_end(struct buf *out, size_t at)
{
	put_u32(buf_data(out) + at, (uint32_t)(buf_size(out) - at));
}
