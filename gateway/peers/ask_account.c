/* ask_account.c - accounts (boardwalk/account.h): the questions to auth, for whom a resolver stands.
 *
 * Owns: nothing; answers are copied into the request's arena. Runs in: the gateway, on a request's fiber.
 * Fails with: what auth says, and what ask_peer fails with. Tests: tests/system/users_test.c. */
#include "ask_account.h"
#include "ask_impl.h"
#include "request.h"
#include "resolver.h"

#define MAX_MEMBERS_TEXT 49152u

struct told {
	struct bw_req *req;
	struct bw_str  text; /* the answer, or why there is none */
	bool           changed;
};

static void on_refused(void *arg, const struct wire_frame *f)
{
	struct told        *told = arg;
	struct wire_message m;
	struct bw_str       why;

	ask_parse(f, &m);
	why = (struct bw_str){ (char *)m.u->failed.text.data, m.u->failed.text.len };
	told->text = why.n > 0 ? request_dup(told->req, why) : BW_ABSENT;
}

static int take_changed(void *arg, const struct wire_frame *f)
{
	struct told        *told = arg;
	struct wire_message m;

	ask_parse(f, &m);
	told->changed = m.u->account_changed.changed;
	return BW_OK;
}

static int take_text(void *arg, const struct wire_frame *f)
{
	struct told        *told = arg;
	struct wire_message m;

	ask_parse(f, &m);
	told->text = request_dup(told->req, (struct bw_str){ (char *)m.u->account_text.json.data,
	                                                     m.u->account_text.json.len });
	return BW_OK;
}

/* The handle there is, or a first one; it is good for the connection that there is now. */
static int authority(struct bw_resolver *r, ProtobufCBinaryData *ret)
{
	int err;

	if (r->closed)
		return BW_ESTATE;
	err = resolver_mint(r);
	if (err != BW_OK)
		return err;
	if (r->connection != ask_connection())
		return BW_EGONE;
	*ret = ask_bytes(r->handle);
	return BW_OK;
}

/* +NAME and -NAME, a newline behind each. BW_ECONTENT: one is neither. */
static int join_members(struct bw_req *req, const struct bw_account_change *change,
                        struct bw_str *ret)
{
	size_t n = 0;
	char  *text;

	for (size_t i = 0; i < change->n_members; i++) {
		struct bw_str m = change->members[i];

		if (m.n < 2 || (m.p[0] != '+' && m.p[0] != '-') || memchr(m.p, '\n', m.n) != NULL ||
		    m.n > MAX_MEMBERS_TEXT - 1 - n)
			return BW_ECONTENT;
		n += m.n + 1;
	}
	text = arena_alloc(&req->arena, n + 1);
	*ret = (struct bw_str){ text, n };
	for (size_t i = 0; i < change->n_members; i++) {
		memcpy(text, change->members[i].p, change->members[i].n);
		text += change->members[i].n;
		*text++ = '\n';
	}
	return BW_OK;
}

static int change(struct bw_resolver *r, const struct bw_account_change *change, bool *ret_changed,
                  struct bw_str *ret_why)
{
	Bw__Wire__AccountChange m = BW__WIRE__ACCOUNT_CHANGE__INIT;
	struct told             told = { r->req, BW_ABSENT, false };
	struct bw_str           members = BW_ABSENT;
	uint8_t                 address[16];
	int                     err = authority(r, &m.handle);

	if (err == BW_OK && change->n_members > 0)
		err = join_members(r->req, change, &members);
	if (err != BW_OK)
		return err;
	m.what = change->what;
	m.name = ask_bytes(change->name);
	m.has_password = change->password.p != NULL;
	m.password = ask_bytes(change->password);
	m.has_old = change->old_password.p != NULL;
	m.old = ask_bytes(change->old_password);
	m.has_reason = change->reason.p != NULL;
	m.reason = ask_bytes(change->reason);
	m.has_members = members.p != NULL;
	m.members = ask_bytes(members);
	m.address = ask_bytes(request_address(r->req, address));
	err = ask_peer_told(WIRE_AUTH, r->req, WIRE_ACCOUNT_CHANGE, &m.base, take_changed,
	                    on_refused, &told, NULL);
	if (err == BW_OK && ret_changed)
		*ret_changed = told.changed;
	if (err != BW_OK && ret_why)
		*ret_why = told.text;
	return err;
}

static int read(struct bw_resolver *r, enum bw_account_list which, struct bw_str name,
                struct bw_str after, unsigned max, struct bw_str *ret_json)
{
	Bw__Wire__AccountRead m = BW__WIRE__ACCOUNT_READ__INIT;
	struct told           told = { r->req, BW_ABSENT, false };
	int                   err = authority(r, &m.handle);

	if (err != BW_OK)
		return err;
	if (max < 1 || max > BW_ACCOUNT_PAGE || name.n > 1024 || after.n > 1024)
		return BW_EINVAL;
	m.what = which;
	m.has_name = name.p != NULL;
	m.name = ask_bytes(name);
	m.has_after = after.p != NULL;
	m.after = ask_bytes(after);
	m.max = max;
	err = ask_peer_told(WIRE_AUTH, r->req, WIRE_ACCOUNT_READ, &m.base, take_text, on_refused,
	                    &told, NULL);
	if (err == BW_OK)
		*ret_json = told.text;
	return err;
}

const struct bw_accounts resolver_accounts = { sizeof(resolver_accounts), change, read };
