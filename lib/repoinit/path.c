/* path.c - `create path`, `ensure nodes` and the mixins of nodes.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and a place. Tests: tests/conformance/repoinit. */
#include "parse.h"
#include <base/buf.h>

/* The default type in parentheses, from behind the opening one. */
static bool parse_default_type(struct parser *p, struct repoinit_word **ret_type)
{
	if (!parse_word(p, PARSE_PREFIXED, "a node type", ret_type))
		return false;
	if (parse_is(p, "mixin"))
		return scan_fail(p->error, p->token.at, "the default type has no mixins");
	return parse_expect(p, ")");
}

/* T, T mixin m1,m2 or mixin m1,m2 in parentheses, from behind the opening one. */
static bool parse_type(struct parser *p, struct repoinit_segment *segment)
{
	if (!parse_is(p, "mixin") && !parse_word(p, PARSE_PREFIXED, "a node type", &segment->type))
		return false;
	if (parse_is(p, "mixin") &&
	    (!parse_next(p) || !parse_words(p, PARSE_PREFIXED, "a mixin", &segment->mixins)))
		return false;
	return parse_expect(p, ")");
}

/* The names of one piece of a path, appended to *tail; the last one is *ret_last. plain: each octet of
 * it is a column of the text, which escapes in quotes are not. */
static bool split_path(struct parser *p, const struct repoinit_word *path, bool plain,
                       struct repoinit_segment ***tail, struct repoinit_segment **ret_last)
{
	const char *at = path->text.p, *end = at + path->text.n;

	if (at == end || *at != '/')
		return scan_fail(p->error, path->at, "a path begins with '/'");
	while (at < end && ++at < end) {
		size_t                   n = strcspn(at, "/");
		struct repoinit_segment *segment;
		struct repoinit_at       place = path->at;

		if (plain)
			place.column += (unsigned)(at - path->text.p - 1);
		if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
			return scan_fail(p->error, place, "'%.*s' is no name", (int)n, at);
		segment = arena_zalloc(&p->script->arena, sizeof(*segment));
		segment->name = (struct bw_str){ arena_dup(&p->script->arena, at, n), n };
		segment->at = place;
		**tail = *ret_last = segment;
		*tail = &segment->next;
		at += n;
	}
	return true;
}

/* /a/b(T)/c: after a type the path may go on, otherwise it is over. */
static bool parse_typed_path(struct parser *p, struct repoinit_segment **ret_first)
{
	struct repoinit_segment **tail = ret_first, *last = NULL;
	struct repoinit_word     *piece;
	bool                      plain;

	do {
		plain = p->token.kind == TOKEN_PATH;
		if (!parse_word(p, PARSE_PATHS, "an absolute path", &piece) ||
		    !split_path(p, piece, plain, &tail, &last))
			return false;
		if (!parse_is(p, "("))
			return true;
		if (last == NULL)
			return scan_fail(p->error, p->token.at, "the root has its type already");
		if (!parse_next(p) || !parse_type(p, last))
			return false;
	} while ((PARSE_PATHS >> p->token.kind & 1) != 0);
	return true;
}

/* `with properties` is `set properties on` the last node, hence a second statement. */
static bool parse_path_properties(struct parser *p, struct repoinit_statement *s)
{
	struct repoinit_statement *set = arena_zalloc(&p->script->arena, sizeof(*set));
	struct repoinit_word      *path = arena_zalloc(&p->script->arena, sizeof(*path));
	struct buf                 text;

	buf_init(&text);
	buf_printf(&text, "%s", s->path.segments == NULL ? "/" : "");
	for (const struct repoinit_segment *at = s->path.segments; at != NULL; at = at->next)
		buf_printf(&text, "/%s", at->name.p);
	path->text =
		(struct bw_str){ arena_dup(&p->script->arena, buf_data(&text), buf_size(&text)),
		                 buf_size(&text) };
	buf_done(&text);
	path->at = s->at;
	set->kind = REPOINIT_SET_PROPERTIES;
	set->at = s->at;
	set->properties.paths = path;
	s->next = set;
	return parse_expect(p, "with") && parse_expect(p, "properties") && parse_line_end(p) &&
	       parse_property_lines(p, &set->properties.lines);
}

bool parse_path(struct parser *p, struct repoinit_statement *s)
{
	if (parse_is(p, "(") && (!parse_next(p) || !parse_default_type(p, &s->path.default_type)))
		return false;
	if (!parse_typed_path(p, &s->path.segments))
		return false;
	return parse_is(p, "with") ? parse_path_properties(p, s) : parse_line_end(p);
}

bool parse_mixins(struct parser *p, struct repoinit_statement *s)
{
	return parse_words(p, PARSE_PREFIXED, "a mixin", &s->mixins.names) &&
	       parse_expect(p, s->kind == REPOINIT_ADD_MIXIN ? "to" : "from") &&
	       parse_paths(p, &s->mixins.paths) && parse_line_end(p);
}
