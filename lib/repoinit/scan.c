/* scan.c - cuts a repoinit script into words.
 *
 * Newline is a word, since it ends a statement; blank, tab and CR only separate. A comment runs to
 * the end of its line and leaves the newline there, so it may stand behind a statement. Of the kinds
 * of word that begin at a place the longest wins; of equally long ones path before name before word.
 *
 * Owns: nothing; words point into the text. Runs in: the CLI, blocking.
 * Fails with: false and a place in the text. Tests: tests/unit/repoinit, tests/conformance. */
#include "scan.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const keywords[] = {
	"ACE",          "ACL",        "ACLOptions",  "abstract",  "add",        "allow",
	"authorizable", "create",     "default",     "delete",    "deny",       "disable",
	"end",          "ensure",     "for",         "forced",    "from",       "group",
	"home",         "mixin",      "namespace",   "nodes",     "nodetypes",  "on",
	"password",     "path",       "principal",   "privilege", "properties", "register",
	"remove",       "repository", "restriction", "service",   "set",        "to",
	"user",         "with",
};

bool scan_fail(struct repoinit_error *error, struct repoinit_at at, const char *format, ...)
{
	va_list args;

	error->at = at;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return false;
}

/* How many octets the UTF-8 character at p has; 0 if there is none (RFC 3629, section 4). */
static size_t utf8_size(const unsigned char *p, size_t n)
{
	size_t size = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (size == 0 || p[0] > 0xf4 || size > n)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return size;
}

/* Characters are known to be whole. */
void scan_step(struct scanner *s)
{
	if (*s->p == '\n') {
		s->at.line++;
		s->at.column = 1;
		s->p++;
		return;
	}
	s->at.column++;
	s->p++;
	while (s->p < s->end && (*s->p & 0xc0) == 0x80)
		s->p++;
}

bool scan_init(struct scanner *s, const char *text, size_t n, struct repoinit_error *ret_error)
{
	*s = (struct scanner){ text, text + n, { 1, 1 } };
	while (s->p < s->end) {
		if (*s->p == '\0')
			return scan_fail(ret_error, s->at, "a NUL octet");
		if (utf8_size((const unsigned char *)s->p, (size_t)(s->end - s->p)) == 0)
			return scan_fail(ret_error, s->at, "not UTF-8");
		scan_step(s);
	}
	*s = (struct scanner){ text, text + n, { 1, 1 } };
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
	return c != '\0' && (is_letter(c) || (c >= '0' && c <= '9') || strchr("-_./:*", c) != NULL);
}

static bool is_path(char c)
{
	return c != '\0' &&
	       (is_letter(c) || (c >= '0' && c <= '9') || strchr("-_.@:+/", c) != NULL);
}

static size_t run(const struct scanner *s, bool (*is)(char c))
{
	const char *p = s->p;

	while (p < s->end && is(*p))
		p++;
	return (size_t)(p - s->p);
}

/* Letters, colon, letters at p, and how long that is; 0 if not. */
static size_t run_name(const struct scanner *s)
{
	struct scanner rest = *s;
	size_t         prefix = run(s, is_letter), local;

	if (prefix == 0 || s->p + prefix == s->end || s->p[prefix] != ':')
		return 0;
	rest.p += prefix + 1;
	local = run(&rest, is_letter);
	return local == 0 ? 0 : prefix + 1 + local;
}

static bool is_keyword(const char *p, size_t n)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strlen(keywords[i]) == n && memcmp(keywords[i], p, n) == 0)
			return true;
	return false;
}

static bool scan_quoted(struct scanner *s, struct token *t, struct repoinit_error *ret_error)
{
	scan_step(s);
	while (s->p < s->end && *s->p != '"') {
		if (*s->p == '\\' && s->p + 1 < s->end && (s->p[1] == '"' || s->p[1] == '\\'))
			scan_step(s);
		scan_step(s);
	}
	if (s->p == s->end)
		return scan_fail(ret_error, t->at, "quoted text without an end");
	scan_step(s);
	t->kind = TOKEN_QUOTED;
	t->n = (size_t)(s->p - t->p);
	return true;
}

static bool scan_word(struct scanner *s, struct token *t, struct repoinit_error *ret_error)
{
	size_t word = run(s, is_word), path = *s->p == '/' ? run(s, is_path) : 0,
	       name = run_name(s);

	if (path >= word && path > 0)
		*t = (struct token){ TOKEN_PATH, s->p, path, s->at };
	else if (name >= word && name > 0)
		*t = (struct token){ TOKEN_NAME, s->p, name, s->at };
	else if (word > 0)
		*t = (struct token){ is_keyword(s->p, word) ? TOKEN_KEYWORD : TOKEN_WORD, s->p,
			             word, s->at };
	else if ((*s->p & 0x80) != 0)
		return scan_fail(ret_error, s->at, "only ASCII may stand outside quotes");
	else
		return scan_fail(ret_error, s->at, "no word begins with the character %#04x",
		                 *s->p);
	s->p += t->n;
	s->at.column += (unsigned)t->n;
	return true;
}

bool scan_next(struct scanner *s, struct token *ret_token, struct repoinit_error *ret_error)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
		scan_step(s);
	if (s->p < s->end && *s->p == '#')
		while (s->p < s->end && *s->p != '\n')
			scan_step(s);
	*ret_token = (struct token){ TOKEN_END, s->p, 0, s->at };
	if (s->p == s->end)
		return true;
	if (*s->p == '"')
		return scan_quoted(s, ret_token, ret_error);
	if (*s->p != '\n' && strchr("(){}[],=", *s->p) == NULL)
		return scan_word(s, ret_token, ret_error);
	ret_token->kind = *s->p == '\n' ? TOKEN_NEWLINE : TOKEN_PUNCT;
	ret_token->n = 1;
	scan_step(s);
	return true;
}

struct bw_str scan_text(const struct token *t, struct arena *arena)
{
	char  *out;
	size_t n = 0;

	if (t->kind != TOKEN_QUOTED)
		return (struct bw_str){ arena_dup(arena, t->p, t->n), t->n };
	out = arena_alloc(arena, t->n);
	for (size_t i = 1; i < t->n - 1; i++) {
		if (t->p[i] == '\\' && (t->p[i + 1] == '"' || t->p[i + 1] == '\\'))
			i++;
		out[n++] = t->p[i];
	}
	out[n] = '\0';
	return (struct bw_str){ out, n };
}

bool token_is(const struct token *t, const char *text)
{
	return (t->kind == TOKEN_KEYWORD || t->kind == TOKEN_PUNCT) && strlen(text) == t->n &&
	       memcmp(text, t->p, t->n) == 0;
}
