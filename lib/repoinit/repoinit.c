/* repoinit.c - the statements of the repoinit language.
 *
 * forms[] is the grammar's first level: the fixed words a statement begins with and the function for
 * the rest. A form without a function belongs to the language but not to this version; it is refused
 * by name. Blocks are in acl.c and property.c. No recursion: the language does not nest.
 *
 * Owns: the script and its arena. Runs in: the CLI, blocking. Fails with: line, column and a
 * sentence. Tests: tests/unit/repoinit/repoinit_test.c, tests/conformance/repoinit.rows. */
#include "parse.h"

#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>

static bool parse_create_path(struct parser *p, struct repoinit_statement *s);
static bool parse_create_service_user(struct parser *p, struct repoinit_statement *s);
static bool parse_create_user(struct parser *p, struct repoinit_statement *s);

/* Where one form begins with another's words the longer one stands first. */
static const struct form {
	const char        *words[3];
	enum repoinit_kind kind;
	bool (*parse)(struct parser *p, struct repoinit_statement *s);
} forms[] = {
	{ { "create", "path" }, REPOINIT_CREATE_PATH, parse_create_path },
	{ { "create", "service", "user" },
	  REPOINIT_CREATE_SERVICE_USER,
	  parse_create_service_user },
	{ { "create", "user" }, REPOINIT_CREATE_USER, parse_create_user },
	{ { "create", "group" }, 0, NULL },
	{ { "ensure", "nodes" }, 0, NULL },
	{ { "ensure", "principal", "ACL" }, 0, NULL },
	{ { "delete", "service", "user" }, 0, NULL },
	{ { "delete", "user" }, 0, NULL },
	{ { "delete", "group" }, 0, NULL },
	{ { "delete", "ACL" }, 0, NULL },
	{ { "delete", "principal", "ACL" }, 0, NULL },
	{ { "disable", "service", "user" }, 0, NULL },
	{ { "disable", "user" }, 0, NULL },
	{ { "add", "mixin" }, 0, NULL },
	{ { "add" }, 0, NULL },
	{ { "remove", "mixin" }, 0, NULL },
	{ { "remove", "ACE" }, 0, NULL },
	{ { "remove", "principal", "ACL" }, 0, NULL },
	{ { "remove", "principal", "ACE" }, 0, NULL },
	{ { "remove" }, 0, NULL },
	{ { "set", "ACL", "on" }, REPOINIT_SET_ACL, parse_acl },
	{ { "set", "ACL", "for" }, 0, NULL },
	{ { "set", "repository", "ACL" }, 0, NULL },
	{ { "set", "principal", "ACL" }, 0, NULL },
	{ { "set", "properties", "on" }, REPOINIT_SET_PROPERTIES, parse_properties },
	{ { "register", "namespace" }, 0, NULL },
	{ { "register", "nodetypes" }, 0, NULL },
	{ { "register", "abstract", "privilege" }, 0, NULL },
	{ { "register", "privilege" }, 0, NULL },
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

bool parse_unsupported(struct parser *p, struct repoinit_at at, const char *what)
{
	return scan_fail(p->error, at, "'%s' is not supported by this version", what);
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

/* Of the path expressions of the language only absolute paths can be followed in this version. */
bool parse_paths(struct parser *p, struct repoinit_word **ret)
{
	struct repoinit_word **tail = ret;

	for (;;) {
		const struct token *t = &p->token;

		if (parse_is(p, "home") || parse_is(p, "authorizable"))
			return parse_unsupported(p, t->at,
			                         parse_is(p, "home") ? "home()" : "authorizable()");
		if (t->kind == TOKEN_WORD && t->n == 11 && memcmp(t->p, ":repository", 11) == 0)
			return parse_unsupported(p, t->at, ":repository");
		if (!parse_word(p, 1u << TOKEN_PATH | 1u << TOKEN_QUOTED, "an absolute path", tail))
			return false;
		if ((*tail)->text.n == 0 || (*tail)->text.p[0] != '/')
			return scan_fail(p->error, (*tail)->at, "a path begins with '/'");
		tail = &(*tail)->next;
		if (!parse_is(p, ","))
			return true;
		if (!parse_next(p))
			return false;
	}
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

/* The type in parentheses, from behind the opening one. */
static bool parse_type(struct parser *p, struct bw_str *ret_type)
{
	struct repoinit_word *word;
	unsigned              kinds = 1u << TOKEN_WORD | 1u << TOKEN_NAME;

	if (parse_is(p, "mixin"))
		return parse_unsupported(p, p->token.at, "mixin");
	if (!parse_word(p, kinds, "a node type", &word))
		return false;
	if (parse_is(p, "mixin"))
		return parse_unsupported(p, p->token.at, "mixin");
	*ret_type = word->text;
	return parse_expect(p, ")");
}

/* The names of one piece of a path, appended to *tail; the last one is *ret_last. */
static bool split_path(struct parser *p, const struct repoinit_word *path,
                       struct repoinit_segment ***tail, struct repoinit_segment **ret_last)
{
	const char *at = path->text.p, *end = at + path->text.n;

	if (at == end || *at != '/')
		return scan_fail(p->error, path->at, "a path begins with '/'");
	while (at < end && ++at < end) {
		size_t                   n = strcspn(at, "/");
		struct repoinit_segment *segment;

		if (n == 0 || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
			return scan_fail(p->error, path->at, "'%.*s' is no name", (int)n, at);
		segment = arena_zalloc(&p->script->arena, sizeof(*segment));
		segment->name = (struct bw_str){ arena_dup(&p->script->arena, at, n), n };
		segment->at = path->at;
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
	unsigned                  kinds = 1u << TOKEN_PATH | 1u << TOKEN_QUOTED;
	struct repoinit_word     *piece;

	do {
		if (!parse_word(p, kinds, "an absolute path", &piece) ||
		    !split_path(p, piece, &tail, &last))
			return false;
		if (!parse_is(p, "("))
			return true;
		if (last == NULL)
			return scan_fail(p->error, p->token.at, "the root has its type already");
		if (!parse_next(p) || !parse_type(p, &last->type))
			return false;
	} while ((kinds >> p->token.kind & 1) != 0);
	return true;
}

/* `with properties` is `set properties on` the last node, hence a second statement. */
static bool parse_path_properties(struct parser *p, struct repoinit_statement *s)
{
	struct repoinit_statement *set = arena_zalloc(&p->script->arena, sizeof(*set));
	struct repoinit_word      *path = arena_zalloc(&p->script->arena, sizeof(*path));
	char                      *text = arena_dup(&p->script->arena, "", 0);

	for (const struct repoinit_segment *at = s->path.segments; at != NULL; at = at->next)
		text = arena_printf(&p->script->arena, "%s/%s", text, at->name.p);
	path->text = bw_str(*text == '\0' ? "/" : text);
	path->at = s->at;
	set->kind = REPOINIT_SET_PROPERTIES;
	set->at = s->at;
	set->properties.paths = path;
	s->next = set;
	return parse_expect(p, "with") && parse_expect(p, "properties") && parse_line_end(p) &&
	       parse_property_lines(p, &set->properties.lines);
}

static bool parse_create_path(struct parser *p, struct repoinit_statement *s)
{
	if (parse_is(p, "(") && (!parse_next(p) || !parse_type(p, &s->path.default_type)))
		return false;
	if (!parse_typed_path(p, &s->path.segments))
		return false;
	return parse_is(p, "with") ? parse_path_properties(p, s) : parse_line_end(p);
}

static bool parse_create_service_user(struct parser *p, struct repoinit_statement *s)
{
	if (!parse_words(p, PARSE_NAMES, "a user's name", &s->service_users.names))
		return false;
	if (parse_is(p, "with"))
		return parse_unsupported(p, p->token.at, "with path");
	return parse_line_end(p);
}

/* [{enc}] pw, from behind `password`. The one encoding is a whole argon2id verifier. */
static bool parse_password(struct parser *p, struct repoinit_statement *s)
{
	if (parse_is(p, "{")) {
		struct repoinit_word *encoding;

		if (!parse_next(p) || !parse_word(p, 1u << TOKEN_WORD, "an encoding", &encoding))
			return false;
		if (!bw_str_eq(encoding->text, BW_STR("argon2id")))
			return scan_fail(p->error, encoding->at,
			                 "the one password encoding is argon2id");
		if (!parse_expect(p, "}"))
			return false;
		s->user.hashed = true;
	}
	if (!parse_word(p, PARSE_NAMES, "a password", &s->user.password))
		return false;
	if (s->user.hashed && strncmp(s->user.password->text.p, "$argon2id$", 10) != 0)
		return scan_fail(p->error, s->user.password->at, "not a complete argon2id hash");
	if (s->user.password->text.n == 0 || s->user.password->text.n > 1024)
		return scan_fail(p->error, s->user.password->at, "a password has 1 to 1024 octets");
	return true;
}

static bool parse_create_user(struct parser *p, struct repoinit_statement *s)
{
	struct token with;

	if (!parse_word(p, PARSE_NAMES, "a user's name", &s->user.name))
		return false;
	with = p->token;
	if (parse_is(p, "with")) {
		if (!parse_next(p))
			return false;
		if (parse_is(p, "path") || parse_is(p, "forced"))
			return parse_unsupported(p, with.at, "with path");
		if (!parse_expect(p, "password") || !parse_password(p, s))
			return false;
	}
	return parse_line_end(p);
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
		                                      w[1] && w[2] ? w[2] : ""));
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
		if (s->kind == REPOINIT_CREATE_USER && s->user.password != NULL)
			explicit_bzero((void *)s->user.password->text.p, s->user.password->text.n);
	arena_done(&script->arena);
	free(script);
}
