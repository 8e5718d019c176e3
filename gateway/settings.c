/* settings.c - the gateway's settings: the table that conf.h reads files, environment and --help by.
 * Owns: nothing. Runs in: start-up. Fails with: conf.h's line. Tests: tests/unit/base/conf_test.c. */
#include "settings.h"

#define KEY(name, type, field, initial, min, max, help) \
	{ \
		"gateway." name, type, offsetof(struct gateway_settings, field), initial, min, \
			max, help \
	}

const struct conf_key gateway_keys[] = {
	KEY("listen", CONF_STRING, listen, "127.0.0.1:8080", 0, 0,
	    "address and port of the public listener; [::1]:8080 for IPv6, *:8080 for all"),
	KEY("management", CONF_STRING, management, "127.0.0.1:8081", 0, 0,
	    "address and port, or path of a unix socket, of /health and /metrics; empty: none"),
	KEY("workers", CONF_UINT, workers, "0", 0, 256, "worker processes; 0: one per core"),
	KEY("user", CONF_STRING, user, "boardwalk-gateway", 0, 0,
	    "system user to become when started by root; empty: stay"),
	KEY("auth_socket", CONF_STRING, auth_socket, "/run/boardwalk/auth/auth.sock", 0, 0,
	    "socket of boardwalk-auth, at most 107 octets"),
	KEY("repo_socket", CONF_STRING, repo_socket, "/run/boardwalk/repo/repo.sock", 0, 0,
	    "socket of boardwalk-repo, at most 107 octets"),
	KEY("bundles", CONF_STRINGS, bundles, NULL, 0, 0,
	    "shared objects to load at start, in order"),
	KEY("bundle_drain_ms", CONF_UINT, bundle_drain_ms, "60000", 100, 3600000,
	    "time for the last requests in a replaced bundle to end; then it stays in memory"),
	KEY("store", CONF_STRING, store, "", 0, 0,
	    "folder of the bundles that `boardwalk bundle` has installed, which only the operator "
	    "can write; empty: none"),
	KEY("control_socket", CONF_STRING, control_socket, "", 0, 0,
	    "socket on which the operator gives orders, at most 107 octets; empty: none"),
	KEY("owner", CONF_STRING, owner, "boardwalk", 0, 0,
	    "system user who may give orders and own bundles, besides root; empty: whoever starts "
	    "the gateway"),
	KEY("engine", CONF_BOOL, engine, "true", 0, 0,
	    "serve content: the engine's context at /, behind all others; without it only what "
	    "bundles register answers, and needs neither auth nor repo unless it asks them"),
	KEY("access_log", CONF_STRING, access_log, "\"-\"", 0, 0,
	    "file of the access log, one line per request; -: standard output, empty: none"),
	KEY("spool", CONF_STRING, spool, "/var/lib/boardwalk/spool", 0, 0,
	    "folder for request bodies above 1 MiB and for their parts, as unlinked files"),
	KEY("upload_folders", CONF_STRINGS, upload_folders, NULL, 0, 0,
	    "folders besides the spool that a servlet's multipart.location may lie in; nothing "
	    "else can be written"),
	KEY("trusted_proxies", CONF_STRINGS, trusted_proxies, NULL, 0, 0,
	    "addresses and networks (10.0.0.0/8; unix: the Unix socket) of proxies in front of the "
	    "gateway, whose X-Forwarded-For, -Proto and -Host are believed; nobody else's are"),
	KEY("spin_us", CONF_UINT, spin_us, "20", 0, 1000,
	    "microseconds that a worker polls before it sleeps, after activity"),
	KEY("max_connections", CONF_UINT, max_connections, "10000", 1, 1000000,
	    "open connections per worker; beyond it no more are accepted for the time being"),
	KEY("max_requests", CONF_UINT, max_requests, "1536", 1, 30000,
	    "requests being served per worker; beyond it they are answered 503. One that waits "
	    "takes "
	    "about 28 KiB: with 1536, a worker stays below 64 MiB while repo or auth is silent"),
	KEY("max_body", CONF_SIZE, max_body, "64M", 0, (1ull << 32) - 1,
	    "largest request body; beyond it 413"),
	KEY("max_form", CONF_SIZE, max_form, "2M", 0, (1ull << 32) - 1,
	    "largest form without its files; beyond it 413 where its parameters are asked for"),
	KEY("max_parameters", CONF_UINT, max_parameters, "10000", 1, 1000000,
	    "parameters of a request; beyond it 413 where they are asked for"),
	KEY("max_head", CONF_SIZE, max_head, "32K", 1024, 262144,
	    "largest request head; beyond it, or beyond 100 fields, 431"),
	KEY("max_target", CONF_SIZE, max_target, "8K", 256, 131072,
	    "longest request target; beyond it 414"),
	KEY("request_timeout_ms", CONF_UINT, request_timeout_ms, "30000", 100, 3600000,
	    "time for a request to be served, and for each part of a streamed answer to be taken; "
	    "504"),
	KEY("idle_timeout_ms", CONF_UINT, idle_timeout_ms, "75000", 1000, 3600000,
	    "time between two requests of a connection"),
	KEY("head_timeout_ms", CONF_UINT, head_timeout_ms, "10000", 1000, 3600000,
	    "time for a request's head to arrive; a body may take as long, plus 1 s per 8 KiB"),
	KEY("anonymous", CONF_BOOL, anonymous, "false", 0, 0,
	    "paths without a rule are open to the guest"),
	KEY("realm", CONF_STRING, realm, "Boardwalk", 0, 0, "realm of the Basic challenge"),
	KEY("auth_http", CONF_STRING, auth_http, "preemptive", 0, 0,
	    "as auth.http: HTTP Basic is preemptive (read, but browsers are not asked for it), "
	    "enabled or disabled; without anonymous it is enabled"),
	KEY("login_page", CONF_STRING, login_page, NULL, 0, 0,
	    "a path where browsers are sent to log in, in place of the page that a bundle has "
	    "registered; gateway.requirements has to open it"),
	KEY("form_onexpire_login", CONF_BOOL, form_onexpire_login, "false", 0, 0,
	    "as form.onexpire.login: a session that is over leads to the login page, on open paths "
	    "too"),
	KEY("requirements", CONF_STRINGS, requirements, NULL, 0, 0,
	    "as sling.auth.requirements: +/path needs credentials, -/path does not"),
	KEY("referrer_check", CONF_BOOL, referrer_check, "true", 0, 0,
	    "refuse with 403 what another site has a browser send, unless the method changes "
	    "nothing"),
	KEY("referrer_allow_empty", CONF_BOOL, referrer_allow_empty, "false", 0, 0,
	    "as allow.empty: let in browsers that do not say which page has sent them"),
	KEY("referrer_hosts", CONF_STRINGS, referrer_hosts, NULL, 0, 0,
	    "as allow.hosts: origins that may send requests; host, or scheme://host:port (0: any)"),
	KEY("referrer_hosts_regexp", CONF_STRINGS, referrer_hosts_regexp, NULL, 0, 0,
	    "as allow.hosts.regexp: expressions for the whole of scheme://host:port"),
	KEY("referrer_exclude", CONF_STRINGS, referrer_exclude, NULL, 0, 0,
	    "as exclude.paths: paths, each exactly, that anybody may send requests to"),
	KEY("search_path", CONF_STRINGS, search_path, "[/apps/, /libs/]", 0, 0,
	    "where relative resource types are looked up, in order"),
	KEY("trace", CONF_BOOL, trace, "false", 0, 0,
	    "answer TRACE: it shows the client what proxies in front have added"),
	KEY("session_cookie", CONF_STRING, session_cookie, "JSESSIONID", 0, 0,
	    "name of the cookie that holds a session's id"),
	KEY("session_timeout_s", CONF_UINT, session_timeout_s, "1800", 0, 2147483647,
	    "seconds without a request after which a session ends, unless a servlet says "
	    "otherwise; "
	    "0: never"),
	KEY("log_level", CONF_STRING, log_level, "info", 0, 0, "error, warning, info or debug"),
};
const size_t gateway_n_keys = sizeof(gateway_keys) / sizeof(gateway_keys[0]);

static const char *const sections[] = { "gateway", "auth", "repo", "boardwalk", NULL };

int gateway_settings_load(const char *file, struct gateway_settings *ret, char *err,
                          size_t err_size)
{
	*ret = (struct gateway_settings){ 0 };
	return conf_load(gateway_keys, gateway_n_keys, sections, file, ret, err, err_size);
}

void gateway_settings_done(struct gateway_settings *s)
{
	conf_done(gateway_keys, gateway_n_keys, s);
}
