/* mac.h - a keyed hash for what has to be recognised and cannot be guessed (BLAKE2b, RFC 7693). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAC_SIZE 32u

/* key: 16 to 64 octets. */
void mac_make(const void *key, size_t n_key, const void *text, size_t n, uint8_t ret[MAC_SIZE]);
/* Of n octets each, in a time that tells nothing about where they differ. */
bool mac_eq(const void *a, const void *b, size_t n);
