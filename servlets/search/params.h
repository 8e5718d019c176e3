/* params.h - the parameters of a request as a search. */
#pragma once
#include "settings.h"

#define PARAMS_MAX 32u /* of each kind */

struct params {
	struct bw_search search;
	bool             clamped;    /* limit was above 100 */
	bool             all_fields; /* fields=* */
	size_t           n_fields;   /* that the client has named, the first of search.fields */
	struct bw_str    paths[PARAMS_MAX], types[PARAMS_MAX], facets[8], fields[PARAMS_MAX + 2];
	struct bw_search_filter filters[PARAMS_MAX];
	struct bw_search_sort   sorts[1];
};

/* BW_OK; BW_DECLINED: the client's mistake, *ret_why says which, in words for it. suggest: as words of a
 * suggestion. ret points into itself, the settings and the request. */
int params_read(struct bw_req *req, const struct settings *settings, bool suggest,
                struct params *ret, const char **ret_why);
/* Whether there is anything to look for. */
bool params_ask(const struct params *p);
