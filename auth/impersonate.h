/* impersonate.h - who may act as whom. */
#pragma once
#include "account.h"
#include <base/conf.h>

/* What is to be known of the one who has proved who he is, while the other is looked up. */
struct impersonator {
	uint64_t id;
	bool     is_admin;
	bool     is_configured; /* named by auth.impersonators */
};

/* names: the setting. */
struct impersonator impersonator_of(const struct account *a, const struct conf_list *names);
/* Why he may not act as target, as a word for the audit trail; NULL: he may. */
const char *impersonation_problem(const struct impersonator *real, const struct account *target);
