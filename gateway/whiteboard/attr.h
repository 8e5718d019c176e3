/* attr.h - the string attributes of a request. */
#pragma once
#include <request.h>

/* What a context helper sets to say who is there (OSGi 140.2.7). */
#define ATTR_REMOTE_USER "org.osgi.service.http.authentication.remote.user"
#define ATTR_AUTH_TYPE   "org.osgi.service.http.authentication.type"

/* Borrowed until set again; absent. */
struct bw_str attr_get(const struct bw_req *req, const char *name);
/* Copies; an absent value removes; no listener is told. BW_EINVAL: no name. */
int attr_set(struct bw_req *req, const char *name, struct bw_str value);
