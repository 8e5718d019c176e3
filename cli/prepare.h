/* prepare.h - what a database needs before the processes may serve from it. */
#pragma once
#include "cli.h"
#include "database.h"

struct prepare_script {
	const char *name;
	char       *text; /* heap */
	size_t      size;
};

struct prepare {
	const struct cli_settings *settings; /* borrowed, like the scripts' names */
	struct prepare_script     *scripts;  /* of boardwalk.repoinit, in order */
	size_t                     n;
};

/* Reads the scripts. They may lie where only the operator reaches them, so this comes before his
 * rights are given up. False after a line on stderr; prepare_done in any case. */
bool prepare_read(struct prepare *ret, const struct cli_settings *settings);
void prepare_done(struct prepare *prepare);
/* Migrations, the built-in script, the others. *ret_has_password: admin can log in. */
bool prepare_run(const struct prepare *prepare, struct database *db, bool *ret_has_password);
bool prepare_set_password(const struct prepare *prepare, struct database *db, const char *password);
