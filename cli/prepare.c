/* prepare.c - the command `prepare`, and the same step of `up`: the database is brought to this
 * version, has its first content, and admin has a password.
 *
 * Running it again changes nothing; two at once take turns.
 * Owns: struct prepare. Runs in: the command, or a job of the supervisor. Fails with: false after a
 * line on stderr. Tests: tests/system/setup_test.c, tests/system/compose_test.c. */
#include "prepare.h"

#include <base/fatal.h>
#include <repoinit/repoinit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embedded.h"
#include "instance.h"
#include "migrate.h"
#include "password.h"
#include "repoinit.h"

bool prepare_read(struct prepare *ret, const struct cli_settings *settings)
{
	const struct conf_list *names = &settings->repoinit;

	*ret = (struct prepare){ .settings = settings };
	ret->scripts = xcalloc(names->n + 1, sizeof(*ret->scripts));
	for (size_t i = 0; i < names->n; i++) {
		struct prepare_script *script = &ret->scripts[ret->n++];

		script->name = names->items[i];
		script->text = read_file(script->name, REPOINIT_MAX_SCRIPT, &script->size);
		if (script->text == NULL)
			return false;
	}
	return true;
}

/* A script may hold passwords. */
void prepare_done(struct prepare *prepare)
{
	for (size_t i = 0; i < prepare->n; i++) {
		if (prepare->scripts[i].text != NULL)
			explicit_bzero(prepare->scripts[i].text, prepare->scripts[i].size);
		free(prepare->scripts[i].text);
	}
	free(prepare->scripts);
	*prepare = (struct prepare){ 0 };
}

static bool has_password(struct database *db, bool *ret)
{
	PGresult *rows;

	if (!database_query(
		    db,
		    "SELECT FROM auth.credential c JOIN auth.principal p ON p.id = c.principal"
		    " WHERE p.name = 'admin'",
		    0, NULL, &rows))
		return false;
	*ret = PQntuples(rows) > 0;
	PQclear(rows);
	return true;
}

bool prepare_run(const struct prepare *prepare, struct database *db, bool *ret_has_password)
{
	const struct embedded_file *base = &embedded_base_repoinit;

	if (!migrate_run(db) || !repoinit_run(db, prepare->settings, base->name, base->text,
	                                      (size_t)(base->end - base->text), true))
		return false;
	for (size_t i = 0; i < prepare->n; i++) {
		const struct prepare_script *script = &prepare->scripts[i];

		if (!repoinit_run(db, prepare->settings, script->name, script->text, script->size,
		                  true))
			return false;
	}
	return has_password(db, ret_has_password);
}

bool prepare_set_password(const struct prepare *prepare, struct database *db, const char *password)
{
	char        verifier[PASSWORD_VERIFIER];
	const char *params[] = { "admin", verifier };

	return password_verifier(prepare->settings, password, strlen(password), verifier) &&
	       database_query(db, "SELECT auth.password_set($1, $2)", 2, params, NULL);
}

/* The first line of the file that the settings name; NULL after a line. Owned. */
static char *first_password(const struct cli_settings *settings)
{
	const char *file = settings->admin_password_file;
	char       *text;
	size_t      size;

	if (*file == '\0') {
		complain("admin has no password yet: boardwalk.admin_password_file names none");
		return NULL;
	}
	text = read_file(file, 4096, &size);
	if (text != NULL)
		text[strcspn(text, "\r\n")] = '\0';
	return text;
}

static bool give_first_password(const struct prepare *prepare, struct database *db)
{
	char *password = first_password(prepare->settings);
	bool  done = password != NULL && prepare_set_password(prepare, db, password);

	if (password != NULL)
		explicit_bzero(password, strlen(password));
	free(password);
	return done;
}

int prepare_main(struct cli *cli)
{
	struct instance instance;
	struct prepare  prepare = { 0 };
	struct database db = { 0 };
	bool            has = false, done;

	if (!instance_find(&instance, &cli->settings))
		return CLI_FAILED;
	done = prepare_read(&prepare, &cli->settings) && instance_become_owner(&instance) &&
	       database_open(&db, instance.owner_conninfo, true) &&
	       prepare_run(&prepare, &db, &has) && (has || give_first_password(&prepare, &db));
	database_close(&db);
	prepare_done(&prepare);
	instance_done(&instance);
	return done ? CLI_OK : CLI_FAILED;
}
