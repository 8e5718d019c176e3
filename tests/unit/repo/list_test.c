/* Under test: lists of entries in PostgreSQL, how they are edited by commits, and how repo reads them:
 * the functions of the migrations, repo/commit_judge.c, repo/entries.c, repo/acl.c. The rows of
 * tests/conformance/own.rows and lists.rows. */
#include "changing.h"
#include "questions.h"
#include <boardwalk/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/rows.h>

static struct world             w;
static struct principals_table *table;

static void begin(void)
{
	world_begin(&w, 1u << 20);
	table = principals_table_new();
}

static void end(void)
{
	principals_table_free(table);
	world_end(&w);
}

TestSuite(list, .init = begin, .fini = end);

static uint64_t number(const char *sql, const char *param)
{
	char    *text = test_postgres_value(w.server, sql, param);
	uint64_t v = strtoull(text, NULL, 10);

	free(text);
	return v;
}

/* Until repo has the entries that are in the database now. */
static void settle(void)
{
	int64_t now = (int64_t)number("SELECT acl FROM repo.generation -- %s", "");

	test_postgres_sql(w.server, "NOTIFY boardwalk_repo");
	world_until(&w, acl_generation(resources_acl(w.resources)) == now);
}

static void make_service(const char *name)
{
	test_postgres_sql(w.server, "SELECT auth.principal_create('%s', 'service')", name);
	if (name[0] == 'x')
		test_postgres_sql(w.server, "SELECT auth.principal_place('%s', '/home/users/x/%s')",
		                  name, name);
}

/* An empty repository with /a, the three service users, two users and a group. */
static void start_anew(void)
{
	test_postgres_sql(w.server, "SELECT auth.principal_delete(name) FROM auth.principal "
	                            "WHERE id >= 100");
	test_postgres_sql(w.server, "SELECT repo.node_delete(path) FROM repo.tree "
	                            "WHERE parent = (SELECT id FROM repo.tree WHERE path = '/')");
	test_postgres_sql(w.server, "SELECT repo.acl_delete('/'), repo.acl_delete(':repository')");
	test_postgres_sql(w.server, "SELECT repo.node_create('/a', 'sling:Folder')");
	test_postgres_sql(w.server, "DELETE FROM repo.privilege; INSERT INTO repo.namespace VALUES "
	                            "('bw', 'x:bw') ON CONFLICT DO NOTHING");
	make_service("s1");
	make_service("s2");
	make_service("x1");
	test_postgres_sql(w.server, "SELECT auth.principal_create('u', 'user'), "
	                            "auth.principal_create('v', 'user'), "
	                            "auth.principal_create('g', 'group')");
}

/* name=value or name=[value,value] as JSON; "": none. */
static void restriction_json(const char *text, char *json, size_t room)
{
	const char *at = strchr(text, '=');
	size_t      n;

	if (at == NULL) {
		snprintf(json, room, "{}");
		return;
	}
	n = (size_t)snprintf(json, room, "{\"rep:%.*s\":[", (int)(at - text), text);
	for (at += at[1] == '[' ? 2 : 1; *at != '\0' && *at != ']'; at += at[0] == ',') {
		size_t size = strcspn(at, ",]");

		n += (size_t)snprintf(json + n, room - n, "%s\"%.*s\"",
		                      json[n - 1] == '[' ? "" : ",", (int)size, at);
		at += size;
	}
	snprintf(json + n, room - n, "]}");
}

static void do_step(const char *step)
{
	char a[64] = "", b[64] = "", c[64] = "", d[64] = "", json[128];

	cr_assert_geq(sscanf(step, " %63s %63s %63s %63s", a, b, c, d), 2, "%s", step);
	restriction_json(d, json, sizeof(json));
	if (strcmp(a, "compose") == 0)
		acl_compose(resources_acl(w.resources), b[0] == 'a' ? ACL_AND : ACL_OR);
	else if (strcmp(a, "make") == 0)
		test_postgres_sql(w.server, "SELECT repo.node_create('%s', 'sling:Folder')", b);
	else if (strcmp(a, "abstract") == 0 || strcmp(a, "private") == 0)
		test_postgres_sql(w.server, "SELECT repo.privilege_register('%s', %s, '{}')", b,
		                  a[0] == 'a' ? "true" : "false");
	else if (strcmp(a, "move") == 0)
		test_postgres_sql(w.server,
		                  "UPDATE repo.tree SET path = '%s', name = substr('%s', 2) "
		                  "WHERE path = '%s'; SELECT repo.acl_raise()",
		                  c, c, b);
	else if (strcmp(a, "remake") == 0) {
		test_postgres_sql(w.server, "SELECT auth.principal_delete('%s')", b);
		make_service(b);
	} else if (a[strlen(a) - 1] == ':' && b[0] == '+')
		test_postgres_sql(w.server,
		                  "SELECT repo.own_ace_append(auth.principal_id('%.*s'), '%s', "
		                  "'{%s}', '%s')",
		                  (int)strlen(a) - 1, a, c, b + 1, json);
	else if (b[0] == '+' || b[0] == '-')
		test_postgres_sql(w.server,
		                  "SELECT repo.ace_append('%s', auth.principal_id('%s'), %s, "
		                  "'{%s}', '%s')",
		                  a, b + 1, b[0] == '+' ? "true" : "false", c, json);
	else
		cr_assert_fail("not understood: %s", step);
}

static struct principals *session_of(char *names)
{
	uint64_t      ids[8];
	unsigned      n = 0;
	char         *save;
	struct handle h = { .kind = HANDLE_SERVICE };

	for (char *name = strtok_r(names, ",", &save); name != NULL;
	     name = strtok_r(NULL, ",", &save)) {
		ids[n] = number("SELECT auth.principal_id('%s')", name) << 1;
		ids[n++] |= strcmp(name, "everyone") == 0;
	}
	h.n_principals = n;
	h.principals = (const uint8_t *)ids;
	return principals_ref_of(table, &h);
}

Test(list, own_rows)
{
	FILE    *f = fopen(rows_file(CONFORMANCE_DIR "/own.rows"), "re");
	char     line[1024];
	unsigned n_rows = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct principals *who;
		char *save, *id, *steps, *session, *question, *expected, *step, *more = NULL;

		if (line[0] == '#')
			continue;
		id = strtok_r(line, "\t", &save);
		steps = strtok_r(NULL, "\t", &save);
		session = strtok_r(NULL, "\t", &save);
		question = strtok_r(NULL, "\t", &save);
		expected = strtok_r(NULL, "\t", &save);
		cr_assert_not_null(expected, "%s", id);
		start_anew();
		acl_compose(resources_acl(w.resources), ACL_ALONE);
		for (step = strtok_r(steps, ";", &more); step != NULL;
		     step = strtok_r(NULL, ";", &more))
			do_step(step);
		settle();
		who = session_of(session);
		cr_assert_eq(question_allowed(resources_acl(w.resources), who, question),
		             strcmp(expected, "yes") == 0, "%s: %s", id, question);
		principals_unref(who);
		n_rows++;
	}
	cr_assert(n_rows >= rows_least(30), "only %u rows", n_rows);
	fclose(f);
}

/* ---- editing ---- */

/* The list of /a, or the one that is expected, in one form: privileges as their leaves, sorted. */
static char *list_of_a(void)
{
	return test_postgres_value(
		w.server,
		"SELECT coalesce(string_agg(concat_ws(' ', CASE WHEN a.allow THEN '+' ELSE '-' END "
		"||"
		"  p.name, array_to_string(a.privileges, ','), nullif(a.restrictions::text, "
		"'{}')), "
		"'; ' ORDER BY a.position), '') FROM repo.ace a"
		" JOIN repo.tree t ON t.id = a.node JOIN auth.principal p ON p.id = a.principal"
		" WHERE t.path = '/a'");
}

static void put_expected(char *entry, char *out, size_t room)
{
	char   who[32], privileges[256], limit[128] = "", json[256], *leaves;
	size_t n = strlen(out);

	cr_assert_geq(sscanf(entry, " %31s %255s %127s", who, privileges, limit), 2, "%s", entry);
	restriction_json(limit, json, sizeof(json));
	leaves = test_postgres_value(w.server,
	                             "SELECT concat_ws(' ', array_to_string("
	                             "repo.privilege_leaves('{%s}'), ','),"
	                             " nullif(repo.restrictions_check('%s')::text, '{}'))",
	                             privileges, json);
	snprintf(out + n, room - n, "%s%s %s", n > 0 ? "; " : "", who, leaves);
	free(leaves);
}

static void expect_list(const char *id, char *expected)
{
	char text[2048] = "", *list = list_of_a(), *more = NULL;

	if (strcmp(expected, "-") != 0)
		for (char *entry = strtok_r(expected, ";", &more); entry != NULL;
		     entry = strtok_r(NULL, ";", &more))
			put_expected(entry, text, sizeof(text));
	cr_assert_str_eq(list, text, "%s", id);
	free(list);
}

/* ---- reading ---- */

static void put_texts(struct buf *out, const struct change_value *v, const char *quote,
                      const char *between)
{
	const uint8_t *at = v->at;

	for (unsigned i = 0; i < v->n; i++) {
		struct bw_str text = change_next_str(&at);

		buf_printf(out, "%s%s%.*s%s", i > 0 ? between : "", quote, (int)text.n, text.p,
		           quote);
	}
}

/* An entry as list_of_a writes it. */
static void put_entry(struct buf *out, const struct change *ch)
{
	const uint8_t      *at = ch->props;
	struct change_value value;
	struct bw_str       name;

	buf_printf(out, "%s%s%.*s ", buf_size(out) > 0 ? "; " : "", ch->allow ? "+" : "-",
	           (int)ch->name.n, ch->name.p);
	put_texts(out, &ch->value, "", ",");
	for (unsigned i = 0; i < ch->n_props; i++) {
		change_next_prop(&at, &name, &value);
		buf_printf(out, "%s\"%.*s\": [", i > 0 ? ", " : " {", (int)name.n, name.p);
		put_texts(out, &value, "\"", ", ");
		buf_printf(out, "]%s", i + 1 == ch->n_props ? "}" : "");
	}
}

/* The list of a path over the wire as one text, heap; privileges in the order of their bits. NULL and
 * *ret_err if it is refused. */
static char *read_list(struct client *c, uint64_t session, const char *path, int *ret_err)
{
	Bw__Wire__AccessList m = BW__WIRE__ACCESS_LIST__INIT;
	struct wire_message  answer;
	struct changes       list;
	struct change        ch;
	struct call          call;
	struct buf           out;
	size_t               at = 0;

	buf_init(&out);
	m.sequence = session;
	m.path = (ProtobufCBinaryData){ strlen(path), (uint8_t *)path };
	client_ask(c, &call, WIRE_ACCESS_LIST, &m.base);
	call_wait(&w, &call);
	*ret_err = call.err;
	if (call.err == BW_OK) {
		struct wire_frame f = { .id = WIRE_ACCESS_ENTRIES,
			                .length = (uint32_t)call.n,
			                .payload = call.answer };

		cr_assert_eq(wire_message_get(&f, &answer), BW_OK);
		if (answer.u->access_entries.count > 0) {
			cr_assert_eq(changes_get(answer.u->access_entries.entries.data,
			                         answer.u->access_entries.entries.len, &list),
			             BW_OK);
			cr_assert_eq(list.n, answer.u->access_entries.count);
			while (changes_next(&list, &at, &ch))
				put_entry(&out, &ch);
		}
	}
	call_done(&call);
	buf_printf(&out, "%c", '\0');
	return (char *)out.mem;
}

/* In what order privileges stand is nobody's business: sorted, as the database has them. */
static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_privileges(char *list)
{
	char *names[64], copy[2048], *entry, *more = NULL, *rest;

	snprintf(copy, sizeof(copy), "%s", list);
	list[0] = '\0';
	for (entry = strtok_r(copy, ";", &more); entry != NULL;
	     entry = strtok_r(NULL, ";", &more)) {
		char    *who, *all, *save = NULL, *name, *next = NULL;
		unsigned n = 0;

		who = strtok_r(entry, " ", &save);
		all = strtok_r(NULL, " ", &save);
		rest = save;
		for (name = strtok_r(all, ",", &next); name != NULL;
		     name = strtok_r(NULL, ",", &next))
			names[n++] = name;
		qsort(names, n, sizeof(names[0]), by_text);
		sprintf(list + strlen(list), "%s%s ", list[0] != '\0' ? "; " : "", who);
		for (unsigned i = 0; i < n; i++)
			sprintf(list + strlen(list), "%s%s", i > 0 ? "," : "", names[i]);
		if (rest != NULL && *rest != '\0')
			sprintf(list + strlen(list), " %s", rest);
	}
}

/* What a reader of the list gets is what the database has. */
static void expect_read(struct client *c, const char *id)
{
	uint64_t session = client_login(c, HANDLE_ADMIN, 1, NULL);
	int      err;
	char    *expected = list_of_a(), *list = read_list(c, session, "/a", &err);

	if (err == BW_OK) {
		sort_privileges(list);
		cr_assert_str_eq(list, expected, "%s", id);
	} else {
		cr_assert(err == BW_ENOTFOUND && expected[0] == '\0', "%s: %d", id, err);
	}
	free(list);
	free(expected);
}

/* "u: steps": as that user, in no group but everyone; else as the administrator. */
static int do_edit(struct client *c, const char *edit)
{
	static const uint64_t everyone[] = { 3, 0 };
	const char           *colon = strchr(edit, ':');
	char                  name[32];
	uint64_t              session;

	if (colon == NULL || colon > strchr(edit, ' ')) {
		session = client_login(c, HANDLE_ADMIN, 1, NULL);
		return change(c, session, edit);
	}
	snprintf(name, sizeof(name), "%.*s", (int)(colon - edit), edit);
	session = client_login(c, HANDLE_USER, number("SELECT auth.principal_id('%s')", name),
	                       everyone);
	return change(c, session, colon + 1);
}

static void run_edit_row(struct client *c, char *line)
{
	char *save, *more = NULL, *before;
	char *id = strtok_r(line, "\t", &save), *steps = strtok_r(NULL, "\t", &save),
	     *edit = strtok_r(NULL, "\t", &save), *after = strtok_r(NULL, "\t", &save);
	bool refused;
	int  err;

	cr_assert_not_null(after, "%s", id);
	refused = strncmp(after, "refused", 7) == 0;
	start_anew();
	if (strcmp(steps, "-") != 0)
		for (char *step = strtok_r(steps, ";", &more); step != NULL;
		     step = strtok_r(NULL, ";", &more))
			do_step(step);
	settle();
	before = list_of_a();
	err = do_edit(c, edit);
	if (refused) {
		char *list = list_of_a();

		cr_assert(err != BW_OK, "%s is not refused", id);
		cr_assert_str_eq(list, before, "%s", id);
		free(list);
	} else {
		cr_assert_eq(err, BW_OK, "%s: %d", id, err);
		expect_list(id, after);
		expect_read(c, id);
	}
	free(before);
}

Test(list, edit_rows)
{
	FILE         *f = fopen(rows_file(CONFORMANCE_DIR "/lists.rows"), "re");
	char          line[1024];
	unsigned      n_rows = 0;
	struct client c;

	cr_assert_not_null(f);
	client_open(&w, &c);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		run_edit_row(&c, line);
		n_rows++;
	}
	cr_assert(n_rows >= rows_least(30), "only %u rows", n_rows);
	client_close(&c);
	fclose(f);
}

/* The privileges on a path over the wire, and whether all of those named are among them: "yes: jcr:all",
 * "no: ...", or the error. */
static char *granted(struct client *c, uint64_t session, const char *path, const char *names)
{
	Bw__Wire__AccessAsk m = BW__WIRE__ACCESS_ASK__INIT;
	struct wire_message answer;
	struct call         call;
	struct wire_frame   f;
	char               *text;

	m.sequence = session;
	m.path = (ProtobufCBinaryData){ strlen(path), (uint8_t *)path };
	m.privileges = (ProtobufCBinaryData){ strlen(names), (uint8_t *)names };
	client_ask(c, &call, WIRE_ACCESS_ASK, &m.base);
	call_wait(&w, &call);
	if (call.err != BW_OK) {
		cr_assert_neq(asprintf(&text, "%d", call.err), -1);
	} else {
		f = (struct wire_frame){ .id = WIRE_ACCESS_GRANTED,
			                 .length = (uint32_t)call.n,
			                 .payload = call.answer };
		cr_assert_eq(wire_message_get(&f, &answer), BW_OK);
		cr_assert_neq(asprintf(&text, "%s: %.*s",
		                       answer.u->access_granted.all ? "yes" : "no",
		                       (int)answer.u->access_granted.privileges.len,
		                       (char *)answer.u->access_granted.privileges.data),
		              -1);
	}
	call_done(&call);
	return text;
}

static void expect_granted(struct client *c, uint64_t session, const char *path, const char *names,
                           const char *expected)
{
	char *text = granted(c, session, path, names);

	cr_assert_str_eq(text, expected, "%s at %s", names, path);
	free(text);
}

Test(list, what_is_granted_can_be_asked)
{
	struct client c;
	uint64_t      admin, u;
	char         *list;
	int           err;

	client_open(&w, &c);
	start_anew();
	do_step("private bw:own");
	do_step("/a +u jcr:read,bw:own");
	do_step("/a +u jcr:modifyProperties itemNames=[n]");
	do_step("make /a/n");
	settle();
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	u = client_login(&c, HANDLE_USER, number("SELECT auth.principal_id('u')%s", ""),
	                 (uint64_t[]){ 3, 0 });
	expect_granted(&c, admin, "/a", "jcr:all jcr:write", "yes: jcr:all");
	expect_granted(&c, u, "/a", "jcr:read", "yes: rep:readNodes rep:readProperties bw:own");
	expect_granted(&c, u, "/a", "rep:readNodes bw:own",
	               "yes: rep:readNodes rep:readProperties bw:own");
	expect_granted(&c, u, "/a", "jcr:read jcr:write",
	               "no: rep:readNodes rep:readProperties bw:own");
	expect_granted(&c, u, "/a", "", "yes: rep:readNodes rep:readProperties bw:own");
	expect_granted(
		&c, u, "/a/n", "jcr:modifyProperties",
		"yes: rep:readNodes rep:readProperties rep:addProperties rep:alterProperties "
		"rep:removeProperties bw:own");
	expect_granted(&c, admin, ":repository", "jcr:namespaceManagement", "yes: jcr:all");
	expect_granted(&c, u, ":repository", "jcr:namespaceManagement", "no: ");
	do_step(":repository +u jcr:namespaceManagement");
	settle();
	expect_granted(&c, u, ":repository", "jcr:namespaceManagement",
	               "yes: jcr:namespaceManagement");
	expect_granted(&c, u, "/a", "jcr:nonsense", "-1");
	expect_granted(&c, u, "/a", "jcr:read  jcr:write", "-1");
	expect_granted(&c, u, "/", "jcr:read", "-5");
	expect_granted(&c, u, "/missing", "jcr:read", "-5");
	list = read_list(&c, u, "/a", &err);
	cr_assert_eq(err, BW_EFORBIDDEN, "%s", list);
	free(list);
	list = read_list(&c, u, "/", &err);
	cr_assert_eq(err, BW_ENOTFOUND, "%s", list);
	free(list);
	client_close(&c);
}
