/* settings.h - repo's section of the configuration file. */
#pragma once
#include "acl.h"
#include <base/conf.h>

struct repo_settings {
	char                *user, *socket, *gateway_user, *database, *key_file, *log_level, *node;
	char                *service_lists;
	uint64_t             cache_bytes, statement_timeout_ms, journal_interval_ms;
	uint64_t             search_connections, search_timeout_ms;
	struct conf_list     search_path;
	enum acl_composition composition; /* what service_lists says */
};

/* As conf_load: -1 with a reason in err; *ret is to be freed by repo_settings_done in any case. */
int  repo_settings_load(const char *file, struct repo_settings *ret, char *err, size_t err_size);
void repo_settings_done(struct repo_settings *s);
void repo_settings_print(FILE *out);
