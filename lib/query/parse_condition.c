/* parse_condition.c - the conditions of a statement, and what stands on their left.
 *
 * A condition within another, and an operand within LOWER, is a call within a call: depth, conditions
 * and literals are counted, so the stack and the work that follows are bounded whatever the text is.
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: p->failed.
 * Tests: tests/conformance/query, fuzz/query_parse. */
#include "parse_impl.h"
#include <string.h>
#include <strings.h>

static bool deeper(struct parser *p)
{
	if (p->depth == QUERY_MAX_DEPTH)
		parse_fail(p, p->now.at, "nested too deeply");
	p->depth++;
	return !p->failed;
}

static struct query_node *new_node(struct parser *p, enum query_node_kind kind)
{
	if (++p->n_nodes > QUERY_MAX_NODES)
		parse_fail(p, p->now.at, "too many conditions");
	return query_node_new(p->lex.arena, kind);
}

/* ---- comparisons ---- */

struct query_operand parse_operand(struct parser *p)
{
	struct query_operand o = { .kind = QUERY_PROPERTY };
	struct lex_token     first = p->now;
	enum query_case      letters;

	if (!parse_is_name_next(p) || first.kind == LEX_BRACKET) {
		o.name = parse_property(p, false);
		return o;
	}
	parse_advance(p);
	if (p->failed || !parse_is_sign(p, "(")) {
		/* A plain name: [selector .] name. */
		if (parse_take_sign(p, ".")) {
			parse_check_selector(p, first.text, first.at);
			o.name = parse_name(p, "a property");
		} else {
			o.name = first.text;
			if (!query_is_name(first.text))
				parse_fail(p, first.at, "not a name");
		}
		return o;
	}
	parse_advance(p);
	if (strcasecmp(first.text.p, "NAME") == 0) {
		o.kind = QUERY_NAME;
		parse_optional_selector(p);
	} else if (strcasecmp(first.text.p, "LOWER") == 0 ||
	           strcasecmp(first.text.p, "UPPER") == 0) {
		letters = strcasecmp(first.text.p, "LOWER") == 0 ? QUERY_LOWER : QUERY_UPPER;
		if (deeper(p))
			o = parse_operand(p);
		p->depth--;
		o.letters = letters; /* the outermost is what counts */
	} else if (strcasecmp(first.text.p, "SCORE") == 0) {
		o.kind = QUERY_SCORE;
		parse_optional_selector(p);
	} else {
		parse_fail(p, first.at, "not a function of this language");
	}
	parse_want_sign(p, ")");
	return o;
}

static enum query_op comparison(struct parser *p)
{
	static const char *const signs[] = { "=", "<>", "<", "<=", ">", ">=" };

	for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (parse_take_sign(p, signs[i]))
			return (enum query_op)i;
	if (!parse_take_keyword(p, "LIKE"))
		parse_fail(p, p->now.at, "a comparison is expected");
	return QUERY_LIKE;
}

static void values(struct parser *p, struct query_node *node)
{
	struct bw_str *all = NULL;
	unsigned       n = 0, cap = 0;

	parse_want_sign(p, "(");
	do {
		if (n == cap) {
			struct bw_str *more;

			cap = cap > 0 ? 2 * cap : 8;
			more = arena_alloc(p->lex.arena, cap * sizeof(*more));
			if (n > 0)
				memcpy(more, all, n * sizeof(*more));
			all = more;
		}
		all[n++] = parse_literal(p);
	} while (parse_take_sign(p, ","));
	parse_want_sign(p, ")");
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
	bool               exists = parse_take_keyword(p, "NOT");

	parse_want_keyword(p, "NULL");
	node->operand = *o;
	if (o->kind != QUERY_PROPERTY || o->letters != QUERY_AS_IS)
		parse_fail(p, at, "only a property can be NULL");
	return exists ? node : negated(p, node);
}

static struct query_node *comparison_of_operand(struct parser *p)
{
	size_t               at = p->now.at;
	struct query_operand o = parse_operand(p);
	struct query_node   *node;
	bool not ;

	if (o.kind == QUERY_SCORE)
		parse_fail(p, at, "the score is only sorted by");
	if (parse_take_keyword(p, "IS"))
		return null_test(p, &o, at);
	node = new_node(p, QUERY_COMPARE);
	node->operand = o;
	not = parse_take_keyword(p, "NOT");
	if (parse_take_keyword(p, "IN")) {
		node->op = QUERY_EQ;
		values(p, node);
	} else if (not ) {
		parse_fail(p, p->now.at, "IN is expected");
	} else {
		node->op = comparison(p);
		node->values = arena_alloc(p->lex.arena, sizeof(*node->values));
		node->values[0] = parse_literal(p);
		node->n_values = 1;
	}
	return not ? negated(p, node) : node;
}

/* ---- functions ---- */

/* CONTAINS(s.*, 'words'), CONTAINS(s.[p], 'words'), CONTAINS(s, 'words') */
static struct query_node *contains(struct parser *p)
{
	struct query_node *node = new_node(p, QUERY_CONTAINS);
	struct bw_str      first;
	size_t             at;

	parse_want_sign(p, "(");
	first = p->now.text;
	node->name = parse_property(p, true);
	/* The selector alone stands for all of it; behind a '.' it would be a property's name. */
	if (!p->failed && node->name.p == first.p && bw_str_eq(first, p->q->selector))
		node->name = BW_ABSENT;
	parse_want_sign(p, ",");
	at = p->now.at;
	node->text = parse_literal(p);
	if (!p->failed && !query_is_words(node->text))
		parse_fail(p, at, "more than 32 words or 1024 octets");
	parse_want_sign(p, ")");
	return node;
}

/* ISSAMENODE([s,] '/path') and its like. The path may stand in brackets. */
static struct query_node *place(struct parser *p, enum query_node_kind kind)
{
	struct query_node *node = new_node(p, kind);
	struct lex_token   first;

	parse_want_sign(p, "(");
	first = p->now;
	if (!p->failed && first.kind == LEX_WORD) {
		parse_check_selector(p, parse_name(p, "the selector"), first.at);
		parse_want_sign(p, ",");
		first = p->now;
	}
	if (!p->failed && first.kind == LEX_BRACKET && first.text.p[0] != '/') {
		parse_check_selector(p, parse_name(p, "the selector"), first.at);
		parse_want_sign(p, ",");
		first = p->now;
	}
	if (p->failed)
		return node;
	if (first.kind != LEX_STRING && first.kind != LEX_BRACKET)
		parse_fail(p, first.at, "a path is expected");
	else if (!query_is_path(first.text))
		parse_fail(p, first.at, "not an absolute path");
	node->text = first.text;
	parse_advance(p);
	parse_want_sign(p, ")");
	return node;
}

/* ---- all of them ---- */

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
	if (parse_take_keyword(p, "NOT")) {
		node = negated(p, one_condition(p));
	} else if (parse_take_sign(p, "(")) {
		node = parse_condition(p);
		parse_want_sign(p, ")");
	} else if (is_call && parse_take_keyword(p, "CONTAINS")) {
		node = contains(p);
	} else if (is_call && parse_take_keyword(p, "ISDESCENDANTNODE")) {
		node = place(p, QUERY_DESCENDANT);
	} else if (is_call && parse_take_keyword(p, "ISCHILDNODE")) {
		node = place(p, QUERY_CHILD);
	} else if (is_call && parse_take_keyword(p, "ISSAMENODE")) {
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

	while (parse_take_keyword(p, "AND")) {
		if (all == NULL) {
			all = new_node(p, QUERY_AND);
			query_add(all, first);
		}
		query_add(all, one_condition(p));
	}
	return all != NULL ? all : first;
}

struct query_node *parse_condition(struct parser *p)
{
	struct query_node *first = conjunction(p), *all = NULL;

	while (parse_take_keyword(p, "OR")) {
		if (all == NULL) {
			all = new_node(p, QUERY_OR);
			query_add(all, first);
		}
		query_add(all, conjunction(p));
	}
	return all != NULL ? all : first;
}
