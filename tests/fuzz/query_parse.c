/* Fuzz target: lib/query. The input is a statement. What is refused has a reason and a place inside the
 * text; what is accepted compiles, relaxed and not, and not an octet of it stands in the SQL. */
#include <boardwalk/err.h>
#include <query/compile.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void types(void *arg, struct bw_str type, struct arena *a, const char **ret_below,
                  const char **ret_same)
{
	(void)arg;
	(void)type;
	(void)a;
	*ret_below = *ret_same = "{}";
}

/* The longest run of letters that the SQL has of its own is far below this. */
static void check_sql(struct query_sql *sql, const uint8_t *data, size_t size)
{
	const char *text = (const char *)buf_data(&sql->text);

	if (strlen(text) + 1 != buf_size(&sql->text) || sql->n_params > 65535)
		abort();
	for (unsigned i = 0; i < sql->n_params; i++)
		if (sql->params[i] != NULL && strlen(sql->params[i]) > 8 * size + 4096)
			abort();
	/* A mark that no SQL of ours has. */
	if (memmem(data, size, "\x24\x24", 2) != NULL && strstr(text, "\x24\x24") != NULL)
		abort();
}

static void compile(const struct query *q, const struct query_surroundings *s, struct arena *a,
                    const uint8_t *data, size_t size)
{
	struct query_sql sql;

	query_compile(q, s, a, &sql);
	check_sql(&sql, data, size);
	buf_done(&sql.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query_surroundings s = { .types = types, .node_types = "{}" };
	struct query_place        place = { .n = 0 };
	struct bw_str             root = BW_STR("/");
	struct query_error        error;
	struct arena              a;
	struct query              q;

	arena_init(&a);
	if (query_parse((struct bw_str){ (const char *)data, size }, &a, &q, &error) != BW_OK) {
		if (error.text[0] == '\0' || error.position > size)
			abort();
	} else {
		compile(&q, &s, &a, data, size);
		s.relaxed = true;
		s.places = &root;
		s.n_places = 1;
		compile(&q, &s, &a, data, size);
		s.relaxed = false;
		s.n_places = 0;
		s.exception_ids = s.exception_names = "{}";
		s.after = &place; /* all keys NULL */
		place.n = QUERY_MAX_KEYS;
		compile(&q, &s, &a, data, size);
	}
	arena_done(&a);
	return 0;
}
