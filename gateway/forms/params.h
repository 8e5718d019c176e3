/* params.h - the parameters of a request: those of the query first, then, if it is a POST, those of
 * a form in its body (Jakarta Servlet 3.1). Read once, when they are first asked for.
 *
 * The queries that forwards and includes bring along (struct req_query of request.h) come before
 * all of these while their dispatch lasts. Whatever is returned lives as long as the request. */
#pragma once
#include <boardwalk/types.h>
#include <stdint.h>

/* Of all requests of the worker: how many parameters one may have, how many octets a form
 * without its files. */
void     params_init(uint64_t max_params, uint64_t max_form);
uint64_t params_max_form(void);

/* What the host table's entries of the same name do. BW_ESYNTAX or BW_EPARTSYNTAX (400),
 * BW_EFORMSIZE or BW_EPARTSIZE (413), BW_EGONE, BW_ETIME; each call gives the same answer again.
 * (waits) if the body is a multipart one whose files go to the disk. */
int params_get(struct bw_req *req, const char *name, struct bw_str *ret_value);
int params_values(struct bw_req *req, const char *name, const struct bw_str **ret_values,
                  size_t *ret_n);
int params_names(struct bw_req *req, const struct bw_str **ret_names, size_t *ret_n);
int params_all(struct bw_req *req, const struct bw_pair **ret_params, size_t *ret_n);
