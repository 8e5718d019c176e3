/* jwk.c - reads a set of JSON Web Keys, each as strictly as its kind allows: RFC 7517, the members of
 * RFC 7518 section 6 and RFC 8037 section 2.
 *
 * Keys that are for something else (another use, an algorithm that is not here) are skipped, as sets of
 * real issuers have them; one that is for us and malformed spoils the set.
 * Owns: what jwk_set_done frees. Runs in: the start, and the loop when a file has changed.
 * Fails with: a reason, without any part of a key. Tests: tests/unit/auth/jwk_test.c, fuzz/jwk_set. */
#include "jwk.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SECRET   32u
#define MAX_SECRET   256u
#define MIN_RSA_BITS 2048
#define MAX_RSA_BITS 4096
#define MAX_NUMBER   512u /* octets of RSA's modulus */
#define MAX_EC_HALF  66u

struct number {
	uint8_t octets[MAX_NUMBER + 1];
	size_t  n;
};

/* ---- members ---- */

static struct bw_str text_of(const json_t *key, const char *name)
{
	const json_t *value = json_object_get(key, name);

	return (struct bw_str){ json_string_value(value), json_string_length(value) };
}

/* base64url of 1 to max octets. */
static bool get_octets(const json_t *key, const char *name, size_t max, struct number *ret)
{
	struct bw_str text = text_of(key, name);

	return text.n > 0 &&
	       sodium_base642bin(ret->octets, max, text.p, text.n, NULL, &ret->n, NULL,
	                         sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
	       ret->n > 0;
}

static bool is_kind(const json_t *key, const char *kty)
{
	return bw_str_eq(text_of(key, "kty"), bw_str(kty));
}

/* ---- the kinds; each: NULL, or what is wrong ---- */

static const char *take_secret(const json_t *key, struct jws_key *ret)
{
	/* RFC 7518 3.2: at least as long as the hash. */
	static const size_t least[] = { [JWS_HS256] = 32, [JWS_HS384] = 48, [JWS_HS512] = 64 };
	struct number       k;
	char               *secret = NULL;
	bool                good = get_octets(key, "k", MAX_SECRET, &k) && k.n >= least[ret->alg];

	if (good && (secret = sodium_malloc(k.n)) != NULL) {
		memcpy(secret, k.octets, k.n);
		ret->secret = (struct bw_str){ secret, k.n };
	}
	sodium_memzero(&k, sizeof(k));
	if (!good)
		return "\"k\" is no secret of 32 (HS384: 48, HS512: 64) to 256 octets";
	return secret != NULL ? NULL : "no memory";
}

static EVP_PKEY *make(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM   *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY     *key = NULL;

	if (params == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_free(params);
	return key;
}

static const char *take_rsa(const json_t *key, struct jws_key *ret)
{
	OSSL_PARAM_BLD *build;
	struct number   n, e;
	BIGNUM         *modulus, *exponent;

	if (!get_octets(key, "n", MAX_NUMBER, &n) || !get_octets(key, "e", 4, &e))
		return "\"n\" and \"e\" are not those of a public key";
	build = OSSL_PARAM_BLD_new();
	modulus = BN_bin2bn(n.octets, (int)n.n, NULL);
	exponent = BN_bin2bn(e.octets, (int)e.n, NULL);
	if (BN_num_bits(modulus) >= MIN_RSA_BITS && BN_num_bits(modulus) <= MAX_RSA_BITS &&
	    BN_is_odd(modulus) && BN_is_odd(exponent) && !BN_is_one(exponent) &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
		ret->public = make("RSA", build);
	OSSL_PARAM_BLD_free(build);
	BN_free(modulus);
	BN_free(exponent);
	return ret->public != NULL ? NULL : "it is no RSA key of 2048 to 4096 bits";
}

static const char *take_ec(const json_t *key, struct jws_key *ret)
{
	static const struct {
		const char *crv, *group;
		size_t      half;
	} curves[] = {
		[JWS_ES256] = { "P-256", "prime256v1", 32 },
		[JWS_ES384] = { "P-384", "secp384r1", 48 },
		[JWS_ES512] = { "P-521", "secp521r1", MAX_EC_HALF },
	};
	size_t          half = curves[ret->alg].half;
	uint8_t         point[1 + 2 * MAX_EC_HALF] = { 4 }; /* both coordinates follow */
	OSSL_PARAM_BLD *build;
	struct number   x, y;

	if (!bw_str_eq(text_of(key, "crv"), bw_str(curves[ret->alg].crv)))
		return "\"crv\" is not its algorithm's";
	if (!get_octets(key, "x", half, &x) || !get_octets(key, "y", half, &y) || x.n != half ||
	    y.n != half)
		return "\"x\" and \"y\" are not of the curve's size";
	memcpy(point + 1, x.octets, half);
	memcpy(point + 1 + half, y.octets, half);
	build = OSSL_PARAM_BLD_new();
	if (OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME,
	                                    curves[ret->alg].group, 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * half) ==
	            1)
		ret->public = make("EC", build);
	OSSL_PARAM_BLD_free(build);
	return ret->public != NULL ? NULL : "it is no point of the curve";
}

static const char *take_edwards(const json_t *key, struct jws_key *ret)
{
	struct number x;

	if (!bw_str_eq(text_of(key, "crv"), BW_STR("Ed25519")) || !get_octets(key, "x", 32, &x) ||
	    x.n != 32)
		return "\"crv\" and \"x\" are not those of Ed25519";
	ret->public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x.octets, x.n);
	return ret->public != NULL ? NULL : "it is no key of Ed25519";
}

static const struct kind {
	const char *kty;
	const char *(*take)(const json_t *key, struct jws_key *ret);
} kinds[JWS_N_ALGS] = {
	[JWS_HS256] = { "oct", take_secret }, [JWS_HS384] = { "oct", take_secret },
	[JWS_HS512] = { "oct", take_secret }, [JWS_RS256] = { "RSA", take_rsa },
	[JWS_RS384] = { "RSA", take_rsa },    [JWS_RS512] = { "RSA", take_rsa },
	[JWS_ES256] = { "EC", take_ec },      [JWS_ES384] = { "EC", take_ec },
	[JWS_ES512] = { "EC", take_ec },      [JWS_EdDSA] = { "OKP", take_edwards },
};

/* ---- a key, a set ---- */

static const char *take_kid(const json_t *key, const struct jwk_set *set, struct jws_key *ret)
{
	struct bw_str kid = text_of(key, "kid");
	char         *copy;

	if (kid.n == 0 || kid.n > JWS_KID)
		return "it has no \"kid\" of 1 to 128 octets";
	if (jwk_set_find(set, kid) != NULL)
		return "its \"kid\" is another key's as well";
	copy = malloc(kid.n + 1);
	if (copy == NULL)
		return "no memory";
	memcpy(copy, kid.p, kid.n);
	copy[kid.n] = '\0';
	ret->kid = (struct bw_str){ copy, kid.n };
	return NULL;
}

static bool is_for_us(const json_t *key)
{
	const json_t *use = json_object_get(key, "use");

	if (use != NULL && !bw_str_eq(text_of(key, "use"), BW_STR("sig")))
		return false;
	return json_object_get(key, "alg") == NULL || jws_alg(text_of(key, "alg")) != JWS_N_ALGS;
}

static const char *take_key(struct jwk_set *set, const json_t *key)
{
	struct jws_key *ret;
	const char     *problem;

	if (!json_is_object(key))
		return "it is no object";
	if (!is_for_us(key)) {
		set->skipped++;
		return NULL;
	}
	if (set->n == JWK_KEYS)
		return "there are too many of them";
	ret = &set->keys[set->n];
	ret->alg = jws_alg(text_of(key, "alg"));
	if (ret->alg == JWS_N_ALGS)
		return "it has no \"alg\", and a key is good for one";
	if (!is_kind(key, kinds[ret->alg].kty))
		return "its \"kty\" is not its algorithm's";
	if (!jws_alg_is_secret(ret->alg) && json_object_get(key, "d") != NULL)
		return "it is a private key, which nobody but its owner should have";
	problem = take_kid(key, set, ret);
	set->n++; /* jwk_set_done frees what it has so far */
	return problem != NULL ? problem : kinds[ret->alg].take(key, ret);
}

bool jwk_set_parse(const char *text, size_t n, struct jwk_set *ret, char *err, size_t err_size)
{
	json_t     *set = n <= JWK_SET_SIZE ? jws_object(text, n) : NULL;
	json_t     *keys = json_object_get(set, "keys"), *key;
	const char *problem = json_is_array(keys) ? NULL : "no set of keys";
	size_t      i;

	memset(ret, 0, sizeof(*ret));
	if (problem != NULL)
		snprintf(err, err_size, "%s", problem);
	json_array_foreach (keys, i, key) {
		problem = take_key(ret, key);
		if (problem != NULL) {
			snprintf(err, err_size, "key %zu: %s", i + 1, problem);
			break;
		}
		ret->has_secret =
			ret->has_secret || (ret->n > 0 && ret->keys[ret->n - 1].secret.p != NULL);
	}
	json_decref(set);
	if (problem == NULL && ret->n == 0) {
		problem = "it has no key for signatures";
		snprintf(err, err_size, "%s", problem);
	}
	if (problem != NULL)
		jwk_set_done(ret);
	return problem == NULL;
}

void jwk_set_done(struct jwk_set *set)
{
	for (unsigned i = 0; i < set->n; i++) {
		free((char *)set->keys[i].kid.p);
		sodium_free((char *)set->keys[i].secret.p);
		EVP_PKEY_free(set->keys[i].public);
	}
	memset(set, 0, sizeof(*set));
}

const struct jws_key *jwk_set_find(const struct jwk_set *set, struct bw_str kid)
{
	for (unsigned i = 0; i < set->n; i++)
		if (bw_str_eq(set->keys[i].kid, kid))
			return &set->keys[i];
	return NULL;
}
