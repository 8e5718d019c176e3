/* version.h - the history of a node, and what it was in a version: reading.
 *
 * Nothing of it is kept in memory: histories are read by few. What is written goes the way of all
 * changes (commit.h). Whoever may read the node may read its history, and of a version those properties
 * that he may read of the node now. */
#pragma once
#include "blob.h"
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

enum version_kind {
	VERSION_LIST, /* a page of at most max versions, behind the one of that name (absent: from the first) */
	VERSION_NODE, /* the node, or what was below it, in the version of that label, name or identifier */
	VERSION_BLOB, /* octets of a value of its property */
};

/* The value may be read: who asked is answered by whoever is called here. */
typedef void (*version_blob_cb)(struct version_asker *asker, const struct wire_question *q,
                                const struct blob_range *range);

struct version_question {
	enum version_kind kind;
	struct bw_str     path, name, below; /* below: absent for the node itself; NODE, BLOB */
	struct bw_str     property;          /* BLOB */
	struct blob_range range;             /* BLOB */
	version_blob_cb   on_blob;
	unsigned          max; /* LIST */
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
