/* httprange.h - the Range of a request for octets (RFC 9110 14.1.2). */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum httprange {
	HTTPRANGE_NONE, /* not of octets, not well-formed, or several: the whole is sent, which is allowed */
	HTTPRANGE_PART, /* one part, which is there */
	HTTPRANGE_OUTSIDE,
};

/* Reads the field's value for something of size octets. PART: *ret_first and *ret_n (at least 1). */
enum httprange httprange_read(const char *p, size_t n, uint64_t size, uint64_t *ret_first,
                              uint64_t *ret_n);
