/* registry.c - `register namespace` and `register privilege`.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and a place. Tests: tests/conformance/repoinit. */
#include "parse.h"

/* (prefix) uri */
bool parse_namespace(struct parser *p, struct repoinit_statement *s)
{
	return parse_expect(p, "(") &&
	       parse_word(p, PARSE_NAMES, "a prefix", &s->name_space.prefix) &&
	       parse_expect(p, ")") && parse_word(p, PARSE_PREFIXED, "a URI", &s->name_space.uri) &&
	       parse_line_end(p);
}

bool parse_privilege(struct parser *p, struct repoinit_statement *s)
{
	if (!parse_word(p, PARSE_PREFIXED, "a privilege", &s->privilege.name))
		return false;
	if (parse_is(p, "with") &&
	    (!parse_next(p) || !parse_words(p, PARSE_PREFIXED, "a privilege", &s->privilege.parts)))
		return false;
	return parse_line_end(p);
}

bool parse_abstract_privilege(struct parser *p, struct repoinit_statement *s)
{
	s->privilege.abstract = true;
	return parse_privilege(p, s);
}
