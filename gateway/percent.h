/* percent.h - the digits behind a '%' (RFC 3986 2.1). */
#pragma once
#include <stddef.h>

/* -1: none. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The octet that "%XX" at p stands for; -1 if the n octets there do not begin with one. */
static inline int percent_octet(const char *p, size_t n)
{
	int high, low;

	if (n < 3 || p[0] != '%' || (high = hex_digit(p[1])) < 0 || (low = hex_digit(p[2])) < 0)
		return -1;
	return high << 4 | low;
}
