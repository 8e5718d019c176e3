/* mac.c - libsodium's generic hash with a key. Owns: nothing. Runs in: any thread. Fails with: fatal on
 * a key of another size. Tests: tests/conformance/origin. */
#include "mac.h"
#include "fatal.h"

#include <sodium.h>

_Static_assert(MAC_SIZE == crypto_generichash_BYTES, "the library's own size");

void mac_make(const void *key, size_t n_key, const void *text, size_t n, uint8_t ret[MAC_SIZE])
{
	if (n_key < crypto_generichash_KEYBYTES_MIN ||
	    crypto_generichash(ret, MAC_SIZE, text, n, key, n_key) != 0)
		fatalx("a key of %zu octets", n_key);
}

bool mac_eq(const void *a, const void *b, size_t n)
{
	return sodium_memcmp(a, b, n) == 0;
}
