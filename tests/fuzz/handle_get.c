/* Fuzz target: lib/wire/handle.c. Random octets never have a right MAC, so the input is tried as it
 * is (it must be refused) and again with a right one put behind it, so that what comes after the
 * MAC's check is reached; then writing what was read gives the same octets. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <wire/handle.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct handle_key keys[2] = { { .id = 1, .key = "one" }, { .id = 2, .key = "two" } };

static void compare(const struct handle *h, const uint8_t *p, size_t n)
{
	uint64_t principals[HANDLE_MAX_PRINCIPALS];
	uint8_t  again[HANDLE_MAX];
	bool     group;

	for (unsigned i = 0; i < h->n_principals; i++) {
		principals[i] = handle_principal(h, i, &group) << 1;
		principals[i] |= group;
	}
	if (handle_put(h, principals, &keys[h->key_id - 1], again) != n || memcmp(again, p, n) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct handle h;
	uint8_t       p[HANDLE_MAX + 64];
	uint32_t      id;

	if (handle_get(data, size, keys, 2, &h) == BW_OK)
		abort();
	if (size < HANDLE_FIXED || size + HANDLE_MAC > sizeof(p))
		return 0;
	memcpy(p, data, size);
	memcpy(&id, p + 4, sizeof(id));
	crypto_generichash(p + size, HANDLE_MAC, p, size, keys[id == 2].key, sizeof(keys[0].key));
	if (handle_get(p, size + HANDLE_MAC, keys, 2, &h) == BW_OK)
		compare(&h, p, size + HANDLE_MAC);
	return 0;
}
