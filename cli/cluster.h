/* cluster.h - the private PostgreSQL cluster of an instance without DATABASE_URL. */
#pragma once
#include "instance.h"

/* Makes DATA/postgresql if it is not there (a second or two) and writes who may connect. Refuses a
 * cluster of another major version than the one server that is installed. *ret_server: the program
 * to start, owned. False after a line on stderr. */
bool cluster_prepare(const struct instance *instance, char **ret_server);
/* Its arguments, NULL-terminated; the array and its strings are owned. */
char **cluster_arguments(const struct instance *instance, const char *server);
