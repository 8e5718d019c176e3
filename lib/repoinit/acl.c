/* acl.c - the `set ACL on` block of the repoinit language.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and a place. Tests: tests/conformance/repoinit.rows. */
#include "parse.h"

/* (ACLOptions=a,b): one option has a meaning, the language ignores the others. */
static bool parse_options(struct parser *p, bool *ret_ignore_missing)
{
	struct repoinit_word *options = NULL;

	if (!parse_is(p, "("))
		return true;
	if (!parse_next(p) || !parse_expect(p, "ACLOptions") || !parse_expect(p, "=") ||
	    !parse_words(p, 1u << TOKEN_WORD, "an option", &options))
		return false;
	for (; options != NULL; options = options->next)
		if (bw_str_eq(options->text, BW_STR("ignoreMissingPrincipal")))
			*ret_ignore_missing = true;
	return parse_expect(p, ")");
}

static bool parse_privileges(struct parser *p, struct repoinit_acl_line *line)
{
	unsigned kinds = 1u << TOKEN_NAME | 1u << TOKEN_WORD;
	bool     all = p->token.kind == TOKEN_WORD && p->token.n == 1 && p->token.p[0] == '*';

	if (line->action == REPOINIT_REMOVE_ALL) {
		if (all)
			return parse_next(p);
		return parse_wrong(p, "'*' (single entries are removed by 'remove ACE')");
	}
	return parse_words(p, kinds, "a privilege", &line->privileges);
}

static bool parse_acl_line(struct parser *p, struct repoinit_acl_line **ret)
{
	struct repoinit_acl_line *line = arena_zalloc(&p->script->arena, sizeof(*line));

	line->at = p->token.at;
	if (parse_is(p, "allow"))
		line->action = REPOINIT_ALLOW;
	else if (parse_is(p, "deny"))
		line->action = REPOINIT_DENY;
	else if (parse_is(p, "remove"))
		line->action = REPOINIT_REMOVE_ALL;
	else
		return parse_wrong(p, "'allow', 'deny', 'remove' or 'end'");
	if (!parse_next(p) || !parse_privileges(p, line))
		return false;
	if (parse_is(p, "nodetypes"))
		return parse_unsupported(p, p->token.at, "nodetypes");
	if (!parse_expect(p, "for") ||
	    !parse_words(p, PARSE_NAMES | 1u << TOKEN_NAME, "a principal", &line->principals))
		return false;
	if (parse_is(p, "restriction"))
		return parse_unsupported(p, p->token.at, "restriction");
	*ret = line;
	return parse_line_end(p);
}

bool parse_acl(struct parser *p, struct repoinit_statement *s)
{
	struct repoinit_acl_line **tail = &s->acl.lines;
	bool                       more;

	if (!parse_paths(p, &s->acl.paths) || !parse_options(p, &s->acl.ignore_missing_principal) ||
	    !parse_line_end(p))
		return false;
	for (;;) {
		if (!parse_block_line(p, s->acl.lines == NULL, &more))
			return false;
		if (!more)
			return true;
		if (!parse_acl_line(p, tail))
			return false;
		tail = &(*tail)->next;
	}
}
