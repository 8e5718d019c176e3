/* target.h - what a path below /system/userManager asks for, as Sling's user manager names it. */
#pragma once
#include <boardwalk/types.h>

enum target_verb {
	TARGET_READ,
	TARGET_LIST,
	TARGET_CREATE,
	TARGET_UPDATE,
	TARGET_PASSWORD,
	TARGET_DELETE
};

struct target {
	enum target_verb verb;
	bool             is_group;
	bool             is_json; /* the path says so */
	struct bw_str    name;    /* absent: all, or the one to create; inside the path */
};

/* path: decoded, behind /system/userManager. False: it names nothing.
 *
 *   /user.create.html  /user/NAME.update.html .changePassword.html .delete.html   /user/NAME.json
 *   /group.create.html /group/NAME.update.html .delete.html                       /group/NAME.json
 *   /user.json /group.json, and all .json with .tidy and .N before it */
bool target_parse(struct bw_str path, struct target *ret);
