/* search.h - questions about many resources: queries and searches, over what the asking set of
 * principals may read.
 *
 * They run on a few connections of their own with their own limit of time, so that they never hold up
 * the reading of pages; more of them wait for a while, and then are refused. */
#pragma once
#include "resource.h"

struct job;
struct searches;

struct searches_settings {
	const char  *conninfo;
	unsigned     connections, timeout_ms; /* of one search, waiting included */
	char *const *search_path;             /* borrowed */
	size_t       n_search_path;
};

/* The connection that asks: embedded in what the owner keeps per connection. */
struct search_asker {
	struct wire_chan *chan;
	LIST_HEAD(, job) jobs;
};

/* Before the resources are freed: it watches their entries. */
struct searches *searches_new(struct ev_loop *loop, const struct searches_settings *settings,
                              struct resources *r);
void             searches_free(struct searches *s); /* searches under way are answered BW_EGONE */
unsigned         searches_waiting(const struct searches *s);
void             search_asker_init(struct search_asker *a, struct wire_chan *chan);
void             search_asker_gone(struct search_asker *a);
/* Answers once, now or later. terms: wire/search.h, copied. who: a reference of its own is taken. False:
 * malformed terms; nothing was done. */
bool searches_ask(struct searches *s, struct search_asker *asker, const struct wire_question *q,
                  struct principals *who, struct bw_str terms);
