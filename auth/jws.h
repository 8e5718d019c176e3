/* jws.h - signed tokens (RFC 7515 compact serialisation, RFC 7519, with the advice of RFC 8725):
 * nothing is believed of one that is not exactly what its key's owner may have written. */
#pragma once
#include <boardwalk/err.h>
#include <boardwalk/types.h>
#include <jansson.h>

#define JWS_MAX 4096u /* octets of a token */
#define JWS_KID 128u  /* of a key's name, at most */

/* The names of RFC 7518 3.1 and RFC 8037 3.1, exactly. */
#define JWS_ALGS(X) \
	X(HS256) \
	X(HS384) \
	X(HS512) \
	X(RS256) \
	X(RS384) \
	X(RS512) \
	X(ES256) \
	X(ES384) \
	X(ES512) \
	X(EdDSA)
enum jws_alg {
#define X(name) JWS_##name,
	JWS_ALGS(X)
#undef X
		JWS_N_ALGS
};

struct evp_pkey_st; /* of OpenSSL */

/* A key is good for one algorithm. */
struct jws_key {
	struct bw_str kid;
	enum jws_alg  alg;
	struct bw_str secret;       /* HS*: at least 32 octets */
	struct evp_pkey_st *public; /* the others */
};

/* The algorithm of that name; JWS_N_ALGS: none of ours. */
enum jws_alg       jws_alg(struct bw_str name);
const char        *jws_alg_name(enum jws_alg alg);
static inline bool jws_alg_is_secret(enum jws_alg alg)
{
	return alg <= JWS_HS512;
}

/* The key of that name, NULL: there is none. kid is text from outside. */
typedef const struct jws_key *(*jws_key_cb)(void *arg, struct bw_str kid);

/* The claims of a token whose signature is good. *ret_claims: owned, json_decref; an object in which
 * no member stands twice. *ret_key: what find returned. BW_ELOGIN: it is none; *ret_why is a
 * static word for the audit trail. What the claims say, nobody has looked at. */
int jws_verify(struct bw_str token, jws_key_cb find, void *arg, json_t **ret_claims,
               const struct jws_key **ret_key, const char **ret_why);
/* A token of these claims, signed with a key of HS256; owned: jws_free. NULL: out of memory. */
char *jws_sign(const json_t *claims, const struct jws_key *key);
void  jws_free(char *token); /* wipes; NULL is fine */

/* An object out of text from outside: nothing behind it, no member twice, no NUL in a string, not
 * deeper than 16. NULL: it is none. Owned. */
json_t *jws_object(const char *text, size_t n);
