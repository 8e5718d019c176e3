/* json.h - writes JSON (RFC 8259) as the body of a response. */
#pragma once
#include <boardwalk/boardwalk.h>

/* "text", escaped. */
int json_string(struct bw_req *req, struct bw_str text);
/* The same with the marks of a highlight as <mark> and </mark> and everything else escaped for HTML: what
 * a page may show as it is. */
int json_marked(struct bw_req *req, struct bw_str text);
/* A property: one value, or a list. Numbers and booleans as what they are. */
int json_values(struct bw_req *req, const struct bw_values *values);
