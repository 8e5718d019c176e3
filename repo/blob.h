/* blob.h - binary values: octets of uploads in, ranges of values out.
 *
 * Nothing of an upload is kept in memory between two messages, so it goes on with another repo process
 * as well. A value's chunks are checked against their hashes as they are read. Both ways have a few
 * connections of their own with short queues: a page never stands behind a film. */
#pragma once
#include "principals.h"
#include <ev.h>
#include <sys/queue.h>
#include <wire/chan.h>

#define BLOB_PIECE      65536u
#define BLOB_MAX_OCTETS (3u * BLOB_PIECE) /* of one message */

struct blob_ask;
struct blobs;

/* The connection that asks: embedded in what the owner keeps per connection. */
struct blob_asker {
	struct wire_chan *chan;
	LIST_HEAD(, blob_ask) waiting;
};

/* What BLOB_READ asks for; value: of a property that may be read. */
struct blob_range {
	struct bw_str value;
	uint64_t      offset;
	unsigned      max; /* 1 to BLOB_MAX_OCTETS */
};

struct blobs *blobs_new(struct ev_loop *loop, const char *conninfo, unsigned statement_timeout_ms);
void          blobs_free(struct blobs *b); /* what waits is answered BW_EGONE */

/* Each answers now or later, exactly once. False: malformed, and nothing has happened. */
bool blobs_write(struct blobs *b, struct blob_asker *asker, const struct wire_question *q,
                 const struct principals *who, const Bw__Wire__BlobWrite *m);
void blobs_read(struct blobs *b, struct blob_asker *asker, const struct wire_question *q,
                const struct blob_range *range);
/* Whether a question would find its connection. */
bool blobs_are_up(const struct blobs *b);
/* Questions that wait for PostgreSQL. */
unsigned blobs_waiting(const struct blobs *b);
void     blob_asker_init(struct blob_asker *a, struct wire_chan *chan);
/* The connection is gone: its questions are dropped, what they write is written all the same. */
void blob_asker_gone(struct blob_asker *a);
