/* checked.h - tokens whose signature was checked a short time ago, so that it is checked once. */
#pragma once
#include <boardwalk/types.h>

#define CHECKED_KEY 16u

struct checked;

/* What is known of one; account and version are compared with the account's present ones by who asks. */
struct checked_entry {
	uint64_t account, version;
	uint64_t number;  /* the asker's */
	int64_t  until_s; /* second of 1970 up to which, inclusive, it may be believed */
};

struct checked *checked_new(void);               /* never NULL */
void            checked_free(struct checked *c); /* wipes; NULL is fine */
/* The name of a token in here: a keyed hash, which nobody outside can choose. */
void checked_key(const struct checked *c, struct bw_str token, uint8_t key[CHECKED_KEY]);
/* NULL: unknown, over, or of an epoch before; borrowed until the next put. */
const struct checked_entry *checked_find(const struct checked *c, const uint8_t key[CHECKED_KEY],
                                         int64_t now_s);
/* epoch: that in which the check began. */
void checked_put(struct checked *c, const uint8_t key[CHECKED_KEY], const struct checked_entry *e,
                 uint64_t epoch, int64_t now_s);
/* A new epoch begins: nothing that is known may be believed any more, nor what is being checked. */
void     checked_forget(struct checked *c);
uint64_t checked_epoch(const struct checked *c);
