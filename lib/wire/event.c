/* event.c - reads and writes events and the patterns that choose them (layouts in event.h).
 *
 * Owns: nothing; strings borrow the octets they were read from.
 * Runs in: repo (builds events, reads patterns), gateway (the other way round).
 * Fails with: BW_EPROTO in event_get, *ret_bad in event_next_pattern; what they have passed is
 * walked without a check. Tests: tests/unit/wire/event_test.c, fuzz/event_get. */
#include <wire/event.h>
#include <wire/cursor.h>

#define EVENT_FIXED 8u

static const struct bw_str glob = { "glob:", 5 };

/* ---- events ---- */

int event_get(const uint8_t *p, size_t n, struct event *ret)
{
	struct cursor c = { p, EVENT_FIXED, n };
	struct bw_str name;

	if (n < EVENT_FIXED || get_u32(p) < EVENT_FIXED || get_u32(p) > n)
		return BW_EPROTO;
	c.end = get_u32(p);
	*ret = (struct event){ .kind = p[4], .flags = p[5], .n_names = get_u16(p + 6) };
	if (ret->kind == 0 || ret->kind >= EVENT_KINDS || ret->n_names > EVENT_MAX_NAMES ||
	    (ret->flags & ~(unsigned)(EVENT_EXTERNAL | EVENT_SUBTREE | EVENT_LAST)) != 0 ||
	    !take_str(&c, &ret->path) || !take_str(&c, &ret->from) || !take_str(&c, &ret->user) ||
	    (ret->path.n == 0) != (ret->kind == EVENT_RESYNC))
		return BW_EPROTO;
	ret->names = p + c.at;
	for (unsigned i = 0; i < ret->n_names; i++)
		if (!take_str(&c, &name) || name.n == 0)
			return BW_EPROTO;
	ret->size = c.end;
	return c.at == c.end ? BW_OK : BW_EPROTO;
}

struct bw_str event_next_name(const uint8_t **at)
{
	struct bw_str name = str_at(*at);

	*at += STR_OVERHEAD + name.n;
	return name;
}

size_t event_begin(struct buf *out, const struct event *e)
{
	size_t   at = buf_size(out);
	uint8_t *p = buf_reserve(out, EVENT_FIXED);

	put_u32(p, 0);
	p[4] = (uint8_t)e->kind;
	p[5] = (uint8_t)e->flags;
	put_u16(p + 6, 0);
	buf_commit(out, EVENT_FIXED);
	append_str(out, e->path);
	append_str(out, e->from);
	append_str(out, e->user);
	return at;
}

void event_put_name(struct buf *out, size_t at, struct bw_str name)
{
	uint8_t *p;

	append_str(out, name);
	p = buf_data(out) + at;
	put_u16(p + 6, (uint16_t)(get_u16(p + 6) + 1));
}

void event_end(struct buf *out, size_t at)
{
	put_u32(buf_data(out) + at, (uint32_t)(buf_size(out) - at));
}

void event_set_last(uint8_t *event)
{
	event[5] |= EVENT_LAST;
}

/* ---- patterns ---- */

static bool is_glob(struct bw_str pattern)
{
	return pattern.n >= glob.n && memcmp(pattern.p, glob.p, glob.n) == 0;
}

static struct bw_str without_glob(struct bw_str pattern)
{
	return (struct bw_str){ pattern.p + glob.n, pattern.n - glob.n };
}

bool event_pattern_fits(struct bw_str pattern)
{
	size_t start = 1;

	if (is_glob(pattern))
		pattern = without_glob(pattern);
	if (pattern.n == 0 || pattern.n > EVENT_MAX_PATTERN || pattern.p[0] != '/' ||
	    memchr(pattern.p, '\0', pattern.n) != NULL)
		return false;
	for (size_t i = 1; pattern.n > 1 && i <= pattern.n; i++) {
		if (i < pattern.n && pattern.p[i] != '/')
			continue;
		if (i == start || (i == start + 1 && pattern.p[start] == '.') ||
		    (i == start + 2 && memcmp(pattern.p + start, "..", 2) == 0))
			return false;
		start = i + 1;
	}
	return true;
}

/* path is top, or below it. */
static bool is_at_or_below(struct bw_str path, struct bw_str top)
{
	if (top.n == 1)
		return true;
	return path.n >= top.n && memcmp(path.p, top.p, top.n) == 0 &&
	       (path.n == top.n || path.p[top.n] == '/');
}

/* A path is read octet by octet; at[i]: the pattern's first i octets can stand for what was read.
 * In a pattern of n octets each costs n steps, whatever the pattern. */
struct walk {
	struct bw_str pattern;
	bool          at[EVENT_MAX_PATTERN + 1];
};

static unsigned stars_at(const struct walk *w, size_t i)
{
	if (i >= w->pattern.n || w->pattern.p[i] != '*')
		return 0;
	return i + 1 < w->pattern.n && w->pattern.p[i + 1] == '*' ? 2 : 1;
}

/* Stars stand for nothing, too. */
static void skip_stars(struct walk *w)
{
	for (size_t i = 0; i < w->pattern.n; i++)
		if (w->at[i])
			w->at[i + stars_at(w, i)] = true;
}

static void read_octet(struct walk *w, char c)
{
	for (size_t i = w->pattern.n + 1; i-- > 0;) {
		unsigned stars = stars_at(w, i);
		bool     stays = w->at[i] && stars > (c == '/');

		w->at[i] = stays || (i > 0 && w->at[i - 1] && stars_at(w, i - 1) == 0 &&
		                     w->pattern.p[i - 1] == c);
	}
	skip_stars(w);
}

static bool is_anywhere(const struct walk *w)
{
	for (size_t i = 0; i <= w->pattern.n; i++)
		if (w->at[i])
			return true;
	return false;
}

static bool glob_meets(struct bw_str pattern, struct bw_str path, bool subtree)
{
	struct walk w = { .pattern = pattern };

	w.at[0] = true;
	skip_stars(&w);
	for (size_t i = 0; i < path.n; i++)
		read_octet(&w, path.p[i]);
	if (w.at[pattern.n])
		return true;
	if (!subtree)
		return false;
	if (path.n > 1)
		read_octet(&w, '/');
	return is_anywhere(&w);
}

bool event_pattern_meets(struct bw_str pattern, struct bw_str path, bool subtree)
{
	if (is_glob(pattern))
		return glob_meets(without_glob(pattern), path, subtree);
	return is_at_or_below(path, pattern) || (subtree && is_at_or_below(pattern, path));
}

bool event_is_wanted(unsigned interests, struct bw_str pattern, const struct event *e)
{
	if (e->kind == EVENT_RESYNC)
		return true;
	if (!(interests & 1u << e->kind) ||
	    ((e->flags & EVENT_EXTERNAL) && !(interests & EVENT_INTEREST_EXTERNAL)))
		return false;
	return event_pattern_meets(pattern, e->path, e->flags & EVENT_SUBTREE);
}

void event_put_pattern(struct buf *out, unsigned interests, struct bw_str pattern)
{
	*buf_reserve(out, 1) = (uint8_t)interests;
	buf_commit(out, 1);
	append_str(out, pattern);
}

bool event_next_pattern(const uint8_t *p, size_t n, size_t *at, unsigned *ret_interests,
                        struct bw_str *ret_pattern, bool *ret_bad)
{
	struct cursor  c = { p, *at, n };
	const uint8_t *interests;

	*ret_bad = false;
	if (c.at == c.end)
		return false;
	if (!take(&c, 1, &interests) || !take_str(&c, ret_pattern) ||
	    !event_pattern_fits(*ret_pattern)) {
		*ret_bad = true;
		return false;
	}
	*ret_interests = *interests;
	*at = c.at;
	return true;
}
