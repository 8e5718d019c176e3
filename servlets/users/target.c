/* target.c - takes a path of the user manager apart, from its end: names may have dots.
 *
 * Owns: nothing. Fails with: false. Tests: tests/unit/servlets/users_test.c, tests/fuzz/target_parse.c. */
#include "target.h"

static bool begins(struct bw_str s, struct bw_str with)
{
	return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

/* Cuts ending off; false: it does not end so. */
static bool cut(struct bw_str *s, struct bw_str ending)
{
	if (s->n < ending.n || memcmp(s->p + s->n - ending.n, ending.p, ending.n) != 0)
		return false;
	s->n -= ending.n;
	return true;
}

/* .N, a depth, which changes nothing here. */
static void cut_depth(struct bw_str *s)
{
	size_t n = s->n;

	if (cut(s, BW_STR(".-1")))
		return;
	while (n > 0 && s->p[n - 1] >= '0' && s->p[n - 1] <= '9')
		n--;
	if (n > 0 && n < s->n && s->p[n - 1] == '.')
		s->n = n - 1;
}

/* The verb of what is left of the last extension. */
static enum target_verb verb_of(struct bw_str *s, bool is_json)
{
	static const struct {
		struct bw_str    selector;
		enum target_verb verb;
	} selectors[] = {
		{ BW_STR(".create"), TARGET_CREATE },
		{ BW_STR(".update"), TARGET_UPDATE },
		{ BW_STR(".changePassword"), TARGET_PASSWORD },
		{ BW_STR(".delete"), TARGET_DELETE },
	};

	for (size_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++)
		if (cut(s, selectors[i].selector))
			return selectors[i].verb;
	if (is_json) {
		cut_depth(s);
		cut(s, BW_STR(".tidy"));
	}
	return TARGET_READ;
}

bool target_parse(struct bw_str path, struct target *ret)
{
	struct target t = { .name = BW_ABSENT };
	struct bw_str rest = path;

	t.is_json = cut(&rest, BW_STR(".json"));
	if (!t.is_json && !cut(&rest, BW_STR(".html")))
		return false;
	t.verb = verb_of(&rest, t.is_json);
	t.is_group = begins(rest, BW_STR("/group"));
	if (!t.is_group && !begins(rest, BW_STR("/user")))
		return false;
	rest.p += t.is_group ? 6 : 5;
	rest.n -= t.is_group ? 6 : 5;
	if (rest.n > 1 && rest.p[0] == '/' && memchr(rest.p + 1, '/', rest.n - 1) == NULL)
		t.name = (struct bw_str){ rest.p + 1, rest.n - 1 };
	else if (rest.n != 0)
		return false;
	if (t.verb == TARGET_READ && t.name.p == NULL)
		t.verb = TARGET_LIST;
	/* Creating is the one thing done to no one; reading is asked for as JSON. */
	if ((t.verb == TARGET_CREATE) != (t.name.p == NULL) && t.verb != TARGET_LIST)
		return false;
	if ((t.verb == TARGET_READ || t.verb == TARGET_LIST) && !t.is_json)
		return false;
	if (t.verb == TARGET_PASSWORD && t.is_group)
		return false;
	*ret = t;
	return true;
}
