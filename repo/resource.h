/* resource.h - the questions about content and their answers.
 *
 * A question is answered at once from the cache, or waits for a fetch and is then looked at again
 * from its start. What may not be read is answered like what does not exist. */
#pragma once
#include "acl.h"
#include "cache.h"
#include "type.h"
#include <base/buf.h>
#include <ev.h>
#include <pg/pg.h>
#include <sys/queue.h>
#include <wire/chan.h>

struct ask;
struct resources;

/* The connection that asks: embedded in what the owner keeps per connection. */
struct asker {
	struct wire_chan *chan;
	LIST_HEAD(, ask) waiting;
};

enum ask_kind {
	ASK_RESOLVE,  /* the longest prefix before a dot that is a readable resource */
	ASK_GET,      /* that very path */
	ASK_CHILDREN, /* of that path */
	ASK_BLOB,     /* the octets of a value of that path's property */
	ASK_LIST,     /* the entries of that path */
	ASK_GRANTED,  /* the privileges there */
};

/* The value may be read: who asked is answered by whoever is called here. */
struct ask_question;
typedef void (*ask_blob_cb)(struct asker *asker, const struct ask_question *question);

struct ask_question {
	enum ask_kind        kind;
	struct wire_question q;
	struct principals   *who;
	uint64_t             now_us; /* CLOCK_BOOTTIME */
	struct bw_str        path;
	/* CHILDREN: name of the child before the page, or absent. GRANTED: names of privileges. */
	struct bw_str after;
	unsigned      max;             /* CHILDREN: 1 to 256 */
	struct bw_str property, value; /* BLOB */
	uint64_t      offset;          /* BLOB; max: octets */
	ask_blob_cb   on_blob;
	uint64_t      hash; /* set by resources_expect */
};

struct resources_settings {
	const char          *conninfo;
	unsigned             statement_timeout_ms;
	size_t               cache_bytes;
	char *const         *search_path;
	size_t               n_search_path;
	enum acl_composition composition; /* of the lists of service users' own */
	/* Content was read that is newer than the entries in memory: load them. */
	void (*want_entries)(void *arg);
	/* Questions can be answered from now on. */
	void (*on_current)(void *arg);
	void *arg;
};

struct resources *resources_new(struct ev_loop *loop, const struct resources_settings *settings);
void resources_free(struct resources *r); /* questions that wait are answered BW_EGONE */

/* To be called first: memory for the question is on its way from now on. */
void resources_expect(struct resources *r, struct ask_question *question);
/* Answers each now or later, exactly once; those answered now in their order. Strings are copied if
 * one waits. All that come in one read together wait for memory together: with a large cache that
 * is most of what a hit costs. */
void resources_ask(struct resources *r, struct asker *asker, const struct ask_question *questions,
                   unsigned n);
/* How the cache is doing; the last four are counted from the start on. */
struct resources_figures {
	uint64_t bytes, max_bytes, entries;
	uint64_t hits, misses; /* questions answered at once, and those that have waited */
	uint64_t evictions;
	uint64_t stale; /* fills that were not kept: an invalidation has met them on the way */
};
void     resources_figures(const struct resources *r, struct resources_figures *ret);
unsigned resources_waiting(const struct resources *r);
void     asker_init(struct asker *a, struct wire_chan *chan);
/* The connection is gone: its questions are dropped. */
void asker_gone(struct asker *a);

/* Whether questions of this moment are answered. */
bool resources_are_current(const struct resources *r, uint64_t now_us);
/* Content was read that is newer than the entries in memory: they are to be loaded. */
void resources_want_entries(struct resources *r);

/* ---- what the journal tells ---- */

/* While false everything is answered BW_EGONE: nobody says what has changed meanwhile. */
void resources_set_current(struct resources *r, bool current);
/* The news have been read; the same holds if that was not said again by then (CLOCK_BOOTTIME). */
void resources_vouch_until(struct resources *r, uint64_t until_us);
/* News were missed: whatever was read before this moment is forgotten. */
void resources_forget_all(struct resources *r);
void resources_changed(struct resources *r, struct bw_str path, bool subtree);
/* As the answers carry them. */
void resources_counters(const struct resources *r, uint64_t *ret_types, uint64_t *ret_acl);
/* loaded(arg) runs whenever entries or super types have been loaded, until the watch, which is the
 * caller's, is given back: before the resources are freed. */
struct loaded_watch {
	void (*loaded)(void *arg);
	void *arg;
	LIST_ENTRY(loaded_watch) next;
};
void resources_on_loaded(struct resources *r, struct loaded_watch *w, void (*loaded)(void *arg),
                         void *arg);
void resources_off_loaded(struct loaded_watch *w);
/* pg_query on the connection for reads, of the statements of Q_FOLLOW: for when the one that listens is
 * away. */
int resources_follow(struct resources *r, unsigned statement, const struct pg_param *params,
                     pg_rows_cb cb, void *arg);
/* The same for the statements of Q_VERSION. */
int resources_ask_versions(struct resources *r, unsigned statement, const struct pg_param *params,
                           pg_rows_cb cb, void *arg);
/* pg_connection of it; 0 while it is down. */
unsigned resources_connection(const struct resources *r);
/* To be loaded; then resources_entries_loaded, resources_types_loaded. */
struct acl        *resources_acl(struct resources *r);
struct type_graph *resources_types(struct resources *r);
void               resources_entries_loaded(struct resources *r);
void               resources_types_loaded(struct resources *r);
