/* settings.c - auth's settings: the table that conf.h reads files, environment and --help by.
 * Owns: nothing. Runs in: start-up. Fails with: conf.h's line. Tests: tests/unit/base/conf_test.c. */
#include "settings.h"

#define KEY(name, type, field, initial, min, max, help) \
	{ \
		"auth." name, type, offsetof(struct auth_settings, field), initial, min, max, help \
	}

static const struct conf_key keys[] = {
	KEY("user", CONF_STRING, user, "boardwalk-auth", 0, 0,
	    "system user to become when started by root"),
	KEY("socket", CONF_STRING, socket, "/run/boardwalk/auth/auth.sock", 0, 0,
	    "socket for the gateway, at most 107 octets"),
	KEY("gateway_user", CONF_STRING, gateway_user, "boardwalk-gateway", 0, 0,
	    "the only system user, besides auth's own, whose connections are let in"),
	KEY("database", CONF_STRING, database, "dbname=boardwalk user=boardwalk_auth", 0, 0,
	    "libpq connection string or URL; AUTH_DATABASE_URL or AUTH_DATABASE_URL_FILE go before "
	    "it"),
	KEY("key_file", CONF_STRING, key_file, "/var/lib/boardwalk/keys/handle.key", 0, 0,
	    "key of the resolver handles, shared with repo"),
	KEY("session_key_file", CONF_STRING, session_key_file,
	    "/var/lib/boardwalk/keys/session.key", 0, 0,
	    "keys of the session tokens; the same on all nodes of a database"),
	KEY("session_idle", CONF_UINT, session_idle, "1800", 60, 86400,
	    "seconds without a request after which a login session is over"),
	KEY("session_life", CONF_UINT, session_life, "43200", 60, 86400,
	    "seconds after which it is over in any case"),
	KEY("issuers", CONF_STRINGS, issuers, NULL, 0, 0,
	    "whose bearer tokens are good: ISSUER audience=NAME keys=FILE, perhaps user=CLAIM, "
	    "leeway=SECONDS, life=SECONDS"),
	KEY("hash_threads", CONF_UINT, hash_threads, "2", 1, 64,
	    "passwords verified at the same time, argon2_mem each"),
	KEY("hash_queue", CONF_UINT, hash_queue, "64", 1, 4096,
	    "passwords waiting to be verified; beyond it a login is answered busy"),
	KEY("argon2_ops", CONF_UINT, argon2_ops, "2", 1, 16, "passes of argon2id"),
	KEY("argon2_mem", CONF_SIZE, argon2_mem, "64M", 8192, 1u << 30, "memory of argon2id"),
	KEY("remember_seconds", CONF_UINT, remember_seconds, "300", 0, 86400,
	    "how long verified credentials need no new verification; 0: not at all"),
	KEY("throttle_failures", CONF_UINT, throttle_failures, "5", 0, 1000,
	    "failed logins of an account that are free; after that each makes it wait; 0: never"),
	KEY("throttle_address_failures", CONF_UINT, throttle_address_failures, "100", 0, 100000,
	    "the same for a client's address (IPv6: its /64)"),
	KEY("throttle_window_seconds", CONF_UINT, throttle_window_seconds, "900", 1, 86400,
	    "failures are forgotten after so long without another"),
	KEY("throttle_delay_seconds", CONF_UINT, throttle_delay_seconds, "1", 1, 86400,
	    "the first wait; each further failure doubles it"),
	KEY("throttle_max_delay_seconds", CONF_UINT, throttle_max_delay_seconds, "900", 1, 86400,
	    "the longest wait"),
	KEY("impersonators", CONF_STRINGS, impersonators, NULL, 0, 0,
	    "users that may act as any user who is no administrator, besides those whom a user's "
	    "own "
	    "list names (boardwalk user impersonators)"),
	KEY("service_users", CONF_STRINGS, service_users, NULL, 0, 0,
	    "bundle[:subservice]=user or =[user,...]: who a bundle's service resolver is; the "
	    "first entry "
	    "for a service holds"),
	KEY("service_users_folder", CONF_STRING, service_users_folder, "", 0, 0,
	    "further entries behind these: each file NAME.yaml in this folder has a section "
	    "amendment "
	    "with service_users and a ranking, the highest first, then by name"),
	KEY("service_user_default", CONF_STRING, service_user_default, "", 0, 0,
	    "the service user of bundles that no entry is about; empty: they have none"),
	KEY("service_user_default_mapping", CONF_BOOL, service_user_default_mapping, "false", 0, 0,
	    "without such a default, they are serviceuser--BUNDLE or "
	    "serviceuser--BUNDLE--SUBSERVICE"),
	KEY("service_places", CONF_STRINGS, service_places, NULL, 0, 0,
	    "bundle=gateway or bundle=host:NAME: the only process that may act as the bundle's "
	    "service "
	    "users; without an entry it is the gateway"),
	KEY("required_validators", CONF_STRINGS, required_validators, NULL, 0, 0,
	    "validators of service users that must be there, else all are refused; there is one: "
	    "system-user"),
	KEY("self_registration", CONF_BOOL, self_registration, "false", 0, 0,
	    "whether anybody may make himself a user over HTTP, without any group"),
	KEY("log_level", CONF_STRING, log_level, "info", 0, 0, "error, warning, info or debug"),
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *const sections[] = { "gateway", "auth", "repo", "boardwalk", NULL };

int auth_settings_load(const char *file, struct auth_settings *ret, char *err, size_t err_size)
{
	*ret = (struct auth_settings){ 0 };
	return conf_load(keys, N_KEYS, sections, file, ret, err, err_size);
}

void auth_settings_done(struct auth_settings *s)
{
	conf_done(keys, N_KEYS, s);
}

void auth_settings_print(FILE *out)
{
	conf_print(keys, N_KEYS, out);
}
