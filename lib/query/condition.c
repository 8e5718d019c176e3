/* condition.c - conditions as SQL.
 *
 * A stored value is an object of one member, {"s": "x"} or {"l": [1, 2]} (repo.value_check), and
 * '$.*' is all of its values. A literal is compared as what the property is: as text with texts, as a
 * number with numbers if it is one, and so on; where it is none the comparison is false. Decimal
 * numbers and dates are stored as text and go through repo.query_compare.
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: nothing, trees are checked before.
 * Tests: tests/conformance/query. */
#include "compile.h"
#include <base/json.h>

#define MAX_INDEXED 16u /* literals of one comparison; for more, looking at everything is as good */

#define CONTENT "/jcr:content"

/* ---- values ---- */

bool query_is_own_column(struct bw_str property)
{
	return bw_str_eq(property, BW_STR("jcr:primaryType")) ||
	       bw_str_eq(property, BW_STR("jcr:path"));
}

void query_value(struct compiler *c, struct bw_str name)
{
	if (bw_str_eq(name, BW_STR("jcr:primaryType"))) {
		query_out(c, "jsonb_build_object('name', t.primary_type)");
	} else if (bw_str_eq(name, BW_STR("jcr:path"))) {
		query_out(c, "jsonb_build_object('path', t.path)");
	} else {
		query_out(c, "(");
		query_out(c, query_properties(c));
		query_out(c, " -> ");
		query_param(c, name.p, "text");
		query_out(c, ")");
	}
}

/* A number as JSON writes it: "+1", ".5" and "5." are none, though the language has them. */
static bool is_json_number(struct bw_str s)
{
	const char *p = s.p + (s.p[0] == '-');

	return query_is_value(BW_VALUE_DOUBLE, s) && *p >= '0' && *p <= '9' &&
	       (p[0] != '0' || p[1] < '0' || p[1] > '9') && strstr(p, ".e") == NULL &&
	       strstr(p, ".E") == NULL && s.p[s.n - 1] != '.';
}

/* {"v": ["5"], "n": [5], "b": []}: the literals as text, as numbers, as booleans. */
static const char *literals_json(struct compiler *c, const struct query_node *node)
{
	struct buf      out;
	struct json_out j;
	const char     *text;

	buf_init(&out);
	json_out_init(&j, &out);
	json_out_object(&j);
	json_out_key(&j, "v");
	json_out_array(&j);
	for (unsigned i = 0; i < node->n_values; i++)
		json_out_string(&j, node->values[i].p, node->values[i].n);
	json_out_array_end(&j);
	json_out_key(&j, "b");
	json_out_array(&j);
	for (unsigned i = 0; i < node->n_values; i++)
		if (query_is_value(BW_VALUE_BOOLEAN, node->values[i]))
			json_out_bool(&j, node->values[i].p[0] == 't');
	json_out_array_end(&j);
	/* Numbers as they are written: no double holds all of them. */
	buf_printf(&out, ",\"n\":[");
	for (unsigned i = 0, n = 0; i < node->n_values; i++)
		if (is_json_number(node->values[i]))
			buf_printf(&out, "%s%s", n++ > 0 ? "," : "", node->values[i].p);
	buf_append(&out, "]}", 2);
	text = arena_dup(c->out->arena, buf_data(&out), buf_size(&out));
	buf_done(&out);
	return text;
}

/* The literals as the text of an array. */
static const char *literals_array(struct compiler *c, const struct query_node *node)
{
	struct buf  out;
	const char *text;

	buf_init(&out);
	buf_append(&out, "{", 1);
	for (unsigned i = 0; i < node->n_values; i++) {
		buf_append(&out, i > 0 ? ",\"" : "\"", i > 0 ? 2 : 1);
		for (size_t k = 0; k < node->values[i].n; k++) {
			if (node->values[i].p[k] == '"' || node->values[i].p[k] == '\\')
				buf_append(&out, "\\", 1);
			buf_append(&out, node->values[i].p + k, 1);
		}
		buf_append(&out, "\"", 1);
	}
	buf_append(&out, "}", 1);
	text = arena_dup(c->out->arena, buf_data(&out), buf_size(&out));
	buf_done(&out);
	return text;
}

/* A backslash at the end of a pattern is one, since nothing follows that it could escape. */
static const char *pattern(struct compiler *c, struct bw_str text)
{
	size_t backslashes = 0;

	while (backslashes < text.n && text.p[text.n - 1 - backslashes] == '\\')
		backslashes++;
	return arena_printf(c->out->arena, "%s%s", text.p, backslashes % 2 == 1 ? "\\" : "");
}

/* ---- comparisons ---- */

static const char *const sql_ops[QUERY_N_OPS] = { "=", "<>", "<", "<=", ">", ">=", "LIKE" };

static const char *const json_paths[QUERY_N_OPS] = {
#define JSON_PATH(op) "'$.* ? (@ " op " $v[*] || @ " op " $n[*] || @ " op " $b[*])'"
	[QUERY_EQ] = JSON_PATH("=="), [QUERY_NE] = JSON_PATH("<>"), [QUERY_LT] = JSON_PATH("<"),
	[QUERY_LE] = JSON_PATH("<="), [QUERY_GT] = JSON_PATH(">"),  [QUERY_GE] = JSON_PATH(">="),
#undef JSON_PATH
};

/* Text against the literals: any of them. */
static void compare_text(struct compiler *c, const char *text, const struct query_node *node)
{
	query_out(c, text);
	query_out(c, " COLLATE \"C\" ");
	query_out(c, sql_ops[node->op]);
	query_out(c, " ");
	if (node->op == QUERY_LIKE) {
		query_param(c, pattern(c, node->values[0]), "text");
	} else {
		query_out(c, "ANY (");
		query_param(c, literals_array(c, node), "text[]");
		query_out(c, ")");
	}
}

static const char *const lettered[] = {
	[QUERY_AS_IS] = "(o.v #>> '{}')",
	[QUERY_LOWER] = "lower((o.v #>> '{}') COLLATE \"und-x-icu\")",
	[QUERY_UPPER] = "upper((o.v #>> '{}') COLLATE \"und-x-icu\")",
};

static const char *const lettered_name[] = {
	[QUERY_AS_IS] = "t.name",
	[QUERY_LOWER] = "lower(t.name COLLATE \"und-x-icu\")",
	[QUERY_UPPER] = "upper(t.name COLLATE \"und-x-icu\")",
};

/* As text, each value: for patterns and for what has its letters changed. */
static void compare_each_text(struct compiler *c, const struct query_node *node)
{
	query_out(c, "EXISTS (SELECT FROM jsonb_path_query(");
	query_value(c, node->operand.name);
	query_out(c, ", '$.*[*]') o(v) WHERE ");
	compare_text(c, lettered[node->operand.letters], node);
	query_out(c, ")");
}

/* Nodes that have such a value are found by an index (repo.query_index), which knows what is equal alone.
 * It has them with the properties that are hidden from whoever asks, but finds too many rather than too
 * few: the condition is asked as well. */
static void ask_index(struct compiler *c, const struct query_node *node)
{
	query_out(c, "repo.query_index(c.properties) @? repo.query_equals(");
	query_param(c, node->operand.name.p, "text");
	query_out(c, ", ");
	query_param(c, literals_array(c, node), "text[]");
	query_out(c, ") AND ");
}

static void compare_value(struct compiler *c, const struct query_node *node, bool negative)
{
	const char *json = literals_json(c, node);

	if (node->op == QUERY_EQ && node->n_values <= MAX_INDEXED && !negative &&
	    !query_is_own_column(node->operand.name))
		ask_index(c, node);

	/* IS TRUE: what is not there is NULL, and NULL under NOT would be NULL again. */
	query_out(c, "(CASE WHEN ");
	query_value(c, node->operand.name);
	query_out(c, " ?| '{d,dec,date}' THEN repo.query_compare(");
	query_value(c, node->operand.name);
	query_out(c, ", '");
	query_out(c, sql_ops[node->op]);
	query_out(c, "', ");
	query_param(c, literals_array(c, node), "text[]");
	query_out(c, ") ELSE jsonb_path_exists(");
	query_value(c, node->operand.name);
	query_out(c, ", ");
	query_out(c, json_paths[node->op]);
	query_out(c, ", ");
	query_param(c, json, "jsonb");
	query_out(c, ") END IS TRUE)");
}

static void compare(struct compiler *c, const struct query_node *node, bool negative)
{
	const struct query_operand *o = &node->operand;

	if (o->kind == QUERY_NAME) {
		compare_text(c, lettered_name[o->letters], node);
	} else if (o->kind == QUERY_MODIFIED) {
		query_out(c, "((extract(epoch FROM c.modified) * 1000)::bigint ");
		query_out(c, sql_ops[node->op]);
		query_out(c, " repo.query_instant(");
		query_param(c, node->values[0].p, "text");
		query_out(c, ")) IS TRUE");
	} else if (bw_str_eq(o->name, BW_STR("jcr:path")) && o->letters == QUERY_AS_IS) {
		compare_text(c, "t.path", node);
	} else if (node->op == QUERY_LIKE || o->letters != QUERY_AS_IS) {
		compare_each_text(c, node);
	} else {
		compare_value(c, node, negative);
	}
}

/* ---- places and types ---- */

static void path_is(struct compiler *c, const char *op, const char *path)
{
	query_out(c, "t.path ");
	query_out(c, op);
	query_param(c, path, "text");
}

/* '0' is the octet behind '/'. With the path itself it is one range too, so that the index can give it in
 * order, and what lies between the path and its first descendant ("/a-b" of "/a") is taken out again. */
static void below(struct compiler *c, struct bw_str path, bool itself)
{
	struct arena *a = c->out->arena;
	const char   *to = path.n > 1 ? path.p : "", *first = arena_printf(a, "%s/", to);

	query_out(c, "(");
	path_is(c, itself ? ">= " : "> ", itself ? path.p : first);
	query_out(c, " AND ");
	path_is(c, "< ", arena_printf(a, "%s0", to));
	if (itself) {
		query_out(c, " AND (");
		path_is(c, "= ", path.p);
		query_out(c, " OR ");
		path_is(c, "> ", first);
		query_out(c, ")");
	}
	query_out(c, ")");
}

void query_within(struct compiler *c, struct bw_str path)
{
	below(c, (struct bw_str){ arena_dup(c->out->arena, path.p, path.n), path.n }, true);
}

static void child(struct compiler *c, struct bw_str path)
{
	query_out(c, "coalesce(t.parent = (SELECT k.id FROM repo.tree k WHERE k.path = ");
	query_param(c, path.p, "text");
	query_out(c, "), false)");
}

/* The jcr:content of the resource itself, or of a child of it, and all below. */
static void content_of(struct compiler *c, struct bw_str path, bool of_children)
{
	const char *to = path.n > 1 ? path.p : "";

	if (!of_children) {
		query_within(c, bw_str(arena_printf(c->out->arena, "%s" CONTENT, to)));
		return;
	}
	query_out(c, "(");
	below(c, path, false);
	query_out(c, " AND split_part(substr(t.path, length(");
	query_param(c, arena_printf(c->out->arena, "%s/", to), "text");
	query_out(c, ") + 1), '/', 2) = 'jcr:content')");
}

static void place(struct compiler *c, const struct query_node *node)
{
	switch (node->kind) {
	case QUERY_DESCENDANT:
		below(c, node->text, false);
		break;
	case QUERY_WITHIN:
		below(c, node->text, true);
		break;
	case QUERY_CHILD:
		child(c, node->text);
		break;
	default:
		query_out(c, "t.path = ");
		query_param(c, node->text.p, "text");
	}
	if (c->q->as_pages && (node->kind == QUERY_CHILD || node->kind == QUERY_SAME)) {
		query_out(c, " OR ");
		content_of(c, node->text, node->kind == QUERY_CHILD);
	}
}

static void is_type(struct compiler *c, const struct query_node *node)
{
	static const char type[] = "coalesce(t.resource_type, t.primary_type) = ANY (";
	const char       *types, *same;

	c->s->types(c->s->arg, node->name, c->out->arena, &types, &same);
	query_out(c, "(");
	query_out(c, type);
	query_param(c, same, "text[]");
	query_out(c, ") OR (t.super_type IS NULL AND ");
	query_out(c, type);
	query_param(c, types, "text[]");
	query_out(c, ")) OR (t.super_type IS NOT NULL AND t.super_type = ANY (");
	query_param(c, types, "text[]");
	query_out(c, ")))");
}

/* ---- all ---- */

static void connect(struct compiler *c, const struct query_node *node, bool negative)
{
	const char *word = node->kind == QUERY_AND ? " AND " : " OR ";

	query_out(c, "(");
	for (const struct query_node *kid = node->kid; kid != NULL; kid = kid->next) {
		query_condition(c, kid, negative);
		if (kid->next != NULL)
			query_out(c, word);
	}
	query_out(c, ")");
}

/* Whether what the condition says hangs on properties that may be hidden. */
static bool may_be_hidden(const struct query_node *node)
{
	return node->kind == QUERY_EXISTS || node->kind == QUERY_CONTAINS ||
	       node->kind == QUERY_PREFIX ||
	       (node->kind == QUERY_COMPARE && node->operand.kind == QUERY_PROPERTY &&
	        !query_is_own_column(node->operand.name));
}

/* A condition on a hidden property is false. In the relaxed statement it is therefore taken as it
 * is, and under NOT as false; and words that hiding could make fit, as true. */
static bool relaxed(struct compiler *c, const struct query_node *node, bool negative)
{
	if (!c->s->relaxed || !may_be_hidden(node))
		return false;
	if (negative)
		query_out(c, "false");
	else if (node->kind == QUERY_CONTAINS && !query_words_are_plain(node->text))
		query_out(c, "true");
	else
		return false;
	return true;
}

/* The depth of a tree is bounded by whoever builds it. */
void query_condition(struct compiler *c, const struct query_node *node, bool negative)
{
	if (relaxed(c, node, negative))
		return;
	switch (node->kind) {
	case QUERY_AND:
	case QUERY_OR:
		connect(c, node, negative);
		break;
	case QUERY_NOT:
		query_out(c, "NOT ");
		query_condition(c, node->kid, !negative);
		break;
	case QUERY_COMPARE:
		query_out(c, "(");
		compare(c, node, negative);
		query_out(c, ")");
		break;
	case QUERY_EXISTS:
		query_value(c, node->operand.name);
		query_out(c, " IS NOT NULL");
		break;
	case QUERY_CONTAINS:
		query_contains(c, node, negative);
		break;
	case QUERY_PREFIX:
		query_prefix(c, node);
		break;
	case QUERY_DESCENDANT:
	case QUERY_CHILD:
	case QUERY_SAME:
	case QUERY_WITHIN:
		query_out(c, "(");
		place(c, node);
		query_out(c, ")");
		break;
	case QUERY_IS_TYPE:
		is_type(c, node);
		break;
	case QUERY_LANGUAGE:
		c->uses_text = true;
		query_out(c, "(s.language = ");
		query_param(c, node->name.p, "text");
		query_out(c, ") IS TRUE");
		break;
	}
}
