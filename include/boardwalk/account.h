/* account.h - users and groups, managed by whom a resolver stands for.
 *
 * Auth decides, from the account that the resolver's authority names and what that account is now: admin
 * and the members of the group administrators may do everything, a user may change his own password
 * if he knows the old one, and see himself; if the operator allows it (auth.self_registration), anybody
 * may make himself a user. Service users may do none of it. A password never comes back from here. The
 * rules are those of `boardwalk user` and `boardwalk group`: admin and anonymous stay as they are,
 * everyone has no list of members, groups form no cycle. Docs: docs/users.md. */
#pragma once
#include <boardwalk/bundle.h>

enum bw_account_what {
	BW_ACCOUNT_CREATE_USER = 1, /* password: may be absent, then nobody can log in */
	BW_ACCOUNT_CREATE_GROUP,    /* members: may be none */
	BW_ACCOUNT_PASSWORD,        /* password, and old_password by others than administrators */
	BW_ACCOUNT_DISABLE,         /* reason: may be absent */
	BW_ACCOUNT_ENABLE,
	BW_ACCOUNT_DELETE_USER,
	BW_ACCOUNT_DELETE_GROUP,
	BW_ACCOUNT_MEMBERS, /* members */
};

enum bw_account_list { BW_ACCOUNT_USERS = 1, BW_ACCOUNT_GROUPS };

#define BW_ACCOUNT_PAGE 500u /* names on a page of members; 100 on one of accounts */

struct bw_account_change {
	enum bw_account_what what;
	struct bw_str        name; /* of the user or group */
	struct bw_str        password, old_password, reason;
	const struct bw_str *members; /* "+name" to add, "-name" to take out */
	size_t               n_members;
};

struct bw_accounts {
	size_t size;
	int (*change)(struct bw_resolver *r, const struct bw_account_change *change,
	              bool *ret_changed, struct bw_str *ret_why);
	int (*read)(struct bw_resolver *r, enum bw_account_list which, struct bw_str name,
	            struct bw_str after, unsigned max, struct bw_str *ret_json);
};

/* One change, all of it or nothing; when this is BW_OK it holds, on other nodes a quarter of a second
 * later. *ret_changed (may be NULL): false if it was so already. BW_EFORBIDDEN; BW_ENOTFOUND; BW_EEXIST;
 * BW_ECONTENT: breaks a rule, or is no name or no password; BW_ECYCLE; BW_ELOGIN: the old password is
 * wrong; BW_ETHROTTLED: has been wrong too often; BW_EUNSUPPORTED: this host cannot; else what auth
 * fails with. *ret_why (may be NULL; borrowed until the request ends): what is wrong, for who asked;
 * absent if there is no more to say. (waits) */
static inline int bw_account_change(struct bw_resolver *r, const struct bw_account_change *change,
                                    bool *ret_changed, struct bw_str *ret_why)
{
	if (bw_host->size <= offsetof(struct bw_host, accounts) || bw_host->accounts == NULL)
		return BW_EUNSUPPORTED;
	return bw_host->accounts->change(r, change, ret_changed, ret_why);
}

/* One user or group (name), or a page of all (name absent), as a JSON object in UTF-8, borrowed until the
 * request ends: of a user memberOf, declaredMemberOf, disabled, of a group members and declaredMembers
 * as well, a page of each; of all, these by name. after: the name before the page, absent: from the first.
 * max: 1 to BW_ACCOUNT_PAGE. BW_ENOTFOUND also for what may not be seen. (waits) */
static inline int bw_account_read(struct bw_resolver *r, enum bw_account_list which,
                                  struct bw_str name, struct bw_str after, unsigned max,
                                  struct bw_str *ret_json)
{
	if (bw_host->size <= offsetof(struct bw_host, accounts) || bw_host->accounts == NULL)
		return BW_EUNSUPPORTED;
	return bw_host->accounts->read(r, which, name, after, max, ret_json);
}
