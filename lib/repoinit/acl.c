/* acl.c - the statements about access control lists: `set ACL`, `remove ACE` and `delete ACL`, each of
 * them `on` paths or `for` principals, where a line names the other side; of principals' own lists;
 * and of the repository's, which are `for` principals with the path left out.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and a place. Tests: tests/conformance/repoinit. */
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

static bool parse_privileges(struct parser *p, bool exact, struct repoinit_acl_line *line)
{
	bool all = p->token.kind == TOKEN_WORD && p->token.n == 1 && p->token.p[0] == '*';

	if (line->action == REPOINIT_REMOVE_ALL) {
		if (all)
			return parse_next(p);
		return parse_wrong(p, "'*' (single entries are removed by 'remove ACE')");
	}
	if (all)
		return parse_wrong(p,
		                   exact ? "a privilege (whole lists are removed by 'delete ACL')"
		                         : "a privilege");
	return parse_words(p, PARSE_PREFIXED, "a privilege", &line->privileges);
}

/* allow, deny or, if the block is not a list of exact entries, remove. */
static bool parse_action(struct parser *p, bool exact, struct repoinit_acl_line *line)
{
	if (parse_is(p, "allow"))
		line->action = REPOINIT_ALLOW;
	else if (parse_is(p, "deny"))
		line->action = REPOINIT_DENY;
	else if (parse_is(p, "remove") && !exact)
		line->action = REPOINIT_REMOVE_ALL;
	else
		return parse_wrong(p, exact ? "'allow', 'deny' or 'end'"
		                            : "'allow', 'deny', 'remove' or 'end'");
	return parse_next(p);
}

static bool parse_principals(struct parser *p, struct repoinit_word **ret)
{
	return parse_words(p, PARSE_PREFIXED, "a principal", ret);
}

/* (name), (name,value) or (name,value,value...) from behind `restriction`. */
static bool parse_restriction(struct parser *p, struct repoinit_restriction **ret)
{
	struct repoinit_restriction *r = arena_zalloc(&p->script->arena, sizeof(*r));

	*ret = r;
	if (!parse_expect(p, "(") || !parse_word(p, PARSE_PREFIXED, "a restriction", &r->name))
		return false;
	if (parse_is(p, ",") &&
	    (!parse_next(p) ||
	     !parse_words(p, PARSE_PREFIXED | 1u << TOKEN_PATH, "a value", &r->values)))
		return false;
	return parse_expect(p, ")");
}

static bool parse_restrictions(struct parser *p, struct repoinit_restriction **ret)
{
	struct repoinit_restriction **tail = ret;

	while (parse_is(p, "restriction")) {
		if (!parse_next(p) || !parse_restriction(p, tail))
			return false;
		for (const struct repoinit_restriction *r = *ret; r != *tail; r = r->next)
			if (bw_str_eq(r->name->text, (*tail)->name->text))
				return scan_fail(p->error, (*tail)->name->at,
				                 "'%.40s' a second time", r->name->text.p);
		tail = &(*tail)->next;
	}
	return true;
}

static struct repoinit_word *repository(struct parser *p, struct repoinit_at at)
{
	struct repoinit_word *word = arena_zalloc(&p->script->arena, sizeof(*word));

	word->text = BW_STR(REPOINIT_REPOSITORY);
	word->at = at;
	return word;
}

static bool parse_acl_line(struct parser *p, const struct repoinit_statement *s,
                           struct repoinit_acl_line **ret)
{
	struct repoinit_acl_line *line = arena_zalloc(&p->script->arena, sizeof(*line));
	bool exact = s->kind == REPOINIT_REMOVE_ACE || s->kind == REPOINIT_REMOVE_OWN_ACE;

	line->at = p->token.at;
	if (!parse_action(p, exact, line) || !parse_privileges(p, exact, line))
		return false;
	if (parse_is(p, "nodetypes"))
		return parse_unsupported(p, p->token.at, "nodetypes",
		                         "restriction(rep:ntNames,...) says the same");
	if (s->acl.of_repository)
		line->paths = repository(p, line->at);
	else if (s->acl.paths != NULL
	                 ? !parse_expect(p, "for") || !parse_principals(p, &line->principals)
	                 : !parse_expect(p, "on") || !parse_places(p, &line->paths))
		return false;
	if (line->action != REPOINIT_REMOVE_ALL && !parse_restrictions(p, &line->restrictions))
		return false;
	*ret = line;
	return parse_line_end(p);
}

static bool parse_acl_lines(struct parser *p, struct repoinit_statement *s)
{
	struct repoinit_acl_line **tail = &s->acl.lines;
	bool                       more;

	for (;;) {
		if (!parse_block_line(p, s->acl.lines == NULL, &more))
			return false;
		if (!more)
			return true;
		if (!parse_acl_line(p, s, tail))
			return false;
		tail = &(*tail)->next;
	}
}

static bool has_lines(const struct repoinit_statement *s)
{
	return s->kind != REPOINIT_DELETE_ACL && s->kind != REPOINIT_DELETE_OWN_ACL;
}

static bool has_options(const struct repoinit_statement *s)
{
	return s->kind == REPOINIT_SET_ACL || s->kind == REPOINIT_SET_OWN_ACL ||
	       s->kind == REPOINIT_ENSURE_OWN_ACL;
}

static bool parse_rest(struct parser *p, struct repoinit_statement *s)
{
	if (has_options(s) && !parse_options(p, &s->acl.ignore_missing_principal))
		return false;
	return parse_line_end(p) && (!has_lines(s) || parse_acl_lines(p, s));
}

bool parse_acl_on(struct parser *p, struct repoinit_statement *s)
{
	return parse_places(p, &s->acl.paths) && parse_rest(p, s);
}

bool parse_acl_for(struct parser *p, struct repoinit_statement *s)
{
	return parse_principals(p, &s->acl.principals) && parse_rest(p, s);
}

bool parse_own_acl(struct parser *p, struct repoinit_statement *s)
{
	return parse_expect(p, "for") && parse_acl_for(p, s);
}

bool parse_repository_acl(struct parser *p, struct repoinit_statement *s)
{
	s->acl.of_repository = true;
	return parse_own_acl(p, s);
}
