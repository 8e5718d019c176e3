/* select.h - choosing the servlet for a resource by its type. */
#pragma once
#include <base/arena.h>
#include <wire/record.h>

struct mount_servlet;

struct select_query {
	struct bw_str        method, selectors, extension; /* absent or empty: none */
	const struct record *record;  /* the resource: type, super type, chain */
	uint64_t             types;   /* repo's counter, from the answer that brought record */
	uint64_t             request; /* id, for the log */
};

enum select_result {
	SELECT_FOUND,
	SELECT_NONE, /* nothing is registered for this */
	SELECT_FORBIDDEN, /* a strict path servlet does not take this request: 403, nobody else is asked */
	SELECT_BAD_TYPE, /* the resource's type can be nobody's */
};

/* *ret_servlet is good until the next change of the mounted servlets. */
enum select_result select_servlet(const struct select_query *q, struct arena *a,
                                  struct mount_servlet **ret_servlet);
/* The error handler for a name in place of the method: a status, or an error name. */
struct mount_servlet *select_error_handler(const struct select_query *q, struct arena *a,
                                           struct bw_str name);
void                  select_done(void);
