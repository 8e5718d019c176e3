/* ldap.c - LDAP search filters as OSGi Core 3.2.7 writes them.
 *
 *   filter  = '(' ( '&' filter+ | '|' filter+ | '!' filter | key op value ) ')'
 *   op      = '=' | '>=' | '<=' | '~='
 *   value   = any text; '\' takes the next character as it is; after '=' a '*' stands for any text
 *
 * Blanks may stand around parentheses and operators and around a key; in a value they count.
 *
 * A filter is one block: the nodes in the order of the text, each with the index behind its last
 * descendant, so that the next sibling needs no pointer, and then the keys and operands.
 *
 *   (&(a=1)(!(b=x*y)))      0 AND next 4 | 1 EQUAL a, 1 | 2 NOT next 4 | 3 SUBSTRING b, x\0y\0
 *
 * Owns: the block. Runs in: any thread; matching allocates nothing and nests at most 32 calls.
 * Fails with: NULL and a reason. Tests: tests/unit/base/ldap_test.c, tests/fuzz/ldap_parse.c. */
#include "ldap.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fatal.h"

enum { LDAP_TEXT_MAX = 4096, LDAP_DEPTH_MAX = 32 };

enum node_kind {
	NODE_AND,
	NODE_OR,
	NODE_NOT,
	NODE_PRESENT,
	NODE_EQUAL,
	NODE_APPROX,
	NODE_AT_LEAST,
	NODE_AT_MOST,
	NODE_SUBSTRING,
};

/* Operand of SUBSTRING: the parts between the stars, each with its NUL; the first and the last may
 * be empty, and then stand for a star at that end. */
struct node {
	uint8_t  kind;    /* enum node_kind */
	uint16_t next;    /* index behind this node and all below it */
	uint16_t key;     /* offset into text */
	uint16_t operand; /* offset into text */
	uint16_t parts;   /* SUBSTRING: how many, at least 2 */
};

struct ldap_filter {
	char       *text; /* behind the nodes */
	struct node nodes[];
};

struct parser {
	const char         *begin, *at;
	struct ldap_filter *filter;
	uint16_t            n_nodes, n_text;
	unsigned            depth;
	char               *err;
	size_t              err_size;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct parser *p, const char *format, ...)
{
	va_list ap;
	int     n;

	if (p->err == NULL)
		return false;
	n = snprintf(p->err, p->err_size, "character %zu: ", (size_t)(p->at - p->begin) + 1);
	if (n < 0 || (size_t)n >= p->err_size)
		return false;
	va_start(ap, format);
	vsnprintf(p->err + n, p->err_size - (size_t)n, format, ap);
	va_end(ap);
	return false;
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static void put(struct parser *p, char c)
{
	p->filter->text[p->n_text++] = c;
}

static struct node *add_node(struct parser *p, enum node_kind kind)
{
	struct node *n = &p->filter->nodes[p->n_nodes++];

	*n = (struct node){ .kind = kind, .next = p->n_nodes };
	return n;
}

/* Up to the operator; blanks inside belong to the key, those at its end do not. */
static bool parse_key(struct parser *p, struct node *n)
{
	const char *begin = p->at;
	size_t      len = strcspn(begin, "=<>~()");

	p->at += len;
	while (len > 0 && isspace((unsigned char)begin[len - 1]))
		len--;
	if (len == 0)
		return fail(p, "a key is expected");
	n->key = p->n_text;
	while (len-- > 0)
		put(p, *begin++);
	put(p, '\0');
	return true;
}

/* The operand up to ')'. Stars separate parts if they may (with '='), otherwise they are text. */
static bool parse_operand(struct parser *p, struct node *n, bool stars)
{
	n->operand = p->n_text;
	n->parts = 1;
	for (; *p->at != ')'; p->at++) {
		if (*p->at == '(' || *p->at == '\0')
			return fail(p, "')' is expected");
		if (*p->at == '*' && stars) {
			put(p, '\0');
			n->parts++;
			continue;
		}
		if (*p->at == '\\' && *++p->at == '\0')
			return fail(p, "nothing follows the '\\'");
		put(p, *p->at);
	}
	put(p, '\0');
	return true;
}

/* "=*" and nothing else but blanks: the key is there. */
static bool is_presence(const struct parser *p)
{
	const char *c = p->at;

	if (*c++ != '*')
		return false;
	while (isspace((unsigned char)*c))
		c++;
	return *c == ')';
}

static bool parse_comparison(struct parser *p)
{
	struct node *n = add_node(p, NODE_EQUAL);

	if (!parse_key(p, n))
		return false;
	switch (*p->at) {
	case '~':
		n->kind = NODE_APPROX;
		break;
	case '>':
		n->kind = NODE_AT_LEAST;
		break;
	case '<':
		n->kind = NODE_AT_MOST;
		break;
	}
	if (n->kind != NODE_EQUAL)
		p->at++;
	if (*p->at != '=')
		return fail(p, "one of = >= <= ~= is expected");
	p->at++;
	if (n->kind != NODE_EQUAL) {
		if (*p->at == ')')
			return fail(p, "a value is expected");
		return parse_operand(p, n, false);
	}
	if (is_presence(p)) {
		n->kind = NODE_PRESENT;
		p->at += strcspn(p->at, ")");
		return true;
	}
	if (!parse_operand(p, n, true))
		return false;
	if (n->parts > 1)
		n->kind = NODE_SUBSTRING;
	return true;
}

static bool parse_filter(struct parser *p);

/* At the operator; one filter for '!', one or more for the others. */
static bool parse_composite(struct parser *p, enum node_kind kind)
{
	struct node *n = add_node(p, kind);

	p->at++;
	skip_blanks(p);
	do {
		if (!parse_filter(p))
			return false;
	} while (kind != NODE_NOT && *p->at == '(');
	n->next = p->n_nodes;
	return true;
}

/* From '(' to behind ')' and the blanks that follow. */
static bool parse_filter(struct parser *p)
{
	bool ok;

	if (*p->at != '(')
		return fail(p, "'(' is expected");
	if (++p->depth > LDAP_DEPTH_MAX)
		return fail(p, "more than %d levels", LDAP_DEPTH_MAX);
	p->at++;
	skip_blanks(p);
	switch (*p->at) {
	case '&':
		ok = parse_composite(p, NODE_AND);
		break;
	case '|':
		ok = parse_composite(p, NODE_OR);
		break;
	case '!':
		ok = parse_composite(p, NODE_NOT);
		break;
	default:
		ok = parse_comparison(p);
		break;
	}
	if (!ok)
		return false;
	if (*p->at != ')')
		return fail(p, "')' is expected");
	p->at++;
	skip_blanks(p);
	p->depth--;
	return true;
}

/* Each node begins with a '('. A comparison stores its key and its operand, each with a NUL, and
 * has at least '(', an operator and ')' beside them: there is never more to store than to read. */
static struct ldap_filter *new_filter(const char *text, size_t len)
{
	struct ldap_filter *f;
	size_t              n_nodes = 0, i;

	for (i = 0; i < len; i++)
		n_nodes += text[i] == '(';
	f = xmalloc(sizeof(*f) + n_nodes * sizeof(*f->nodes) + len + 1);
	f->text = (char *)(f->nodes + n_nodes);
	return f;
}

struct ldap_filter *ldap_parse(const char *text, char *err, size_t err_size)
{
	size_t        len = strnlen(text, LDAP_TEXT_MAX + 1);
	struct parser p = { .begin = text, .at = text, .err = err, .err_size = err_size };
	bool          ok;

	if (len > LDAP_TEXT_MAX) {
		fail(&p, "a filter of more than %d octets", LDAP_TEXT_MAX);
		return NULL;
	}
	p.filter = new_filter(text, len);
	skip_blanks(&p);
	ok = parse_filter(&p);
	if (ok && *p.at != '\0')
		ok = fail(&p, "something follows the filter");
	if (ok)
		return p.filter;
	ldap_free(p.filter);
	return NULL;
}

void ldap_free(struct ldap_filter *f)
{
	free(f);
}

/* ---- matching ---- */

/* The parts in order, each at its first place: the leftmost choice never spoils a later one. */
static bool match_substring(const char *value, const char *part, unsigned parts)
{
	size_t len = strlen(part), rest;

	if (strncmp(value, part, len) != 0)
		return false;
	for (value += len; parts > 2; parts--) {
		part += len + 1;
		len = strlen(part);
		value = strstr(value, part);
		if (value == NULL)
			return false;
		value += len;
	}
	part += len + 1;
	len = strlen(part);
	rest = strlen(value);
	return rest >= len && memcmp(value + rest - len, part, len) == 0;
}

/* Letter case and blanks do not count. */
static bool match_approx(const char *a, const char *b)
{
	for (;;) {
		while (isspace((unsigned char)*a))
			a++;
		while (isspace((unsigned char)*b))
			b++;
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (*a == '\0')
			return true;
		a++;
		b++;
	}
}

static bool is_order(enum node_kind kind, int order)
{
	switch (kind) {
	case NODE_AT_LEAST:
		return order >= 0;
	case NODE_AT_MOST:
		return order <= 0;
	default:
		return order == 0;
	}
}

static bool match_string(const struct node *n, const char *operand, const char *value)
{
	switch ((enum node_kind)n->kind) {
	case NODE_SUBSTRING:
		return match_substring(value, operand, n->parts);
	case NODE_APPROX:
		return match_approx(value, operand);
	default:
		return is_order(n->kind, strcmp(value, operand));
	}
}

/* Blanks around the number are let pass. What 64 bits do not hold is no number. */
static bool match_integer(const struct node *n, const char *operand, int64_t value)
{
	long long number;
	char     *end;

	if (n->kind == NODE_SUBSTRING)
		return false;
	errno = 0;
	number = strtoll(operand, &end, 10);
	if (end == operand || errno != 0)
		return false;
	while (isspace((unsigned char)*end))
		end++;
	return *end == '\0' && is_order(n->kind, (value > number) - (value < number));
}

/* Truth has no order: every comparison asks for the same. What is not "true", whatever its case and
 * blanks, says false. */
static bool match_bool(const struct node *n, const char *operand, bool value)
{
	return n->kind != NODE_SUBSTRING && value == match_approx(operand, "true");
}

static bool match_value(const struct node *n, const char *operand, const struct ldap_value *value)
{
	switch (value->type) {
	case LDAP_STRING:
		return match_string(n, operand, value->string);
	case LDAP_INTEGER:
		return match_integer(n, operand, value->integer);
	case LDAP_BOOL:
		return match_bool(n, operand, value->boolean);
	}
	return false;
}

static bool match_comparison(const struct ldap_filter *f, const struct node *n,
                             ldap_lookup_cb lookup, void *map)
{
	const char       *key = f->text + n->key;
	struct ldap_value value;
	size_t            i;

	if (n->kind == NODE_PRESENT)
		return lookup(map, key, 0, &value);
	for (i = 0; lookup(map, key, i, &value); i++) {
		if (match_value(n, f->text + n->operand, &value))
			return true;
	}
	return false;
}

static bool match_node(const struct ldap_filter *f, size_t at, ldap_lookup_cb lookup, void *map)
{
	const struct node *n = &f->nodes[at];
	size_t             child;

	switch ((enum node_kind)n->kind) {
	case NODE_NOT:
		return !match_node(f, at + 1, lookup, map);
	case NODE_AND:
	case NODE_OR:
		for (child = at + 1; child < n->next; child = f->nodes[child].next) {
			if (match_node(f, child, lookup, map) == (n->kind == NODE_OR))
				return n->kind == NODE_OR;
		}
		return n->kind == NODE_AND;
	default:
		return match_comparison(f, n, lookup, map);
	}
}

bool ldap_match(const struct ldap_filter *f, ldap_lookup_cb lookup, void *map)
{
	return match_node(f, 0, lookup, map);
}
