/* version.h - the history of a node, and what it was in a version: reading.
 *
 * Nothing of it is kept in memory: histories are read by few. What is written goes the way of all
 * changes (commit.h). Whoever may read the node may read its history, and of a version those properties
 * that he may read of the node now. */
#pragma once
#include "principals.h"
#include "resource.h"
#include <sys/queue.h>
#include <wire/chan.h>

#define VERSION_PAGE 64u

struct version_ask;
struct versions;

/* The connection that asks: embedded in what the owner keeps per connection. */
struct version_asker {
	struct wire_chan *chan;
	LIST_HEAD(, version_ask) waiting;
};

/* max 0: the node in the version of that label or name; else a page of at most so many versions, behind
 * the one of that name (absent: from the first). */
struct version_question {
	struct bw_str path, name;
	unsigned      max;
};

/* r is borrowed, and freed later. */
struct versions *versions_new(struct resources *r);
/* What waits is answered BW_EGONE, at the latest when r is freed. */
void versions_free(struct versions *v);
/* Answers, once, now or later. Strings are copied, who is referenced. */
void versions_ask(struct versions *v, struct version_asker *asker, const struct wire_question *q,
                  struct principals *who, const struct version_question *question);
void version_asker_init(struct version_asker *a, struct wire_chan *chan);
/* The connection is gone: its questions are dropped. */
void version_asker_gone(struct version_asker *a);
