/* multipart_scan.h - takes a multipart/form-data body apart while it is read, in a window of
 * fixed size. Knows neither requests nor files. */
#pragma once
#include "pairs.h"

#define MULTIPART_MAX_BOUNDARY 70          /* RFC 2046 5.1.1 */
#define MULTIPART_MAX_HEAD     8192        /* octets of a part's header lines */
#define MULTIPART_MAX_LINES    16          /* of them */
#define MULTIPART_MAX_NAME     1024        /* octets of the name of a field */
#define MULTIPART_MIN_WINDOW   (16 * 1024) /* holds any head and any boundary */

struct multipart_head {
	struct bw_str name;
	struct bw_str file_name;    /* absent: a field */
	struct bw_str content_type; /* absent */
	struct pairs  lines;        /* names in lower case */
};

struct multipart_io {
	void *arg;
	/* Up to n octets of the body from offset; *ret_n is 0 at its end. */
	int (*read)(void *arg, uint64_t offset, void *buf, size_t n, size_t *ret_n);
	/* A part begins; head lives in the arena. Its content comes in pieces of at least one
	 * octet. */
	int (*begin)(void *arg, const struct multipart_head *head);
	int (*content)(void *arg, const void *p, size_t n);
	int (*end)(void *arg);
};

/* The boundary that a Content-Type names, in the arena. False: none, or not a valid one. */
bool multipart_boundary(struct arena *a, struct bw_str content_type, struct bw_str *ret);
/* Reads the whole body. BW_EPARTSYNTAX, or what one of the functions returned. window: size of
 * the buffer that is taken from the arena, at least MULTIPART_MIN_WINDOW. */
int multipart_scan(struct arena *a, struct bw_str boundary, size_t window,
                   const struct multipart_io *io);
