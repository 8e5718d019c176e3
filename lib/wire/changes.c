/* changes.c - reads and writes the list of changes of a commit (layout in changes.h).
 *
 * Owns: nothing; strings borrow the list's octets.
 * Runs in: gateway (builds), repo (reads in place).
 * Fails with: BW_EPROTO in changes_get only. What it has passed can be walked without a check.
 * Tests: tests/unit/wire/changes_test.c, fuzz/changes_get. */
#include <wire/changes.h>
#include <wire/cursor.h>

#define LIST_FIXED   8u
#define CHANGE_FIXED 13u /* size, kind, version */
#define CREATE_FIXED 4u  /* the two numbers */
#define VALUE_FIXED  3u
#define ENTRY_FIXED  3u /* u8 allow, u16 number of restrictions */
#define MULTIPLE     0x80u

/* ---- checking ---- */

static bool check_strs(struct cursor *c, unsigned n)
{
	struct bw_str s;

	while (n-- > 0)
		if (!take_str(c, &s))
			return false;
	return true;
}

static bool take_value(struct cursor *c, struct change_value *ret)
{
	const uint8_t *p;

	if (!take(c, VALUE_FIXED, &p))
		return false;
	ret->type = p[0] & ~MULTIPLE;
	ret->multiple = p[0] & MULTIPLE;
	ret->n = get_u16(p + 1);
	ret->at = p + VALUE_FIXED;
	return ret->type >= BW_VALUE_STRING && ret->type <= BW_VALUE_BINARY &&
	       (ret->multiple || ret->n == 1) && check_strs(c, ret->n);
}

static bool take_base(struct cursor *c, struct change *ret)
{
	const uint8_t *p;

	if (!take(c, 1, &p) || p[0] > CHANGE_BASE_VALUE)
		return false;
	ret->base = p[0];
	return ret->base != CHANGE_BASE_VALUE || take_value(c, &ret->old);
}

/* Names upward, so that none stands twice. */
static bool check_props(struct cursor *c, unsigned n)
{
	struct bw_str       name, before = BW_STR("");
	struct change_value value;

	while (n-- > 0) {
		if (!take_str(c, &name) || str_compare(before, name) >= 0 || !take_value(c, &value))
			return false;
		before = name;
	}
	return true;
}

static bool take_create(struct cursor *c, struct change *ret)
{
	const uint8_t *p;

	if (!take(c, CREATE_FIXED, &p))
		return false;
	ret->n_mixins = get_u16(p);
	ret->n_props = get_u16(p + 2);
	ret->mixins = c->p + c->at;
	if (!check_strs(c, ret->n_mixins))
		return false;
	ret->props = c->p + c->at;
	return check_props(c, ret->n_props);
}

static bool is_texts(const struct change_value *v)
{
	return v->type == BW_VALUE_STRING && v->multiple;
}

static bool take_entry(struct cursor *c, struct change *ret)
{
	struct cursor       restrictions;
	struct change_value value;
	struct bw_str       name;
	const uint8_t      *p;

	if (!take(c, ENTRY_FIXED, &p) || p[0] > 1 || !take_value(c, &ret->value) ||
	    !is_texts(&ret->value))
		return false;
	ret->allow = p[0];
	ret->n_props = get_u16(p + 1);
	ret->props = c->p + c->at;
	restrictions = *c;
	if (!check_props(c, ret->n_props))
		return false;
	for (unsigned i = 0; i < ret->n_props; i++)
		if (!take_str(&restrictions, &name) || !take_value(&restrictions, &value) ||
		    !is_texts(&value))
			return false;
	return true;
}

static bool take_removing(struct cursor *c, struct change *ret)
{
	const uint8_t *p;

	if (!take(c, 1, &p) || p[0] > 1)
		return false;
	ret->removing = p[0];
	return ret->kind != CHANGE_LABEL_ADD || (take_str(c, &ret->of) && ret->of.n > 0);
}

/* Which kinds say nothing, or may, or must say something by name. */
static bool name_fits(const struct change *ch)
{
	switch (ch->kind) {
	case CHANGE_REMOVE:
	case CHANGE_CHECKIN:
	case CHANGE_CHECKOUT:
		return ch->name.n == 0;
	case CHANGE_CREATE:
	case CHANGE_ORDER:
	case CHANGE_ACL_CLEAR:
		return true;
	default:
		return ch->name.n > 0;
	}
}

static bool take_rest(struct cursor *c, struct change *ret)
{
	switch (ret->kind) {
	case CHANGE_CREATE:
		return take_create(c, ret);
	case CHANGE_SET:
		return take_base(c, ret) && take_value(c, &ret->value);
	case CHANGE_UNSET:
		return take_base(c, ret);
	case CHANGE_SET_TYPE:
		return take_str(c, &ret->old_type);
	case CHANGE_ACE_ADD:
	case CHANGE_ACE_REMOVE:
		return take_entry(c, ret);
	case CHANGE_RESTORE:
	case CHANGE_LABEL_ADD:
		return take_removing(c, ret);
	default:
		return true;
	}
}

/* One change, exactly as long as it says. */
static bool take_change(struct cursor *c, struct change *ret)
{
	const uint8_t *p;
	struct cursor  one;
	uint32_t       size;

	*ret = (struct change){ .kind = CHANGE_KINDS };
	if (!take(c, 4, &p))
		return false;
	size = get_u32(p);
	one = (struct cursor){ c->p, c->at, c->at + size };
	if (!take(c, size, &p) || !take(&one, CHANGE_FIXED - 4, &p))
		return false;
	if (p[0] < CHANGE_CREATE || p[0] >= CHANGE_KINDS)
		return false;
	ret->kind = p[0];
	ret->version = get_u64(p + 1);
	return take_str(&one, &ret->path) && ret->path.n > 0 && ret->path.p[0] == '/' &&
	       take_str(&one, &ret->name) && name_fits(ret) && take_rest(&one, ret) &&
	       one.at == one.end;
}

int changes_get(const uint8_t *p, size_t n, struct changes *ret)
{
	struct cursor c = { p, LIST_FIXED, n };
	struct change change;
	uint32_t      count;

	if (n < LIST_FIXED || get_u32(p) != n)
		return BW_EPROTO;
	count = get_u32(p + 4);
	if (count < 1 || count > CHANGES_MAX)
		return BW_EPROTO;
	for (uint32_t i = 0; i < count; i++)
		if (!take_change(&c, &change))
			return BW_EPROTO;
	if (c.at != c.end)
		return BW_EPROTO;
	*ret = (struct changes){ p, (uint32_t)n, count };
	return BW_OK;
}

/* ---- walking: sizes have been checked ---- */

bool changes_next(const struct changes *c, size_t *at, struct change *ret)
{
	struct cursor cursor = { c->p, *at > 0 ? *at : LIST_FIXED, c->size };

	if (cursor.at == cursor.end)
		return false;
	(void)take_change(&cursor, ret);
	*at = cursor.at;
	return true;
}

struct bw_str change_next_str(const uint8_t **at)
{
	struct bw_str s = str_at(*at);

	*at += STR_OVERHEAD + s.n;
	return s;
}

void change_next_prop(const uint8_t **at, struct bw_str *ret_name, struct change_value *ret)
{
	const uint8_t *p;

	*ret_name = change_next_str(at);
	p = *at;
	*ret = (struct change_value){
		.type = p[0] & ~MULTIPLE,
		.multiple = p[0] & MULTIPLE,
		.n = get_u16(p + 1),
		.at = p + VALUE_FIXED,
	};
	*at += VALUE_FIXED;
	for (unsigned i = 0; i < ret->n; i++)
		(void)change_next_str(at);
}

/* ---- building ---- */

size_t changes_begin(struct buf *out)
{
	size_t at = buf_size(out);

	memset(buf_reserve(out, LIST_FIXED), 0, LIST_FIXED);
	buf_commit(out, LIST_FIXED);
	return at;
}

size_t change_begin(struct buf *out, enum change_kind kind, uint64_t version, struct bw_str path,
                    struct bw_str name)
{
	size_t   at = buf_size(out);
	uint8_t *p = buf_reserve(out, CHANGE_FIXED);

	put_u32(p, 0);
	p[4] = (uint8_t)kind;
	put_u64(p + 5, version);
	buf_commit(out, CHANGE_FIXED);
	append_str(out, path);
	append_str(out, name);
	if (kind == CHANGE_CREATE) {
		memset(buf_reserve(out, CREATE_FIXED), 0, CREATE_FIXED);
		buf_commit(out, CREATE_FIXED);
	}
	return at;
}

/* What stands behind a change's path and name: the two numbers of a CREATE, the head of an entry. */
static uint8_t *behind_name(struct buf *out, size_t change)
{
	const uint8_t *at = buf_data(out) + change + CHANGE_FIXED;

	(void)change_next_str(&at);
	(void)change_next_str(&at);
	return buf_data(out) + (at - buf_data(out));
}

/* A list that is too long for its number is refused by whoever reads it: it does not end where it
 * says. */
static void count(uint8_t *p)
{
	put_u16(p, (uint16_t)(get_u16(p) + 1));
}

void change_put_mixin(struct buf *out, size_t change, struct bw_str mixin)
{
	count(behind_name(out, change));
	append_str(out, mixin);
}

void change_put_value(struct buf *out, const struct change_text *value)
{
	uint8_t *p = buf_reserve(out, VALUE_FIXED);

	p[0] = (uint8_t)(value->type | (value->multiple ? MULTIPLE : 0));
	put_u16(p + 1, (uint16_t)value->n);
	buf_commit(out, VALUE_FIXED);
	for (unsigned i = 0; i < value->n; i++)
		append_str(out, value->values[i]);
}

void change_put_prop(struct buf *out, size_t change, struct bw_str name,
                     const struct change_text *value)
{
	bool is_create = buf_data(out)[change + 4] == CHANGE_CREATE;

	count(behind_name(out, change) + (is_create ? 2 : 1));
	append_str(out, name);
	change_put_value(out, value);
}

void change_put_entry(struct buf *out, bool allow, const struct change_text *privileges)
{
	buf_append(out, (uint8_t[]){ allow, 0, 0 }, ENTRY_FIXED);
	change_put_value(out, privileges);
}

void change_put_base(struct buf *out, enum change_base base, const struct change_text *value)
{
	buf_append(out, (uint8_t[]){ (uint8_t)base }, 1);
	if (base == CHANGE_BASE_VALUE)
		change_put_value(out, value);
}

void change_put_type(struct buf *out, struct bw_str type)
{
	append_str(out, type);
}

void change_put_removing(struct buf *out, bool removing)
{
	buf_append(out, (uint8_t[]){ removing }, 1);
}

void change_end(struct buf *out, size_t changes, size_t change)
{
	uint8_t *list = buf_data(out) + changes;

	put_u32(buf_data(out) + change, (uint32_t)(buf_size(out) - change - 4));
	put_u32(list + 4, get_u32(list + 4) + 1);
}

size_t changes_end(struct buf *out, size_t changes)
{
	size_t size = buf_size(out) - changes;

	put_u32(buf_data(out) + changes, (uint32_t)size);
	return size;
}
