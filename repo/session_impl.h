/* session_impl.h - struct sessions, for the two files that know it: session.c (questions and their
 * answers) and session_life.c (connections, sessions that end by themselves). */
#pragma once
#include "session.h"
#include <base/buf.h>
#include <pg/pg.h>
#include <wire/session.h>

#define SESSION_MAX_WRITERS 4u

enum session_read {
#define Q_SESSION_READ(name, n_params, n_columns, writes, sql) SESSION_READ_##name,
#include "queries.def"
	SESSION_N_READS
};
enum session_write {
#define Q_SESSION_WRITE(name, n_params, n_columns, writes, sql) SESSION_WRITE_##name,
#include "queries.def"
	SESSION_N_WRITES
};

struct session_ask {
	struct sessions      *s;
	struct session_asker *asker; /* NULL: gone */
	struct wire_question  q;
	LIST_ENTRY(session_ask) with_asker;
	TAILQ_ENTRY(session_ask) watching;
	char    *id, *context; /* LOAD: the parameters, for VISIT; heap */
	unsigned max;          /* WATCH */
};

struct sessions {
	struct ev_loop *loop;
	char           *conninfo;
	unsigned        timeout_ms;
	struct pg      *reads, *writers[SESSION_MAX_WRITERS];
	unsigned        n_writers;
	unsigned        n_waiting;
	ev_timer        sweep;
	bool            sweeping;
	TAILQ_HEAD(, session_ask) watchers; /* the one that waits longest first */
	struct buf scratch;
};

/* Where to send the next statement that writes. */
struct pg *session_writer(struct sessions *s);

/* Each of these ends a question, once. Records of the answer are in scratch. */
void session_ask_end(struct session_ask *ask);
void session_ask_fail(struct session_ask *ask, int err);
void session_ask_answer(struct session_ask *ask, unsigned count);
