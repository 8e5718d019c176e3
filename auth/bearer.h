/* bearer.h - from a bearer token of a configured issuer to its account. */
#pragma once
#include "account.h"
#include "checked.h"
#include "issuer.h"

struct bearers;

struct bearer_result {
	int                   err;     /* BW_OK; BW_ELOGIN; BW_EBUSY, BW_EGONE, BW_ETIME, BW_EIO */
	const struct account *account; /* of BW_OK */
	struct bw_str         user;    /* as far as it is known */
	const char           *why;     /* of BW_ELOGIN a static word, else text for the asker */
};
/* Everything is borrowed for the call. */
typedef void (*bearer_cb)(void *arg, const struct bearer_result *result);

/* Borrows both. */
struct bearers *bearers_new(struct accounts *accounts, struct issuers *issuers);
/* After the accounts. NULL is fine. */
void     bearers_free(struct bearers *bs);
unsigned bearers_in_flight(const struct bearers *bs);
/* The keys have changed: everything is to be checked anew. */
void bearers_forget(struct bearers *bs);

void bearers_key(const struct bearers *bs, struct bw_str token, uint8_t key[CHECKED_KEY]);
/* The account of a token that was checked before, if everything is known to be up to date; no waiting.
 * NULL: bearers_check decides. */
const struct account *bearers_remembered(struct bearers *bs, const uint8_t key[CHECKED_KEY],
                                         uint64_t now_us);
/* cb runs once, perhaps before this returns. token is not needed afterwards. */
void bearers_check(struct bearers *bs, struct bw_str token, const uint8_t key[CHECKED_KEY],
                   bearer_cb cb, void *arg);
