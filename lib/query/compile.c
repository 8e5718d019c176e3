/* compile.c - the statement around the conditions: what is joined, in which order, from where on.
 *
 * A property that is sorted by has two keys: as a number, where it is a number or a date, and as
 * text. What is missing or hidden comes last, upward and downward: so taking properties away only moves
 * a node towards the end.
 * Owns: nothing. Runs in: repo's loop, tests. Fails with: nothing.
 * Tests: tests/conformance/query, fuzz/query_parse. */
#include "compile.h"
#include <stdio.h>

void query_out(struct compiler *c, const char *sql)
{
	buf_append(&c->out->text, sql, strlen(sql));
}

void query_param(struct compiler *c, const char *text, const char *type)
{
	struct query_sql *out = c->out;

	if (out->n_params == out->cap_params) {
		unsigned     cap = out->cap_params > 0 ? 2 * out->cap_params : 16;
		const char **more = arena_alloc(out->arena, cap * sizeof(*more));

		if (out->n_params > 0)
			memcpy(more, out->params, out->n_params * sizeof(*more));
		out->params = more;
		out->cap_params = cap;
	}
	out->params[out->n_params++] = text;
	buf_printf(&out->text, "$%u::%s", out->n_params, type);
}

const char *query_properties(const struct compiler *c)
{
	return c->s->exception_ids != NULL ? "x.p" : "c.properties";
}

/* ---- what a query is about ---- */

static const struct query_node *find_words(const struct query_node *node)
{
	const struct query_node *found;

	if (node == NULL || node->kind == QUERY_NOT)
		return NULL;
	if (node->kind == QUERY_CONTAINS)
		return node->name.p == NULL ? node : NULL;
	for (const struct query_node *kid = node->kid; kid != NULL; kid = kid->next) {
		found = find_words(kid);
		if (found != NULL)
			return found;
	}
	return NULL;
}

const struct query_node *query_words(const struct query *q)
{
	return find_words(q->where);
}

static bool needs(const struct query_node *node)
{
	switch (node->kind) {
	case QUERY_EXISTS:
	case QUERY_CONTAINS:
	case QUERY_PREFIX:
		return true;
	case QUERY_COMPARE:
		return node->operand.kind == QUERY_PROPERTY &&
		       !query_is_own_column(node->operand.name);
	default:
		break;
	}
	for (const struct query_node *kid = node->kid; kid != NULL; kid = kid->next)
		if (needs(kid))
			return true;
	return false;
}

bool query_needs_properties(const struct query *q)
{
	if (q->node_type.p != NULL || (q->where != NULL && needs(q->where)))
		return true;
	for (unsigned i = 0; i < q->n_orders; i++)
		if (q->orders[i].operand.kind == QUERY_TITLE ||
		    (q->orders[i].operand.kind == QUERY_PROPERTY &&
		     !query_is_own_column(q->orders[i].operand.name)))
			return true;
	return false;
}

/* ---- keys ---- */

/* One thing that is sorted by. Its SQL is written anew wherever it is needed. */
struct key {
	const struct query_operand *operand; /* NULL: the id */
	bool                        number;  /* of a property: its first key */
	bool                        descending, may_be_null;
	const char                 *type;
};

static void put_title(struct compiler *c)
{
	query_out(c, "coalesce(");
	query_value(c, BW_STR("jcr:title"));
	query_out(c, ", ");
	query_value(c, BW_STR("title"));
	query_out(c, ")");
}

static void put_key(struct compiler *c, const struct key *key)
{
	const struct query_operand *o = key->operand;
	const struct query_node    *words = query_words(c->q);

	if (o == NULL) {
		query_out(c, "t.id");
	} else if (o->kind == QUERY_NAME) {
		query_out(c, "t.name");
	} else if (o->kind == QUERY_MODIFIED) {
		query_out(c, "(extract(epoch FROM c.modified) * 1000000)::bigint");
	} else if (o->kind == QUERY_SCORE) {
		if (words == NULL) {
			query_out(c, "0::real");
			return;
		}
		query_out(c, "coalesce(ts_rank_cd(");
		query_vector(c);
		query_out(c, ", ");
		query_tsquery(c, words->text);
		query_out(c, ", 32), 0::real)");
	} else if (o->kind == QUERY_TITLE) {
		query_out(c, "(repo.query_text(");
		put_title(c);
		query_out(c, ") COLLATE \"C\")");
	} else if (bw_str_eq(o->name, BW_STR("jcr:path"))) {
		query_out(c, "t.path");
	} else if (key->number) {
		query_out(c, "repo.query_number(");
		query_value(c, o->name);
		query_out(c, ")");
	} else {
		query_out(c, o->letters == QUERY_LOWER   ? "(lower("
		             : o->letters == QUERY_UPPER ? "(upper("
		                                         : "((");
		query_out(c, "repo.query_text(");
		query_value(c, o->name);
		query_out(c, o->letters == QUERY_AS_IS ? "))" : ") COLLATE \"und-x-icu\")");
		query_out(c, " COLLATE \"C\")");
	}
}

static void add_key(struct key *keys, unsigned *n, const struct query_order *order, bool number,
                    const char *type, bool may_be_null)
{
	keys[(*n)++] =
		(struct key){ &order->operand, number, order->descending, may_be_null, type };
}

/* What follows the path is the same for all, and nothing has to break a tie behind it. */
static unsigned keys_of(const struct query *q, struct key keys[QUERY_MAX_KEYS])
{
	static const struct query_order by_path = {
		{ .kind = QUERY_PROPERTY, .name = { "jcr:path", 8 } }, false
	};
	unsigned n = 0;

	for (unsigned i = 0; i <= q->n_orders; i++) {
		const struct query_order *order = i < q->n_orders ? &q->orders[i] : &by_path;

		switch (order->operand.kind) {
		case QUERY_NAME:
			add_key(keys, &n, order, false, "text", false);
			break;
		case QUERY_SCORE:
			add_key(keys, &n, order, false, "real", false);
			break;
		case QUERY_MODIFIED:
			add_key(keys, &n, order, false, "bigint", false);
			break;
		case QUERY_TITLE:
			add_key(keys, &n, order, false, "text", true);
			break;
		case QUERY_PROPERTY:
			if (bw_str_eq(order->operand.name, BW_STR("jcr:path"))) {
				add_key(keys, &n, order, false, "text", false);
				return n;
			}
			if (i == q->n_orders)
				break;
			if (order->operand.letters == QUERY_AS_IS)
				add_key(keys, &n, order, true, "numeric", true);
			add_key(keys, &n, order, false, "text", true);
			break;
		}
	}
	return n;
}

/* The key equals, or comes behind, that of the place. */
static void put_step(struct compiler *c, const struct key *key, struct bw_str at, bool behind)
{
	if (at.p == NULL) {
		query_out(c, behind ? "false" : "(");
		if (!behind) {
			put_key(c, key);
			query_out(c, ") IS NULL");
		}
		return;
	}
	query_out(c, "(");
	put_key(c, key);
	query_out(c, !behind ? " = " : key->descending ? " < " : " > ");
	query_param(c, at.p, key->type);
	if (behind && key->may_be_null) {
		query_out(c, " OR ");
		put_key(c, key);
		query_out(c, " IS NULL");
	}
	query_out(c, ")");
}

static void put_after(struct compiler *c, const struct key *keys, unsigned n)
{
	const struct query_place *after = c->s->after;

	query_out(c, "(");
	for (unsigned i = 0; i < n; i++) {
		query_out(c, i > 0 ? " OR (" : "(");
		for (unsigned k = 0; k < i; k++) {
			put_step(c, &keys[k], after->keys[k], false);
			query_out(c, " AND ");
		}
		put_step(c, &keys[i], after->keys[i], true);
		query_out(c, ")");
	}
	query_out(c, ")");
}

static void put_order(struct compiler *c, const struct key *keys, unsigned n)
{
	query_out(c, " ORDER BY ");
	for (unsigned i = 0; i < n; i++) {
		query_out(c, i > 0 ? ", " : "");
		put_key(c, &keys[i]);
		query_out(c, keys[i].descending ? " DESC" : "");
		query_out(c, keys[i].may_be_null ? " NULLS LAST" : "");
	}
}

/* ---- the statement ---- */

static void put_facet(struct compiler *c, struct bw_str name)
{
	if (name.n == 0)
		query_out(c, "coalesce(t.resource_type, t.primary_type)");
	else if (bw_str_eq(name, BW_STR(QUERY_FACET_TITLE)))
		put_title(c);
	else
		query_value(c, name);
}

/* A look-up for each row that has one, and only for those: joined, it would be one of all resources. */
static void put_holder(struct compiler *c)
{
	query_out(c, "(SELECT h.id || ' ' || h.primary_type FROM repo.tree h WHERE h.path ="
	             " CASE WHEN position('/jcr:content/' IN t.path || '/') > 1"
	             " THEN split_part(t.path || '/', '/jcr:content/', 1) END)");
}

static void put_columns(struct compiler *c, const struct key *keys, unsigned n)
{
	static const struct query_operand score_operand = { .kind = QUERY_SCORE };
	static const struct key           score = { .operand = &score_operand };

	query_out(c, "SELECT t.id, t.path, t.primary_type, ");
	if (c->s->relaxed) {
		query_out(c, "(SELECT jsonb_agg(k) FROM jsonb_object_keys(c.properties) k), NULL");
		return;
	}
	query_out(c, "NULL, ");
	put_key(c, &score);
	for (unsigned i = 0; i < n; i++) {
		query_out(c, ", ");
		put_key(c, &keys[i]);
	}
	for (unsigned i = 0; i < c->s->n_facets; i++) {
		query_out(c, ", ");
		put_facet(c, c->s->facets[i]);
	}
	if (c->s->holders) {
		query_out(c, ", ");
		put_holder(c);
	}
	if (c->s->after != NULL && c->s->tells_after) {
		query_out(c, ", ");
		put_after(c, keys, n);
	}
}

static void put_tables(struct compiler *c)
{
	query_out(c, " FROM repo.tree t JOIN repo.content c ON c.id = t.id");
	if (c->uses_text)
		query_out(c, " LEFT JOIN repo.search s ON s.id = t.id");
	if (c->s->exception_ids == NULL)
		return;
	query_out(c, " LEFT JOIN unnest(");
	query_param(c, c->s->exception_ids, "bigint[]");
	query_out(c, ", ");
	query_param(c, c->s->exception_names, "text[]");
	query_out(c, ") e(id, names) ON e.id = t.id"
	             " CROSS JOIN LATERAL (SELECT CASE WHEN e.id IS NULL THEN c.properties"
	             " WHEN e.names = '*' THEN '{}' ELSE c.properties - e.names::text[] END) x(p)");
}

static void put_where(struct compiler *c, const struct key *keys, unsigned n)
{
	query_out(c, " WHERE true");
	if (c->q->node_type.p != NULL) {
		query_out(c, " AND (t.primary_type = ANY (");
		query_param(c, c->s->node_types, "text[]");
		query_out(c, ") OR (");
		query_out(c, query_properties(c));
		query_out(c, " -> 'jcr:mixinTypes' -> 'name' ?| ");
		query_param(c, c->s->node_types, "text[]");
		query_out(c, ") IS TRUE)");
	}
	if (c->q->where != NULL) {
		query_out(c, " AND ");
		query_condition(c, c->q->where, false);
	}
	for (unsigned i = 0; i < c->s->n_places; i++) {
		query_out(c, i == 0 ? " AND (" : " OR ");
		query_within(c, c->s->places[i]);
	}
	query_out(c, c->s->n_places > 0 ? ")" : "");
	if (c->s->after != NULL && !c->s->tells_after && !c->s->relaxed) {
		query_out(c, " AND ");
		put_after(c, keys, n);
	}
}

void query_compile(const struct query *q, const struct query_surroundings *s, struct arena *a,
                   struct query_sql *ret)
{
	struct compiler c = { q, s, ret, false };
	struct key      keys[QUERY_MAX_KEYS];
	struct buf      where;
	unsigned        n = s->unordered ? 0 : keys_of(q, keys);

	*ret = (struct query_sql){ .arena = a, .n_keys = n };
	buf_init(&ret->text);
	/* The conditions first: whether the full text is joined depends on them. */
	put_where(&c, keys, n);
	where = ret->text;
	buf_init(&ret->text);
	put_columns(&c, keys, n);
	put_tables(&c);
	buf_append(&ret->text, buf_data(&where), buf_size(&where));
	buf_done(&where);
	if (!s->relaxed && n > 0)
		put_order(&c, keys, n);
	buf_append(&ret->text, "", 1);
}
