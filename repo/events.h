/* events.h - tells gateway workers what has changed, as far as they want to know it.
 *
 *    journal rows --merged per commit--> events --a worker's patterns--> its queue --> the worker
 *
 * A queue is bounded: who does not ask for too long gets one RESYNC in place of what it held.
 * Nobody's right to read is looked at: events are for code that runs in the gateway
 * (docs/bundles.md), and hold paths, names of properties and of users, but no values. */
#pragma once
#include <sys/queue.h>
#include <wire/chan.h>

#define EVENTS_MAX_QUEUE (1u << 20) /* octets that wait for one worker */

struct events;

/* A worker's connection: embedded in what the owner keeps per connection. */
struct event_asker {
	TAILQ_ENTRY(event_asker) link;
	struct events       *events;
	struct wire_chan    *chan;
	struct buf           patterns; /* wire/event.h */
	bool                 watching;
	struct wire_question watch; /* if watching: not answered yet */
	unsigned             max;
	struct buf           queue;
	size_t last; /* offset of the present commit's last event in queue, or SIZE_MAX */
};

/* A row of the journal. */
struct event_row {
	struct bw_str commit, kind, path;
	struct bw_str names;                 /* of properties, a newline between two */
	struct bw_str principal, node, from; /* absent: not known */
	bool          of_file;
};

/* node: this one's name in the journal; borrowed. */
struct events *events_new(const char *node);
void           events_free(struct events *ev); /* NULL is fine */

void event_asker_init(struct event_asker *a, struct events *ev, struct wire_chan *chan);
void event_asker_gone(struct event_asker *a);
/* False: malformed, and nothing has happened. */
bool events_subscribe(struct event_asker *a, const Bw__Wire__EventSubscribe *m);
bool events_watch(struct event_asker *a, const struct wire_question *q,
                  const Bw__Wire__EventWatch *m);

/* Whether anybody wants any. */
bool events_are_wanted(const struct events *ev);
/* What has been read, the commits in their order, the rows of each in theirs. Borrowed. */
void events_tell(struct events *ev, const struct event_row *rows, size_t n);
/* There may have been any changes. */
void events_resync(struct events *ev);
