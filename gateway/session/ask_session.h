/* ask_session.h - the questions to repo about sessions. On a request's fiber; BW_EGONE, BW_EBUSY
 * and what repo says in FAILED. Strings of the answers are in the request's arena. */
#pragma once
#include <boardwalk/bundle.h>
#include <wire/session.h>

/* Sessions, as SESSION_DATA's questions say (wire/boardwalk.proto). */
struct ask_sessions {
	struct session_record *records;
	unsigned               n;
};
/* The answer to a change. */
struct ask_session_changed {
	bool              had; /* there was an old value */
	enum session_kind kind;
	struct bw_str     old;
	uint64_t          lease;
};

int ask_session_load(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                     struct ask_sessions *ret);
int ask_session_create(struct bw_req *req, const uint8_t *hash, struct bw_str context, bool join,
                       int32_t max_inactive, struct ask_sessions *ret);
/* value absent: remove. */
int ask_session_set(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                    struct bw_str name, enum session_kind kind, struct bw_str value,
                    struct ask_session_changed *ret);
int ask_session_add(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                    struct bw_str name, int64_t delta, struct ask_session_changed *ret);
int ask_session_timeout(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                        int32_t max_inactive, struct ask_session_changed *ret);
int ask_session_invalidate(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                           struct ask_sessions *ret);
int ask_session_change_id(struct bw_req *req, const uint8_t *hash, const uint8_t *new_hash,
                          struct ask_sessions *ret);
/* Does not wait; lost if repo is away. */
void ask_session_release(struct bw_req *req, const uint8_t *hash, struct bw_str context,
                         uint64_t lease);

/* Reads SESSION_DATA or ends the process; the records borrow octets. *ret_n of them, in a. */
struct arena;
struct session_record *ask_session_records(struct arena *a, const uint8_t *octets, size_t n,
                                           unsigned count);
