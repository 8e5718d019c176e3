/* amendment.h - further entries for mapping.h, each file with a ranking (Apache Sling Service User
 * Mapper: amendments). */
#pragma once
#include <base/conf.h>

struct amendment {
	char            *file;    /* NAME.yaml, without the folder */
	char            *ranking; /* as the file has it */
	long             rank;
	struct conf_list service_users;
};

struct amendments {
	size_t            n;
	struct amendment *items; /* the highest ranking first, equal ones by the file's name */
};

/* All files NAME.yaml of that folder; folder "" or NULL: none. -1 with a reason in err. *ret is to be
 * freed by amendments_done in any case. */
int  amendments_load(const char *folder, struct amendments *ret, char *err, size_t err_size);
void amendments_done(struct amendments *as);
