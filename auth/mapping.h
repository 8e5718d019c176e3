/* mapping.h - which service user a bundle acts as, or which list of principals: the entries
 * bundle[:subservice]=user and bundle[:subservice]=[user,user] of auth.service_users, and behind them
 * those of any number of amendments (amendment.h). */
#pragma once
#include "credential.h"
#include <base/conf.h>

struct mapping;

/* All borrowed until mapping_new returns. */
struct mapping_settings {
	const struct conf_list *service_users, *service_places, *required_validators;
	const char             *folder, *default_user; /* "" or NULL: none */
	bool                    default_mapping;
};

/* Names are as accounts are looked up by. A user acts with its groups; a list is nobody but itself. */
struct mapping_target {
	bool                 is_list;
	unsigned             n; /* at least 1, at most MAPPING_MAX_NAMES; 1 if it is no list */
	const struct bw_str *names;
};
#define MAPPING_MAX_NAMES 64u

/* Where mapping_find puts a name that no entry has. */
struct mapping_made {
	struct mapping_target target;
	struct bw_str         name;
	char                  text[CREDENTIAL_NAME + 1];
};

/* The process of a bundle that no entry of service_places is about. */
#define MAPPING_PLACE_GATEWAY BW_STR("gateway")

/* NULL with a reason in err: an entry maps to an empty list or one of too many, a place is none, an
 * amendment cannot be read. An entry that is malformed otherwise is left out with a warning, and so is
 * one that an earlier one goes before; the others stay. */
struct mapping *mapping_new(const struct mapping_settings *settings, char *err, size_t err_size);
void            mapping_free(struct mapping *m); /* NULL is fine */
/* What (bundle, subservice) is mapped to when it asks from this place: a list for it, else one for the
 * bundle without a subservice, else a user in the same way, else the default. An empty subservice is
 * none. NULL: it is refused, *ret_why (static) says why. Borrowed until mapping_free, and while made
 * stands. */
const struct mapping_target *mapping_find(const struct mapping *m, struct bw_str place,
                                          struct bw_str bundle, struct bw_str subservice,
                                          struct mapping_made *made, const char **ret_why);
