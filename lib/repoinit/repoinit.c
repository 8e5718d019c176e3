/* repoinit.c - the statements of the repoinit language.
 *
 * forms[] is the grammar's first level: the fixed words a statement begins with and the function for
 * the rest. A form with a reason instead belongs to the language but not to this version; it is
 * refused. The functions are in path.c, principal.c, acl.c, property.c and registry.c, what they share
 * is here. No recursion: the language does not nest.
 *
 * Owns: the script and its arena. Runs in: the CLI, blocking. Fails with: line, column and a
 * sentence. Tests: tests/unit/repoinit/repoinit_test.c, tests/conformance/repoinit. */
#include "parse.h"

#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>

/* Where one form begins with another's words the longer one stands first. */
static const struct form {
	const char        *words[3];
	enum repoinit_kind kind;
	bool (*parse)(struct parser *p, struct repoinit_statement *s);
	const char *why_not; /* instead of parse */
} forms[] = {
	{ { "create", "path" }, REPOINIT_CREATE_PATH, parse_path, NULL },
	{ { "ensure", "nodes" }, REPOINIT_ENSURE_NODES, parse_path, NULL },
	{ { "create", "service", "user" },
	  REPOINIT_CREATE_PRINCIPAL,
	  parse_create_service_user,
	  NULL },
	{ { "create", "user" }, REPOINIT_CREATE_PRINCIPAL, parse_create_user, NULL },
	{ { "create", "group" }, REPOINIT_CREATE_PRINCIPAL, parse_create_group, NULL },
	{ { "delete", "service", "user" },
	  REPOINIT_DELETE_PRINCIPAL,
	  parse_delete_service_user,
	  NULL },
	{ { "delete", "user" }, REPOINIT_DELETE_PRINCIPAL, parse_delete_user, NULL },
	{ { "delete", "group" }, REPOINIT_DELETE_PRINCIPAL, parse_delete_group, NULL },
	{ { "disable", "service", "user" }, REPOINIT_DISABLE_USER, parse_disable, NULL },
	{ { "disable", "user" }, REPOINIT_DISABLE_USER, parse_disable, NULL },
	{ { "set", "ACL", "on" }, REPOINIT_SET_ACL, parse_acl_on, NULL },
	{ { "set", "ACL", "for" }, REPOINIT_SET_ACL, parse_acl_for, NULL },
	{ { "set", "repository", "ACL" }, REPOINIT_SET_ACL, parse_repository_acl, NULL },
	{ { "set", "principal", "ACL" }, REPOINIT_SET_OWN_ACL, parse_own_acl, NULL },
	{ { "ensure", "principal", "ACL" }, REPOINIT_ENSURE_OWN_ACL, parse_own_acl, NULL },
	{ { "remove", "ACE", "on" }, REPOINIT_REMOVE_ACE, parse_acl_on, NULL },
	{ { "remove", "ACE", "for" }, REPOINIT_REMOVE_ACE, parse_acl_for, NULL },
	{ { "remove", "principal", "ACE" }, REPOINIT_REMOVE_OWN_ACE, parse_own_acl, NULL },
	{ { "delete", "ACL", "on" }, REPOINIT_DELETE_ACL, parse_acl_on, NULL },
	{ { "delete", "ACL", "for" }, REPOINIT_DELETE_ACL, parse_acl_for, NULL },
	{ { "delete", "principal", "ACL" }, REPOINIT_DELETE_OWN_ACL, parse_own_acl, NULL },
	{ { "set", "properties", "on" }, REPOINIT_SET_PROPERTIES, parse_properties, NULL },
	{ { "add", "mixin" }, REPOINIT_ADD_MIXIN, parse_mixins, NULL },
	{ { "remove", "mixin" }, REPOINIT_REMOVE_MIXIN, parse_mixins, NULL },
	{ { "add" }, REPOINIT_ADD_MEMBERS, parse_membership, NULL },
	{ { "remove" }, REPOINIT_REMOVE_MEMBERS, parse_membership, NULL },
	{ { "register", "namespace" }, REPOINIT_REGISTER_NAMESPACE, parse_namespace, NULL },
	{ { "register", "nodetypes" }, REPOINIT_REGISTER_NODE_TYPES, parse_node_types, NULL },
	{ { "register", "abstract", "privilege" },
	  REPOINIT_REGISTER_PRIVILEGE,
	  parse_abstract_privilege,
	  NULL },
	{ { "register", "privilege" }, REPOINIT_REGISTER_PRIVILEGE, parse_privilege, NULL },
};

bool parse_next(struct parser *p)
{
	return scan_next(&p->scan, &p->token, p->error);
}

bool parse_is(const struct parser *p, const char *text)
{
	return token_is(&p->token, text);
}

bool parse_wrong(struct parser *p, const char *what)
{
	const struct token *t = &p->token;
	int                 n = t->n > 40 ? 40 : (int)t->n;

	if (t->kind == TOKEN_NEWLINE || t->kind == TOKEN_END)
		return scan_fail(p->error, t->at, "expected %s instead of the end of the %s", what,
		                 t->kind == TOKEN_END ? "text" : "line");
	if (t->kind == TOKEN_QUOTED)
		return scan_fail(p->error, t->at, "expected %s instead of a quoted text", what);
	return scan_fail(p->error, t->at, "expected %s instead of %s'%.*s'", what,
	                 t->kind == TOKEN_KEYWORD ? "the reserved word " : "", n, t->p);
}

bool parse_unsupported(struct parser *p, struct repoinit_at at, const char *what, const char *why)
{
	return scan_fail(p->error, at, "'%s' is not supported by this version: %s", what, why);
}

bool parse_expect(struct parser *p, const char *text)
{
	char what[64];

	if (parse_is(p, text))
		return parse_next(p);
	snprintf(what, sizeof(what), "'%s'", text);
	return parse_wrong(p, what);
}

bool parse_line_end(struct parser *p)
{
	if (p->token.kind == TOKEN_END)
		return true;
	return p->token.kind == TOKEN_NEWLINE ? parse_next(p)
	                                      : parse_wrong(p, "the end of the line");
}

bool parse_word(struct parser *p, unsigned kinds, const char *what, struct repoinit_word **ret)
{
	struct repoinit_word *word;

	if ((kinds >> p->token.kind & 1) == 0)
		return parse_wrong(p, what);
	word = arena_zalloc(&p->script->arena, sizeof(*word));
	word->text = scan_text(&p->token, &p->script->arena);
	word->at = p->token.at;
	*ret = word;
	return parse_next(p);
}

bool parse_words(struct parser *p, unsigned kinds, const char *what, struct repoinit_word **ret)
{
	struct repoinit_word **tail = ret;

	for (;;) {
		if (!parse_word(p, kinds, what, tail))
			return false;
		tail = &(*tail)->next;
		if (!parse_is(p, ","))
			return true;
		if (!parse_next(p))
			return false;
	}
}

/* home(NAME) or authorizable(NAME), and perhaps a path behind it: the same thing twice. */
static bool parse_home(struct parser *p, struct repoinit_word **ret)
{
	struct repoinit_at    at = p->token.at;
	struct repoinit_word *below = NULL;

	if (!parse_next(p) || !parse_expect(p, "(") ||
	    !parse_word(p, PARSE_PREFIXED, "a user's or group's name", ret) ||
	    !parse_expect(p, ")"))
		return false;
	if (p->token.kind == TOKEN_PATH && !parse_word(p, PARSE_PATHS, "a path", &below))
		return false;
	(*ret)->home = (*ret)->text;
	(*ret)->below = below != NULL ? below->text : BW_STR("");
	(*ret)->at = at;
	return true;
}

static bool parse_place(struct parser *p, bool repository, struct repoinit_word **ret)
{
	if (parse_is(p, "home") || parse_is(p, "authorizable"))
		return parse_home(p, ret);
	if (p->token.kind == TOKEN_WORD && repository &&
	    bw_str_eq((struct bw_str){ p->token.p, p->token.n }, BW_STR(REPOINIT_REPOSITORY)))
		return parse_word(p, 1u << TOKEN_WORD, "a path", ret);
	if (!parse_word(p, PARSE_PATHS, "an absolute path", ret))
		return false;
	if ((*ret)->text.n == 0 || (*ret)->text.p[0] != '/')
		return scan_fail(p->error, (*ret)->at, "a path begins with '/'");
	return true;
}

static bool parse_place_list(struct parser *p, bool repository, struct repoinit_word **ret)
{
	for (;; ret = &(*ret)->next) {
		if (!parse_place(p, repository, ret))
			return false;
		if (!parse_is(p, ","))
			return true;
		if (!parse_next(p))
			return false;
	}
}

bool parse_paths(struct parser *p, struct repoinit_word **ret)
{
	return parse_place_list(p, false, ret);
}

bool parse_places(struct parser *p, struct repoinit_word **ret)
{
	return parse_place_list(p, true, ret);
}

bool parse_block_line(struct parser *p, bool first, bool *ret_more)
{
	while (p->token.kind == TOKEN_NEWLINE)
		if (!parse_next(p))
			return false;
	if (p->token.kind == TOKEN_END)
		return parse_wrong(p, "'end'");
	*ret_more = !parse_is(p, "end");
	if (*ret_more)
		return true;
	if (first)
		return scan_fail(p->error, p->token.at, "a block needs a line before its 'end'");
	return parse_next(p) && parse_line_end(p);
}

/* How far the forms went along with the text. */
struct match {
	struct token          farthest; /* the word that fits none of them */
	struct repoinit_error error;
	bool                  failed; /* there is no word behind the fitting ones: error says why */
};

/* Over the fixed words of a form if the text goes on with them; otherwise p is as it was. */
static bool match_form(struct parser *p, const struct form *form, struct match *match)
{
	struct parser at = *p;

	at.error = &match->error;
	for (size_t i = 0; i < sizeof(form->words) / sizeof(*form->words) && form->words[i]; i++) {
		if (at.token.p > match->farthest.p)
			match->farthest = at.token;
		if (!parse_is(&at, form->words[i]))
			return false;
		if (!parse_next(&at)) {
			match->failed = true;
			return false;
		}
	}
	p->scan = at.scan;
	p->token = at.token;
	return true;
}

static bool parse_statement(struct parser *p, struct repoinit_statement **ret)
{
	struct repoinit_statement *s = arena_zalloc(&p->script->arena, sizeof(*s));
	const struct form         *form = forms;
	struct match               match = { .farthest = p->token };
	bool                       matched = false;

	s->at = p->token.at;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms) && !matched; i++)
		matched = match_form(p, form = &forms[i], &match);
	if (!matched && match.failed)
		return scan_fail(p->error, match.error.at, "%s", match.error.text);
	if (!matched) {
		p->token = match.farthest;
		return parse_wrong(p, "a statement");
	}
	if (form->parse == NULL) {
		const char *const *w = form->words;

		return parse_unsupported(p, s->at,
		                         arena_printf(&p->script->arena, "%s%s%s%s%s", w[0],
		                                      w[1] ? " " : "", w[1] ? w[1] : "",
		                                      w[1] && w[2] ? " " : "",
		                                      w[1] && w[2] ? w[2] : ""),
		                         form->why_not);
	}
	s->kind = form->kind;
	*ret = s;
	return form->parse(p, s);
}

static bool parse_script(struct parser *p)
{
	struct repoinit_statement **tail = &p->script->first;

	while (p->token.kind != TOKEN_END) {
		if (p->token.kind == TOKEN_NEWLINE) {
			if (!parse_next(p))
				return false;
			continue;
		}
		if (!parse_statement(p, tail))
			return false;
		while (*tail != NULL)
			tail = &(*tail)->next;
	}
	return true;
}

int repoinit_parse(const char *text, size_t n, struct repoinit_script **ret_script,
                   struct repoinit_error *ret_error)
{
	struct repoinit_script *script = xcalloc(1, sizeof(*script));
	struct parser           p = { .script = script, .error = ret_error };

	arena_init(&script->arena);
	if (n > REPOINIT_MAX_SCRIPT)
		scan_fail(ret_error, (struct repoinit_at){ 1, 1 }, "longer than %u octets",
		          REPOINIT_MAX_SCRIPT);
	else if (scan_init(&p.scan, text, n, ret_error) && parse_next(&p) && parse_script(&p)) {
		*ret_script = script;
		return 0;
	}
	repoinit_free(script);
	return -1;
}

const struct repoinit_statement *repoinit_first(const struct repoinit_script *script)
{
	return script->first;
}

void repoinit_free(struct repoinit_script *script)
{
	if (script == NULL)
		return;
	for (struct repoinit_statement *s = script->first; s != NULL; s = s->next)
		if (s->kind == REPOINIT_CREATE_PRINCIPAL && s->principal.password != NULL)
			explicit_bzero((void *)s->principal.password->text.p,
			               s->principal.password->text.n);
	arena_done(&script->arena);
	free(script);
}
