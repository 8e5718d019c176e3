/* journal.h - follows auth's journal in the database, so that accounts in memory are never older
 * than JOURNAL_TRUST_US. */
#pragma once
#include "session.h"

#define JOURNAL_POLL_S   0.25
#define JOURNAL_TRUST_US 300000u /* what was true when a read of the journal began, for how long */

struct journal;

/* Opens the connection that listens to boardwalk_auth. accounts and
 * sessions outlive the journal. on_followed(arg),
 * if not NULL: whenever memory may be believed after a time when it was not, for want of a
 * connection. */
struct journal *journal_new(struct ev_loop *loop, const char *conninfo, struct accounts *accounts,
                            struct sessions *sessions, void (*on_followed)(void *arg), void *arg);
void            journal_free(struct journal *j); /* NULL is fine */
