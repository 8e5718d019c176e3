/* multipart.h - the parts of a request's multipart/form-data body, kept in memory or in a file
 * without a name (Jakarta Servlet 3.2, RFC 7578). */
#pragma once
#include <boardwalk/multipart.h>

/* What a servlet allows; whiteboard/upload.c makes it. */
struct upload {
	int64_t     max_file_size;    /* octets of a part; -1: unlimited */
	int64_t     max_request_size; /* octets of the body; -1: unlimited */
	int64_t     max_file_count;   /* parts, files or not; -1: unlimited */
	int64_t     threshold;        /* octets; what is larger goes to the file */
	const char *location;         /* the folder of the file */
};

/* What the host table's entries do. */
int           multipart_parts(struct bw_req *req, struct bw_part *const **ret_parts, size_t *ret_n);
int           multipart_part(struct bw_req *req, const char *name, struct bw_part **ret_part);
struct bw_str multipart_get(const struct bw_part *part, enum bw_part_field field);
struct bw_str multipart_header(const struct bw_part *part, const char *name);
size_t        multipart_headers(const struct bw_part *part, const struct bw_pair **ret_headers);
uint64_t      multipart_size(const struct bw_part *part);
int multipart_read(struct bw_part *part, uint64_t offset, void *buf, size_t n, size_t *ret_n);

/* The text of a field; false: it is a file. */
bool multipart_text(const struct bw_part *part, struct bw_str *ret_text);
