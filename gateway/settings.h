/* settings.h - the gateway's section of the configuration file; the table is in settings.c. */
#pragma once
#include <base/conf.h>

struct gateway_settings {
	char            *listen;     /* "127.0.0.1:8080" */
	char            *management; /* "127.0.0.1:8081", or a path: a unix socket */
	uint64_t         workers;    /* 0: as many as cores */
	char            *user;       /* boardwalk-gateway; empty: stay */
	char            *auth_socket, *repo_socket;
	bool             engine;  /* false: a whiteboard alone */
	struct conf_list bundles; /* shared objects to load at start, in order */
	char            *store;   /* folder of the bundles that can be changed; empty: none */
	char            *control_socket; /* of the operator; empty: none */
	char            *owner;          /* who may speak there, besides root */
	uint64_t         bundle_drain_ms;
	char            *access_log;     /* file, "-" for stdout, empty: off */
	char            *spool;          /* folder for large bodies */
	struct conf_list upload_folders; /* for multipart.location, besides the spool */
	uint64_t         spin_us;
	uint64_t         max_connections, max_requests; /* per worker; beyond: not accepted, 503 */
	uint64_t         max_body, max_head, max_target, max_form, max_parameters;
	uint64_t         request_timeout_ms, idle_timeout_ms, head_timeout_ms;
	bool  anonymous; /* auth.annonymous: may a path without a rule be read as guest */
	char *realm;
	struct conf_list trusted_proxies;
	char            *login_page;   /* NULL: what bundles have registered */
	char            *auth_http;    /* preemptive, enabled or disabled */
	bool form_onexpire_login;      /* a session that is over: log in again on open paths, too */
	struct conf_list requirements; /* sling.auth.requirements of the operator */
	bool             referrer_check, referrer_allow_empty;
	struct conf_list referrer_hosts, referrer_hosts_regexp, referrer_exclude;
	struct conf_list search_path; /* /apps/, /libs/ */
	bool             trace;
	char            *session_cookie;
	uint64_t         session_timeout_s;
	char            *log_level;
};

extern const struct conf_key gateway_keys[];
extern const size_t          gateway_n_keys;

/* conf_load with the product's sections: 0, or -1 and "file:line: reason" in err. */
int  gateway_settings_load(const char *file, struct gateway_settings *ret, char *err,
                           size_t err_size);
void gateway_settings_done(struct gateway_settings *s);
