/* node_type.c - `register nodetypes` and the definitions in its block (JCR 2.0 section 25.2).
 *
 *    <prefix = uri>
 *    [name] > super, super  orderable mixin abstract  primaryitem name
 *      - property (TYPE) = default, default  mandatory autocreated protected multiple  VERSION < constraint
 *      + child (type, type) = default  mandatory autocreated protected  VERSION
 *
 * Keywords may be written in either case and cut short as there. Attributes that tell a query or a full
 * text index what to do are read and mean nothing here. What varies ("?") is a template, not a type.
 * No recursion: definitions do not nest.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and a place. Tests: tests/conformance/repoinit, tests/fuzz/cnd_parse.c. */
#include "cnd.h"
#include "parse.h"

#include <strings.h>

struct cnd_parser {
	struct scanner         scan; /* behind token, up to the block's last line */
	struct cnd_token       token;
	struct arena          *arena;
	struct repoinit_error *error;
};

static bool next(struct cnd_parser *c)
{
	return cnd_next(&c->scan, &c->token, c->error);
}

static bool is_mark(const struct cnd_parser *c, char mark)
{
	return c->token.kind == CND_PUNCT && *c->token.p == mark;
}

static bool is_word(const struct cnd_parser *c, const char *text)
{
	return c->token.kind == CND_WORD && strlen(text) == c->token.n &&
	       strncasecmp(c->token.p, text, c->token.n) == 0;
}

static bool wrong(struct cnd_parser *c, const char *what)
{
	if (is_mark(c, '?'))
		return scan_fail(c->error, c->token.at, "a definition with '?' is none of a type");
	if (c->token.kind == CND_END)
		return scan_fail(c->error, c->token.at,
		                 "expected %s instead of the end of the definitions", what);
	return scan_fail(c->error, c->token.at, "expected %s instead of '%.*s'", what,
	                 c->token.n > 40 ? 40 : (int)c->token.n, c->token.p);
}

static bool expect(struct cnd_parser *c, char mark)
{
	char what[] = "'?'";

	what[1] = mark;
	return is_mark(c, mark) ? next(c) : wrong(c, what);
}

static bool text(struct cnd_parser *c, const char *what, struct repoinit_word **ret)
{
	struct repoinit_word *word;

	if (c->token.kind != CND_WORD && c->token.kind != CND_QUOTED)
		return wrong(c, what);
	word = arena_zalloc(c->arena, sizeof(*word));
	word->text = cnd_text(&c->token, c->arena);
	word->at = c->token.at;
	*ret = word;
	return next(c);
}

static bool texts(struct cnd_parser *c, const char *what, struct repoinit_word **ret)
{
	struct repoinit_word **tail = ret;

	for (;;) {
		if (!text(c, what, tail))
			return false;
		tail = &(*tail)->next;
		if (!is_mark(c, ','))
			return true;
		if (!next(c))
			return false;
	}
}

/* ---- items ---- */

/* JCR 2.0 section 3.6.1, and the tags of the repository. */
static const struct {
	const char *name, *tag;
} types[] = {
	{ "string", "s" },           { "binary", "bin" },  { "long", "l" },
	{ "double", "d" },           { "decimal", "dec" }, { "date", "date" },
	{ "boolean", "b" },          { "name", "name" },   { "path", "path" },
	{ "reference", "ref" },      { "uri", "uri" },     { "undefined", "*" },
	{ "weakreference", "weak" },
};

static bool property_type(struct cnd_parser *c, struct repoinit_item *item)
{
	item->type = is_mark(c, '*') ? "*" : NULL;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types) && item->type == NULL; i++)
		if (is_word(c, types[i].name))
			item->type = types[i].tag;
	return item->type != NULL ? next(c) && expect(c, ')') : wrong(c, "a property's type");
}

/* One attribute of an item. */
enum attribute {
	NONE,
	MANDATORY,
	AUTO_CREATED,
	PROTECTED,
	MULTIPLE, /* of a child: of the same name, which there is not */
	PRIMARY,
	ON_VERSION,
	QUERY_OPERATORS, /* with a text behind */
	WITHOUT_MEANING,
};

static const struct {
	const char    *word;
	enum attribute attribute;
	bool           of_child, of_property;
} attributes[] = {
	{ "mandatory", MANDATORY, true, true },
	{ "man", MANDATORY, true, true },
	{ "m", MANDATORY, true, true },
	{ "autocreated", AUTO_CREATED, true, true },
	{ "aut", AUTO_CREATED, true, true },
	{ "a", AUTO_CREATED, true, true },
	{ "protected", PROTECTED, true, true },
	{ "pro", PROTECTED, true, true },
	{ "p", PROTECTED, true, true },
	{ "multiple", MULTIPLE, true, true },
	{ "mul", MULTIPLE, true, true },
	{ "sns", MULTIPLE, true, false },
	{ "primary", PRIMARY, true, true },
	{ "pri", PRIMARY, true, true },
	{ "copy", ON_VERSION, true, true },
	{ "version", ON_VERSION, true, true },
	{ "initialize", ON_VERSION, true, true },
	{ "compute", ON_VERSION, true, true },
	{ "ignore", ON_VERSION, true, true },
	{ "abort", ON_VERSION, true, true },
	{ "queryops", QUERY_OPERATORS, false, true },
	{ "qop", QUERY_OPERATORS, false, true },
	{ "nofulltext", WITHOUT_MEANING, false, true },
	{ "nof", WITHOUT_MEANING, false, true },
	{ "noqueryorder", WITHOUT_MEANING, false, true },
	{ "nqord", WITHOUT_MEANING, false, true },
};

static enum attribute attribute_here(const struct cnd_parser *c, bool child)
{
	if (is_mark(c, '*'))
		return MULTIPLE;
	if (is_mark(c, '!'))
		return PRIMARY;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if ((child ? attributes[i].of_child : attributes[i].of_property) &&
		    is_word(c, attributes[i].word))
			return attributes[i].attribute;
	return NONE;
}

/* COPY, VERSION and so on, in capitals. */
static const char *on_version(struct cnd_parser *c)
{
	char *word = arena_dup(c->arena, c->token.p, c->token.n);

	for (char *at = word; *at != '\0'; at++)
		*at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
	return word;
}

static bool item_attributes(struct cnd_parser *c, struct repoinit_node_type *type,
                            struct repoinit_item *item)
{
	enum attribute        a;
	struct repoinit_word *operators;

	while ((a = attribute_here(c, item->child)) != NONE) {
		item->mandatory |= a == MANDATORY;
		item->auto_created |= a == AUTO_CREATED;
		item->is_protected |= a == PROTECTED;
		item->multiple |= a == MULTIPLE && !item->child;
		if (a == PRIMARY)
			type->primary_item = item->name;
		if (a == ON_VERSION)
			item->on_version = on_version(c);
		if (!next(c) || (a == QUERY_OPERATORS && !text(c, "operators", &operators)))
			return false;
	}
	return true;
}

static bool item(struct cnd_parser *c, struct repoinit_node_type *type, struct repoinit_item **ret)
{
	struct repoinit_item *i = arena_zalloc(c->arena, sizeof(*i));
	struct repoinit_word *name;

	*ret = i;
	i->child = is_mark(c, '+');
	i->type = "s"; /* JCR 2.0 section 25.2.3.1 */
	i->on_version = "COPY";
	if (!next(c))
		return false;
	i->at = c->token.at;
	if (is_mark(c, '*')) {
		i->name = BW_STR("*");
		if (!next(c))
			return false;
	} else if (!text(c, i->child ? "a child's name" : "a property's name", &name))
		return false;
	else
		i->name = name->text;
	if (is_mark(c, '(') &&
	    (!next(c) || !(i->child ? texts(c, "a node type", &i->required) && expect(c, ')')
	                            : property_type(c, i))))
		return false;
	if (is_mark(c, '=') && (!next(c) || !(i->child ? text(c, "a node type", &i->defaults)
	                                               : texts(c, "a value", &i->defaults))))
		return false;
	if (!item_attributes(c, type, i))
		return false;
	return i->child || !is_mark(c, '<') ||
	       (next(c) && texts(c, "a constraint", &i->constraints));
}

/* ---- types ---- */

static bool is_any(const struct cnd_parser *c, const char *full, const char *shorter,
                   const char *shortest)
{
	return is_word(c, full) || is_word(c, shorter) || is_word(c, shortest);
}

static bool primary_item(struct cnd_parser *c, struct repoinit_node_type *type)
{
	struct repoinit_word *name;

	if (!next(c) || !text(c, "an item's name", &name))
		return false;
	type->primary_item = name->text;
	return true;
}

static bool type_attributes(struct cnd_parser *c, struct repoinit_node_type *type)
{
	for (;;) {
		if (is_word(c, "primaryitem") || is_mark(c, '!')) {
			if (!primary_item(c, type))
				return false;
			continue;
		}
		if (is_any(c, "orderable", "ord", "o"))
			type->orderable = true;
		else if (is_any(c, "mixin", "mix", "m"))
			type->mixin = true;
		else if (is_any(c, "abstract", "abs", "a"))
			type->abstract = true;
		else if (!is_any(c, "query", "q", "noquery") && !is_word(c, "nq"))
			return true;
		if (!next(c))
			return false;
	}
}

static bool type(struct cnd_parser *c, struct repoinit_node_type **ret)
{
	struct repoinit_node_type *t = arena_zalloc(c->arena, sizeof(*t));
	struct repoinit_item     **tail = &t->items;
	struct repoinit_word      *name;

	*ret = t;
	if (!next(c) || !text(c, "a node type's name", &name) || !expect(c, ']'))
		return false;
	t->name = name->text;
	t->at = name->at;
	if (is_mark(c, '>') && (!next(c) || !texts(c, "a node type", &t->supers)))
		return false;
	if (!type_attributes(c, t))
		return false;
	for (; is_mark(c, '-') || is_mark(c, '+'); tail = &(*tail)->next)
		if (!item(c, t, tail))
			return false;
	return true;
}

static bool prefix(struct cnd_parser *c, struct repoinit_prefix **ret)
{
	*ret = arena_zalloc(c->arena, sizeof(**ret));
	return next(c) && text(c, "a prefix", &(*ret)->prefix) && expect(c, '=') &&
	       text(c, "a URI", &(*ret)->uri) && expect(c, '>');
}

static bool definitions(struct cnd_parser *c, struct repoinit_statement *s)
{
	struct repoinit_prefix    **prefixes = &s->node_types.prefixes;
	struct repoinit_node_type **all = &s->node_types.types;

	while (c->token.kind != CND_END) {
		if (is_mark(c, '<')) {
			if (!prefix(c, prefixes))
				return false;
			prefixes = &(*prefixes)->next;
		} else if (is_mark(c, '[')) {
			if (!type(c, all))
				return false;
			all = &(*all)->next;
		} else
			return wrong(c, "a definition");
	}
	return true;
}

/* ---- the block ---- */

/* Whether the line at p, without blanks around it, is this mark. */
static bool is_line(const char *p, const char *end, const char *mark)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));
	size_t      n = strlen(mark);

	if (newline != NULL)
		end = newline;
	while (p < end && strchr(" \t\r", *p) != NULL)
		p++;
	while (p < end && strchr(" \t\r", end[-1]) != NULL)
		end--;
	return (size_t)(end - p) == n && memcmp(p, mark, n) == 0;
}

static void step_line(struct scanner *s)
{
	while (s->p < s->end && *s->p != '\n')
		scan_step(s);
	if (s->p < s->end)
		scan_step(s);
}

/* From behind `register nodetypes` and its line's end, which is the last word that was read. */
bool parse_node_types(struct parser *p, struct repoinit_statement *s)
{
	struct cnd_parser c = { .arena = &p->script->arena, .error = p->error };

	if (p->token.kind != TOKEN_NEWLINE)
		return parse_wrong(p, "the end of the line");
	while (p->scan.p < p->scan.end && is_line(p->scan.p, p->scan.end, ""))
		step_line(&p->scan);
	if (!is_line(p->scan.p, p->scan.end, "<<==="))
		return scan_fail(p->error, p->scan.at, "expected the line '<<==='");
	step_line(&p->scan);
	c.scan = p->scan;
	while (p->scan.p < p->scan.end && !is_line(p->scan.p, p->scan.end, "===>>"))
		step_line(&p->scan);
	if (p->scan.p == p->scan.end)
		return scan_fail(p->error, p->scan.at, "expected the line '===>>'");
	c.scan.end = p->scan.p;
	step_line(&p->scan);
	return next(&c) && definitions(&c, s) && parse_next(p);
}
