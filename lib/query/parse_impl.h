/* parse_impl.h - the parser of a statement, for the files parse*.c.
 *
 * After the first failure nothing moves on: every function returns at once, with something harmless, so
 * that callers look at p->failed only where they would go round in circles. */
#pragma once
#include "lex.h"

struct parser {
	struct lex       lex;
	struct lex_token now; /* looked at, not taken */
	struct query    *q;
	unsigned         depth, n_nodes, n_values;
	bool             failed;
};

/* ---- parse_word.c ---- */

void parse_fail(struct parser *p, size_t at, const char *why); /* the first reason counts */
void parse_advance(struct parser *p);
bool parse_is_keyword(const struct parser *p, const char *word);
bool parse_is_sign(const struct parser *p, const char *sign);
bool parse_is_name_next(const struct parser *p);
/* Whether it was there. */
bool parse_take_keyword(struct parser *p, const char *word);
bool parse_take_sign(struct parser *p, const char *sign);
void parse_want_keyword(struct parser *p, const char *word);
void parse_want_sign(struct parser *p, const char *sign);
/* A name in brackets, or a plain word. what: of which the error says that it is expected. */
struct bw_str parse_name(struct parser *p, const char *what);
void          parse_check_selector(struct parser *p, struct bw_str found, size_t at);
void          parse_optional_selector(struct parser *p);
/* [selector .] name, or [selector .] * (absent) where that may stand. */
struct bw_str parse_property(struct parser *p, bool star);
struct bw_str parse_literal(struct parser *p);

/* ---- parse_condition.c ---- */

struct query_operand parse_operand(struct parser *p);
struct query_node   *parse_condition(struct parser *p);
