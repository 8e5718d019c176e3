/* jwk.h - sets of keys that others sign their tokens with (RFC 7517). */
#pragma once
#include "jws.h"

#define JWK_KEYS     32u    /* of a set, at most */
#define JWK_SET_SIZE 65536u /* octets of a set's text */

struct jwk_set {
	struct jws_key keys[JWK_KEYS];
	unsigned       n;
	bool           has_secret; /* one of them is a shared secret, so the text is one */
	unsigned skipped; /* keys that are not for signatures, or of an algorithm we do not have */
};

/* Every key has a kid, which no other one has, and an alg, the one it is good for; of an outside key
 * only the public half is taken: a private one is refused. False with a reason in err; ret is empty
 * then. */
bool jwk_set_parse(const char *text, size_t n, struct jwk_set *ret, char *err, size_t err_size);
void jwk_set_done(struct jwk_set *set); /* wipes; may be called twice */
/* NULL: there is none of that name. */
const struct jws_key *jwk_set_find(const struct jwk_set *set, struct bw_str kid);
