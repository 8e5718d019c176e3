/* httpdate.h - the dates of HTTP (RFC 9110 5.6.7), in seconds since 1970. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTPDATE_SIZE 30 /* with the NUL */

/* "Sun, 06 Nov 1994 08:49:37 GMT". For the years 1 to 9999; seconds outside of them are cut to the
 * nearest there is. */
void httpdate_write(int64_t seconds, char out[HTTPDATE_SIZE]);

/* Reads any of the three forms. now_s decides what century a year of two digits is in: one that
 * would be more than 50 years ahead is in the past. False: no date; *ret_seconds is untouched. */
bool httpdate_read(const char *p, size_t n, int64_t now_s, int64_t *ret_seconds);
