/* things.h - what a row sets up: services made from the notation of the row files, what they do when they
 * are called, and what they remember of it. Written against the public API alone, since this runs in
 * a bundle of a real gateway as well (stage.h says what the surroundings give). */
#pragma once
#include "stage.h"
#include "text.h"

#define MAX_PROPS      32
#define MAX_INTERFACES 16

/* One registered thing: its properties and what its object does. */
struct thing {
	struct thing *next;
	char         *label, kind; /* a letter of objects.c, 'C' for a context */
	const char
		*interfaces[9];  /* NULL-terminated; the kind's own unless a word says otherwise */
	struct words       also; /* also=: what else it is: letters, and listeners' words */
	struct bw_bundle  *bundle;
	struct bw_prop     props[MAX_PROPS];
	size_t             n_props;
	struct bw_service *service; /* NULL: unregistered */
	int64_t            id;      /* of the service, also after it is gone */
	struct script     *script;  /* do=: what it does when called */
	struct script     *on_init; /* init=: what it does in init; NULL: nothing */
	char              *root;    /* root=: where a context's helper looks for files; NULL */
	char              *folder;  /* folder=: the same, in the file system */
	bool               init_fails, factory, gives_null;
	bool               has_arrow; /* of a resource: what comes next is the prefix */
	struct bw_bundle  *null_for;  /* a context factory that has nothing for this bundle */
	struct bw_context *context;   /* that it was last initialised in */
	struct words params;      /* init parameters it looks for: their names and values in turn */
	char        *param_names; /* of all it was given, "," between them; NULL: not initialised */
	unsigned     made, released;
	const void  *type;        /* methods=: its table; NULL: that of its kind */
	int64_t      modified_ms; /* modified=: what last_modified returns */
	int64_t      told;        /* the change count that a watcher was told of last; 0: none */
};

struct log {
	char  *text; /* heap; NULL while there is nothing */
	size_t n, room;
};

extern struct things {
	struct thing *list;  /* the newest first */
	struct log    life;  /* "init A, destroy A" since things_mark */
	struct log    calls; /* "handle, A, finish" */
	unsigned      alive; /* objects initialised or made, and not destroyed or released */
	unsigned      whole; /* snapshots taken by the word of that name, since things_mark */
} things;

/* One step that registers, changes or unregisters; stage_fail on one that cannot be read. */
void things_step(const char *step);
/* The logs start anew. */
void things_mark(void);
/* Unregisters what is registered for a bundle, the newest first; NULL: for all. Objects may live on in
 * requests under way. */
void things_end(struct bw_bundle *bundle);
/* Forgets all of it; nothing may be alive. */
void          things_forget(void);
struct thing *things_find(const char *label);

/* Appends to a log: ", " between the entries. */
void things_log(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "life", "calls", "made(A)", "seen(ID,sp)" ...: the answer, NULL if it is absent. False: there is no
 * such question. */
bool things_answer(const char *question, const char **ret);

/* objects.c: the interface and the script of the thing's kind; false: no such letter. */
bool thing_kind(struct thing *t);
/* objects.c: all its interfaces with their tables, at most max. Returns how many. */
size_t thing_interfaces(const struct thing *t, struct bw_interface *ret, size_t max);
/* The thing behind the object that a callback is given. */
struct thing *thing_of(void *self);
/* objects.c: a servlet's table that has these methods. */
const void *thing_table(struct words methods);
/* objects.c: the type table and the factory for a thing. */
struct bw_service_object thing_object(struct thing *t);
/* watching.c */
extern const struct bw_runtime_watcher watcher_type;
bool                                   things_is_told(const char *label);
/* listeners.c */
extern const struct bw_listener listener_type;
const char                     *interface_of(const char *word); /* of "request" and its like */
/* NUL-terminated, or NULL. */
char *text_of(struct bw_str s);

/* seen.c: what the last servlet of a request saw, by the request's id; of the last requests only. */
void see(struct bw_req *req);
/* One value more, of an action or a callback. text: NULL is absent. */
void see_value(struct bw_req *req, const char *key, const char *text);
bool seen_value(const char *id, const char *key, const char **ret);
void seen_forget(void);
