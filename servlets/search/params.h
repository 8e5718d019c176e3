/* params.h - the parameters of a request as a search. */
#pragma once
#include <boardwalk/boardwalk.h>

#define PARAMS_MAX 32u /* of each kind */

struct params {
	struct bw_search search;
	bool             clamped;    /* limit was above 100 */
	bool             all_fields; /* fields=* */
	size_t           n_fields;   /* that the client has named, the first of search.fields */
	struct bw_str    paths[PARAMS_MAX], types[PARAMS_MAX], facets[8], fields[PARAMS_MAX + 3];
	struct bw_search_filter filters[PARAMS_MAX];
	struct bw_search_sort   sorts[1];
};

/* BW_OK; BW_DECLINED: the client's mistake, *ret_why says which, in words for it. ret points into itself
 * and into the request. */
int params_read(struct bw_req *req, struct params *ret, const char **ret_why);
