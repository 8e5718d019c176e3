/* Fuzz target: repo/restriction.c. Lines: restrictions as JSON, the entry's node, what goes on behind it,
 * the type, and the property, of which the last two may be missing. What bears on an item stays in its
 * text, and an entry without restrictions bears on everything. */
#include <boardwalk/err.h>
#include <restriction.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next line without its end; absent if there is none. */
static struct bw_str next_line(const char **at, const char *end)
{
	const char *start = *at, *stop;

	if (start == NULL)
		return BW_ABSENT;
	stop = memchr(start, '\n', (size_t)(end - start));
	*at = stop != NULL ? stop + 1 : NULL;
	return (struct bw_str){ start, (size_t)((stop != NULL ? stop : end) - start) };
}

/* A copy of its own, so that reading past it is seen. */
static struct bw_str alone(struct bw_str s)
{
	char *copy;

	if (s.p == NULL)
		return s;
	copy = malloc(s.n > 0 ? s.n : 1);
	memcpy(copy, s.p, s.n);
	return (struct bw_str){ copy, s.n };
}

/* The node, a slash unless it is the root, and the rest; the node if there is no rest. */
static struct bw_str below(struct bw_str node, struct bw_str rest)
{
	size_t slash = node.n > 1 && rest.n > 0;
	char  *path = malloc(node.n + slash + rest.n);

	memcpy(path, node.p, node.n);
	if (slash)
		path[node.n] = '/';
	memcpy(path + node.n + slash, rest.p, rest.n);
	return (struct bw_str){ path, node.n + slash + rest.n };
}

static void check(const struct restriction *restrictions, struct bw_str node,
                  const struct acl_item *item)
{
	if (!restriction_holds(restrictions, node, item) && restrictions == NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char               *at = (const char *)data, *end = at + size;
	struct bw_str             json = alone(next_line(&at, end));
	struct bw_str             node = alone(next_line(&at, end));
	struct bw_str             rest = next_line(&at, end);
	struct bw_str             type = alone(next_line(&at, end));
	struct bw_str             property = alone(next_line(&at, end));
	const struct restriction *restrictions;
	struct arena              arena;

	arena_init(&arena);
	if (node.n > 0 && node.p[0] == '/' && rest.p != NULL &&
	    restriction_parse(json.p, json.n, &arena, &restrictions) == BW_OK) {
		struct acl_item item = { below(node, rest), type, property };

		check(restrictions, node, &item);
		free((char *)item.path.p);
	}
	arena_done(&arena);
	free((char *)json.p);
	free((char *)node.p);
	free((char *)type.p);
	free((char *)property.p);
	return 0;
}
