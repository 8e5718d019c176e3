/* session_key.c - the ring of keys for session tokens.
 *
 * Owns: the keys, in memory that is locked, guarded and wiped. Runs in: the start, and the loop.
 * Fails with: a reason at the start; a line in the log afterwards.
 * Tests: tests/unit/auth/session_test.c. */
#include "session_key.h"
#include <base/clock.h>
#include <base/key_file.h>
#include <base/log.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

struct ring {
	struct key_line lines[KEY_LINES];
	char            kids[KEY_LINES][12];
	struct jws_key  keys[KEY_LINES];
	unsigned        n;
};

struct session_keys {
	struct ring     *ring; /* sodium_malloc */
	const char      *file;
	struct key_stamp stamp;
};

static struct ring *ring_load(const char *file, struct key_stamp *stamp, char *err, size_t err_size)
{
	struct ring *r = sodium_malloc(sizeof(*r));
	int          n;

	if (r == NULL) {
		snprintf(err, err_size, "%s: no memory for keys", file);
		return NULL;
	}
	n = key_file_load(file, KEY_LINES, r->lines, stamp, err, err_size);
	if (n < 0) {
		sodium_free(r);
		return NULL;
	}
	r->n = (unsigned)n;
	for (unsigned i = 0; i < r->n; i++) {
		snprintf(r->kids[i], sizeof(r->kids[i]), "%lu", (unsigned long)r->lines[i].id);
		r->keys[i] = (struct jws_key){
			.kid = bw_str(r->kids[i]),
			.alg = JWS_HS256,
			.secret = { (char *)r->lines[i].key, sizeof(r->lines[i].key) },
		};
	}
	return r;
}

struct session_keys *session_keys_load(const char *file, char *err, size_t err_size)
{
	struct session_keys *ks = calloc(1, sizeof(*ks));

	if (ks == NULL) {
		snprintf(err, err_size, "%s: no memory", file);
		return NULL;
	}
	ks->file = file;
	ks->ring = ring_load(file, &ks->stamp, err, err_size);
	if (ks->ring == NULL) {
		free(ks);
		return NULL;
	}
	return ks;
}

void session_keys_free(struct session_keys *ks)
{
	if (ks == NULL)
		return;
	sodium_free(ks->ring);
	free(ks);
}

bool session_keys_follow(struct session_keys *ks)
{
	struct ring *fresh;
	char         err[512];

	if (!key_file_is_new(ks->file, &ks->stamp))
		return false;
	fresh = ring_load(ks->file, &ks->stamp, err, sizeof(err));
	if (fresh == NULL) {
		log_error(0, "the keys stay what they are: %s", err);
		return false;
	}
	sodium_free(ks->ring);
	ks->ring = fresh;
	log_info(0, "session tokens are signed with key %s from now on", fresh->kids[0]);
	return true;
}

const struct jws_key *session_keys_sign(const struct session_keys *ks)
{
	return &ks->ring->keys[0];
}

const struct jws_key *session_keys_find(void *arg, struct bw_str kid)
{
	const struct ring *r = ((struct session_keys *)arg)->ring;
	int64_t            now_s = (int64_t)(clock_real_us() / 1000000u);

	for (unsigned i = 0; i < r->n; i++)
		if (bw_str_eq(kid, r->keys[i].kid))
			return r->lines[i].until == 0 || now_s < r->lines[i].until ? &r->keys[i]
			                                                           : NULL;
	return NULL;
}
