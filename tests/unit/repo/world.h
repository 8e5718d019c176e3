/* world.h - repo's insides against a real PostgreSQL, and gateway workers that ask it, all on one
 * loop in one process. What fails here fails the test. */
#pragma once
#include <criterion/criterion.h>
#include <ev.h>
#include <repo/answer.h>
#include <repo/journal.h>
#include <support/postgres.h>
#include <wire/chan.h>
#include <wire/record.h>

#define WORLD_MAX_ANSWER (WIRE_FRAME_MAX + 64u)

struct world;

/* A gateway worker's connection. */
struct client {
	struct world     *world;
	struct wire_chan *chan;
	ev_io             io;
	ev_prepare        flush;
	bool              dirty, open, closed;
	char              close_reason[128];
	uint8_t           channel[16];
	uint64_t          last_sequence;
};

struct world {
	struct test_postgres *server;
	struct ev_loop       *loop;
	struct resources     *resources;
	struct sessions      *sessions;
	struct searches      *searches;
	struct journal       *journal;
	struct commits       *commits;
	struct blobs         *blobs;
	struct events        *events; /* the node is called "here" */
	struct versions      *versions;
	struct answers       *answers;
	struct handle_key     key;
	struct handle_keys    keys; /* that one */
	char                  socket[80];
	int                   listener;
	unsigned              times_current;
};

/* One question and what came of it. */
struct call {
	struct wire_call call;
	bool             ended;
	int              err;
	uint64_t         types, acl;
	size_t           n;
	uint8_t         *answer; /* the payload, heap; of FAILED too */
};

/* Of a search; to be set before world_begin. Far above what any takes on a busy machine. */
extern unsigned world_search_timeout_ms;

void world_begin(struct world *w, size_t cache_bytes);
void world_end(struct world *w);
/* Runs the loop until the condition holds; 15 s at most. */
#define world_until(w, condition) \
	do { \
		double until_ = ev_time() + 15.; \
		while (!(condition)) { \
			world_turn(w); \
			cr_assert(ev_time() < until_, "waited in vain for " #condition); \
		} \
	} while (0)
void world_turn(struct world *w); /* once, at most 20 ms */

void client_open(struct world *w, struct client *c);
void client_close(struct client *c);
/* A handle made like auth's: for a user and his groups (0-terminated), numbered next. */
size_t client_handle(struct client *c, enum handle_kind kind, uint64_t user, const uint64_t *groups,
                     uint64_t life_us, uint8_t out[HANDLE_MAX], uint64_t *ret_sequence);

void client_ask(struct client *c, struct call *call, enum wire_id id, const ProtobufCMessage *m);
/* Asks; the answer comes in call, by call_wait. handle: NULL (n 0) if it is open already. */
void client_resolve(struct client *c, struct call *call, const uint8_t *handle, size_t n_handle,
                    uint64_t sequence, struct bw_str path);
void client_get(struct client *c, struct call *call, const uint8_t *handle, size_t n_handle,
                uint64_t sequence, struct bw_str path);
void client_children(struct client *c, struct call *call, uint64_t sequence, struct bw_str path,
                     struct bw_str after, unsigned max);
void client_handle_close(struct client *c, uint64_t sequence);
void call_wait(struct world *w, struct call *call);
void call_done(struct call *call);

/* Opened by asking for "/": the handle stays open. */
uint64_t client_login(struct client *c, enum handle_kind kind, uint64_t user,
                      const uint64_t *groups);
/* The record at path for an open handle: 0 or the error. Its octets stand in call until
 * call_done. */
int client_read(struct client *c, uint64_t sequence, const char *path, struct call *call,
                struct record *ret);
/* The text of a property of path, "?" if it is not there; heap. */
char *client_property(struct client *c, uint64_t sequence, const char *path, const char *name);
/* Waits until repo has read in the journal all that was committed before. */
void client_settle(struct client *c, uint64_t as_admin);
