/* commit_text.c - the list of changes as the parameter of repo.commit_apply, and what the server's
 * refusals mean.
 *
 * Text is looked at here, since PostgreSQL would refuse the statement and not say which change it was:
 * it is UTF-8 without a NUL, a Long is a number, a Boolean true or false. All other rules are SQL's.
 * Owns: nothing. Runs in: repo's loop. Fails with: BW_ECONTENT. Tests: tests/conformance/commit,
 * tests/unit/repo/commit_test.c. */
#include "commit_impl.h"
#include "encode.h"
#include <base/json.h>
#include <base/utf8.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_SHOWN 200u

static const char *const kinds[CHANGE_KINDS] = {
	[CHANGE_CREATE] = "create",
	[CHANGE_REMOVE] = "remove",
	[CHANGE_MOVE] = "move",
	[CHANGE_COPY] = "copy",
	[CHANGE_ORDER] = "order",
	[CHANGE_SET] = "set",
	[CHANGE_UNSET] = "unset",
	[CHANGE_SET_TYPE] = "type",
	[CHANGE_MIXIN_ADD] = "mixin+",
	[CHANGE_MIXIN_REMOVE] = "mixin-",
	[CHANGE_ACE_ADD] = "ace+",
	[CHANGE_ACE_REMOVE] = "ace-",
	[CHANGE_ACL_CLEAR] = "acl-",
	[CHANGE_CHECKIN] = "checkin",
	[CHANGE_CHECKOUT] = "checkout",
	[CHANGE_RESTORE] = "restore",
	[CHANGE_LABEL_ADD] = "label+",
	[CHANGE_LABEL_REMOVE] = "label-",
	[CHANGE_VERSION_REMOVE] = "version-",
};

static bool is_text(struct bw_str s)
{
	return memchr(s.p, '\0', s.n) == NULL && utf8_ok(s.p, s.n);
}

static void put_str(struct json_out *j, struct bw_str s)
{
	json_out_string(j, s.n > 0 ? s.p : NULL, s.n);
}

/* ---- values ---- */

/* Digits with a sign before them, of 64 bits. */
static bool put_long(struct json_out *j, struct bw_str s)
{
	char     *end;
	long long value;

	if (s.n == 0 || s.n > 20 || strspn(s.p, "-0123456789") != s.n)
		return false;
	errno = 0;
	value = strtoll(s.p, &end, 10);
	if (errno != 0 || *end != '\0')
		return false;
	json_out_int(j, value);
	return true;
}

static bool put_one(struct json_out *j, enum bw_value_type type, struct bw_str s)
{
	if (!is_text(s))
		return false;
	switch (type) {
	case BW_VALUE_LONG:
		return put_long(j, s);
	case BW_VALUE_BOOLEAN:
		json_out_bool(j, bw_str_eq(s, BW_STR("true")));
		return bw_str_eq(s, BW_STR("true")) || bw_str_eq(s, BW_STR("false"));
	default:
		json_out_string(j, s.p, s.n);
		return true;
	}
}

static bool put_value(struct json_out *j, const struct change_value *v)
{
	const uint8_t *at = v->at;

	json_out_object(j);
	json_out_key(j, encode_tag(v->type));
	if (v->multiple)
		json_out_array(j);
	for (unsigned i = 0; i < v->n; i++)
		if (!put_one(j, v->type, change_next_str(&at)))
			return false;
	if (v->multiple)
		json_out_array_end(j);
	json_out_object_end(j);
	return true;
}

/* ---- changes: false leaves the text unfinished, and c->text says why ---- */

int commit_refuse(struct commit *c, int err, struct bw_str path, struct bw_str why)
{
	size_t n = path.n < PATH_SHOWN ? path.n : PATH_SHOWN;

	while (n < path.n && n > 0 && ((uint8_t)path.p[n] & 0xc0) == 0x80)
		n--; /* not in the middle of a character */
	snprintf(c->text, sizeof(c->text), "%.*s%s: %.*s", (int)n, path.p, n < path.n ? "..." : "",
	         (int)why.n, why.p);
	c->err = err;
	return err;
}

/* What cannot be stored, in words. */
static bool bad(struct commit *c, const struct change *ch, bool is_value)
{
	struct bw_str path = is_text(ch->path) ? ch->path : BW_STR("a path");

	commit_refuse(c, BW_ECONTENT, path,
	              is_value ? BW_STR("a value is not of its type")
	                       : BW_STR("a name is not UTF-8, or has a NUL in it"));
	return false;
}

static bool put_created(struct commit *c, struct json_out *j, const struct change *ch)
{
	const uint8_t      *at = ch->mixins;
	struct change_value value;
	struct bw_str       s;

	json_out_key(j, "mixins");
	json_out_array(j);
	for (unsigned i = 0; i < ch->n_mixins; i++) {
		s = change_next_str(&at);
		if (!is_text(s))
			return bad(c, ch, false);
		json_out_string(j, s.p, s.n);
	}
	json_out_array_end(j);
	json_out_key(j, "properties");
	json_out_object(j);
	at = ch->props;
	for (unsigned i = 0; i < ch->n_props; i++) {
		change_next_prop(&at, &s, &value);
		if (!is_text(s))
			return bad(c, ch, false);
		json_out_key(j, s.p);
		c->has_uploads |= value.type == BW_VALUE_BINARY;
		if (!put_value(j, &value))
			return bad(c, ch, true);
	}
	json_out_object_end(j);
	return true;
}

static bool put_base(struct commit *c, struct json_out *j, const struct change *ch)
{
	if (ch->base == CHANGE_BASE_UNKNOWN)
		return true;
	json_out_key(j, "base");
	if (ch->base == CHANGE_BASE_ABSENT)
		json_out_null(j);
	else if (!put_value(j, &ch->old))
		return bad(c, ch, true);
	return true;
}

/* The values of a list of texts, without its type. */
static bool put_texts(struct json_out *j, const struct change_value *v)
{
	const uint8_t *at = v->at;
	bool           fits = true;

	json_out_array(j);
	for (unsigned i = 0; i < v->n && fits; i++)
		fits = put_one(j, BW_VALUE_STRING, change_next_str(&at));
	json_out_array_end(j);
	return fits;
}

static bool put_entry(struct commit *c, struct json_out *j, const struct change *ch)
{
	const uint8_t      *at = ch->props;
	struct change_value value;
	struct bw_str       name;

	json_out_key(j, "allow");
	json_out_bool(j, ch->allow);
	json_out_key(j, "privileges");
	if (!put_texts(j, &ch->value))
		return bad(c, ch, false);
	json_out_key(j, "restrictions");
	json_out_object(j);
	for (unsigned i = 0; i < ch->n_props; i++) {
		change_next_prop(&at, &name, &value);
		if (!is_text(name))
			return bad(c, ch, false);
		json_out_key(j, name.p);
		if (!put_texts(j, &value))
			return bad(c, ch, false);
	}
	json_out_object_end(j);
	return true;
}

static bool put_rest(struct commit *c, struct json_out *j, const struct change *ch, bool relaxed)
{
	switch (ch->kind) {
	case CHANGE_CREATE:
		return put_created(c, j, ch);
	case CHANGE_SET:
		json_out_key(j, "value");
		c->has_uploads |= ch->value.type == BW_VALUE_BINARY;
		if (!put_value(j, &ch->value))
			return bad(c, ch, true);
		return relaxed || put_base(c, j, ch);
	case CHANGE_UNSET:
		return relaxed || put_base(c, j, ch);
	case CHANGE_SET_TYPE:
		json_out_key(j, "base");
		put_str(j, ch->old_type);
		return is_text(ch->old_type) || bad(c, ch, false);
	case CHANGE_ACE_ADD:
	case CHANGE_ACE_REMOVE:
		return put_entry(c, j, ch);
	case CHANGE_LABEL_ADD:
		json_out_key(j, "of");
		put_str(j, ch->of);
		json_out_key(j, "removing");
		json_out_bool(j, ch->removing);
		return is_text(ch->of) || bad(c, ch, false);
	case CHANGE_RESTORE:
		json_out_key(j, "removing");
		json_out_bool(j, ch->removing);
		return true;
	default:
		return true;
	}
}

static bool put_change(struct commit *c, struct json_out *j, const struct change *ch, bool relaxed)
{
	if (!is_text(ch->path) || !is_text(ch->name))
		return bad(c, ch, false);
	json_out_object(j);
	json_out_key(j, "kind");
	json_out_text(j, kinds[ch->kind]);
	json_out_key(j, "path");
	json_out_string(j, ch->path.p, ch->path.n);
	json_out_key(j, "name");
	put_str(j, ch->name);
	json_out_key(j, "version");
	json_out_int(j, (int64_t)(ch->version & INT64_MAX));
	if (!put_rest(c, j, ch, relaxed))
		return false;
	json_out_object_end(j);
	return true;
}

int commit_text(struct commit *c)
{
	struct json_out j;
	struct change   ch;
	size_t          at = 0;

	buf_clear(&c->json);
	json_out_init(&j, &c->json);
	json_out_array(&j);
	for (unsigned i = 0; changes_next(&c->list, &at, &ch); i++) {
		enum commit_relax relax = c->relax != NULL ? c->relax[i] : RELAX_NOTHING;

		if (relax != RELAX_SKIP && !put_change(c, &j, &ch, relax == RELAX_BASE))
			return BW_ECONTENT;
	}
	json_out_array_end(&j);
	buf_append(&c->json, "", 1);
	return BW_OK;
}

/* ---- refusals ---- */

/* The one table of what the functions in migrations/ raise, and of what the server itself does. Begins
 * of SQLSTATEs, the first that fits counts; all others are BW_EIO. */
static const struct {
	const char *state;
	int         err;
	bool        again;
} refusals[] = {
	{ "40001", BW_EBUSY, true },      /* serialization_failure: a lock was not strong enough */
	{ "40P01", BW_EBUSY, true },      /* deadlock_detected */
	{ "55P03", BW_EBUSY, true },      /* lock_not_available */
	{ "54", BW_ECONTENTSIZE, false }, /* program_limit_exceeded */
	{ "22", BW_ECONTENT, false },     /* invalid_parameter_value and its like */
	{ "23", BW_ECONTENT, false },     /* check_violation, unique_violation: types, names */
	{ "42602", BW_ECONTENT, false },  /* invalid_name */
	{ "P0002", BW_ECONTENT, false },  /* no_data_found */
	{ "0A000", BW_ECONTENT, false },  /* feature_not_supported */
	{ "55000", BW_ECONFLICT, false }, /* object_not_in_prerequisite_state: checked in */
	{ "53", BW_EBUSY, false },        /* insufficient_resources */
};

bool commit_failure(int err, const struct pg_failure *why, int *ret_err)
{
	*ret_err = err;
	if (err != BW_EIO)
		return false;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (strncmp(why->state, refusals[i].state, strlen(refusals[i].state)) != 0)
			continue;
		*ret_err = refusals[i].err;
		return refusals[i].again;
	}
	return false;
}
