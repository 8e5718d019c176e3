/* cursor.h - the pieces that the flat layouts of this folder are made of, read with every size
 * checked, and appended.
 *
 *    str = u32 size, octets, one NUL that the size does not count */
#pragma once
#include <base/buf.h>
#include <boardwalk/types.h>
#include <wire/octets.h>

#define STR_OVERHEAD 5u /* u32 size and the NUL */

struct cursor {
	const uint8_t *p;
	size_t         at, end;
};

static inline bool take(struct cursor *c, size_t n, const uint8_t **ret)
{
	if (c->end - c->at < n)
		return false;
	*ret = c->p + c->at;
	c->at += n;
	return true;
}

static inline bool take_str(struct cursor *c, struct bw_str *ret)
{
	const uint8_t *p;
	uint32_t       n;

	if (!take(c, 4, &p))
		return false;
	n = get_u32(p);
	if (!take(c, (size_t)n + 1, &p) || p[n] != '\0')
		return false;
	*ret = (struct bw_str){ (const char *)p, n };
	return true;
}

/* The str at p, which has been checked. */
static inline struct bw_str str_at(const uint8_t *p)
{
	return (struct bw_str){ (const char *)p + 4, get_u32(p) };
}

/* Order of names: by octets, the shorter one first. */
static inline int str_compare(struct bw_str a, struct bw_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int    diff = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return diff ? diff : (a.n > b.n) - (a.n < b.n);
}

static inline void append_str(struct buf *out, struct bw_str s)
{
	uint8_t *p = buf_reserve(out, STR_OVERHEAD + s.n);

	put_u32(p, (uint32_t)s.n);
	if (s.n > 0)
		memcpy(p + 4, s.p, s.n);
	p[4 + s.n] = '\0';
	buf_commit(out, STR_OVERHEAD + s.n);
}
