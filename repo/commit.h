/* commit.h - what gateways ask to have written: lists of changes, each list one transaction.
 *
 * A commit changes everything it lists or nothing. It is answered when its outcome is known and what
 * this process remembers of the changed paths is forgotten, so that whoever reads afterwards sees it. */
#pragma once
#include "journal.h"
#include "resource.h"
#include <wire/changes.h>

struct commits;
struct commit;

/* The connection that asks: embedded in what the owner keeps per connection. */
struct commit_asker {
	struct wire_chan *chan;
	LIST_HEAD(, commit) waiting;
};

struct commits_settings {
	const char *conninfo;
	unsigned    statement_timeout_ms;
	const char *node; /* the name that journal rows get */
};

/* Strings are copied; r and journal are borrowed, and are freed later. */
struct commits *commits_new(struct ev_loop *loop, const struct commits_settings *settings,
                            struct resources *r, struct journal *journal);
/* What is under way is answered BW_EGONE, its outcome unknown. */
void commits_free(struct commits *c);

/* Answers, once, now or later. who and the list are copied, or referenced. */
void commits_ask(struct commits *c, struct commit_asker *asker, const struct wire_question *q,
                 struct principals *who, const struct changes *list);
/* Whether a commit would find a connection. */
bool     commits_are_up(const struct commits *c);
unsigned commits_waiting(const struct commits *c);
void     commit_asker_init(struct commit_asker *a, struct wire_chan *chan);
/* The connection is gone: its commits go on to their end, one way or the other, unanswered. */
void commit_asker_gone(struct commit_asker *a);
