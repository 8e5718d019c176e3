/* ask_account.h - the table behind boardwalk/account.h. */
#pragma once
#include <boardwalk/account.h>

extern const struct bw_accounts resolver_accounts;
