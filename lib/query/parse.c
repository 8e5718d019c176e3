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
 * One word is looked ahead (parse_word.c); what stands behind WHERE is parse_condition.c's.
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: BW_ESYNTAX, the place and the reason.
 * Tests: tests/conformance/query, fuzz/query_parse. */
#include "lex.h"
#include "parse_impl.h"
#include <base/utf8.h>
#include <boardwalk/err.h>
#include <stdlib.h>
#include <string.h>

static void columns(struct parser *p)
{
	bool all = false;

	do {
		size_t        at = p->now.at;
		struct bw_str found = parse_property(p, true);

		if (found.p == NULL)
			all = true;
		else if (p->q->n_columns == QUERY_MAX_COLUMNS)
			parse_fail(p, at, "too many columns");
		else
			p->q->columns[p->q->n_columns++] = found;
	} while (parse_take_sign(p, ","));
	if (all)
		p->q->n_columns = 0;
}

/* The columns may have named the selector before it was said: they must have meant it. */
static void from(struct parser *p)
{
	struct bw_str used = p->q->selector, type;
	size_t        at;

	parse_want_keyword(p, "FROM");
	type = parse_name(p, "a node type");
	if (!bw_str_eq(type, BW_STR("nt:base")))
		p->q->node_type = type;
	at = p->now.at;
	p->q->selector = parse_take_keyword(p, "AS") ? parse_name(p, "a selector") : type;
	if (used.p != NULL && !bw_str_eq(used, p->q->selector))
		parse_fail(p, at, "the columns are of another selector");
	if (parse_is_keyword(p, "JOIN") || parse_is_keyword(p, "INNER") ||
	    parse_is_keyword(p, "LEFT") || parse_is_keyword(p, "RIGHT") || parse_is_sign(p, ","))
		parse_fail(p, p->now.at, "joins are not supported");
}

static void orders(struct parser *p)
{
	do {
		struct query_order *order = &p->q->orders[p->q->n_orders];

		if (p->q->n_orders == QUERY_MAX_ORDERS) {
			parse_fail(p, p->now.at, "too many columns to sort by");
			return;
		}
		order->operand = parse_operand(p);
		if (order->operand.kind == QUERY_PROPERTY &&
		    bw_str_eq(order->operand.name, BW_STR("jcr:score")))
			order->operand.kind = QUERY_SCORE;
		order->descending = parse_take_keyword(p, "DESC");
		if (!order->descending)
			(void)parse_take_keyword(p, "ASC");
		p->q->n_orders++;
	} while (parse_take_sign(p, ","));
}

static uint64_t whole_number(struct parser *p)
{
	struct bw_str text = p->now.text;

	if (p->failed)
		return 0;
	if (p->now.kind != LEX_NUMBER || text.n > 15 || strspn(text.p, "0123456789") != text.n)
		parse_fail(p, p->now.at, "a whole number is expected");
	parse_advance(p);
	return p->failed ? 0 : strtoull(text.p, NULL, 10);
}

static void statement(struct parser *p)
{
	parse_want_keyword(p, "SELECT");
	columns(p);
	from(p);
	if (parse_take_keyword(p, "WHERE"))
		p->q->where = parse_condition(p);
	if (parse_take_keyword(p, "ORDER")) {
		parse_want_keyword(p, "BY");
		orders(p);
	}
	if (parse_take_keyword(p, "LIMIT")) {
		p->q->has_limit = true;
		p->q->limit = whole_number(p);
	}
	if (parse_take_keyword(p, "OFFSET"))
		p->q->offset = whole_number(p);
	if (!p->failed && p->now.kind != LEX_END)
		parse_fail(p, p->now.at, "the query should end here");
}

int query_parse(struct bw_str text, struct arena *a, struct query *ret, struct query_error *error)
{
	struct query  q = { 0 };
	struct parser p = { .lex = { text, 0, a, error }, .q = &q };

	*error = (struct query_error){ 0 };
	if (text.n > QUERY_MAX_TEXT)
		parse_fail(&p, QUERY_MAX_TEXT, "more than 65536 octets");
	else if (!utf8_ok(text.p, text.n) || memchr(text.p, '\0', text.n) != NULL)
		parse_fail(&p, 0, "not UTF-8 text");
	if (p.failed)
		return BW_ESYNTAX;
	parse_advance(&p);
	statement(&p);
	if (p.failed)
		return BW_ESYNTAX;
	*ret = q;
	return BW_OK;
}
