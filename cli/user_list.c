/* user_list.c - what accounts there are: `user list`, `group list`, a user's groups, a group's members.
 *
 * PostgreSQL makes the lists as JSON, which is printed as it is or as a table.
 *
 * Owns: nothing. Runs in: the command. Fails with: false after a line on stderr.
 * Tests: tests/unit/cli/user_test.c, tests/system/account_test.c. */
#include "user.h"

#include <base/fatal.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "password.h"

/* * and ? of a pattern as LIKE has them, owned; NULL for no pattern: all. */
static char *like_of(const char *pattern)
{
	char      *nfc = pattern != NULL ? normalise_name(bw_str(pattern)) : NULL;
	struct buf out;

	if (nfc == NULL)
		return NULL;
	buf_init(&out);
	for (const char *at = nfc; *at != '\0'; at++)
		if (*at == '*' || *at == '?')
			buf_printf(&out, "%c", *at == '*' ? '%' : '_');
		else
			buf_printf(&out, "%s%c", strchr("\\%_", *at) != NULL ? "\\" : "", *at);
	buf_printf(&out, "%c", '\0');
	free(nfc);
	return (char *)out.mem; /* starts there, since nothing was consumed */
}

struct listing {
	const char *sql, *key;
	void (*print)(const json_t *row);
	const char *head;
};

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text != NULL ? text : "";
}

static void print_all(struct user_change *c, const struct listing *l, json_t *rows)
{
	size_t  i;
	json_t *row;

	if (c->cli->json) {
		json_t *all = json_pack("{s:O}", l->key, rows);

		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(all);
		return;
	}
	puts(l->head);
	json_array_foreach (rows, i, row)
		l->print(row);
}

static bool list_work(struct user_change *c, void *arg)
{
	const struct listing *l = arg;
	char                 *like = like_of(c->cli->n_operands > 1 ? c->cli->operands[1] : NULL);
	const char           *params[] = { like };
	PGresult             *rows;
	json_t               *list = NULL;
	bool                  done = database_query(&c->db, l->sql, 1, params, &rows);

	free(like);
	if (!done)
		return false;
	list = json_loads(PQgetvalue(rows, 0, 0), 0, NULL);
	PQclear(rows);
	if (list == NULL)
		return complain("the list is no JSON");
	print_all(c, l, list);
	json_decref(list);
	return true;
}

static void print_groups_of(const json_t *groups)
{
	size_t  i;
	json_t *group;

	json_array_foreach (groups, i, group)
		printf("%s%s", i > 0 ? ", " : "", json_string_value(group));
	puts(json_array_size(groups) > 0 ? "" : "-");
}

static void print_user(const json_t *row)
{
	bool disabled = json_is_true(json_object_get(row, "disabled"));

	printf("%-24s %-8s %-9s %-9s ", text_of(row, "name"), text_of(row, "kind"),
	       disabled ? "disabled" : "enabled",
	       json_is_true(json_object_get(row, "password")) ? "yes" : "no");
	print_groups_of(json_object_get(row, "groups"));
	if (*text_of(row, "reason") != '\0')
		printf("  disabled: %s\n", text_of(row, "reason"));
}

/* Controls in a reason would be the terminal's. */
bool user_list(struct cli *cli)
{
	static struct listing users = {
		"SELECT coalesce(json_agg(json_build_object('name', p.name, 'kind', p.class,"
		"  'disabled', p.disabled,"
		"  'reason', regexp_replace(p.reason, '[\\u0001-\\u001f\\u007f-\\u009f]', ' ', "
		"'g'),"
		"  'password', EXISTS (SELECT FROM auth.credential c WHERE c.principal = p.id),"
		"  'groups', (SELECT coalesce(json_agg(g.name ORDER BY g.name), '[]')"
		"    FROM auth.membership m JOIN auth.principal g ON g.id = m.grp"
		"    WHERE m.member = p.id))"
		"  ORDER BY p.name), '[]') "
		"FROM auth.principal p WHERE p.class <> 'group' AND ($1::text IS NULL OR p.name "
		"LIKE $1)",
		"users",
		print_user,
		"NAME                     KIND     STATE     PASSWORD  GROUPS",
	};

	return user_look(cli, list_work, &users);
}

static void print_group(const json_t *row)
{
	const json_t *members = json_object_get(row, "members");

	if (json_is_array(members))
		printf("%-24s %7zu\n", text_of(row, "name"), json_array_size(members));
	else
		printf("%-24s %7s\n", text_of(row, "name"), "all");
}

bool group_list(struct cli *cli)
{
	static struct listing groups = {
		"SELECT coalesce(json_agg(json_build_object('name', p.name,"
		"  'members', CASE WHEN p.id <> 3 THEN (SELECT coalesce(json_agg(m.name ORDER BY "
		"m.name),"
		"    '[]') FROM auth.membership s JOIN auth.principal m ON m.id = s.member"
		"    WHERE s.grp = p.id) END)"
		"  ORDER BY p.name), '[]') "
		"FROM auth.principal p WHERE p.class = 'group' AND ($1::text IS NULL OR p.name "
		"LIKE $1)",
		"groups",
		print_group,
		"NAME                     MEMBERS",
	};

	return user_look(cli, list_work, &groups);
}

/* Rows of a name and what is said of it in brackets, if anything. */
static bool print_names(struct user_change *c, const struct user_found *f, const char *sql)
{
	const char *params[] = { f->id };
	PGresult   *rows;

	if (!database_query(&c->db, sql, 1, params, &rows))
		return false;
	for (int i = 0; i < PQntuples(rows); i++)
		if (PQgetisnull(rows, i, 1))
			puts(PQgetvalue(rows, i, 0));
		else
			printf("%s (%s)\n", PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1));
	PQclear(rows);
	return true;
}

bool user_print_groups(struct user_change *c, void *name)
{
	struct user_found f;
	bool              done =
		user_find(c, name, USER_ACCOUNT, &f) &&
		print_names(
			c, &f,
			"WITH RECURSIVE above(id) AS ("
			"  SELECT grp FROM auth.membership WHERE member = $1::bigint"
			"  UNION"
			"  SELECT m.grp FROM auth.membership m JOIN above a ON m.member = a.id) "
			"SELECT g.name, CASE WHEN NOT EXISTS (SELECT FROM auth.membership d"
			"  WHERE d.member = $1::bigint AND d.grp = g.id)"
			"  THEN 'through another group' END "
			"FROM above a JOIN auth.principal g ON g.id = a.id ORDER BY g.name");

	user_found_done(&f);
	return done;
}

bool group_print_members(struct user_change *c, void *name)
{
	struct user_found f;
	bool              done = user_find(c, name, USER_GROUP, &f);

	if (done && f.number == USER_ID_EVERYONE)
		done = complain("all belong to everyone: it has no list of members");
	else if (done)
		done = print_names(c, &f,
		                   "SELECT p.name, nullif(p.class, 'user') FROM auth.membership m"
		                   "  JOIN auth.principal p ON p.id = m.member "
		                   "WHERE m.grp = $1::bigint ORDER BY p.name");
	user_found_done(&f);
	return done;
}
