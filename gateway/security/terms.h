/* terms.h - what goes with every login, by whatever handler: where it comes from, as whom, and what that
 * means for the answer. Private to gateway/security. */
#pragma once
#include "peers/ask.h"
#include "security/sudo.h"

struct login_terms {
	struct ask_login ask; /* for ask_authenticate_*; address points to octets */
	struct sudo      sudo;
	uint8_t          octets[16];
};

/* Fills *t, which must not move while ask is in use. */
void terms_read(struct bw_req *req, struct login_terms *t);
/* After BW_OK; errors as sudo_accepted. */
int terms_accepted(struct bw_req *req, const struct login_terms *t, struct bw_resolver *r);
/* After BW_ELOGIN, before the answer. */
void terms_refused(struct bw_req *req, const struct login_terms *t);
/* After BW_ETHROTTLED: the answer, whatever was asked for. */
void terms_throttled(struct bw_req *req, const struct login_terms *t);
