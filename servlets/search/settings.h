/* settings.h - what a resource of type boardwalk/search says about the searches at it. */
#pragma once
#include <boardwalk/boardwalk.h>

struct settings {
	const struct bw_pair
		*pairs; /* parameters: the request's, then defaults for what it does not name */
	size_t   n;
	struct bw_values within, parameters; /* n 0: no such limit */
	uint32_t         max_limit, max_total;
	bool             listing; /* who asks for nothing gets everything */
	size_t           n_asked; /* of the pairs those that are the client's */
};

/* Fails with what reading the request's parameters and the resource fails with; BW_ESERVLET: the resource
 * says what cannot be. */
int settings_read(struct bw_req *req, struct settings *ret);
/* At or below one of `within`. */
bool settings_has_within(const struct settings *s, struct bw_str path);
/* Whether a client may use the parameter. */
bool settings_has_parameter(const struct settings *s, struct bw_str name);
