/* parse.c - reads a JCR-SQL2 statement (JCR 2.0 section 6.7) of the subset that is offered.
 *
 *    query    = SELECT (* | column {, column}) FROM name [AS selector]
 *               [WHERE or] [ORDER BY order {, order}] [LIMIT n] [OFFSET n]
 *    or       = and {OR and}
 *    and      = not {AND not}
 *    not      = NOT not | ( or ) | function | operand test
 *    test     = (= | <> | < | <= | > | >= | LIKE) literal | [NOT] IN ( literal {, literal} )
 *             | IS [NOT] NULL
 *    operand  = [selector .] name | NAME([selector]) | LOWER(operand) | UPPER(operand)
 *    literal  = text | number | TRUE | FALSE | CAST(literal AS type)
 *
 * One word is looked ahead. Depth, conditions and literals are counted: the stack and the work that
 * follows are bounded whatever the text is.
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: BW_ESYNTAX, the place and the reason.
 * Tests: tests/unit/query/parse_test.c, fuzz/query_parse. */
#include "lex.h"
#include <base/utf8.h>
#include <boardwalk/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct parser {
	struct lex       lex;
	struct lex_token now; /* looked at, not taken */
	struct query    *q;
	unsigned         depth, n_nodes, n_values;
	bool             failed;
};

static void fail(struct parser *p, size_t at, const char *why)
{
	struct query_error *e = p->lex.error;

	if (p->failed)
		return;
	p->failed = true;
	e->position = at;
	snprintf(e->text, sizeof(e->text), "%s", why);
}

static void advance(struct parser *p)
{
	p->now = lex_next(&p->lex);
	if (p->now.kind == LEX_BAD)
		p->failed = true; /* the reason is there */
}

static bool is_keyword(const struct parser *p, const char *word)
{
	return p->now.kind == LEX_WORD && strcasecmp(p->now.text.p, word) == 0;
}

static bool is_sign(const struct parser *p, const char *sign)
{
	return p->now.kind == LEX_SIGN && strcmp(p->now.text.p, sign) == 0;
}

static bool take_keyword(struct parser *p, const char *word)
{
	if (p->failed || !is_keyword(p, word))
		return false;
	advance(p);
	return true;
}

static bool take_sign(struct parser *p, const char *sign)
{
	if (p->failed || !is_sign(p, sign))
		return false;
	advance(p);
	return true;
}

static void want_keyword(struct parser *p, const char *word)
{
	char why[32];

	if (take_keyword(p, word))
		return;
	snprintf(why, sizeof(why), "%s is expected", word);
	fail(p, p->now.at, why);
}

static void want_sign(struct parser *p, const char *sign)
{
	char why[32];

	if (take_sign(p, sign))
		return;
	snprintf(why, sizeof(why), "%s is expected", sign);
	fail(p, p->now.at, why);
}

static bool deeper(struct parser *p)
{
	if (p->depth == QUERY_MAX_DEPTH)
		fail(p, p->now.at, "nested too deeply");
	p->depth++;
	return !p->failed;
}

static struct query_node *new_node(struct parser *p, enum query_node_kind kind)
{
	if (++p->n_nodes > QUERY_MAX_NODES)
		fail(p, p->now.at, "too many conditions");
	return query_node_new(p->lex.arena, kind);
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

static bool is_name_next(const struct parser *p)
{
	return p->now.kind == LEX_BRACKET || (p->now.kind == LEX_WORD && !is_reserved(p->now.text));
}

/* A name in brackets, or a plain word. */
static struct bw_str name(struct parser *p, const char *what)
{
	struct bw_str found = p->now.text;
	char          why[64];

	if (p->failed)
		return BW_STR("");
	if (!is_name_next(p)) {
		snprintf(why, sizeof(why), "%s is expected", what);
		fail(p, p->now.at, why);
	} else if (memchr(found.p, '/', found.n) != NULL) {
		fail(p, p->now.at, "a property of another node is not supported");
	} else if (!query_is_name(found)) {
		fail(p, p->now.at, "not a name");
	}
	advance(p);
	return p->failed ? BW_STR("") : found;
}

static void check_selector(struct parser *p, struct bw_str found, size_t at)
{
	if (p->q->selector.p == NULL) /* columns come before FROM: looked at again there */
		p->q->selector = found;
	else if (!bw_str_eq(p->q->selector, found))
		fail(p, at, "not the selector of this query");
}

/* [selector .] name, or [selector .] * (absent) where that may stand. */
static struct bw_str property(struct parser *p, bool star)
{
	size_t        at = p->now.at;
	struct bw_str found;

	if (star && take_sign(p, "*"))
		return BW_ABSENT;
	found = name(p, "a property");
	if (!take_sign(p, "."))
		return found;
	check_selector(p, found, at);
	if (star && take_sign(p, "*"))
		return BW_ABSENT;
	return name(p, "a property");
}

static void optional_selector(struct parser *p)
{
	size_t at = p->now.at;

	if (!is_sign(p, ")"))
		check_selector(p, name(p, "the selector"), at);
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
	if (is_keyword(p, "TRUE"))
		found = BW_STR("true");
	else if (is_keyword(p, "FALSE"))
		found = BW_STR("false");
	else if (p->now.kind == LEX_NUMBER && !query_is_value(BW_VALUE_DOUBLE, found))
		fail(p, p->now.at, "a number out of range");
	else if (p->now.kind == LEX_WORD || p->now.kind == LEX_BRACKET)
		fail(p, p->now.at, "a value is expected: names stand on the left");
	else if (p->now.kind != LEX_STRING && p->now.kind != LEX_NUMBER)
		fail(p, p->now.at, "a value is expected");
	advance(p);
	return found;
}

static struct bw_str literal(struct parser *p)
{
	size_t             at = p->now.at;
	struct bw_str      found;
	enum bw_value_type type;

	if (++p->n_values > QUERY_MAX_VALUES)
		fail(p, at, "too many values");
	if (!take_keyword(p, "CAST"))
		return plain_literal(p);
	want_sign(p, "(");
	found = plain_literal(p);
	want_keyword(p, "AS");
	if (p->failed)
		return found;
	type = p->now.kind == LEX_WORD ? type_named(p->now.text) : 0;
	if (type == 0)
		fail(p, p->now.at, "a type is expected");
	else if (!query_is_value(type, found))
		fail(p, at, "the value is not of this type");
	advance(p);
	want_sign(p, ")");
	return found;
}

/* ---- conditions ---- */

static struct query_operand operand(struct parser *p)
{
	struct query_operand o = { .kind = QUERY_PROPERTY };
	struct lex_token     first = p->now;
	enum query_case      letters;

	if (!is_name_next(p) || first.kind == LEX_BRACKET) {
		o.name = property(p, false);
		return o;
	}
	advance(p);
	if (p->failed || !is_sign(p, "(")) {
		/* A plain name: [selector .] name. */
		if (take_sign(p, ".")) {
			check_selector(p, first.text, first.at);
			o.name = name(p, "a property");
		} else {
			o.name = first.text;
			if (!query_is_name(first.text))
				fail(p, first.at, "not a name");
		}
		return o;
	}
	advance(p);
	if (strcasecmp(first.text.p, "NAME") == 0) {
		o.kind = QUERY_NAME;
		optional_selector(p);
	} else if (strcasecmp(first.text.p, "LOWER") == 0 ||
	           strcasecmp(first.text.p, "UPPER") == 0) {
		letters = strcasecmp(first.text.p, "LOWER") == 0 ? QUERY_LOWER : QUERY_UPPER;
		if (deeper(p))
			o = operand(p);
		p->depth--;
		o.letters = letters; /* the outermost is what counts */
	} else if (strcasecmp(first.text.p, "SCORE") == 0) {
		o.kind = QUERY_SCORE;
		optional_selector(p);
	} else {
		fail(p, first.at, "not a function of this language");
	}
	want_sign(p, ")");
	return o;
}

static enum query_op comparison(struct parser *p)
{
	static const char *const signs[] = { "=", "<>", "<", "<=", ">", ">=" };

	for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (take_sign(p, signs[i]))
			return (enum query_op)i;
	if (!take_keyword(p, "LIKE"))
		fail(p, p->now.at, "a comparison is expected");
	return QUERY_LIKE;
}

static void values(struct parser *p, struct query_node *node)
{
	struct bw_str *all = NULL;
	unsigned       n = 0, cap = 0;

	want_sign(p, "(");
	do {
		if (n == cap) {
			struct bw_str *more;

			cap = cap > 0 ? 2 * cap : 8;
			more = arena_alloc(p->lex.arena, cap * sizeof(*more));
			if (n > 0)
				memcpy(more, all, n * sizeof(*more));
			all = more;
		}
		all[n++] = literal(p);
	} while (take_sign(p, ","));
	want_sign(p, ")");
	node->values = all;
	node->n_values = n;
}

static struct query_node *negated(struct parser *p, struct query_node *node)
{
	struct query_node *not = new_node(p, QUERY_NOT);

	query_add(not, node);
	return not ;
}

/* Behind `operand IS`. */
static struct query_node *null_test(struct parser *p, const struct query_operand *o, size_t at)
{
	struct query_node *node = new_node(p, QUERY_EXISTS);
	bool               exists = take_keyword(p, "NOT");

	want_keyword(p, "NULL");
	node->operand = *o;
	if (o->kind != QUERY_PROPERTY || o->letters != QUERY_AS_IS)
		fail(p, at, "only a property can be NULL");
	return exists ? node : negated(p, node);
}

static struct query_node *comparison_of_operand(struct parser *p)
{
	size_t               at = p->now.at;
	struct query_operand o = operand(p);
	struct query_node   *node;
	bool not ;

	if (o.kind == QUERY_SCORE)
		fail(p, at, "the score is only sorted by");
	if (take_keyword(p, "IS"))
		return null_test(p, &o, at);
	node = new_node(p, QUERY_COMPARE);
	node->operand = o;
	not = take_keyword(p, "NOT");
	if (take_keyword(p, "IN")) {
		node->op = QUERY_EQ;
		values(p, node);
	} else if (not ) {
		fail(p, p->now.at, "IN is expected");
	} else {
		node->op = comparison(p);
		node->values = arena_alloc(p->lex.arena, sizeof(*node->values));
		node->values[0] = literal(p);
		node->n_values = 1;
	}
	return not ? negated(p, node) : node;
}

/* CONTAINS(s.*, 'words'), CONTAINS(s.[p], 'words'), CONTAINS(s, 'words') */
static struct query_node *contains(struct parser *p)
{
	struct query_node *node = new_node(p, QUERY_CONTAINS);
	struct bw_str      first;
	size_t             at;

	want_sign(p, "(");
	first = p->now.text;
	node->name = property(p, true);
	/* The selector alone stands for all of it; behind a '.' it would be a property's name. */
	if (!p->failed && node->name.p == first.p && bw_str_eq(first, p->q->selector))
		node->name = BW_ABSENT;
	want_sign(p, ",");
	at = p->now.at;
	node->text = literal(p);
	if (!p->failed && !query_is_words(node->text))
		fail(p, at, "more than 32 words or 1024 octets");
	want_sign(p, ")");
	return node;
}

/* ISSAMENODE([s,] '/path') and its like. The path may stand in brackets. */
static struct query_node *place(struct parser *p, enum query_node_kind kind)
{
	struct query_node *node = new_node(p, kind);
	struct lex_token   first;

	want_sign(p, "(");
	first = p->now;
	if (!p->failed && first.kind == LEX_WORD) {
		check_selector(p, name(p, "the selector"), first.at);
		want_sign(p, ",");
		first = p->now;
	}
	if (!p->failed && first.kind == LEX_BRACKET && first.text.p[0] != '/') {
		check_selector(p, name(p, "the selector"), first.at);
		want_sign(p, ",");
		first = p->now;
	}
	if (p->failed)
		return node;
	if (first.kind != LEX_STRING && first.kind != LEX_BRACKET)
		fail(p, first.at, "a path is expected");
	else if (!query_is_path(first.text))
		fail(p, first.at, "not an absolute path");
	node->text = first.text;
	advance(p);
	want_sign(p, ")");
	return node;
}

static struct query_node *condition(struct parser *p);

/* A function is told from a property by what follows: the word looked at has a '(' behind it. */
static bool is_bracket_next(const struct parser *p)
{
	size_t at = p->lex.at;

	while (at < p->lex.text.n && strchr(" \t\r\n", p->lex.text.p[at]) != NULL)
		at++;
	return at < p->lex.text.n && p->lex.text.p[at] == '(';
}

static struct query_node *one_condition(struct parser *p)
{
	struct query_node *node = NULL;
	bool               is_call = is_bracket_next(p);

	if (!deeper(p)) {
		p->depth--;
		return new_node(p, QUERY_AND);
	}
	if (take_keyword(p, "NOT")) {
		node = negated(p, one_condition(p));
	} else if (take_sign(p, "(")) {
		node = condition(p);
		want_sign(p, ")");
	} else if (is_call && take_keyword(p, "CONTAINS")) {
		node = contains(p);
	} else if (is_call && take_keyword(p, "ISDESCENDANTNODE")) {
		node = place(p, QUERY_DESCENDANT);
	} else if (is_call && take_keyword(p, "ISCHILDNODE")) {
		node = place(p, QUERY_CHILD);
	} else if (is_call && take_keyword(p, "ISSAMENODE")) {
		node = place(p, QUERY_SAME);
	} else {
		node = comparison_of_operand(p);
	}
	p->depth--;
	return node;
}

static struct query_node *conjunction(struct parser *p)
{
	struct query_node *first = one_condition(p), *all = NULL;

	while (take_keyword(p, "AND")) {
		if (all == NULL) {
			all = new_node(p, QUERY_AND);
			query_add(all, first);
		}
		query_add(all, one_condition(p));
	}
	return all != NULL ? all : first;
}

static struct query_node *condition(struct parser *p)
{
	struct query_node *first = conjunction(p), *all = NULL;

	while (take_keyword(p, "OR")) {
		if (all == NULL) {
			all = new_node(p, QUERY_OR);
			query_add(all, first);
		}
		query_add(all, conjunction(p));
	}
	return all != NULL ? all : first;
}

/* ---- the statement ---- */

static void columns(struct parser *p)
{
	bool all = false;

	do {
		size_t        at = p->now.at;
		struct bw_str found = property(p, true);

		if (found.p == NULL)
			all = true;
		else if (p->q->n_columns == QUERY_MAX_COLUMNS)
			fail(p, at, "too many columns");
		else
			p->q->columns[p->q->n_columns++] = found;
	} while (take_sign(p, ","));
	if (all)
		p->q->n_columns = 0;
}

/* The columns may have named the selector before it was said: they must have meant it. */
static void from(struct parser *p)
{
	struct bw_str used = p->q->selector, type;
	size_t        at;

	want_keyword(p, "FROM");
	type = name(p, "a node type");
	if (!bw_str_eq(type, BW_STR("nt:base")))
		p->q->node_type = type;
	at = p->now.at;
	p->q->selector = take_keyword(p, "AS") ? name(p, "a selector") : type;
	if (used.p != NULL && !bw_str_eq(used, p->q->selector))
		fail(p, at, "the columns are of another selector");
	if (is_keyword(p, "JOIN") || is_keyword(p, "INNER") || is_keyword(p, "LEFT") ||
	    is_keyword(p, "RIGHT") || is_sign(p, ","))
		fail(p, p->now.at, "joins are not supported");
}

static void orders(struct parser *p)
{
	do {
		struct query_order *order = &p->q->orders[p->q->n_orders];

		if (p->q->n_orders == QUERY_MAX_ORDERS) {
			fail(p, p->now.at, "too many columns to sort by");
			return;
		}
		order->operand = operand(p);
		if (order->operand.kind == QUERY_PROPERTY &&
		    bw_str_eq(order->operand.name, BW_STR("jcr:score")))
			order->operand.kind = QUERY_SCORE;
		order->descending = take_keyword(p, "DESC");
		if (!order->descending)
			(void)take_keyword(p, "ASC");
		p->q->n_orders++;
	} while (take_sign(p, ","));
}

static uint64_t whole_number(struct parser *p)
{
	struct bw_str text = p->now.text;

	if (p->failed)
		return 0;
	if (p->now.kind != LEX_NUMBER || text.n > 15 || strspn(text.p, "0123456789") != text.n)
		fail(p, p->now.at, "a whole number is expected");
	advance(p);
	return p->failed ? 0 : strtoull(text.p, NULL, 10);
}

static void statement(struct parser *p)
{
	want_keyword(p, "SELECT");
	columns(p);
	from(p);
	if (take_keyword(p, "WHERE"))
		p->q->where = condition(p);
	if (take_keyword(p, "ORDER")) {
		want_keyword(p, "BY");
		orders(p);
	}
	if (take_keyword(p, "LIMIT")) {
		p->q->has_limit = true;
		p->q->limit = whole_number(p);
	}
	if (take_keyword(p, "OFFSET"))
		p->q->offset = whole_number(p);
	if (!p->failed && p->now.kind != LEX_END)
		fail(p, p->now.at, "the query should end here");
}

int query_parse(struct bw_str text, struct arena *a, struct query *ret, struct query_error *error)
{
	struct query  q = { 0 };
	struct parser p = { .lex = { text, 0, a, error }, .q = &q };

	*error = (struct query_error){ 0 };
	if (text.n > QUERY_MAX_TEXT)
		fail(&p, QUERY_MAX_TEXT, "more than 65536 octets");
	else if (!utf8_ok(text.p, text.n) || memchr(text.p, '\0', text.n) != NULL)
		fail(&p, 0, "not UTF-8 text");
	if (p.failed)
		return BW_ESYNTAX;
	advance(&p);
	statement(&p);
	if (p.failed)
		return BW_ESYNTAX;
	*ret = q;
	return BW_OK;
}
