/* words.c - full text as SQL.
 *
 * What a user types goes through functions that never raise, as a parameter. What is left of a node's
 * text for somebody who may not read all of it is indexed anew while the statement looks at it.
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: nothing, trees are checked before.
 * Tests: tests/conformance/query. */
#include "compile.h"

bool query_words_are_plain(struct bw_str words)
{
	return memchr(words.p, '-', words.n) == NULL && memchr(words.p, '"', words.n) == NULL;
}

void query_tsquery(struct compiler *c, struct bw_str words)
{
	query_out(c, "websearch_to_tsquery(repo.search_config(");
	query_param(c, c->q->language.p, "text");
	query_out(c, "), repo.search_plain(");
	query_param(c, words.p, "text");
	query_out(c, "))");
}

void query_vector(struct compiler *c)
{
	c->uses_text = true;
	query_out(c, c->s->exception_ids == NULL ? "s.vector"
	                                         : "CASE WHEN e.id IS NULL THEN s.vector"
	                                           " ELSE repo.search_vector(x.p, s.language) END");
}

/* Plain words that fit what is left of a node's text fit all of it, which the index has. */
void query_contains(struct compiler *c, const struct query_node *node, bool negative)
{
	/* A node without text is NULL here; only where it is not negated may the index be asked. */
	const char *end = negative ? ") IS TRUE" : ")";

	query_out(c, "(");
	if (node->name.p != NULL) {
		query_out(c, "to_tsvector(repo.search_config(");
		query_param(c, c->q->language.p, "text");
		query_out(c, "), repo.search_plain(repo.search_text(");
		query_value(c, node->name);
		query_out(c, ")))");
	} else if (c->s->exception_ids == NULL) {
		query_vector(c);
	} else if (query_words_are_plain(node->text)) {
		c->uses_text = true;
		query_out(c, "s.vector @@ ");
		query_tsquery(c, node->text);
		query_out(c, " AND (e.id IS NULL OR repo.search_vector(x.p, s.language) @@ ");
		query_tsquery(c, node->text);
		query_out(c, ")");
		query_out(c, end);
		return;
	} else {
		query_out(c, "(");
		query_vector(c);
		query_out(c, ")");
	}
	query_out(c, " @@ ");
	query_tsquery(c, node->text);
	query_out(c, end);
}

/* Likewise: what fits the words of the title that are left fits all of them. */
void query_prefix(struct compiler *c, const struct query_node *node)
{
	c->uses_text = true;
	query_out(c, "(s.vector @@ repo.search_prefix(");
	query_param(c, node->text.p, "text");
	if (c->s->exception_ids != NULL) {
		query_out(c, ") AND (e.id IS NULL OR repo.search_vector(x.p, s.language)"
		             " @@ repo.search_prefix(");
		query_param(c, node->text.p, "text");
		query_out(c, "))");
	} else {
		query_out(c, ")");
	}
	query_out(c, ")");
}
