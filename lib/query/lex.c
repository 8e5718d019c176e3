/* lex.c - splits a JCR-SQL2 statement (JCR 2.0 section 6.7) into words.
 *
 * Owns: nothing; text goes into the caller's arena. Runs in: repo, tests. Fails with: a LEX_BAD token.
 * Tests: tests/unit/query/parse_test.c, fuzz/query_parse. */
#include "lex.h"
#include <stdio.h>

static struct lex_token bad(struct lex *lex, size_t at, const char *why)
{
	lex->error->position = at;
	snprintf(lex->error->text, sizeof(lex->error->text), "%s", why);
	return (struct lex_token){ .kind = LEX_BAD, .at = at };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters, digits, '_' and ':'; all octets of UTF-8 beyond ASCII. */
static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
	       c == ':' || (unsigned char)c >= 0x80;
}

static struct lex_token token(struct lex *lex, enum lex_kind kind, size_t at, size_t from, size_t n)
{
	return (struct lex_token){ kind, at, { arena_dup(lex->arena, lex->text.p + from, n), n } };
}

/* The octets of a quoted text that begins behind the opening quote at `at`, quotes still doubled;
 * SIZE_MAX: it does not end. */
static size_t quoted_length(struct bw_str text, size_t at)
{
	size_t n = 0;

	for (at++; at + n < text.n; n++) {
		if (text.p[at + n] != '\'')
			continue;
		if (at + n + 1 == text.n || text.p[at + n + 1] != '\'')
			return n;
		n++;
	}
	return SIZE_MAX;
}

static struct lex_token string(struct lex *lex)
{
	size_t      start = lex->at, length = quoted_length(lex->text, start), n = 0;
	const char *p = lex->text.p + start + 1;
	char       *to;

	if (length == SIZE_MAX)
		return bad(lex, start, "a text that does not end: ' is missing");
	to = arena_alloc(lex->arena, length + 1);
	for (size_t i = 0; i < length; i++) {
		to[n++] = p[i];
		i += p[i] == '\'';
	}
	to[n] = '\0';
	lex->at = start + length + 2;
	return (struct lex_token){ LEX_STRING, start, { to, n } };
}

static struct lex_token bracket(struct lex *lex)
{
	size_t      start = lex->at;
	const char *end = memchr(lex->text.p + start, ']', lex->text.n - start);
	size_t      n;

	if (end == NULL)
		return bad(lex, start, "a name that does not end: ] is missing");
	n = (size_t)(end - lex->text.p) - start - 1;
	lex->at = start + n + 2;
	return token(lex, LEX_BRACKET, start, start + 1, n);
}

static void skip_digits(struct lex *lex)
{
	while (lex->at < lex->text.n && is_digit(lex->text.p[lex->at]))
		lex->at++;
}

static struct lex_token number(struct lex *lex)
{
	size_t      start = lex->at;
	const char *p = lex->text.p;

	if (p[lex->at] == '-' || p[lex->at] == '+')
		lex->at++;
	skip_digits(lex);
	if (lex->at < lex->text.n && p[lex->at] == '.') {
		lex->at++;
		skip_digits(lex);
	}
	if (lex->at < lex->text.n && (p[lex->at] == 'e' || p[lex->at] == 'E')) {
		lex->at++;
		if (lex->at < lex->text.n && (p[lex->at] == '-' || p[lex->at] == '+'))
			lex->at++;
		if (lex->at == lex->text.n || !is_digit(p[lex->at]))
			return bad(lex, start, "not a number");
		skip_digits(lex);
	}
	if (lex->at < lex->text.n && is_word(p[lex->at]))
		return bad(lex, start, "not a number");
	return token(lex, LEX_NUMBER, start, start, lex->at - start);
}

static struct lex_token sign(struct lex *lex)
{
	const char *p = lex->text.p + lex->at;
	size_t      left = lex->text.n - lex->at, n = 1;

	if (strchr("(),.*=<>", *p) == NULL)
		return bad(lex, lex->at, "a character that means nothing here");
	if ((*p == '<' || *p == '>') && left > 1 && (p[1] == '=' || (*p == '<' && p[1] == '>')))
		n = 2;
	lex->at += n;
	return token(lex, LEX_SIGN, lex->at - n, lex->at - n, n);
}

struct lex_token lex_next(struct lex *lex)
{
	const char *p = lex->text.p;
	size_t      start;

	while (lex->at < lex->text.n && is_blank(p[lex->at]))
		lex->at++;
	start = lex->at;
	if (start == lex->text.n)
		return (struct lex_token){ .kind = LEX_END, .at = start, .text = BW_STR("") };
	if (p[start] == '\'')
		return string(lex);
	if (p[start] == '[')
		return bracket(lex);
	if (is_digit(p[start]) || ((p[start] == '-' || p[start] == '+') &&
	                           start + 1 < lex->text.n && is_digit(p[start + 1])))
		return number(lex);
	if (!is_word(p[start]))
		return sign(lex);
	while (lex->at < lex->text.n && is_word(p[lex->at]))
		lex->at++;
	return token(lex, LEX_WORD, start, start, lex->at - start);
}
