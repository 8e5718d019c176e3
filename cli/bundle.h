/* bundle.h - the verbs of the command `bundle` that have a file of their own. */
#pragma once
#include "cli.h"
#include "instance.h"

/* Prints what is installed, and where workers differ. False after a line on stderr, or if they do. */
bool bundle_list(struct cli *cli, const struct instance *instance);
/* Installs or updates what is renamed or written into the folder operands[1], until SIGTERM or SIGINT. */
bool bundle_watch(struct cli *cli, const struct instance *instance);
