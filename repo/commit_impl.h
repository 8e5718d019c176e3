/* commit_impl.h - struct commit, for the files that know it: commit.c (from question to answer),
 * commit_pool.c (connections, the queue), commit_text.c (the list as a statement's parameter),
 * commit_judge.c (what was found, and whether it is permitted). */
#pragma once
#include "commit.h"
#include <base/arena.h>
#include <base/buf.h>
#include <pg/pg.h>

#define COMMIT_MAX_CONNS    32u
#define COMMIT_MAX_QUEUE    1024u
#define COMMIT_MAX_OCTETS   (64u << 20) /* of all lists that wait or are being written */
#define COMMIT_MAX_ATTEMPTS 8u
#define COMMIT_TEXT         400u

enum commit_statement {
#define Q_COMMIT(name, n_params, n_columns, writes, sql) COMMIT_##name,
#include "queries.def"
	COMMIT_N_STATEMENTS
};

enum commit_state {
	COMMIT_QUEUED,   /* in commits.queue, for a connection */
	COMMIT_APPLYING, /* has a connection; the facts are on their way */
	COMMIT_BEHIND, /* in commits.pausing, without a connection: the entries are being loaded */
	COMMIT_FINISHING, /* has a connection; COMMIT has been sent */
	COMMIT_SETTLING,  /* in commits.pausing, committed: entries or types are being loaded */
};

/* What is done differently at the next attempt, per change. */
enum commit_relax {
	RELAX_NOTHING,
	RELAX_BASE, /* what the property was may not be known: it is not compared */
	RELAX_SKIP, /* what it is about may not be seen: nothing is there, nothing is removed */
};

struct commit_conn {
	struct commits *owner;
	struct pg      *pg;
	struct commit  *commit;       /* NULL: free, unless */
	bool            is_analyzing; /* it makes statistics */
};

struct commit {
	struct commits      *owner;
	struct commit_asker *asker; /* NULL: gone */
	struct commit_conn  *conn;
	struct wire_question q;
	struct principals   *who;
	enum commit_state    state;
	unsigned             attempts;
	uint64_t             user; /* principal id */
	struct changes       list;
	uint8_t             *relax;      /* enum commit_relax per change; NULL: nothing yet */
	int64_t              generation; /* of the entries that it waits for */
	uint64_t             types;      /* of the super types, the same; 0: none */
	uint32_t             changed;
	bool                 has_uploads; /* a value is one */
	bool                 spread;      /* siblings have new positions */
	bool                 careful;     /* refusals of the content are to be outcomes */
	struct buf           json;        /* the list without what is relaxed, with a NUL */
	/* Of a judgement: what a copy is not to have. */
	struct buf unseen, hidden;
	struct buf displaced; /* paths, a NUL behind each: what a restore took away elsewhere */
	int        err;
	char       text[COMMIT_TEXT]; /* of err: for the log and for the client */
	LIST_ENTRY(commit) with_asker;
	TAILQ_ENTRY(commit) next; /* in the queue or among those that pause */
	uint8_t bytes[];          /* of the list */
};
TAILQ_HEAD(commit_list, commit);

struct commits {
	struct ev_loop     *loop;
	char               *conninfo, *node;
	unsigned            timeout_ms;
	struct resources   *r;
	struct loaded_watch watch;
	struct journal     *journal;
	struct commit_conn  conns[COMMIT_MAX_CONNS];
	unsigned            n_conns, n_waiting, n_queued;
	unsigned n_unlooked; /* commits since somebody has looked for tables that have grown */
	size_t   n_octets;   /* of the lists of all that wait or are being written */
	struct commit_list queue, pausing;
	bool               is_ending;
};

/* ---- commit.c ---- */

/* It has got a connection. */
void commit_start(struct commit *c);
/* Ends it. BW_OK: committed. text: NULL, or why, for the log and the client. */
void commit_end(struct commit *c, int err, const char *text);

/* ---- commit_pool.c ---- */

void commit_queue(struct commit *c); /* commit_start follows, perhaps at once; or its end */
/* Its connection may be given to somebody else. */
void commit_release(struct commit *c);
void commit_pool_init(struct commits *c);
void commit_pool_done(struct commits *c);

/* ---- commit_text.c ---- */

/* The list as repo.commit_apply takes it, into c->json. BW_ECONTENT: something is no text or not of its
 * type, see c->text. */
int commit_text(struct commit *c);
/* Says why, for the log and the client. Returns err. */
int commit_refuse(struct commit *c, int err, struct bw_str path, struct bw_str why);
/* What the server's refusal means; true: nothing was written and it may be tried again. */
bool commit_failure(int err, const struct pg_failure *why, int *ret_err);

/* ---- commit_judge.c ---- */

enum commit_verdict {
	VERDICT_FINE,
	VERDICT_REFUSED, /* c->err, c->text */
	VERDICT_BEHIND,  /* c->generation is newer than the entries in memory */
	VERDICT_AGAIN,   /* c->relax has been changed */
};
enum commit_verdict commit_judge(struct commit *c, const struct pg_rows *facts);
