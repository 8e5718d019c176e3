/* settings.c - repo's settings: the table that conf.h reads files, environment and --help by.
 * Owns: nothing. Runs in: start-up. Fails with: conf.h's line. Tests:
 * tests/unit/base/conf_test.c. */
#include "settings.h"
#include <string.h>

#define MAX_SEARCH_PATH 200u

#define KEY(name, type, field, initial, min, max, help) \
	{ \
		"repo." name, type, offsetof(struct repo_settings, field), initial, min, max, help \
	}

static const struct conf_key keys[] = {
	KEY("user", CONF_STRING, user, "boardwalk-repo", 0, 0,
	    "system user to become when started by root"),
	KEY("socket", CONF_STRING, socket, "/run/boardwalk/repo/repo.sock", 0, 0,
	    "socket for the gateway, at most 107 octets"),
	KEY("gateway_user", CONF_STRING, gateway_user, "boardwalk-gateway", 0, 0,
	    "the only system user, besides repo's own, whose connections are let in"),
	KEY("database", CONF_STRING, database, "dbname=boardwalk user=boardwalk_repo", 0, 0,
	    "libpq connection string or URL; REPO_DATABASE_URL or REPO_DATABASE_URL_FILE go before "
	    "it"),
	KEY("key_file", CONF_STRING, key_file, "/var/lib/boardwalk/keys/handle.key", 0, 0,
	    "key of the resolver handles, shared with auth"),
	KEY("cache_bytes", CONF_SIZE, cache_bytes, "64M", 65536, (uint64_t)1 << 40,
	    "memory for resources read before"),
	KEY("search_path", CONF_STRINGS, search_path, "[/apps/, /libs/]", 0, 0,
	    "where resource types are looked for, in this order; each begins and ends with /"),
	KEY("statement_timeout_ms", CONF_UINT, statement_timeout_ms, "5000", 10, 600000,
	    "how long PostgreSQL may take for one read"),
	KEY("search_connections", CONF_UINT, search_connections, "2", 1, 16,
	    "searches at a time; each has a connection to PostgreSQL of its own"),
	KEY("search_timeout_ms", CONF_UINT, search_timeout_ms, "2000", 10, 600000,
	    "how long one search may take, waiting for its turn included"),
	KEY("journal_interval_ms", CONF_UINT, journal_interval_ms, "150", 10, 1000,
	    "how often the journal is read when no bell rings: how far a node may lag behind "
	    "others"),
	KEY("node", CONF_STRING, node, "", 0, 0,
	    "this node's name in the journal, of no other node; empty: drawn anew at each start"),
	KEY("service_lists", CONF_STRING, service_lists, "alone", 0, 0,
	    "how a session of service users with lists of their own is judged: by these alone; "
	    "and: "
	    "what the lists of nodes allow as well; or: what one of them allows"),
	KEY("log_level", CONF_STRING, log_level, "info", 0, 0, "error, warning, info or debug"),
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *const sections[] = { "gateway", "auth", "repo", "boardwalk", NULL };

static bool read_composition(const char *text, enum acl_composition *ret)
{
	static const char *const words[] = {
		[ACL_ALONE] = "alone",
		[ACL_AND] = "and",
		[ACL_OR] = "or",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) != 0)
			continue;
		*ret = (enum acl_composition)i;
		return true;
	}
	return false;
}

int repo_settings_load(const char *file, struct repo_settings *ret, char *err, size_t err_size)
{
	*ret = (struct repo_settings){ 0 };
	if (conf_load(keys, N_KEYS, sections, file, ret, err, err_size) != 0)
		return -1;
	if (!read_composition(ret->service_lists, &ret->composition)) {
		snprintf(err, err_size, "repo.service_lists: \"%s\" is not alone, and or or",
		         ret->service_lists);
		return -1;
	}
	for (size_t i = 0; i < ret->search_path.n; i++) {
		const char *item = ret->search_path.items[i];
		size_t      n = strlen(item);

		if (n < 2 || n > MAX_SEARCH_PATH || item[0] != '/' || item[n - 1] != '/') {
			snprintf(err, err_size,
			         "repo.search_path: \"%s\" does not begin and end with /", item);
			return -1;
		}
	}
	return 0;
}

void repo_settings_done(struct repo_settings *s)
{
	conf_done(keys, N_KEYS, s);
}

void repo_settings_print(FILE *out)
{
	conf_print(keys, N_KEYS, out);
}
