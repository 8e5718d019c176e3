/* jws.c - the one place that calls libjwt, and reads or makes a token.
 *
 *     shape --> header --> key of its kid --> algorithm --> signature --> claims as JSON
 *
 * Each step is for what the next one would do with less: libjwt 1.10 believes any token when it is
 * given no key, takes "hs256" for HS256, uses a public key's text as a secret if it is handed one,
 * lets the last of two members win, and writes behind an allocation for an empty segment. So it sees
 * only tokens of the right shape, a secret and never a public key, and is used for HMAC alone: it
 * would parse a public key's text for each token, which costs twenty times as much as the signature.
 *
 * Owns: nothing. Runs in: the loop. Fails with: BW_ELOGIN and a static text.
 * Tests: tests/conformance/token/token.rows, tests/fuzz/jws.c. */
#include "jws.h"
#include <jwt.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH   16
#define MIN_SECRET  32u
#define MAX_OCTETS  (JWS_MAX / 4 * 3)
#define MAX_EC_HALF 66u /* octets of a number of P-521 */

static const struct alg {
	const char *name;
	jwt_alg_t   jwt;  /* of HMAC */
	const char *hash; /* of the others; NULL: the algorithm has its own */
	unsigned    half; /* ECDSA: octets of each of the two numbers */
} algs[JWS_N_ALGS] = {
	[JWS_HS256] = { "HS256", JWT_ALG_HS256, NULL, 0 },
	[JWS_HS384] = { "HS384", JWT_ALG_HS384, NULL, 0 },
	[JWS_HS512] = { "HS512", JWT_ALG_HS512, NULL, 0 },
	[JWS_RS256] = { "RS256", JWT_ALG_NONE, "SHA256", 0 },
	[JWS_RS384] = { "RS384", JWT_ALG_NONE, "SHA384", 0 },
	[JWS_RS512] = { "RS512", JWT_ALG_NONE, "SHA512", 0 },
	[JWS_ES256] = { "ES256", JWT_ALG_NONE, "SHA256", 32 },
	[JWS_ES384] = { "ES384", JWT_ALG_NONE, "SHA384", 48 },
	[JWS_ES512] = { "ES512", JWT_ALG_NONE, "SHA512", MAX_EC_HALF },
	[JWS_EdDSA] = { "EdDSA", JWT_ALG_NONE, NULL, 0 },
};

enum jws_alg jws_alg(struct bw_str name)
{
	unsigned i = 0;

	while (i < JWS_N_ALGS && !bw_str_eq(name, bw_str(algs[i].name)))
		i++;
	return (enum jws_alg)i;
}

const char *jws_alg_name(enum jws_alg alg)
{
	return algs[alg].name;
}

/* ---- shape ---- */

struct parts {
	struct bw_str header, claims, signature; /* base64url */
	struct bw_str input;                     /* what is signed: header, dot, claims */
};

static bool is_base64url(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* Exactly three segments, none of them empty or of a length that base64 cannot have. */
static bool split(struct bw_str token, struct parts *ret)
{
	struct bw_str *const segments[] = { &ret->header, &ret->claims, &ret->signature };
	size_t               start = 0;
	unsigned             n = 0;

	if (token.n > JWS_MAX)
		return false;
	for (size_t i = 0; i <= token.n; i++) {
		if (i < token.n && token.p[i] != '.') {
			if (!is_base64url(token.p[i]))
				return false;
			continue;
		}
		if (n == 3 || i == start || (i - start) % 4 == 1)
			return false;
		*segments[n++] = (struct bw_str){ token.p + start, i - start };
		start = i + 1;
	}
	ret->input = (struct bw_str){ token.p, ret->header.n + 1 + ret->claims.n };
	return n == 3;
}

/* False: bits are left over. out: MAX_OCTETS. */
static bool decode(struct bw_str text, uint8_t *out, size_t *ret_n)
{
	return sodium_base642bin(out, MAX_OCTETS, text.p, text.n, NULL, ret_n, NULL,
	                         sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
}

/* ---- JSON ---- */

/* The parser calls itself for each level, so levels are counted before. */
static bool is_deep(const char *text, size_t n)
{
	bool in_string = false;
	int  depth = 0;

	for (size_t i = 0; i < n; i++) {
		if (in_string) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				in_string = false;
		} else if (text[i] == '"') {
			in_string = true;
		} else if (text[i] == '[' || text[i] == '{') {
			if (++depth > MAX_DEPTH)
				return true;
		} else if (text[i] == ']' || text[i] == '}') {
			depth--;
		}
	}
	return false;
}

json_t *jws_object(const char *text, size_t n)
{
	json_t *object =
		is_deep(text, n) ? NULL : json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *object_of(struct bw_str segment)
{
	uint8_t octets[MAX_OCTETS];
	size_t  n;

	return decode(segment, octets, &n) ? jws_object((char *)octets, n) : NULL;
}

/* ---- header ---- */

struct header {
	json_t       *object; /* what the others point into */
	struct bw_str alg, kid;
};

static struct bw_str text_of(const json_t *value)
{
	return (struct bw_str){ json_string_value(value), json_string_length(value) };
}

/* alg and kid, perhaps typ, and nothing else: what is not understood is not to be believed. */
static bool header_get(struct bw_str segment, struct header *ret)
{
	const char *name;
	json_t     *value;

	ret->object = object_of(segment);
	json_object_foreach (ret->object, name, value) {
		if (!json_is_string(value))
			return false;
		if (strcmp(name, "alg") == 0)
			ret->alg = text_of(value);
		else if (strcmp(name, "kid") == 0)
			ret->kid = text_of(value);
		else if (strcmp(name, "typ") != 0 || !bw_str_eq(text_of(value), BW_STR("JWT")))
			return false;
	}
	return ret->alg.n > 0 && ret->kid.n > 0 && ret->kid.n <= JWS_KID;
}

/* ---- signatures ---- */

static bool is_mac(struct bw_str token, const struct jws_key *key)
{
	char   text[JWS_MAX + 1];
	jwt_t *jwt = NULL;
	bool   is_good;

	if (key->secret.p == NULL || key->secret.n < MIN_SECRET)
		return false;
	memcpy(text, token.p, token.n);
	text[token.n] = '\0';
	is_good = jwt_decode(&jwt, text, (const unsigned char *)key->secret.p,
	                     (int)key->secret.n) == 0 &&
	          jwt_get_alg(jwt) == algs[key->alg].jwt;
	jwt_free(jwt);
	return is_good;
}

/* The two numbers of RFC 7518 3.4 as the sequence that OpenSSL reads; its size, 0: none. */
static size_t ecdsa_der(const uint8_t *numbers, unsigned half, uint8_t **ret)
{
	ECDSA_SIG *signature = ECDSA_SIG_new();
	BIGNUM    *r = BN_bin2bn(numbers, (int)half, NULL);
	BIGNUM    *s = BN_bin2bn(numbers + half, (int)half, NULL);
	int        n = 0;

	if (signature != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(signature, r, s) == 1) {
		r = s = NULL; /* they are the signature's now */
		n = i2d_ECDSA_SIG(signature, ret);
	}
	BN_free(r);
	BN_free(s);
	ECDSA_SIG_free(signature);
	return n > 0 ? (size_t)n : 0;
}

static bool is_verified(const struct jws_key *key, struct bw_str input, const uint8_t *signature,
                        size_t n)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool        is_good;

	is_good = context != NULL &&
	          EVP_DigestVerifyInit_ex(context, NULL, algs[key->alg].hash, NULL, NULL,
	                                  key->public, NULL) == 1 &&
	          EVP_DigestVerify(context, signature, n, (const uint8_t *)input.p, input.n) == 1;
	EVP_MD_CTX_free(context);
	return is_good;
}

static bool is_signature(const struct parts *parts, const struct jws_key *key)
{
	unsigned half = algs[key->alg].half;
	uint8_t  octets[MAX_OCTETS], *der = NULL;
	size_t   n;
	bool     is_good;

	if (key->public == NULL || !decode(parts->signature, octets, &n))
		return false;
	if (half == 0)
		return is_verified(key, parts->input, octets, n);
	if (n != 2 * half || (n = ecdsa_der(octets, half, &der)) == 0)
		return false;
	is_good = is_verified(key, parts->input, der, n);
	OPENSSL_free(der);
	return is_good;
}

/* ---- a token ---- */

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return BW_ELOGIN;
}

static int check(struct bw_str token, const struct parts *parts, const struct header *header,
                 const struct jws_key *key, const char **ret_why)
{
	enum jws_alg alg = jws_alg(header->alg);

	if (key == NULL)
		return refuse(ret_why, "unknown_key");
	if (alg != key->alg)
		return refuse(ret_why, "wrong_algorithm");
	if (!(jws_alg_is_secret(alg) ? is_mac(token, key) : is_signature(parts, key)))
		return refuse(ret_why, "wrong_signature");
	return BW_OK;
}

int jws_verify(struct bw_str token, jws_key_cb find, void *arg, json_t **ret_claims,
               const struct jws_key **ret_key, const char **ret_why)
{
	struct header         header = { NULL, BW_ABSENT, BW_ABSENT };
	const struct jws_key *key = NULL;
	struct parts          parts;
	int                   err;

	if (!split(token, &parts))
		return refuse(ret_why, "malformed_token");
	if (header_get(parts.header, &header)) {
		key = find(arg, header.kid);
		err = check(token, &parts, &header, key, ret_why);
	} else {
		err = refuse(ret_why, "malformed_header");
	}
	json_decref(header.object);
	if (err != BW_OK)
		return err;
	*ret_claims = object_of(parts.claims);
	if (*ret_claims == NULL)
		return refuse(ret_why, "malformed_claims");
	*ret_key = key;
	return BW_OK;
}

char *jws_sign(const json_t *claims, const struct jws_key *key)
{
	char  *text = json_dumps(claims, JSON_COMPACT), *token = NULL;
	char   kid[JWS_KID + 1];
	jwt_t *jwt = NULL;

	memcpy(kid, key->kid.p, key->kid.n);
	kid[key->kid.n] = '\0';
	if (text != NULL && jwt_new(&jwt) == 0 && jwt_add_grants_json(jwt, text) == 0 &&
	    jwt_add_header(jwt, "kid", kid) == 0 &&
	    jwt_set_alg(jwt, algs[key->alg].jwt, (const unsigned char *)key->secret.p,
	                (int)key->secret.n) == 0)
		token = jwt_encode_str(jwt);
	jwt_free(jwt);
	free(text);
	return token;
}

void jws_free(char *token)
{
	if (token == NULL)
		return;
	sodium_memzero(token, strlen(token));
	free(token); /* libjwt's, of malloc */
}
