/* bundles.h - bundles inside one worker: their generations, the host table, and what a bundle is to
 * the gateway.
 *
 *   prepare   NAME.GENERATION.so is mapped and started beside the generation that serves; what it
 *             registers is initialised, and nobody sees it
 *   publish   one snapshot in which it stands in the old one's place; the old one is stopped, and
 *             unmapped when the last request that began with it is through
 *   drop      the prepared one is given up; the old one was never gone
 *
 * A bundle that is stopped or refused keeps its patterns: stand-ins answer 503 there, so that a
 * request never falls through to something else. Everything here runs on the loop's own stack, and
 * one order is in work at a time. Who orders (the parent, for all workers) decides about success:
 * a worker only says what it found. */
#pragma once
#include <boardwalk/bundle.h>
#include <sys/types.h>

struct buf;
struct conf_list;
struct registry;
struct shared_worker;

/* ---- what there is to do ---- */

enum bundle_action {
	BUNDLE_INSTALL,   /* no bundle has the name */
	BUNDLE_UPDATE,    /* one has it: started, stopped or refused; it is started in any case */
	BUNDLE_START,     /* a stopped or refused one */
	BUNDLE_STOP,      /* a started or refused one; its patterns answer 503 */
	BUNDLE_UNINSTALL, /* any; its patterns go */
};

struct bundle_order {
	enum bundle_action action;
	const char        *name;       /* symbolic name; the file has to agree */
	uint64_t           generation; /* names this order; never used before in this node, not 0 */
	/* INSTALL, UPDATE, START: a path and an inode that were never mapped before. */
	const char *file;
};

/* Does everything that may fail. BW_OK: to be ended by bundles_publish or bundles_drop. Otherwise
 * nothing has changed, and reason (of n octets) says why in words, as the end of "it ...":
 * BW_EINVAL (the file), BW_ENOTFOUND, BW_EEXIST (the name), BW_ESTATE (the state, or another order
 * is in work), BW_ESERVLET (start or an init failed). */
int bundles_prepare(const struct bundle_order *o, char *reason, size_t n);
/* What was prepared for that generation; nothing for another. */
void bundles_publish(uint64_t generation);
void bundles_drop(uint64_t generation);

/* The parent says that the bundle of that name is of no use: stand-ins take its place, and `why` is its
 * reason. BW_OK also if there is no such bundle, or it is stopped; otherwise as bundles_prepare. */
int bundles_refuse(const char *name, const char *why, char *reason, size_t n);
/* Appends what the settings' bundles that run register: remember.h. */
void bundles_remember(struct buf *json);
/* Appends those that are refused as triples of words, each with its NUL: name, generation, reason. */
void bundles_put_refused(struct buf *words);

/* ---- looking ---- */

/* A JSON array, one object per bundle in the order of installation: name, version, build,
 * generation, state (ACTIVE; RESOLVED: stopped; INSTALLED: refused), reason, file, services, mapped
 * (old generations that are still in memory). Of an installed one that does not run the version and
 * build are null, and the file of any. */
void bundles_describe(struct buf *json);
/* What the bundle of that name registers, as one line of JSON that a bundle_row can carry to
 * another worker, where stand-ins are made of it. False: no such bundle; json is as it was. */
bool bundles_footprint(const char *name, struct buf *json);
/* Old generations that could not be unmapped in time. At BUNDLES_KEPT_MAX the worker asks for a
 * successor (shared_worker.wants_successor). */
#define BUNDLES_KEPT_MAX 64
size_t bundles_kept(void);

/* ---- a worker's start and end ---- */

enum bundle_state { BUNDLE_ACTIVE, BUNDLE_STOPPED, BUNDLE_REFUSED };

/* What the parent remembers of an installed bundle, for a worker that it starts; and, with the
 * generation 0, of one of the settings that is refused. */
struct bundle_row {
	const char       *name, *file; /* file: NULL unless ACTIVE */
	uint64_t          generation;
	enum bundle_state state;
	const char       *reason;    /* REFUSED: why */
	const char       *footprint; /* for the stand-ins, if it does not run; NULL: not known */
};

#define BUNDLE_MEMORIES 2
struct bundle_list {
	const struct bundle_row *rows;
	size_t                   n;
	const char *remembered[BUNDLE_MEMORIES]; /* remember.h, the newest first; NULL: none */
};

/* Where a worker's marks go (shared.h), and how long an old generation may take to drain. me: NULL
 * for a program without a parent. */
void bundles_init(struct registry *r, struct shared_worker *me, uint64_t drain_ms);
/* Files may belong to that user, besides root and the process's own. Before bundles_load. */
void bundles_trust(uid_t owner);
/* Loads and starts the files of the settings in order, then what is installed; a row takes the
 * place of a setting's file of the same symbolic name. What cannot be used (missing, not ours,
 * wrong ABI, writable by others, start fails) is refused with a logged reason; the rest goes on. */
void bundles_load(const struct conf_list *files, const struct bundle_list *installed);
/* All of them, the youngest first. */
void bundles_stop(void);
/* After everything that holds a generation has let go: unmaps and frees the rest. */
void bundles_done(void);

/* wake() says that bundles_tend is due soon, on the loop's own stack with no code of a bundle below
 * it; bundles_tend unmaps what has drained and returns in how many milliseconds it wants to be
 * called again, 0: when it wakes. */
void     bundles_on_work(void (*wake)(void));
uint32_t bundles_tend(void);

/* A bundle that is part of the gateway (the engine). */
struct bw_bundle *bundles_builtin(const char *name);
/* host.c: the registry that bundles register in; bundles_init does this. */
void bundles_use(struct registry *r);
/* The host table given to every bundle. */
const struct bw_host *bundles_host(void);

/* ---- one generation ---- */

enum bundle_life {
	LIFE_PREPARED, /* mapped, maybe started; what it registers is collected */
	LIFE_SERVING,  /* it has the name's place */
	LIFE_LEAVING,  /* something else has; may not register; waits for uses to be 0 */
	LIFE_KEPT,     /* as LEAVING, but it did not drain in time or cannot be unmapped: counted */
};

struct bw_bundle {
	struct bw_bundle                  *next;
	uint32_t                           id;   /* of the name; every generation has the same */
	const char                        *name; /* process lifetime */
	const char                        *version, *build; /* heap; build: NULL if there is none */
	uint64_t                           generation;      /* 0: from the settings, or built in */
	char                              *file;            /* NULL: built in, or a stand-in */
	void                              *library;         /* dlopen; NULL: none, or unmapped */
	const struct bw_bundle_descriptor *descriptor;      /* in the library */
	enum bundle_life                   life;
	enum bundle_state                  state;
	char                              *failure; /* heap; why it is refused; NULL: it is not */
	bool     running;                       /* start has succeeded, and stop was not called */
	unsigned uses;                          /* services that exist, and bundle_hold */
	bool     doubtful;                      /* refused, and nobody knows what it serves */
	bool     stuck;                         /* dlclose did not unmap it, and never will */
	uint64_t left_us;                       /* when it began to leave */
	void (*on_unused)(struct bw_bundle *b); /* uses has become 0 */
};

/* What it has registered is not its own: stand-ins answer 503 for it. NULL is fine. */
static inline bool bundle_is_stood_in_for(const struct bw_bundle *b)
{
	return b && b->state != BUNDLE_ACTIVE;
}

/* Whoever keeps a pointer into a generation (code, constants, the struct) beyond a call holds it. A
 * service does; what holds a service needs no more. NULL is fine. */
static inline void bundle_hold(struct bw_bundle *b)
{
	if (b)
		b->uses++;
}

static inline void bundle_let_go(struct bw_bundle *b)
{
	if (b && --b->uses == 0 && b->on_unused)
		b->on_unused(b);
}
