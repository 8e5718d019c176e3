/* users.c - users and groups over HTTP, with the paths and parameters of Apache Sling's user manager
 * (jackrabbit-usermanager):
 *
 *   POST /system/userManager/user.create.html              :name pwd pwdConfirm
 *   POST /system/userManager/user/NAME.update.html         :disabled=true|false :disabledReason
 *   POST /system/userManager/user/NAME.changePassword.html oldPwd newPwd newPwdConfirm
 *   POST /system/userManager/group.create.html             :name :member
 *   POST /system/userManager/group/NAME.update.html        :member, :member@Delete
 *   POST /system/userManager/{user,group}/NAME.delete.html
 *   GET  /system/userManager/{user,group}/NAME.json, {user,group}.json, with .tidy and .1
 *
 * Who may do what is decided by auth, for the user of the request (boardwalk/account.h); docs/users.md
 * has all of it. The servlet says what it was told, as HTML or as JSON, and never a password.
 * Tests: tests/system/users_test.c, tests/unit/servlets/users_test.c. */
#include "target.h"
#include <boardwalk/boardwalk.h>
#include <stdlib.h>

#define MAX_MEMBERS 256u
#define PAGE        100u

#define CHECK(call) \
	do { \
		int err_ = (call); \
		if (err_ != BW_OK) \
			return err_; \
	} while (0)

/* ---- what is answered ---- */

static int put_escaped(struct bw_req *req, struct bw_str s, bool json)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 && json)
			CHECK(bw_res_printf(req, "\\u%04x", c));
		else if (json && (c == '"' || c == '\\'))
			CHECK(bw_res_printf(req, "\\%c", c));
		else if (!json && strchr("<>&\"'", c) != NULL && c != '\0')
			CHECK(bw_res_printf(req, "&#%d;", c));
		else
			CHECK(bw_res_write(req, &s.p[i], 1));
	}
	return BW_OK;
}

static bool wants_json(struct bw_req *req, const struct target *t)
{
	struct bw_str accept = bw_req_header(req, "accept");

	return t->is_json ||
	       (accept.p != NULL && memmem(accept.p, accept.n, "application/json", 16) != NULL);
}

/* Where to afterwards; a place on this host only, so that nobody is sent elsewhere by a link. */
static bool is_local(struct bw_str to)
{
	if (to.n == 0 || to.p[0] != '/' || (to.n > 1 && (to.p[1] == '/' || to.p[1] == '\\')))
		return false;
	for (size_t i = 0; i < to.n; i++)
		if ((unsigned char)to.p[i] <= 0x20 || to.p[i] == '\\' || to.p[i] == 0x7f)
			return false;
	return true;
}

static int put_json(struct bw_req *req, int status, struct bw_str path, struct bw_str text)
{
	CHECK(bw_res_content_type(req, "application/json"));
	CHECK(bw_res_printf(req, "{\"status.code\":%d,\"status.message\":\"", status));
	CHECK(put_escaped(req, text, true));
	CHECK(bw_res_puts(req, "\",\"path\":\""));
	CHECK(put_escaped(req, path, true));
	return bw_res_puts(req, "\"}\n");
}

static int put_html(struct bw_req *req, int status, struct bw_str path, struct bw_str text)
{
	CHECK(bw_res_content_type(req, "text/html; charset=utf-8"));
	CHECK(bw_res_printf(
		req,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><title>%d</title></head><body>\n"
		"<table><tr><td>Status</td><td id=\"Status\">%d</td></tr>\n"
		"<tr><td>Message</td><td id=\"Message\">",
		status, status));
	CHECK(put_escaped(req, text, false));
	CHECK(bw_res_puts(req, "</td></tr>\n<tr><td>Path</td><td id=\"Path\">"));
	CHECK(put_escaped(req, path, false));
	return bw_res_puts(req, "</td></tr></table>\n</body></html>\n");
}

static int say(struct bw_req *req, const struct target *t, int status, struct bw_str text)
{
	struct bw_str path = bw_req_get(req, BW_REQ_PATH_INFO);

	CHECK(bw_res_status(req, status));
	CHECK(bw_res_set_header(req, "cache-control", BW_STR("no-store")));
	return wants_json(req, t) ? put_json(req, status, path, text)
	                          : put_html(req, status, path, text);
}

/* What went wrong, with the status it deserves; anything else is the host's to answer. */
static int say_error(struct bw_req *req, const struct target *t, int err, struct bw_str why)
{
	static const struct {
		int         err, status;
		const char *text;
	} known[] = {
		{ BW_EFORBIDDEN, 403, "not permitted" },
		{ BW_ENOTFOUND, 404, "there is no such account" },
		{ BW_EEXIST, 409, "there is one of that name already" },
		{ BW_ECONTENT, 400, "that breaks a rule about accounts" },
		{ BW_ECYCLE, 400, "groups would be in each other" },
		{ BW_ELOGIN, 403, "the old password is wrong" },
		{ BW_ETHROTTLED, 429, "too many wrong passwords" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].err == err)
			return say(req, t, known[i].status,
			           why.n > 0 ? why : bw_str(known[i].text));
	return err;
}

static int done(struct bw_req *req, const struct target *t, bool created)
{
	struct bw_str to;

	if (bw_req_param(req, ":redirect", &to) == BW_OK && to.n > 0)
		return bw_res_redirect(req, to);
	return say(req, t, created ? 201 : 200, created ? BW_STR("Created") : BW_STR("OK"));
}

/* ---- what is asked ---- */

/* Absent if there is none, or it is empty. */
static struct bw_str param(struct bw_req *req, const char *name)
{
	struct bw_str value;

	return bw_req_param(req, name, &value) == BW_OK && value.n > 0 ? value : BW_ABSENT;
}

/* The same twice, as forms have it, so that nobody is locked out by a slip; "": they differ. */
static struct bw_str confirmed(struct bw_req *req, const char *name, const char *again)
{
	struct bw_str first = param(req, name), second = param(req, again);

	if (first.n != second.n || (first.n > 0 && memcmp(first.p, second.p, first.n) != 0))
		return BW_STR("");
	return first;
}

static struct bw_str last_part(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return slash == NULL ? path
	                     : (struct bw_str){ slash + 1, (size_t)(path.p + path.n - slash - 1) };
}

/* Adds the values of one parameter, names or paths of the user manager, with their sign. */
static int add_members(struct bw_req *req, const char *param_name, char sign,
                       struct bw_account_change *change)
{
	struct bw_str       *all = (struct bw_str *)change->members;
	const struct bw_str *values;
	size_t               n;
	int                  err = bw_req_param_values(req, param_name, &values, &n);

	if (err == BW_ENOTFOUND)
		return BW_OK;
	for (size_t i = 0; err == BW_OK && i < n; i++) {
		struct bw_str name = last_part(values[i]);
		char         *text = bw_req_alloc(req, name.n + 1);

		if (change->n_members == MAX_MEMBERS)
			return BW_ECONTENT;
		text[0] = sign;
		memcpy(text + 1, name.p, name.n);
		all[change->n_members++] = (struct bw_str){ text, name.n + 1 };
	}
	return err;
}

static int fill_members(struct bw_req *req, bool deletes, struct bw_account_change *change)
{
	change->members = bw_req_alloc(req, MAX_MEMBERS * sizeof(*change->members));
	if (deletes)
		CHECK(add_members(req, ":member@Delete", '-', change));
	return add_members(req, ":member", '+', change);
}

static int fill_create(struct bw_req *req, const struct target *t, struct bw_account_change *change,
                       struct bw_str *ret_why)
{
	change->what = t->is_group ? BW_ACCOUNT_CREATE_GROUP : BW_ACCOUNT_CREATE_USER;
	change->name = param(req, ":name");
	if (t->is_group)
		return fill_members(req, false, change);
	change->password = confirmed(req, "pwd", "pwdConfirm");
	if (change->password.p != NULL && change->password.n == 0) {
		*ret_why = BW_STR("pwd and pwdConfirm differ");
		return BW_ECONTENT;
	}
	return BW_OK;
}

static int fill_password(struct bw_req *req, struct bw_account_change *change,
                         struct bw_str *ret_why)
{
	change->what = BW_ACCOUNT_PASSWORD;
	change->old_password = param(req, "oldPwd");
	change->password = confirmed(req, "newPwd", "newPwdConfirm");
	if (change->password.n > 0)
		return BW_OK;
	*ret_why = change->password.p != NULL ? BW_STR("newPwd and newPwdConfirm differ")
	                                      : BW_STR("newPwd is missing");
	return BW_ECONTENT;
}

static int fill_user(struct bw_req *req, struct bw_account_change *change, struct bw_str *ret_why)
{
	struct bw_str disabled = param(req, ":disabled");

	if (!bw_str_eq(disabled, BW_STR("true")) && !bw_str_eq(disabled, BW_STR("false"))) {
		*ret_why = BW_STR(":disabled is true or false");
		return BW_ECONTENT;
	}
	change->what = disabled.p[0] == 't' ? BW_ACCOUNT_DISABLE : BW_ACCOUNT_ENABLE;
	if (change->what == BW_ACCOUNT_DISABLE)
		change->reason = param(req, ":disabledReason");
	return BW_OK;
}

static int fill(struct bw_req *req, const struct target *t, struct bw_account_change *change,
                struct bw_str *ret_why)
{
	switch (t->verb) {
	case TARGET_CREATE:
		return fill_create(req, t, change, ret_why);
	case TARGET_PASSWORD:
		return fill_password(req, change, ret_why);
	case TARGET_DELETE:
		change->what = t->is_group ? BW_ACCOUNT_DELETE_GROUP : BW_ACCOUNT_DELETE_USER;
		return BW_OK;
	case TARGET_UPDATE:
		if (!t->is_group)
			return fill_user(req, change, ret_why);
		change->what = BW_ACCOUNT_MEMBERS;
		return fill_members(req, true, change);
	case TARGET_READ:
	case TARGET_LIST:
		break;
	}
	return BW_ENOTFOUND;
}

/* ---- the servlet ---- */

static bool is_post_target(const struct target *t)
{
	return t->verb != TARGET_READ && t->verb != TARGET_LIST;
}

static int post(void *self, struct bw_req *req)
{
	struct bw_account_change change = { 0 };
	struct bw_resolver      *resolver;
	struct target            t;
	struct bw_str            why = BW_ABSENT, to;
	int                      err;

	(void)self;
	if (!target_parse(bw_req_get(req, BW_REQ_PATH_INFO), &t) || !is_post_target(&t))
		return bw_res_send_error(req, 404, NULL);
	if (bw_req_param(req, ":redirect", &to) == BW_OK && to.n > 0 && !is_local(to))
		return say(req, &t, 400, BW_STR(":redirect is no path of this host"));
	CHECK(bw_req_resolver(req, &resolver));
	change.name = t.name;
	err = fill(req, &t, &change, &why);
	if (err == BW_OK)
		err = bw_account_change(resolver, &change, NULL, &why);
	return err == BW_OK ? done(req, &t, t.verb == TARGET_CREATE) : say_error(req, &t, err, why);
}

static unsigned page_of(struct bw_req *req)
{
	struct bw_str limit = param(req, "limit");
	char          text[8] = "";
	unsigned long n;

	if (limit.n == 0 || limit.n >= sizeof(text))
		return PAGE;
	memcpy(text, limit.p, limit.n);
	n = strtoul(text, NULL, 10);
	return n >= 1 && n <= BW_ACCOUNT_PAGE ? (unsigned)n : PAGE;
}

static int get(void *self, struct bw_req *req)
{
	struct bw_resolver *resolver;
	struct target       t;
	struct bw_str       json;
	int                 err;

	(void)self;
	if (!target_parse(bw_req_get(req, BW_REQ_PATH_INFO), &t) || is_post_target(&t))
		return bw_res_send_error(req, 404, NULL);
	CHECK(bw_req_resolver(req, &resolver));
	err = bw_account_read(resolver, t.is_group ? BW_ACCOUNT_GROUPS : BW_ACCOUNT_USERS, t.name,
	                      param(req, "after"), page_of(req), &json);
	if (err != BW_OK)
		return say_error(req, &t, err, BW_ABSENT);
	CHECK(bw_res_content_type(req, "application/json"));
	CHECK(bw_res_set_header(req, "cache-control", BW_STR("no-store")));
	CHECK(bw_res_write(req, json.p, json.n));
	return bw_res_puts(req, "\n");
}

static const struct bw_servlet users = {
	.size = sizeof(users), .get = get, .post = post, .info = "users and groups"
};

/* Who enters is authenticated as the requirement rules say: with credentials, unless one lets him in. */
static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };

/* Nobody has to be known to ask for a new account; auth has the switch, which is off by default. */
static int start(struct bw_bundle *self)
{
	CHECK(bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "users"),
	                          BW_P_STRING(BW_CONTEXT_PATH, "/system/userManager")));
	return bw_register_servlet(
		self, &users, NULL, BW_P_STRING(BW_CONTEXT_SELECT, "users"),
		BW_P_STRING(BW_SERVLET_PATTERN, "/*"),
		BW_P_STRING(BW_AUTH_REQUIREMENTS, "-/system/userManager/user.create"));
}

BW_BUNDLE("boardwalk.users", "1.0.0", start, NULL);
