/* namespace.h - which prefix a namespace has (JCR 2.0 section 3.5.2). Everybody may know. */
#pragma once
#include "resource.h"
#include <sys/queue.h>
#include <wire/chan.h>

struct namespace_ask;

/* The connection that asks: embedded in what the owner keeps per connection. */
struct namespace_asker {
	struct wire_chan *chan;
	LIST_HEAD(, namespace_ask) waiting;
};

/* Answers, once, now or later; what waits when r is freed is answered BW_EGONE. uri is copied. */
void namespace_find(struct resources *r, struct namespace_asker *asker,
                    const struct wire_question *q, struct bw_str uri);
void namespace_asker_init(struct namespace_asker *a, struct wire_chan *chan);
/* The connection is gone: its questions are dropped. */
void namespace_asker_gone(struct namespace_asker *a);
