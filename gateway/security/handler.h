/* handler.h - what a way of logging in is to the authenticator. Private to gateway/security. */
#pragma once
#include <boardwalk/bundle.h>

struct gateway_settings;
struct registry;

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

/* Lives on the stack of one login and is wiped at its end. */
struct auth_credentials {
	struct bw_str user, password; /* in octets */
	char          octets[AUTH_MAX_USER + 1 + AUTH_MAX_PASSWORD + 4];
};

struct auth_handler {
	const char *type; /* the authentication type that a servlet is told */
	enum auth_verdict (*extract)(struct bw_req *req, struct auth_credentials *ret);
	/* Answers a request whose credentials of this kind were refused. */
	void (*refuse)(struct bw_req *req);
};

extern const struct auth_handler basic_handler;
/* Makes the challenge out of the realm; fatal if that cannot be a header. */
void basic_init(const struct gateway_settings *settings);
void basic_done(void);
/* 401 with the challenge. */
void basic_challenge(struct bw_req *req);

/* authenticator.c: what the request's credentials are, without a word to anybody; AUTH_CREDENTIALS, or
 * there are none. */
enum auth_verdict security_extract(struct bw_req *req, struct auth_credentials *ret);

/* challenge.c: 403 with the reason as text and as headers. code: a word for scripts, as Sling sends it. */
void challenge_forbid(struct bw_req *req, const char *reason, const char *code);
/* Is the request only the question whether its credentials are good (j_validate=true)? */
bool challenge_is_validation(const struct bw_req *req);
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
