/* handler.h - what a way of logging in is to the authenticator. Private to gateway/security. */
#pragma once
#include <boardwalk/bundle.h>

struct gateway_settings;
struct registry;

struct ask_login;
struct bw_service;

/* What a handler says about a request. There is no fall-through: whoever does not say NOT_MINE has
 * claimed the request, and nobody else is asked. */
enum auth_verdict {
	AUTH_NOT_MINE,    /* no credentials of this kind */
	AUTH_CREDENTIALS, /* they are in *ret; auth has to verify them */
	AUTH_STOP,        /* the handler has answered the request */
	AUTH_FAILED,      /* there are credentials, and they cannot be any good */
};

#define AUTH_MAX_USER     255u
#define AUTH_MAX_PASSWORD 1024u

enum auth_kind { AUTH_PASSWORD, AUTH_SESSION, AUTH_BEARER };

/* Lives on the stack of one login and is wiped at its end. */
struct auth_credentials {
	enum auth_kind kind;
	struct bw_str  user, password; /* of a password: in octets */
	struct bw_str  token;          /* of the others: in the request's memory */
	bool           is_login; /* a login, and not one request among many: a session begins */
	char           octets[AUTH_MAX_USER + 1 + AUTH_MAX_PASSWORD + 4];
};

/* Why a login did not come about, or is needed; codes as Sling's X-Reason-Code. */
struct auth_failure {
	const char *reason, *code;
};

struct auth_handler {
	const char *type;            /* the authentication type that a servlet is told */
	bool        is_for_browsers; /* no dialogue with others */
	enum auth_verdict (*extract)(const struct auth_handler *h, struct bw_req *req,
	                             struct auth_credentials *ret);
	/* The dialogue; true: the request is answered. NULL: has none. */
	bool (*request)(const struct auth_handler *h, struct bw_req *req,
	                const struct auth_failure *why);
	/* Takes back what it has given the client. NULL: nothing. */
	void (*drop)(const struct auth_handler *h, struct bw_req *req);
	/* After a login; true: the request is answered. login: with what auth has given. NULL: nothing. */
	bool (*succeeded)(const struct auth_handler *h, struct bw_req *req,
	                  const struct auth_credentials *c, const struct ask_login *login);
	/* Its credentials were refused: what has to be undone. NULL: nothing. */
	void (*failed)(const struct auth_handler *h, struct bw_req *req);
	/* Answers those credentials, wherever they were sent. NULL: as if there had been none. */
	void (*refuse)(const struct auth_handler *h, struct bw_req *req,
	               const struct auth_failure *why);
	/* Of one that a bundle has registered. */
	const void        *type_of_bundle;
	void              *self;
	struct bw_service *service;
};

/* ---- handlers.c: those there are, in the order they are asked in ---- */

/* Immutable, counted: a bundle may come and go while one of its handlers waits. */
struct auth_handlers;

void                  handlers_init(struct registry *r);
void                  handlers_done(void);
struct auth_handlers *handlers_hold(void);
void                  handlers_release(struct auth_handlers *all);
/* The next one from *at on that is registered for path, NULL behind the last; *at: 0 at first. */
const struct auth_handler *handlers_next(const struct auth_handlers *all, const struct bw_req *req,
                                         struct bw_str path, size_t *at);
/* Copies a name and a password into ret; AUTH_FAILED: they can be nobody's. */
enum auth_verdict handlers_put_password(struct bw_str user, struct bw_str password,
                                        struct auth_credentials *ret);
/* Whether all post-processors let it go on. type: absent for the guest. */
bool handlers_process(const struct auth_handlers *all, struct bw_req *req, struct bw_str type,
                      struct bw_str user);

extern const struct auth_handler basic_handler, form_handler, bearer_handler;
/* Makes the challenge out of the realm; fatal if that cannot be a header. */
void basic_init(const struct gateway_settings *settings);
void basic_done(void);
/* 401 with the challenge. */
void basic_challenge(struct bw_req *req);
/* auth.http: whether the header is read; whether browsers are challenged as well. */
bool basic_is_on(void);
bool basic_is_for_browsers(void);
/* UTF-8 without control characters. */
bool basic_is_text(struct bw_str s);
/* The one Authorization header; *ret_n counts them. */
struct bw_str basic_authorization(const struct bw_req *req, size_t *ret_n);
/* What follows scheme (in lower case) and its blanks; absent if value is of another one. */
struct bw_str basic_token(struct bw_str value, struct bw_str scheme);

/* form.c */
void form_init(struct registry *r, const struct gateway_settings *settings);
void form_done(void);
/* A path that ends in /j_security_check is for a login handler and never gets to a servlet. */
bool form_is_login(const struct bw_req *req);
/* A field of the query, or of a login's own form, decoded; absent if there is none. */
struct bw_str form_param(struct bw_req *req, const char *name);
/* Overwrites the body of a login, whose password nobody needs any more. */
void form_wipe(struct bw_req *req);
/* form.onexpire.login: a session that is over leads to the dialogue on open paths, too. */
bool form_expired_logs_in(void);
/* The session that the client has; absent: none, or several. */
struct bw_str form_session(struct bw_req *req);

/* authenticator.c: what the request's credentials are, without a word to anybody; AUTH_CREDENTIALS, or
 * there are none. */
enum auth_verdict security_extract(struct bw_req *req, struct auth_credentials *ret);
/* Asks auth. login may be NULL. */
int security_ask(struct bw_req *req, const struct auth_credentials *c, struct ask_login *login,
                 struct bw_resolver *r);

/* challenge.c: 403 with the reason as text and as headers. code: a word for scripts, as Sling sends it. */
void challenge_forbid(struct bw_req *req, const char *reason, const char *code);
/* Is the request only the question whether its credentials are good (j_validate=true)? */
bool challenge_is_validation(struct bw_req *req);
/* The dialogue (security.h), with a code for scripts; true: answered. Never challenges for Basic where a
 * handler has a dialogue of its own. */
void challenge_start(struct bw_req *req, const struct auth_failure *why);
/* The handlers' own dialogues; false: none has one for this client. */
bool challenge_by_handlers(struct bw_req *req, const struct auth_failure *why);
/* Does the client call itself one (Mozilla or Opera in User-Agent)? */
bool challenge_is_browser(const struct bw_req *req);
/* The first parameter of the query of that name: true, and its decoded value, cut after size - 1
 * octets; false if there is none. */
bool challenge_query_param(const struct bw_req *req, const char *name, char *value, size_t size);

/* requirements.c */
void requirements_init(struct registry *r, const struct gateway_settings *settings);
void requirements_done(void);

/* csrf.c; fatal (at start) on a trusted origin that cannot be. */
void csrf_init(const struct gateway_settings *settings);
void csrf_done(void);
