/* session_token.c - session tokens: JWT (RFC 7519) of HS256 under a key of the ring.
 *
 *     sub  name of the user      aid  id of the account: names may be used again
 *     jti  id of the session     ver  the account's session version
 *     iat, exp                   end  of the session, which no renewal moves
 *
 * All of them and no others, for nobody else makes any.
 * Owns: nothing. Runs in: the loop. Fails with: BW_ELOGIN and a reason for the log.
 * Tests: tests/unit/auth/session_test.c. */
#include "session_token.h"
#include <sodium.h>
#include <string.h>

#define N_CLAIMS 7u

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void session_claims_begin(struct session_claims *ret, struct bw_str user, uint64_t account,
                          uint64_t version, const struct session_times *times, int64_t now_s)
{
	uint8_t id[16];

	*ret = (struct session_claims){
		.n_user = user.n,
		.account = account,
		.version = version,
		.end_s = now_s + times->life_s,
	};
	memcpy(ret->user, user.p, user.n);
	randombytes_buf(id, sizeof(id));
	sodium_bin2base64(ret->jti, sizeof(ret->jti), id, sizeof(id),
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	session_claims_renew(ret, times, now_s);
}

bool session_claims_are_due(const struct session_claims *c, const struct session_times *times,
                            int64_t now_s)
{
	return 2 * (c->expires_s - now_s) < times->idle_s && c->expires_s < c->end_s;
}

void session_claims_renew(struct session_claims *c, const struct session_times *times,
                          int64_t now_s)
{
	c->issued_s = now_s;
	c->expires_s = earlier(now_s + times->idle_s, c->end_s);
}

char *session_token_make(const struct session_claims *c, const struct session_keys *keys)
{
	json_t *claims = json_pack("{s:s%,s:I,s:s,s:I,s:I,s:I,s:I}", "sub", c->user, c->n_user,
	                           "aid", (json_int_t)c->account, "jti", c->jti, "ver",
	                           (json_int_t)c->version, "iat", (json_int_t)c->issued_s, "exp",
	                           (json_int_t)c->expires_s, "end", (json_int_t)c->end_s);
	char   *token = claims != NULL ? jws_sign(claims, session_keys_sign(keys)) : NULL;

	json_decref(claims);
	return token;
}

static bool get_integer(const json_t *claims, const char *name, int64_t *ret)
{
	const json_t *value = json_object_get(claims, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = json_integer_value(value);
	return true;
}

static bool get_text(const json_t *claims, const char *name, size_t max, char *ret, size_t *ret_n)
{
	const json_t *value = json_object_get(claims, name);
	size_t        n = json_string_length(value);

	if (!json_is_string(value) || n == 0 || n > max)
		return false;
	memcpy(ret, json_string_value(value), n);
	ret[n] = '\0';
	*ret_n = n;
	return true;
}

static bool claims_get(const json_t *claims, struct session_claims *ret)
{
	int64_t account, version;
	size_t  n_jti;

	if (json_object_size(claims) != N_CLAIMS || !get_integer(claims, "aid", &account) ||
	    !get_integer(claims, "ver", &version) || !get_integer(claims, "iat", &ret->issued_s) ||
	    !get_integer(claims, "exp", &ret->expires_s) ||
	    !get_integer(claims, "end", &ret->end_s) ||
	    !get_text(claims, "sub", CREDENTIAL_NAME, ret->user, &ret->n_user) ||
	    !get_text(claims, "jti", SESSION_JTI, ret->jti, &n_jti))
		return false;
	ret->account = (uint64_t)account;
	ret->version = (uint64_t)version;
	return true;
}

int session_token_read(struct bw_str token, struct session_keys *keys, int64_t now_s,
                       struct session_claims *ret, const char **ret_why)
{
	const struct jws_key *key;
	json_t               *claims;
	int err = jws_verify(token, session_keys_find, keys, &claims, &key, ret_why);

	if (err != BW_OK)
		return err;
	if (!claims_get(claims, ret)) {
		*ret_why = "not_a_session";
		err = BW_ELOGIN;
	} else if (now_s >= ret->expires_s || now_s >= ret->end_s) {
		*ret_why = "expired";
		err = BW_ELOGIN;
	}
	json_decref(claims);
	return err;
}
