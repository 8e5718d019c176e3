/* snapshot.h - one immutable state of the whiteboard. A request takes the current one at its start
 * and keeps it to its end, so that a request completes with the pipeline it began with.
 *
 * Everything inside lives in the snapshot's arena and is freed at once; bindings and contexts are
 * shared with other snapshots by reference. */
#pragma once
#include "binding.h"
#include "match.h"
#include "names.h"

struct shared_limit;

struct snapshot_filter {
	const struct reading   *reading;
	const struct bw_filter *type;
	void                   *self;
	const char             *note;  /* "bundle:filter", for the watchdog */
	bool                    async; /* filter.asyncSupported */
	/* Of a preprocessor: what a crash in it is reported with, and whether it crashed workers. */
	const char                *subject;
	const struct shared_limit *limit;
};

struct snapshot_listener {
	const struct reading     *reading;
	const struct bw_listener *type;
	void                     *self;
};

/* A filter that may run for a servlet. */
struct snapshot_step {
	const struct snapshot_filter *filter;
	bool                          always; /* whatever the path */
};

/* The filters of one type of dispatch, in order. */
struct snapshot_chain {
	struct snapshot_step *steps;
	size_t                n;
};

/* Does it run for that path inside the context, and a servlet of that name (absent: it has none)? */
static inline bool snapshot_step_runs(const struct snapshot_step *step, struct bw_str path,
                                      struct bw_str name)
{
	return step->always || reading_filters(step->filter->reading, path, name);
}

/* A servlet; or a resource, which is served by a servlet of our own (resource.c) and has no name. */
struct snapshot_servlet {
	const struct snapshot_context *context;
	const struct reading          *reading;
	struct bw_str                  name; /* absent: a resource */
	const struct bw_servlet       *type;
	void                          *self;
	const struct helper           *helper;   /* decides for this servlet's bundle */
	const char                    *note;     /* "bundle:servlet" */
	struct snapshot_servlet       *next;     /* of the context, in ranking order */
	const struct pattern         **patterns; /* those it has, in the order given */
	size_t                         n_patterns;
	bool                           async;                /* servlet.asyncSupported */
	struct snapshot_chain          chains[BW_ERROR + 1]; /* by enum bw_dispatcher */
	const struct upload           *upload;               /* NULL: takes no multipart bodies */
	/* Of an error page: what a crash in it is reported with, and whether it crashed workers. */
	const char                *page_subject;
	const struct shared_limit *page_limit;
};

struct snapshot_pattern {
	const struct pattern *pattern;
	struct bw_str         prefix; /* PATTERN_PREFIX: the servlet path, with a NUL behind it */
	const struct snapshot_servlet *servlet;
	const struct shared_limit     *limit; /* it crashed workers; NULL: it did not */
};

struct snapshot_error_name {
	struct bw_str                  name;
	const struct snapshot_servlet *page;
};

struct snapshot_context {
	struct bw_context       *context;
	struct bw_str            path;     /* "" for a context at / */
	bool                     is_empty; /* no pattern at all */
	unsigned                 listens;  /* enum listens: what a request has to tell listeners */
	struct match_table       table;
	struct snapshot_filter **filters; /* in ranking order */
	size_t                   n_filters;
	struct snapshot_servlet *servlets, **last_servlet; /* error pages among them */
	struct snapshot_servlet *resources, **last_resource;
	unsigned                 dispatchers; /* of all its filters together */
	struct names             names;       /* of the servlets that were given one */
	/* Error pages, by status - READING_CODE_MIN (NULL if there are none), and by name. */
	const struct snapshot_servlet **codes;
	bool                        class_taken[2]; /* 4xx, 5xx: a page for all of it is there */
	struct snapshot_error_name *error_names;
	size_t                      n_error_names;
	struct snapshot_listener   *listeners; /* in ranking order */
	size_t                      n_listeners;
};

/* Why something a service offers is not active. */
struct failure {
	enum reading_kind kind;
	struct reading   *reading;                /* referenced: it may be asked for later */
	int64_t           service_id, context_id; /* 0: no context */
	enum failure_code code;
	struct bw_str    *items; /* the patterns, codes or names concerned */
	size_t            n_items;
};

struct snapshot {
	unsigned                  refs;
	uint64_t                  number;    /* service.changecount */
	uint64_t                  signature; /* equal: nothing that can be seen differs */
	struct arena              arena;
	struct snapshot_context **contexts; /* in search order: longest path first, then ranking */
	size_t                    n_contexts;
	struct bw_context        *server;        /* referenced; NULL without preprocessors */
	struct snapshot_filter  **preprocessors; /* in ranking order */
	size_t                    n_preprocessors;
	struct failure           *failures; /* heap */
	size_t                    n_failures;
	struct binding *
		*bindings; /* heap; referenced, in the order of their init, failed ones too */
	size_t   n_bindings;
	struct bw_context **held; /* referenced contexts */
	size_t              n_held;
	size_t n_waiting; /* singletons left out: their old binding is not destroyed yet */
};

/* What takes a request. */
struct snapshot_hit {
	const struct snapshot_context *context;
	const struct snapshot_pattern *pattern;
	struct bw_str                  rest; /* the path inside the context: "" or "/..." */
};

/* False: nothing matches. path is canonical. */
bool snapshot_find(const struct snapshot *s, struct bw_str path, struct snapshot_hit *ret);
/* Does the context contain the path? Then *ret_rest is the path inside it. */
bool snapshot_contains(const struct snapshot_context *c, struct bw_str path,
                       struct bw_str *ret_rest);

/* whiteboard.c: the one that new requests see; borrowed, NULL before whiteboard_init. */
struct snapshot *snapshot_current(void);
struct snapshot *snapshot_ref(struct snapshot *s);
/* The last reference destroys what no other snapshot holds. */
void snapshot_unref(struct snapshot *s);

/* build.c: the state that follows from a set of readings (in ranking order, the built-in context among
 * them): initialises what is not yet, so bundle code runs. One reference for the caller. */
struct snapshot *snapshot_build(struct reading *const *readings, size_t n);
