/* issuer.h - whose tokens are believed (RFC 6750, RFC 9068): for each configured issuer its name, the
 * audience that means us, and a file with its keys. */
#pragma once
#include "credential.h"
#include "jws.h"
#include <base/conf.h>

struct issuers;

/* Seconds are of 1970. */
struct issuer_claims {
	size_t  n_user;
	char    user[CREDENTIAL_NAME + 1]; /* as credential_name makes it */
	int64_t issued_s, expires_s;
	bool    has_version; /* "ver": good only for an account of that session version */
	int64_t version;
};

/* Each item: ISSUER audience=NAME keys=FILE [user=CLAIM] [leeway=SECONDS] [life=SECONDS]. Reads the
 * files. NULL with a reason in err. */
struct issuers *issuers_new(const struct conf_list *items, char *err, size_t err_size);
void            issuers_free(struct issuers *is); /* NULL is fine */
/* Reads those files anew that are others by now; one that cannot be read is logged and changes nothing.
 * True: keys have changed. */
bool issuers_follow(struct issuers *is);
/* BW_OK; or BW_ELOGIN and a static word for the audit trail. Whether the user exists is for the caller. */
int issuers_verify(const struct issuers *is, struct bw_str token, int64_t now_s,
                   struct issuer_claims *ret, const char **ret_why);
