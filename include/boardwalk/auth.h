/* auth.h - who asks, and how he is asked: logins that a bundle starts and ends, and ways of logging in
 * that a bundle adds (Apache Sling Authentication, org.apache.sling.auth.core.spi).
 *
 * A bundle extracts credentials; what they are worth auth decides alone. So a handler can never name an
 * identity: it hands over a password, a session token or a bearer token that it has found. */
#pragma once
#include <boardwalk/bundle.h>

/* What the functions below call. */
struct bw_authentication {
	size_t size;
	int (*login)(struct bw_req *req);
	int (*logout)(struct bw_req *req);
	struct bw_str (*redirect_target)(struct bw_req *req, const char *otherwise);
};

/* ---- logins ---- */

/* Asks the client for credentials, as if it had asked for a path that needs them: by the handlers' own
 * dialogues, else with 401; scripts and those who go round in circles get 403. What the client wanted is
 * the parameter "resource", else this request. BW_DECLINED: the request is answered; return that. (waits) */
static inline int bw_req_login(struct bw_req *req)
{
	return bw_host->authentication->login(req);
}

/* Ends the client's login: every handler drops its credentials, cookies are cleared, and its session is
 * over on all nodes. The response stays open. BW_EGONE, BW_ETIME, BW_EBUSY: the session may still be
 * good; nothing has been cleared. BW_ESTATE once committed. (waits) */
static inline int bw_req_logout(struct bw_req *req)
{
	return bw_host->authentication->logout(req);
}

/* Where the client wants to be sent after that: the parameter "sling.auth.redirect", else "resource", else
 * otherwise (may be NULL: "/"), as a path that can go into Location as it stands. What leads elsewhere or
 * could be read in two ways counts as "/". In the request's memory. (waits) */
static inline struct bw_str bw_req_redirect_target(struct bw_req *req, const char *otherwise)
{
	return bw_host->authentication->redirect_target(req, otherwise);
}

/* A servlet with this property, a path, is the login page: browsers that have to log in are sent there,
 * with the parameters "resource", where they wanted to be, and perhaps "j_reason": invalid_login or
 * expired_token. Its form is posted to any path that ends in /j_security_check, with j_username, j_password
 * and resource. It opens itself by BW_AUTH_REQUIREMENTS. Of several that of the highest ranking is
 * taken; the setting gateway.login_page goes before them. */
#define BW_AUTH_LOGIN_FORM "sling.auth.login.form"

/* ---- ways of logging in ---- */

/* Registered as a service with an object of struct bw_auth_handler and the property "path": where it is
 * asked, in the syntax of sling.auth.requirements without a sign. Of several the longest path, then the
 * higher ranking is asked first; nobody else is asked once one has claimed the request. */
#define BW_AUTH_HANDLER      "org.apache.sling.auth.core.spi.AuthenticationHandler"
#define BW_AUTH_PATH         "path"
#define BW_AUTH_TYPE         "authtype"                /* a text; default: the bundle's name */
#define BW_AUTH_BROWSER_ONLY "sling.auth.browser-only" /* a boolean: no dialogue with others */

enum bw_auth_verdict {
	BW_AUTH_NOT_MINE = 1, /* no credentials of this kind */
	BW_AUTH_CREDENTIALS,  /* they are in *ret */
	BW_AUTH_STOP,         /* the handler has answered the request */
	BW_AUTH_FAILED,       /* there are credentials, and they cannot be any good */
};

/* Either user and password, or bearer; borrowed until extract's caller has answered. */
struct bw_auth_credentials {
	struct bw_str user, password, bearer;
};

struct bw_auth_handler {
	size_t size; /* = sizeof(struct bw_auth_handler) */
	/* All but extract may be NULL, and each may wait. req: the request, not answered yet. */
	enum bw_auth_verdict (*extract)(void *self, struct bw_req *req,
	                                struct bw_auth_credentials *ret);
	/* Starts the dialogue; true: the request is answered. */
	bool (*request)(void *self, struct bw_req *req);
	/* At a logout: takes back what it has given the client. */
	void (*drop)(void *self, struct bw_req *req);
	/* Its credentials were accepted; true: the request is answered, and nobody else sees it. */
	bool (*succeeded)(void *self, struct bw_req *req);
	/* Its credentials were refused; the answer follows. */
	void (*failed)(void *self, struct bw_req *req);
};

/* Looks at every login before auth is asked, in order of ranking, also at the guest's; with a veto the
 * login has failed. */
#define BW_AUTH_POST_PROCESSOR "org.apache.sling.auth.core.spi.AuthenticationInfoPostProcessor"

struct bw_auth_post_processor {
	size_t size; /* = sizeof(struct bw_auth_post_processor) */
	/* type: as the servlet is told it, absent for the guest; user: as the client says it, absent if a
	 * token says it. BW_OK, or anything else: a veto. May wait. */
	int (*process)(void *self, struct bw_req *req, struct bw_str type, struct bw_str user);
};
