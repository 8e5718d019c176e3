/* search_begin.c - what surrounds a search in its snapshot: the generation of the entries, the key of
 * cursors, node types, the graph of super types; and what may be hidden from who asks.
 *
 * Content of the snapshot may be younger than the entries that this process has loaded: then the search is
 * held until they have been loaded anew.
 * Owns: nothing beyond the jobs. Runs in: repo's loop. Fails with: what search.c answers.
 * Tests: tests/unit/repo/search_test.c, tests/conformance/query. */
#include "search_impl.h"

/* ---- resource types ---- */

struct names {
	struct buf all, same;
};

static void add_name(struct buf *out, struct bw_str name)
{
	buf_append(out, buf_size(out) > 0 ? ",\"" : "{\"", 2);
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] == '"' || name.p[i] == '\\')
			buf_append(out, "\\", 1);
		buf_append(out, name.p + i, 1);
	}
	buf_append(out, "\"", 1);
}

static void on_name(void *arg, struct bw_str name, bool same)
{
	struct names *names = arg;

	add_name(&names->all, name);
	if (same)
		add_name(&names->same, name);
}

static const char *take_array(struct buf *array, struct arena *a)
{
	const char *text;

	buf_append(array, buf_size(array) > 0 ? "}" : "{}", buf_size(array) > 0 ? 1 : 2);
	text = arena_dup(a, buf_data(array), buf_size(array));
	buf_done(array);
	return text;
}

static void types_of(void *arg, struct bw_str type, struct arena *a, const char **ret_below,
                     const char **ret_same)
{
	struct job  *job = arg;
	struct names names;

	buf_init(&names.all);
	buf_init(&names.same);
	type_at_or_below(job->types, type, on_name, &names);
	*ret_below = take_array(&names.all, a);
	*ret_same = take_array(&names.same, a);
}

void search_surroundings(struct job *job, struct query_surroundings *ret)
{
	*ret = (struct query_surroundings){
		.node_types = job->node_types,
		.types = types_of,
		.arg = job,
	};
}

static const char *end_array(struct job *job, const struct buf *array)
{
	return arena_printf(&job->arena, "{%.*s}", (int)buf_size(array),
	                    (const char *)buf_data(array));
}

const char *search_exception_ids(struct job *job)
{
	return end_array(job, &job->ids);
}

const char *search_exception_names(struct job *job)
{
	return end_array(job, &job->names);
}

/* ---- from the question on ---- */

static const struct search_hiding *hiding_of(struct searches *s, const struct principals *who)
{
	const struct acl     *acl = resources_acl(s->resources);
	struct search_hiding *h = &s->hiding[who->number % SEARCH_N_HIDING];

	if (h->who != who->number || h->loads != acl_loads(acl)) {
		*h = (struct search_hiding){ .who = who->number, .loads = acl_loads(acl) };
		h->n = acl_hiding(acl, who, h->places, SEARCH_MAX_HIDING_PLACES);
	}
	return h;
}

static void look(struct job *job)
{
	const struct search_hiding *h = hiding_of(job->s, job->who);
	bool needed = query_needs_properties(&job->plan.q) || job->plan.n_facets > 0 ||
	              job->plan.highlight;

	if (needed && h->n > 0)
		search_find_exceptions(job, h->places, h->n <= SEARCH_MAX_HIDING_PLACES ? h->n : 0);
	else
		search_scan(job);
}

/* Content of this snapshot may be younger than the entry that hides it. */
static void look_or_hold(struct job *job)
{
	if (job->generation <= acl_generation(resources_acl(job->s->resources))) {
		look(job);
		return;
	}
	job->is_held = true;
	TAILQ_INSERT_TAIL(&job->s->held, job, queued);
	resources_want_entries(job->s->resources);
}

void search_entries_loaded(struct searches *s)
{
	struct job *job, *next;

	for (job = TAILQ_FIRST(&s->held); job != NULL; job = next) {
		next = TAILQ_NEXT(job, queued);
		if (job->generation > acl_generation(resources_acl(s->resources)))
			continue;
		search_unqueue(job);
		look(job);
	}
	if (!TAILQ_EMPTY(&s->held))
		resources_want_entries(s->resources);
}

enum column { GENERATION, KEY, NODE_TYPES, TYPE_PATH, SUPER_TYPE };

static bool asks_types(const struct query_node *node)
{
	if (node == NULL || node->kind == QUERY_IS_TYPE)
		return node != NULL;
	for (const struct query_node *kid = node->kid; kid != NULL; kid = kid->next)
		if (asks_types(kid))
			return true;
	return false;
}

/* The super types as this snapshot has them, whatever the journal has said so far. */
static void take_types(struct job *job, const struct pg_rows *rows)
{
	job->types = type_graph_new(job->s->settings.search_path, job->s->settings.n_search_path);
	type_load_begin(job->types);
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		if (pg_text(rows, i, TYPE_PATH).p != NULL)
			type_load_add(job->types, pg_text(rows, i, TYPE_PATH),
			              pg_text(rows, i, SUPER_TYPE));
	type_load_end(job->types);
}

static void find_beginning(struct job *job)
{
	const struct search_state *state = &job->state;
	const struct query        *q = &job->plan.q;

	if (state->place.n == 0)
		job->skip = job->plan.offset + state->before;
	job->left = UINT64_MAX;
	if (q->has_limit)
		job->left = q->limit > state->before ? q->limit - state->before : 0;
}

static void on_surroundings(void *arg, int err, const struct pg_rows *rows)
{
	struct job   *job = arg;
	struct bw_str node_types, key;

	if (!search_goes_on(job, err))
		return;
	job->generation = pg_int(rows, 0, GENERATION);
	key = pg_text(rows, 0, KEY);
	job->key = arena_dup(&job->arena, key.p, key.n);
	node_types = pg_text(rows, 0, NODE_TYPES);
	if (job->plan.q.node_type.p != NULL && node_types.p == NULL) {
		search_refuse(job, "no such node type", 0);
		return;
	}
	if (node_types.p != NULL)
		job->node_types = arena_dup(&job->arena, node_types.p, node_types.n);
	if (asks_types(job->plan.q.where))
		take_types(job, rows);
	if (job->plan.cursor.p != NULL && search_cursor_get(job, &job->state) != BW_OK) {
		search_refuse(job, "not a cursor of this search", 0);
		return;
	}
	find_beginning(job);
	look_or_hold(job);
}

static void on_begun(void *arg, int err, const struct pg_rows *rows)
{
	static const char sql[] =
		"SELECT g.acl, s.key, repo.query_node_types($2), t.path, t.super_type"
		" FROM repo.generation g CROSS JOIN repo.search_setting s"
		" LEFT JOIN repo.tree t ON t.super_type IS NOT NULL"
		"  AND EXISTS (SELECT FROM unnest($1::text[]) p WHERE starts_with(t.path, p))";
	struct job *job = arg;
	const char *params[2];

	(void)rows;
	if (!search_goes_on(job, err))
		return;
	params[0] = asks_types(job->plan.q.where) ? job->s->search_path : "{}";
	params[1] = job->plan.q.node_type.p;
	search_query(job, sql, 2, params, on_surroundings);
}

void search_begin(struct job *job)
{
	search_query(job, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", 0, NULL, on_begun);
}
