/* fake.h - auth, repo and bundles as the engine's and security's tests need them, at link time, and
 * requests without a socket. Everything is in one process and answers at once. */
#pragma once
#include <gateway/request.h>
#include <gateway/settings.h>
#include <stdint.h>

struct registry;

/* ---- the peers ---- */

struct fake_peers {
	int           auth, repo; /* BW_OK, or what every question is answered with */
	unsigned      asked_auth, asked_repo;
	uint64_t      types;         /* repo's counter of type changes */
	struct bw_str sudo, address; /* of the last question about a password; the request's */
	struct bw_str resource_path; /* set: the record says so, whatever was asked (an alias) */
};

extern struct fake_peers fake;

/* Content: only "/" is there at first. type and super may be NULL. */
void fake_content(const char *path, const char *type, const char *super);
void fake_remove_content(const char *path);
/* Accounts; none is there at first. */
void fake_account(const char *user, const char *password, bool disabled);
void fake_forget(void); /* content, accounts and fake itself */

/* ---- the gateway's parts, without http ---- */

extern struct gateway_settings fake_settings;    /* to be changed before fake_start */
struct registry               *fake_start(void); /* registry, whiteboard, security, engine */
void                           fake_stop(void);

/* ---- servlets ---- */

/* Registers a servlet from sling.servlet.* properties, shortly: "paths=/bin/x methods=GET,POST
 * ranking=5". It notes its name in fake_called and answers 200, or 404 if it is called DGET and the
 * resource is a missing one. */
struct bw_service *fake_servlet(const char *name, const char *properties);
extern char        fake_called[64]; /* "" if none was */
/* The next servlet that is called sends this error instead, once; 0: none. Below 0: returns it. */
extern int fake_fails_with;

/* ---- requests ---- */

/* NULL: the target is refused with 400 before anybody sees it. headers: NULL or pairs of name and
 * value, NULL at the end. Free with fake_request_free. */
struct bw_req *fake_request(const char *method, const char *target, const char *const *headers);
void           fake_request_free(struct bw_req *req);
struct bw_str  fake_response_header(const struct bw_req *req, const char *name);
