/* user_change.c - one transaction about accounts: by the SQL functions of the migrations, which write
 * the journal that auth's and repo's processes read.
 *
 * Beyond what the database refuses, the accounts it begins with are kept as they are meant: admin can
 * always log in; anonymous is whoever sends no credentials, and has no group but everyone; everyone
 * has no list of members. Commands and repoinit scripts go one after the other, so that what was found
 * stays true until the commit.
 *
 * Owns: one connection. Runs in: the command. Fails with: false after a line on stderr; then nothing
 * has changed. Tests: tests/unit/cli/user_test.c, tests/system/account_test.c. */
#include "user.h"

#include <base/fatal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "instance.h"
#include "password.h"

/* Without a bell the news is read a quarter of a second later, so its failure is none. */
static void ring(struct database *db)
{
	database_try(db, "NOTIFY boardwalk_auth", 0, NULL, NULL);
	database_try(db, "NOTIFY boardwalk_repo", 0, NULL, NULL);
}

static bool change(struct user_change *c, bool (*work)(struct user_change *c, void *arg), void *arg)
{
	bool done = database_run(&c->db, "BEGIN") &&
	            database_lock(&c->db, DATABASE_LOCK_REPOINIT, false) && actor_tell(&c->db) &&
	            work(c, arg);

	/* Otherwise the end of the connection takes everything back. */
	if (done && c->changes > 0) {
		done = database_run(&c->db, "COMMIT");
		if (done)
			ring(&c->db);
	}
	return done;
}

static bool run(struct cli *cli, bool (*work)(struct user_change *c, void *arg), void *arg,
                bool changes)
{
	struct instance    instance;
	struct user_change c = { .cli = cli };
	bool               done;

	if (!instance_find(&instance, &cli->settings))
		return false;
	buf_init(&c.said);
	done = instance_become_owner(&instance) &&
	       database_open(&c.db, instance.owner_conninfo, false) &&
	       (changes ? change(&c, work, arg) : work(&c, arg));
	if (done && buf_size(&c.said) > 0)
		fwrite(buf_data(&c.said), 1, buf_size(&c.said), stdout);
	buf_done(&c.said);
	database_close(&c.db);
	instance_done(&instance);
	return done;
}

bool user_change_run(struct cli *cli, bool (*work)(struct user_change *c, void *arg), void *arg)
{
	return run(cli, work, arg, true);
}

bool user_look(struct cli *cli, bool (*work)(struct user_change *c, void *arg), void *arg)
{
	return run(cli, work, arg, false);
}

static void say(struct user_change *c, const char *format, va_list args)
{
	char line[2048]; /* at most four names of 255 octets */

	vsnprintf(line, sizeof(line), format, args);
	buf_printf(&c->said, "%s\n", line);
}

void user_changed(struct user_change *c, const char *format, ...)
{
	va_list args;

	c->changes++;
	va_start(args, format);
	say(c, format, args);
	va_end(args);
}

void user_note(struct user_change *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(c, format, args);
	va_end(args);
}

bool user_call(struct user_change *c, const char *sql, const char *a, const char *b, bool *ret)
{
	const char *params[] = { a, b };
	PGresult   *rows;

	if (!database_try(&c->db, sql, b != NULL ? 2 : 1, params, &rows))
		return complain("%s", database_reason(&c->db));
	if (ret != NULL)
		*ret = strcmp(PQgetvalue(rows, 0, 0), "t") == 0;
	PQclear(rows);
	return true;
}

static bool take(const PGresult *rows, enum user_kind kind, struct user_found *ret)
{
	static const char *const nouns[] = { "user", "group", "user or group" };
	bool                     is_group;

	if (PQntuples(rows) == 0)
		return complain("there is no %s '%s'", nouns[kind], ret->name);
	is_group = strcmp(PQgetvalue(rows, 0, 1), "group") == 0;
	if (kind != USER_ANY && is_group != (kind == USER_GROUP))
		return complain("'%s' is %s", ret->name,
		                is_group ? "a group and no user" : "a user and no group");
	ret->id = xstrdup(PQgetvalue(rows, 0, 0));
	ret->number = strtol(ret->id, NULL, 10);
	ret->disabled = strcmp(PQgetvalue(rows, 0, 2), "t") == 0;
	return true;
}

bool user_find(struct user_change *c, const char *text, enum user_kind kind, struct user_found *ret)
{
	const char *params[1];
	PGresult   *rows;
	bool        done;

	*ret = (struct user_found){ .name = normalise_name(bw_str(text)) };
	if (ret->name == NULL)
		return complain("'%s' is no name for a user or group", text);
	params[0] = ret->name;
	if (!database_query(&c->db,
	                    "SELECT id, class, disabled FROM auth.principal WHERE name = $1", 1,
	                    params, &rows))
		return false;
	done = take(rows, kind, ret);
	PQclear(rows);
	return done;
}

void user_found_done(struct user_found *f)
{
	free(f->name);
	free(f->id);
}

bool user_create(struct user_change *c, const char *name, const char *class)
{
	char *nfc = normalise_name(bw_str(name));
	bool  done = nfc != NULL
	                     ? user_call(c, "SELECT auth.principal_create($1, $2)", nfc, class, NULL)
	                     : complain("'%s' is no name for a user or group", name);

	if (done && strcmp(class, "user") == 0)
		user_changed(c, "added user %s; `boardwalk user passwd %s` gives a password", nfc,
		             nfc);
	else if (done)
		user_changed(c, "added %s %s", strcmp(class, "group") == 0 ? class : "service user",
		             nfc);
	for (unsigned i = 0; i < c->cli->n_groups && done; i++)
		done = user_set_member(c, c->cli->groups[i], nfc, true);
	free(nfc);
	return done;
}

bool user_remove(struct user_change *c, const char *name, enum user_kind kind)
{
	struct user_found f;
	bool              done = user_find(c, name, kind, &f);

	if (done && f.number <= USER_ID_EVERYONE)
		done = complain("%s cannot be removed", f.name);
	else if (done)
		done = user_call(c, "SELECT auth.principal_delete($1)", f.name, NULL, NULL);
	if (done)
		user_changed(c, "removed %s", f.name);
	user_found_done(&f);
	return done;
}

/* What a membership may not be, although the database could hold it. */
static bool is_sensible(const struct user_found *group, const struct user_found *member, bool add)
{
	if (group->number == USER_ID_EVERYONE)
		return complain("all belong to everyone: it has no list of members");
	if (add && member->number == USER_ID_ANONYMOUS)
		return complain("anonymous belongs to everyone and to no other group");
	if (add && member->number == USER_ID_EVERYONE)
		return complain("everyone cannot belong to a group");
	return true;
}

bool user_set_member(struct user_change *c, const char *group, const char *member, bool add)
{
	struct user_found g = { 0 }, m = { 0 };
	bool              news = false;
	bool done = user_find(c, group, USER_GROUP, &g) && user_find(c, member, USER_ANY, &m) &&
	            is_sensible(&g, &m, add) &&
	            user_call(c,
	                      add ? "SELECT auth.membership_add($1, $2)"
	                          : "SELECT auth.membership_remove($1, $2)",
	                      g.name, m.name, &news);

	if (done && news)
		user_changed(c, add ? "added %s to %s" : "took %s out of %s", m.name, g.name);
	else if (done)
		user_note(c, add ? "%s is in %s already" : "%s is not in %s", m.name, g.name);
	user_found_done(&g);
	user_found_done(&m);
	return done;
}
