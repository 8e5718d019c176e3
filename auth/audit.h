/* audit.h - the audit trail of auth: one line of the log for each thing that somebody may have to answer
 * for, with field names that stay (docs/authentication.md lists them) and never a secret. */
#pragma once
#include "place.h"

/* Absent fields are left out of the line. */
struct audit {
	const char   *event;  /* static text */
	struct bw_str user;   /* who acts, or wants to */
	struct bw_str target; /* as whom, or to whom it is done */
	struct bw_str change; /* of an account: the kind of its journal's row */
	struct bw_str id;     /* the changed one's number */
	struct bw_str bundle; /* for which a service user was wanted */
	const char   *type;   /* how they proved it: an authentication type; NULL */
	const char   *reason; /* static text; NULL */
	struct place  place;
	unsigned      wait_s; /* 0: none */
};

/* Whatever the log's level is: an audit trail has none. request: 0 if there is none. */
void audit_write(uint64_t request, const struct audit *a);
