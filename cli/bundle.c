/* bundle.c - the command `bundle`: changes and shows what is installed.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1, if one of several was not done; 2 for a
 * call that is wrong. Tests: tests/system/bundle_test.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "change.h"

static bool change_files(const struct instance *instance, enum change_action action, char **files,
                         int n)
{
	bool done = true;

	for (int i = 0; i < n; i++) {
		struct bundle_file file;

		done = bundle_file_read(&file, files[i]) &&
		       change_run(instance, action, file.name, &file) && done;
		bundle_file_done(&file);
	}
	return done;
}

static bool change_names(const struct instance *instance, enum change_action action, char **names,
                         int n)
{
	bool done = true;

	for (int i = 0; i < n; i++)
		done = change_run(instance, action, names[i], NULL) && done;
	return done;
}

static const struct verb {
	const char *name;
	bool (*change)(const struct instance *instance, enum change_action action, char **operands,
	               int n);
	enum change_action action;
	bool (*show)(struct cli *cli, const struct instance *instance);
	bool takes_operands;
} verbs[] = {
	{ "install", change_files, CHANGE_INSTALL, NULL, true },
	{ "update", change_files, CHANGE_UPDATE, NULL, true },
	{ "uninstall", change_names, CHANGE_UNINSTALL, NULL, true },
	{ "start", change_names, CHANGE_START, NULL, true },
	{ "stop", change_names, CHANGE_STOP, NULL, true },
	{ "list", NULL, 0, bundle_list, false },
	{ "watch", NULL, 0, bundle_watch, true },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

int bundle_main(struct cli *cli)
{
	const struct verb *verb = find_verb(cli->operands[0]);
	struct instance    instance;
	bool               done;

	if (verb == NULL || verb->takes_operands != (cli->n_operands > 1)) {
		complain("bundle: install|update FILE..., uninstall|start|stop NAME..., list, "
		         "watch DIR");
		return CLI_USAGE;
	}
	if (!instance_find_gateway(&instance, &cli->settings))
		return CLI_FAILED;
	done = verb->show != NULL ? verb->show(cli, &instance)
	                          : verb->change(&instance, verb->action, cli->operands + 1,
	                                         cli->n_operands - 1);
	instance_done(&instance);
	return done ? CLI_OK : CLI_FAILED;
}
