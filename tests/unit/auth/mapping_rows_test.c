/* Under test: auth/mapping.c, amendment.c and answer.c: rows about whom a bundle acts as, from
 * tests/conformance/mapping or the file that BOARDWALK_ROWS names. Amendments are files here, too, and
 * what is opened is opened over a connection, with the accounts in a PostgreSQL. */
#include "world.h"
#include <auth/mapping.h>
#include <dirent.h>
#include <support/rows.h>

#define MAX 16

struct row {
	const char             *id;
	char                    folder[40];
	char                   *items[3][MAX];
	struct conf_list        entries, places, required;
	struct mapping_settings settings;
	struct mapping         *mapping;
	char                    said[1024];
	size_t                  n;
};

/* Cuts *rest at the next separator; NULL at its end. */
static char *next(char **rest, const char *separator)
{
	char *item = *rest, *end;

	if (item == NULL)
		return NULL;
	end = strstr(item, separator);
	*rest = end != NULL ? end + strlen(separator) : NULL;
	if (end != NULL)
		*end = '\0';
	item += strspn(item, " ");
	for (end = item + strlen(item); end > item && end[-1] == ' ';)
		*--end = '\0';
	return item;
}

static void say(struct row *r, const char *before, struct bw_str text)
{
	r->n += (size_t)snprintf(r->said + r->n, sizeof(r->said) - r->n, "%s%.*s", before,
	                         (int)text.n, text.p);
	cr_assert_lt(r->n, sizeof(r->said), "%s says too much", r->id);
}

/* ---- the configuration ---- */

static void add_item(struct conf_list *list, char *text)
{
	cr_assert_lt(list->n, (size_t)MAX);
	list->items[list->n++] = text;
}

/* One line more of the amendment am(RANKING) or am(RANKING,NAME); without a name it is the ranking's. */
static void amend(struct row *r, char *text)
{
	char *entry = text, *inside = next(&entry, ")"), *name = inside, *rank;
	char  path[128];
	FILE *out;
	bool  is_new;

	cr_assert_not_null(entry, "%s: %s", r->id, text);
	rank = next(&name, ",");
	snprintf(path, sizeof(path), "%s/%s.yaml", r->folder, name != NULL ? name : rank);
	is_new = access(path, F_OK) != 0;
	out = fopen(path, "a");
	cr_assert_not_null(out, "%s", path);
	if (is_new)
		fprintf(out, "amendment:\n  ranking: %s\n  service_users:\n", rank);
	fprintf(out, "    - \"%s\"\n", entry + strspn(entry, " "));
	cr_assert_eq(fclose(out), 0);
}

static void configure(struct row *r, char *item)
{
	if (strncmp(item, "am(", 3) == 0)
		amend(r, item + 3);
	else if (strcmp(item, "default on") == 0)
		r->settings.default_mapping = true;
	else if (strncmp(item, "default user ", 13) == 0)
		r->settings.default_user = item + 13;
	else if (strncmp(item, "required", 8) == 0)
		add_item(&r->required, item + 8 + strspn(item + 8, " "));
	else if (strncmp(item, "place ", 6) == 0)
		add_item(&r->places, item + 6);
	else if (*item != '\0')
		add_item(&r->entries, item);
}

static void remove_folder(const char *folder)
{
	DIR           *dir = opendir(folder);
	struct dirent *entry;
	char           path[320];

	cr_assert_not_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	closedir(dir);
	cr_assert_eq(rmdir(folder), 0);
}

static bool load(struct row *r, char *configuration)
{
	char *item, err[256];

	strcpy(r->folder, "/tmp/mapping-rows.XXXXXX");
	cr_assert_not_null(mkdtemp(r->folder));
	r->entries.items = r->items[0];
	r->places.items = r->items[1];
	r->required.items = r->items[2];
	r->settings = (struct mapping_settings){ .service_users = &r->entries,
		                                 .service_places = &r->places,
		                                 .required_validators = &r->required,
		                                 .folder = r->folder };
	while ((item = next(&configuration, " ; ")) != NULL)
		configure(r, item);
	r->mapping = mapping_new(&r->settings, err, sizeof(err));
	remove_folder(r->folder);
	return r->mapping != NULL;
}

/* ---- the questions ---- */

static void ask(struct row *r, struct bw_str bundle, struct bw_str subservice)
{
	struct mapping_made          made;
	const char                  *why = NULL;
	const struct mapping_target *t =
		mapping_find(r->mapping, MAPPING_PLACE_GATEWAY, bundle, subservice, &made, &why);

	cr_assert_eq(t == NULL, why != NULL, "%s", r->id);
	for (unsigned i = 0; t != NULL && i < t->n; i++)
		say(r, i > 0 ? "," : t->is_list ? "principals " : "user ", t->names[i]);
	if (t == NULL)
		say(r, "", BW_STR("refused"));
}

/* A user has everyone behind it, a list has not. */
static void say_handle(struct row *r, const struct handle *h)
{
	bool is_list = handle_principal(h, h->n_principals - 1, NULL) != ACCOUNT_ID_EVERYONE;

	cr_assert_eq(h->kind, HANDLE_SERVICE, "%s", r->id);
	for (unsigned i = 0; i < (is_list ? h->n_principals : 1); i++) {
		char *name =
			test_postgres_value(w.db, "SELECT name FROM auth.principal WHERE id = %llu",
		                            (unsigned long long)handle_principal(h, i, NULL));

		say(r, i > 0 ? "," : is_list ? "principals " : "user ", bw_str(name));
		free(name);
	}
}

static void open_resolver(struct row *r, const char *bundle, const char *subservice)
{
	struct gateway  g;
	struct question q;

	gateway_init(&g, w.path, "0123456789abcdef");
	if (service(&g, &q, bundle, subservice) == BW_OK)
		say_handle(r, &q.handle);
	else if (q.err == BW_ELOGIN)
		say(r, "", BW_STR("refused"));
	else
		say(r, "", BW_STR("another error"));
	gateway_done(&g);
}

/* (bundle, subservice) */
static void question(struct row *r, char *text)
{
	bool  opens = strncmp(text, "open ", 5) == 0;
	char *inside = text + (opens ? 5 : 0), *bundle, *subservice;

	cr_assert_eq(*inside, '(', "%s: what is \"%s\"?", r->id, text);
	inside++;
	inside[strcspn(inside, ")")] = '\0';
	subservice = inside;
	bundle = next(&subservice, ", ");
	cr_assert_not_null(subservice, "%s: %s", r->id, text);
	bundle = strcmp(bundle, "''") == 0 ? "" : bundle;
	if (opens)
		open_resolver(r, bundle,
		              strcmp(subservice, "-") == 0    ? NULL
		              : strcmp(subservice, "''") == 0 ? ""
		                                              : subservice);
	else
		ask(r, bw_str(bundle),
		    strcmp(subservice, "-") == 0    ? BW_ABSENT
		    : strcmp(subservice, "''") == 0 ? BW_STR("")
		                                    : bw_str(subservice));
}

/* ---- accounts ---- */

/* Until auth has heard of it: what it knew of that account is gone. */
static void wait_for_news(const char *name)
{
	test_postgres_sql(w.db, "NOTIFY boardwalk_auth");
	while (accounts_find(w.accounts, bw_str(name), clock_boot_us()) != NULL)
		ev_run(w.loop, EVRUN_ONCE);
}

static bool change(const char *text)
{
	const char *name = strchr(text, ' ');

	if (strncmp(text, "disable ", 8) == 0 || strncmp(text, "enable ", 7) == 0)
		test_postgres_sql(w.db, "SELECT auth.principal_disable('%s', %s)", name + 1,
		                  *text == 'd' ? "'for now'::text" : "false");
	else if (strncmp(text, "delete ", 7) == 0)
		test_postgres_sql(w.db, "SELECT auth.principal_delete('%s')", name + 1);
	else
		return false;
	wait_for_news(name + 1);
	return true;
}

static void reset_account(const char *name)
{
	char *disabled = test_postgres_value(
		w.db, "SELECT disabled FROM auth.principal WHERE name = '%s'", name);

	if (*disabled == '\0')
		test_postgres_sql(w.db, "SELECT auth.principal_create('%s', 'service')", name);
	else if (*disabled == 't')
		test_postgres_sql(w.db, "SELECT auth.principal_disable('%s', false)", name);
	if (*disabled != 'f')
		wait_for_news(name);
	free(disabled);
}

static void reset_accounts(void)
{
	static const char *const names[] = { "u", "v", "p", "q", "w", "Zo\xc3\xab" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		reset_account(names[i]);
}

/* ---- rows ---- */

static void answer(struct row *r, char *questions)
{
	char *text;
	bool  changed = false, is;

	answers_free(w.answers);
	w.answers =
		answers_new(w.loop, w.listener, (uid_t)-1,
	                    &(struct answer_parts){ w.accounts, w.logins, w.remember, r->mapping,
	                                            &key, &configured, w.sessions, w.bearers,
	                                            w.throttle, w.pool, false, NULL });
	while ((text = next(&questions, " ; ")) != NULL) {
		is = change(text);
		changed |= is;
		if (is)
			continue;
		say(r, r->n > 0 ? " ; " : "", BW_STR(""));
		question(r, text);
	}
	if (changed)
		reset_accounts();
}

static bool run(const char *line)
{
	struct row r = { 0 };
	char      *copy = strdup(line), *rest = copy, *parts[4];
	bool       good;

	for (int i = 0; i < 4; i++) {
		parts[i] = next(&rest, "|");
		cr_assert_not_null(parts[i], "not a row: %s", line);
	}
	r.id = parts[0];
	if (load(&r, parts[1]))
		answer(&r, parts[2]);
	else
		say(&r, "", BW_STR("refused at load"));
	answers_free(w.answers);
	w.answers = NULL;
	mapping_free(r.mapping);
	good = strcmp(r.said, parts[3]) == 0;
	cr_expect(good, "%s: expected \"%s\", got \"%s\"", r.id, parts[3], r.said);
	free(copy);
	return good;
}

Test(mapping_rows, rows)
{
	FILE    *in = fopen(rows_file(CONFORMANCE_DIR "/mapping/mapping.rows"), "r");
	char     line[2048];
	unsigned passed = 0, n = 0;

	cr_assert_not_null(in);
	world_init(1, 8, OPS, MEM);
	test_postgres_sql(w.db, "SELECT auth.principal_create('x', 'user')");
	reset_accounts();
	wait_until_followed();
	while (fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0' || line[0] == '#')
			continue;
		n++;
		passed += run(line);
	}
	fclose(in);
	printf("%u passed, %u failed\n", passed, n - passed);
	cr_assert_geq(n, rows_least(55));
	world_done();
}
