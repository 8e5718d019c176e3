/* liar.h - a gateway under full control of an attacker, for tests: speaks to auth and repo by hand
 * over blocking sockets, says what it is told to and returns the exact answers.
 *
 * It gets no further than a gateway's user would: it connects as that user (when the test is root)
 * and knows nothing that a gateway does not. Whatever cannot be done ends the test with a line on
 * stderr and abort(); what a peer does (hang up, fail, be silent for five seconds) is a result. */
#pragma once
#include <stdbool.h>
#include <wire/handle.h>
#include <wire/messages.h>

struct liar {
	int      repo, auth;  /* sockets; -1: not connected */
	uint8_t  channel[16]; /* repo's */
	uint32_t call;        /* the last number used */
	uint64_t request;     /* goes into each frame; 0 at first */
};

/* One frame as it came. */
struct liar_answer {
	int               err; /* BW_OK; a FAILED's code; BW_EGONE: hung up; BW_ETIME: no answer */
	size_t            size;
	uint8_t           bytes[WIRE_HEADER + WIRE_FRAME_MAX];
	struct wire_frame f;   /* points into bytes */
	struct wire_message m; /* the same; m.u NULL without a frame */
};

struct liar_handle {
	char     user[256];
	uint8_t  bytes[HANDLE_MAX];
	size_t   n;
	uint64_t sequence;
};

/* Connects to repo and greets, then to auth with repo's channel, as that system user if we are root
 * (NULL: as we are). auth_socket NULL: repo alone. False: nobody is there, or he has hung up
 * while greeting; liar_close in any case. */
bool liar_open(struct liar *l, const char *repo_socket, const char *auth_socket, const char *user);
/* Another connection to auth, for the same connection to repo; the old one is closed. */
bool liar_open_auth(struct liar *l, const char *auth_socket, const char *user);
void liar_close(struct liar *l); /* twice is fine */

/* Any frame: id, call number, flags and payload as given, the length as given or, if it is
 * SIZE_MAX, the payload's. */
void liar_send(const struct liar *l, int fd, unsigned id, uint32_t call, unsigned flags,
               const void *payload, size_t n, size_t length);
/* Octets as they are. */
void liar_send_octets(int fd, const void *octets, size_t n);
/* The next frame. */
void liar_take(const struct liar *l, int fd, struct liar_answer *ret);
/* A message with the next call number, and its answer. */
void liar_ask(struct liar *l, int fd, enum wire_id id, const ProtobufCMessage *m,
              struct liar_answer *ret);

/* Handles from auth: BW_OK or as liar_answer.err. subservice may be NULL. */
int liar_login(struct liar *l, const char *user, const char *password, struct liar_handle *ret);
int liar_guest(struct liar *l, struct liar_handle *ret);
int liar_service(struct liar *l, const char *bundle, const char *subservice,
                 struct liar_handle *ret);

/* Questions to repo. whole: the message carries the handle, not only its number. */
void liar_get(struct liar *l, const struct liar_handle *h, bool whole, const char *path,
              struct liar_answer *ret);
void liar_resolve(struct liar *l, const struct liar_handle *h, bool whole, const char *path,
                  struct liar_answer *ret);
void liar_children(struct liar *l, const struct liar_handle *h, bool whole, const char *path,
                   struct liar_answer *ret);
void liar_handle_close(struct liar *l, uint64_t sequence);

/* Alike in every octet but the call number. */
bool liar_same(const struct liar_answer *a, const struct liar_answer *b);
/* The first value of a property of a RESOURCE_FOUND; NULL if there is none. Borrows the answer. */
const char *liar_property(const struct liar_answer *a, const char *name);
