/* world.h - a server that has the things of a row, and what came back: the in-process one (world.c,
 * records.c) or a real gateway (gateway.c). run.c and check.c know nothing else.
 *
 * A server has one worker, or several that must answer alike: whatever is asked is asked of the one chosen
 * with world_look_at. */
#pragma once
#include "text.h"

#include <stdint.h>

struct header {
	char *name, *value;
};

struct answer {
	struct answer *next;     /* in-process: the others that are not complete */
	struct answer *other;    /* the same request's at the next worker; NULL at the last */
	struct bw_req *req;      /* in-process */
	bool           complete; /* false: it blocks */
	char           id[17];   /* of the request */
	int            status;
	char          *body;
	bool           truncated;
	struct header *headers;
	size_t         n_headers;
};

/* Why something of a service is not active. */
struct record {
	const char  *label; /* as asked for */
	int          code;
	long long    context_id;
	struct words items; /* the patterns, codes or names concerned */
};

/* Comes first. */
void world_start(unsigned n_workers);
/* Can this server take the step? */
bool world_can(const char *step);
/* A fresh server with those steps taken; then the logs start anew, and the row's own steps are taken. */
void world_begin(struct words before, struct words steps);
/* The same with the server as it is. */
void world_go_on(struct words steps);
void world_done(void);
/* "GET /a Name:value", or "resume": the oldest blocked one goes on. */
struct answer *world_request(const char *text);

/* Of a process with bundles that can be unloaded: "mapped(c)" is yes or no, "logged(text)" yes. Waits for it
 * to become want. NULL, or what it is instead. */
char *world_process(const char *question, const char *want);

unsigned world_workers(void);
void     world_look_at(unsigned worker);
/* things_answer's questions. */
bool world_ask(const char *question, const char **ret);

/* ---- what the whiteboard itself says ---- */

/* Failure records of a thing; label NULL: of all. *ret lives as long as the row's text. */
size_t world_failures(const char *label, struct record **ret);
/* Active bindings of a thing, or uses of a context. */
unsigned world_bindings(const char *label);
/* The folder that the server was given for parts of requests. */
const char *world_spool(void);
/* An init parameter of a context; NULL if it has none of that name. */
char *world_context_param(const char *label, const char *name);
/* What it shows, as inspect.h of the whiteboard has it; a new reference. */
struct json_t *world_inspect(void);
struct json_t *world_route(const char *method, const char *target);
/* Do the records of the mark before the row's steps exist? */
bool world_has_mark(void);
/* service.changecount now; at that mark. */
uint64_t world_count(void), world_count_before(void);
/* Do the records show what they showed at that mark? */
bool world_is_as_before(void);
