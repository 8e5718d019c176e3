/* session.h - HTTP sessions, kept for the gateways in PostgreSQL.
 *
 * A gateway asks with the hash of a session's id and no handle: who knows the id may use the
 * session (docs/decisions/0006-sessions.md). Repo keeps nothing of it in memory, so what has been
 * answered survives every process. Sessions that end by themselves are handed to one worker, which
 * tells its listeners: to the one that asks for that id next, or to one that waits with
 * SESSION_WATCH. */
#pragma once
#include <ev.h>
#include <sys/queue.h>
#include <wire/chan.h>

struct session_ask;
struct sessions;

/* The connection that asks: embedded in what the owner keeps per connection. */
struct session_asker {
	struct wire_chan *chan;
	LIST_HEAD(, session_ask) waiting;
};

struct sessions *sessions_new(struct ev_loop *loop, const char *conninfo,
                              unsigned statement_timeout_ms);
void             sessions_free(struct sessions *s); /* what waits is answered BW_EGONE */

/* Answers a SESSION_* question now or later, exactly once. False: it is malformed, and nothing has
 * happened. */
bool sessions_ask(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                  const struct wire_message *m);
/* Whether a question would find its connection. */
bool sessions_are_up(const struct sessions *s);
/* Questions that wait for PostgreSQL. */
unsigned sessions_waiting(const struct sessions *s);
void     session_asker_init(struct session_asker *a, struct wire_chan *chan);
/* The connection is gone: its questions are dropped, what they do is done all the same. */
void session_asker_gone(struct session_asker *a);
