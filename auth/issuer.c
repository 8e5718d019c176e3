/* issuer.c - reads the settings of issuers, and checks the claims of their tokens (RFC 7519 4.1).
 *
 * The key that a token names leads to its issuer, so no key has the name of another one, whosever it
 * is. Everything that a token says about itself is looked at only when the signature is good.
 * Owns: the keys. Runs in: the start, and the loop. Fails with: a reason at the start, BW_ELOGIN and a
 * word afterwards. Tests: tests/unit/auth/issuer_test.c, tests/conformance/token/token.rows. */
#include "issuer.h"
#include "jwk.h"
#include <base/fatal.h>
#include <base/key_file.h>
#include <base/log.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ISSUERS   16u
#define MAX_AUDIENCES 64u
#define LEEWAY_S      60
#define LIFE_S        3600
#define MAX_LEEWAY_S  600
#define MAX_LIFE_S    86400

struct issuer {
	char            *text; /* the setting, cut into words; the others point into it */
	const char      *name, *audience, *file, *user;
	int64_t          leeway_s, life_s;
	struct jwk_set   keys;
	struct key_stamp stamp;
};

struct issuers {
	unsigned      n;
	struct issuer all[MAX_ISSUERS];
};

/* ---- the files of keys ---- */

/* Owned: wiped and freed by the caller. NULL with a reason. */
static char *read_keys(const char *file, struct stat *ret_st, size_t *ret_n, char *err,
                       size_t err_size)
{
	int     fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char   *text = NULL;
	size_t  n = 0;
	ssize_t got = 1;

	if (fd < 0 || fstat(fd, ret_st) != 0 || !S_ISREG(ret_st->st_mode)) {
		snprintf(err, err_size, "%s: %s", file,
		         fd < 0 ? strerror(errno) : "not a regular file");
	} else {
		text = xmalloc(JWK_SET_SIZE + 1);
		while (n <= JWK_SET_SIZE && (got = read(fd, text + n, JWK_SET_SIZE + 1 - n)) > 0)
			n += (size_t)got;
	}
	if (got < 0) {
		snprintf(err, err_size, "%s: %s", file, strerror(errno));
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	*ret_n = n;
	return text;
}

/* Public keys may be read by everybody and secrets only by the owner's group; nobody else writes. */
static bool is_private_enough(const struct stat *st, bool has_secret)
{
	return (st->st_mode & (has_secret ? S_IWGRP | S_IRWXO : S_IWGRP | S_IWOTH)) == 0;
}

static bool load_keys(struct issuer *i, struct jwk_set *ret, char *err, size_t err_size)
{
	struct stat st;
	size_t      n;
	char        why[160];
	char       *text = read_keys(i->file, &st, &n, err, err_size);
	bool        done;

	if (text == NULL)
		return false;
	done = jwk_set_parse(text, n, ret, why, sizeof(why));
	sodium_memzero(text, n);
	free(text);
	if (!done) {
		snprintf(err, err_size, "%s: %s", i->file, why);
	} else if (!is_private_enough(&st, ret->has_secret)) {
		snprintf(err, err_size, "%s: mode %04o, which lets others at the keys", i->file,
		         (unsigned)(st.st_mode & 07777));
		jwk_set_done(ret);
		done = false;
	}
	return done;
}

/* A name that two issuers have would leave open whose key it is. */
static bool are_others(const struct issuers *is, const struct issuer *of,
                       const struct jwk_set *keys, char *err, size_t err_size)
{
	for (unsigned i = 0; i < is->n; i++)
		for (unsigned k = 0; &is->all[i] != of && k < keys->n; k++)
			if (jwk_set_find(&is->all[i].keys, keys->keys[k].kid) != NULL) {
				snprintf(err, err_size, "%s: key %u has the name of one of %s",
				         of->file, k + 1, is->all[i].name);
				return false;
			}
	return true;
}

static bool take_keys(const struct issuers *is, struct issuer *i, char *err, size_t err_size)
{
	struct jwk_set fresh;

	if (!load_keys(i, &fresh, err, err_size))
		return false;
	if (!are_others(is, i, &fresh, err, err_size)) {
		jwk_set_done(&fresh);
		return false;
	}
	jwk_set_done(&i->keys);
	i->keys = fresh;
	log_info(0, "%s: %u keys, %u skipped", i->file, fresh.n, fresh.skipped);
	return true;
}

bool issuers_follow(struct issuers *is)
{
	bool changed = false;
	char err[512];

	for (unsigned i = 0; i < is->n; i++) {
		if (!key_file_is_new(is->all[i].file, &is->all[i].stamp))
			continue;
		if (take_keys(is, &is->all[i], err, sizeof(err)))
			changed = true;
		else
			log_error(0, "the keys of %s stay what they are: %s", is->all[i].name, err);
	}
	return changed;
}

/* ---- settings ---- */

static bool take_seconds(const char *text, int64_t max, int64_t *ret)
{
	char *end;
	long  value = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || value > max)
		return false;
	*ret = value;
	return true;
}

/* A word of name=value. */
static bool take_word(struct issuer *i, const char *word)
{
	if (strncmp(word, "audience=", 9) == 0)
		i->audience = word + 9;
	else if (strncmp(word, "keys=", 5) == 0)
		i->file = word + 5;
	else if (strncmp(word, "user=", 5) == 0)
		i->user = word + 5;
	else if (strncmp(word, "leeway=", 7) == 0)
		return take_seconds(word + 7, MAX_LEEWAY_S, &i->leeway_s);
	else if (strncmp(word, "life=", 5) == 0)
		return take_seconds(word + 5, MAX_LIFE_S, &i->life_s) && i->life_s > 0;
	else
		return false;
	return true;
}

static bool take_item(struct issuer *i, const char *item, char *err, size_t err_size)
{
	char *rest, *word;

	*i = (struct issuer){
		.text = xstrdup(item), .user = "sub", .leeway_s = LEEWAY_S, .life_s = LIFE_S
	};
	i->name = strtok_r(i->text, " ", &rest);
	while ((word = strtok_r(NULL, " ", &rest)) != NULL)
		if (!take_word(i, word)) {
			snprintf(err, err_size, "issuer %s: '%s' is not understood", i->name, word);
			return false;
		}
	if (i->name == NULL || i->audience == NULL || *i->audience == '\0' || i->file == NULL ||
	    *i->file == '\0' || *i->user == '\0') {
		snprintf(err, err_size, "'%s' is not ISSUER audience=NAME keys=FILE", item);
		return false;
	}
	return true;
}

struct issuers *issuers_new(const struct conf_list *items, char *err, size_t err_size)
{
	struct issuers *is = xcalloc(1, sizeof(*is));
	bool            done = items->n <= MAX_ISSUERS;

	if (!done)
		snprintf(err, err_size, "more than %u issuers", MAX_ISSUERS);
	for (size_t k = 0; k < items->n && done; k++) {
		struct issuer *i = &is->all[is->n++];

		done = take_item(i, items->items[k], err, err_size) &&
		       take_keys(is, i, err, err_size);
		key_file_is_new(done ? i->file : "", &i->stamp);
	}
	if (done)
		return is;
	issuers_free(is);
	return NULL;
}

void issuers_free(struct issuers *is)
{
	if (is == NULL)
		return;
	for (unsigned i = 0; i < is->n; i++) {
		jwk_set_done(&is->all[i].keys);
		free(is->all[i].text);
	}
	free(is);
}

/* ---- claims ---- */

static bool get_integer(const json_t *claims, const char *name, int64_t *ret)
{
	const json_t *value = json_object_get(claims, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = json_integer_value(value);
	return true;
}

static bool is_text(const json_t *value, const char *text)
{
	return json_is_string(value) &&
	       bw_str_eq((struct bw_str){ json_string_value(value), json_string_length(value) },
	                 bw_str(text));
}

/* The audience, or one of a list of texts. */
static bool is_audience(const json_t *value, const char *audience)
{
	const json_t *one;
	bool          found = false;
	size_t        i;

	if (!json_is_array(value))
		return is_text(value, audience);
	if (json_array_size(value) > MAX_AUDIENCES)
		return false;
	json_array_foreach (value, i, one) {
		if (!json_is_string(one))
			return false;
		found = found || is_text(one, audience);
	}
	return found;
}

static const char *why_not_now(const json_t *claims, const struct issuer *i, int64_t now_s,
                               struct issuer_claims *ret)
{
	int64_t not_before = 0;

	if (!get_integer(claims, "exp", &ret->expires_s) ||
	    !get_integer(claims, "iat", &ret->issued_s) ||
	    (json_object_get(claims, "nbf") != NULL && !get_integer(claims, "nbf", &not_before)))
		return "malformed_times";
	if (now_s >= ret->expires_s)
		return "expired";
	if (not_before > now_s + i->leeway_s || ret->issued_s > now_s + i->leeway_s)
		return "not_yet_valid";
	return ret->expires_s - ret->issued_s > i->life_s ? "lives_too_long" : NULL;
}

static bool get_user(const json_t *claims, const char *name, struct issuer_claims *ret)
{
	const json_t *value = json_object_get(claims, name);
	struct bw_str text = { json_string_value(value), json_string_length(value) };

	if (!json_is_string(value) || credential_name(text, ret->user, &text) != BW_OK)
		return false;
	if (text.p != ret->user)
		memcpy(ret->user, text.p, text.n);
	ret->n_user = text.n;
	return true;
}

/* NULL: they are as they should be. */
static const char *why_not(const json_t *claims, const struct issuer *i, int64_t now_s,
                           struct issuer_claims *ret)
{
	ret->has_version = json_object_get(claims, "ver") != NULL;
	if (!is_text(json_object_get(claims, "iss"), i->name))
		return "wrong_issuer";
	if (!is_audience(json_object_get(claims, "aud"), i->audience))
		return "wrong_audience";
	if (ret->has_version && !get_integer(claims, "ver", &ret->version))
		return "malformed_version";
	if (!get_user(claims, "sub", ret) || !get_user(claims, i->user, ret))
		return "malformed_name";
	return why_not_now(claims, i, now_s, ret);
}

static const struct jws_key *find_key(void *arg, struct bw_str kid)
{
	const struct issuers *is = arg;
	const struct jws_key *key = NULL;

	for (unsigned i = 0; i < is->n && key == NULL; i++)
		key = jwk_set_find(&is->all[i].keys, kid);
	return key;
}

static const struct issuer *issuer_of(const struct issuers *is, const struct jws_key *key)
{
	unsigned i = 0;

	while (key < is->all[i].keys.keys || key >= is->all[i].keys.keys + is->all[i].keys.n)
		i++;
	return &is->all[i];
}

int issuers_verify(const struct issuers *is, struct bw_str token, int64_t now_s,
                   struct issuer_claims *ret, const char **ret_why)
{
	const struct jws_key *key;
	const char           *why;
	json_t               *claims;
	int                   err = jws_verify(token, find_key, (void *)is, &claims, &key, ret_why);

	if (err != BW_OK)
		return err;
	why = why_not(claims, issuer_of(is, key), now_s, ret);
	json_decref(claims);
	if (why == NULL)
		return BW_OK;
	*ret_why = why;
	return BW_ELOGIN;
}
