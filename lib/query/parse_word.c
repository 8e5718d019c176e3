/* parse_word.c - what the parts of the parser share: the word that is looked at, names, values.
 *
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: p->failed, and the first reason stays.
 * Tests: tests/conformance/query, fuzz/query_parse. */
#include "parse_impl.h"
#include <stdio.h>
#include <strings.h>

void parse_fail(struct parser *p, size_t at, const char *why)
{
	struct query_error *e = p->lex.error;

	if (p->failed)
		return;
	p->failed = true;
	e->position = at;
	snprintf(e->text, sizeof(e->text), "%s", why);
}

void parse_advance(struct parser *p)
{
	p->now = lex_next(&p->lex);
	if (p->now.kind == LEX_BAD)
		p->failed = true; /* the reason is there */
}

bool parse_is_keyword(const struct parser *p, const char *word)
{
	return p->now.kind == LEX_WORD && strcasecmp(p->now.text.p, word) == 0;
}

bool parse_is_sign(const struct parser *p, const char *sign)
{
	return p->now.kind == LEX_SIGN && strcmp(p->now.text.p, sign) == 0;
}

bool parse_take_keyword(struct parser *p, const char *word)
{
	if (p->failed || !parse_is_keyword(p, word))
		return false;
	parse_advance(p);
	return true;
}

bool parse_take_sign(struct parser *p, const char *sign)
{
	if (p->failed || !parse_is_sign(p, sign))
		return false;
	parse_advance(p);
	return true;
}

void parse_want_keyword(struct parser *p, const char *word)
{
	char why[32];

	if (parse_take_keyword(p, word))
		return;
	snprintf(why, sizeof(why), "%s is expected", word);
	parse_fail(p, p->now.at, why);
}

void parse_want_sign(struct parser *p, const char *sign)
{
	char why[32];

	if (parse_take_sign(p, sign))
		return;
	snprintf(why, sizeof(why), "%s is expected", sign);
	parse_fail(p, p->now.at, why);
}

/* ---- names ---- */

static bool is_reserved(struct bw_str word)
{
	static const char *const words[] = {
		"SELECT", "FROM", "AS",    "WHERE", "AND",  "OR",    "NOT",   "IN",     "IS",
		"NULL",   "LIKE", "ORDER", "BY",    "ASC",  "DESC",  "LIMIT", "OFFSET", "TRUE",
		"FALSE",  "CAST", "JOIN",  "INNER", "LEFT", "RIGHT", "OUTER", "ON",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(words[i], word.p) == 0)
			return true;
	return false;
}

bool parse_is_name_next(const struct parser *p)
{
	return p->now.kind == LEX_BRACKET || (p->now.kind == LEX_WORD && !is_reserved(p->now.text));
}

/* A name in brackets, or a plain word. */
struct bw_str parse_name(struct parser *p, const char *what)
{
	struct bw_str found = p->now.text;
	char          why[64];

	if (p->failed)
		return BW_STR("");
	if (!parse_is_name_next(p)) {
		snprintf(why, sizeof(why), "%s is expected", what);
		parse_fail(p, p->now.at, why);
	} else if (memchr(found.p, '/', found.n) != NULL) {
		parse_fail(p, p->now.at, "a property of another node is not supported");
	} else if (!query_is_name(found)) {
		parse_fail(p, p->now.at, "not a name");
	}
	parse_advance(p);
	return p->failed ? BW_STR("") : found;
}

void parse_check_selector(struct parser *p, struct bw_str found, size_t at)
{
	if (p->q->selector.p == NULL) /* columns come before FROM: looked at again there */
		p->q->selector = found;
	else if (!bw_str_eq(p->q->selector, found))
		parse_fail(p, at, "not the selector of this query");
}

/* [selector .] name, or [selector .] * (absent) where that may stand. */
struct bw_str parse_property(struct parser *p, bool star)
{
	size_t        at = p->now.at;
	struct bw_str found;

	if (star && parse_take_sign(p, "*"))
		return BW_ABSENT;
	found = parse_name(p, "a property");
	if (!parse_take_sign(p, "."))
		return found;
	parse_check_selector(p, found, at);
	if (star && parse_take_sign(p, "*"))
		return BW_ABSENT;
	return parse_name(p, "a property");
}

void parse_optional_selector(struct parser *p)
{
	size_t at = p->now.at;

	if (!parse_is_sign(p, ")"))
		parse_check_selector(p, parse_name(p, "the selector"), at);
}

/* ---- literals ---- */

static enum bw_value_type type_named(struct bw_str word)
{
	static const struct {
		const char        *name;
		enum bw_value_type type;
	} types[] = {
		{ "STRING", BW_VALUE_STRING },
		{ "LONG", BW_VALUE_LONG },
		{ "DOUBLE", BW_VALUE_DOUBLE },
		{ "DECIMAL", BW_VALUE_DECIMAL },
		{ "DATE", BW_VALUE_DATE },
		{ "BOOLEAN", BW_VALUE_BOOLEAN },
		{ "NAME", BW_VALUE_NAME },
		{ "PATH", BW_VALUE_PATH },
		{ "URI", BW_VALUE_URI },
		{ "REFERENCE", BW_VALUE_REFERENCE },
		{ "WEAKREFERENCE", BW_VALUE_WEAKREFERENCE },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcasecmp(types[i].name, word.p) == 0)
			return types[i].type;
	return 0;
}

static struct bw_str plain_literal(struct parser *p)
{
	struct bw_str found = p->now.text;

	if (p->failed)
		return BW_STR("");
	if (parse_is_keyword(p, "TRUE"))
		found = BW_STR("true");
	else if (parse_is_keyword(p, "FALSE"))
		found = BW_STR("false");
	else if (p->now.kind == LEX_NUMBER && !query_is_value(BW_VALUE_DOUBLE, found))
		parse_fail(p, p->now.at, "a number out of range");
	else if (p->now.kind == LEX_WORD || p->now.kind == LEX_BRACKET)
		parse_fail(p, p->now.at, "a value is expected: names stand on the left");
	else if (p->now.kind != LEX_STRING && p->now.kind != LEX_NUMBER)
		parse_fail(p, p->now.at, "a value is expected");
	parse_advance(p);
	return found;
}

struct bw_str parse_literal(struct parser *p)
{
	size_t             at = p->now.at;
	struct bw_str      found;
	enum bw_value_type type;

	if (++p->n_values > QUERY_MAX_VALUES)
		parse_fail(p, at, "too many values");
	if (!parse_take_keyword(p, "CAST"))
		return plain_literal(p);
	parse_want_sign(p, "(");
	found = plain_literal(p);
	parse_want_keyword(p, "AS");
	if (p->failed)
		return found;
	type = p->now.kind == LEX_WORD ? type_named(p->now.text) : 0;
	if (type == 0)
		parse_fail(p, p->now.at, "a type is expected");
	else if (!query_is_value(type, found))
		parse_fail(p, at, "the value is not of this type");
	parse_advance(p);
	parse_want_sign(p, ")");
	return found;
}
