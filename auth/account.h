/* account.h - the accounts as auth knows them: read from PostgreSQL on demand, kept in memory for as
 * long as the journal (journal.c) vouches for them. */
#pragma once
#include "mint.h"
#include "place.h"
#include <ev.h>

#define ACCOUNT_ID_ADMIN       1u
#define ACCOUNT_ID_ANONYMOUS   2u
#define ACCOUNT_ID_EVERYONE    3u
#define ACCOUNT_MAX_PRINCIPALS 512u
#define ACCOUNT_MAX_PLACES     8u

struct accounts;
struct pg;

enum account_class { ACCOUNT_USER, ACCOUNT_GROUP, ACCOUNT_SERVICE };

/* Borrowed until the callback returns to the loop. */
struct account {
	struct bw_str name;
	uint64_t      id; /* 0: there is no such account */
	enum account_class class;
	bool        disabled;
	bool        is_crowded;  /* has more principals than a handle can carry: who is not set */
	const char *verifier;    /* NULL: has no password, or none that can be verified */
	uint64_t    verifier_id; /* one number per verifier; 0 without one */
	struct mint_identity who;
	bool                 is_admin; /* admin, or in the group administrators */
	unsigned             n_impersonators, n_places;
	const uint64_t      *impersonators; /* ids of the users that may act as this one */
	struct place         places[ACCOUNT_MAX_PLACES]; /* it was logged into from there lately */
	uint64_t             session_version;            /* raised when all its sessions end */
	int64_t              ended_s; /* when that was, in seconds of 1970, rounded up; 0: never */
};

/* err: BW_OK with an account (of id 0 if there is none), or why it could not be read: BW_EGONE,
 * BW_EBUSY, BW_ETIME, BW_EIO; a is NULL then. */
typedef void (*account_cb)(void *arg, int err, const struct account *a);

/* Opens the connection that reads accounts. on_up(arg), if not NULL, whenever it stands. */
struct accounts *accounts_new(struct ev_loop *loop, const char *conninfo, void (*on_up)(void *arg),
                              void *arg);
/* Reads in flight end with BW_EGONE. NULL is fine. */
void accounts_free(struct accounts *as);

/* From memory; NULL: not known, or not known to be up to date. now_us: CLOCK_BOOTTIME. */
const struct account *accounts_find(struct accounts *as, struct bw_str name, uint64_t now_us);
const struct account *accounts_find_id(struct accounts *as, uint64_t id, uint64_t now_us);
/* From the database. BW_OK: cb runs once, later. BW_E*: it never does. Equal reads that began since
 * the last news share one query. name: as credential_name makes it; copied. */
int accounts_fetch(struct accounts *as, struct bw_str name, account_cb cb, void *arg);
/* Stores a verifier of the present cost, if that account still has the old one. */
void accounts_replace_verifier(struct accounts *as, uint64_t id, const char *old, const char *new);

/* Remembers that the account was logged into from there. */
void accounts_place_seen(struct accounts *as, uint64_t id, const struct place *place);
/* The connection, for what else is to be read or written in the order of these. Borrowed. */
struct pg *accounts_pg(struct accounts *as);

/* ---- for the journal ---- */
/* What is in memory may be believed up to this moment (CLOCK_BOOTTIME); 0: not any more. */
void accounts_trust(struct accounts *as, uint64_t until_us);
void accounts_drop(struct accounts *as, uint64_t id);
void accounts_drop_all(struct accounts *as);
