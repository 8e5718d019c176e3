/* Fuzz target: gateway/http/chunked.c. The first octet says how many come at a time, the rest is a
 * chunked body: whole or in pieces, the outcome is the same. */
#include <http/guard.h>
#include <stdlib.h>
#include <string.h>

struct guard guard = { .max_body = 10000 };

extern ssize_t phr_decode_chunked(void *state, char *buf, size_t *size);
int            LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The body into out; octets behind it, -2, or minus the refusal's status. */
static ssize_t decode(const uint8_t *data, size_t size, size_t piece, char *out, size_t *ret_n)
{
	uint64_t state[2] = { 0, 1 }; /* as libh2o leaves it: cleared, trailers to be read */
	size_t   done = 0, have = 0;
	ssize_t  r = -2;

	while (done < size && r == -2) {
		const struct guard_answer *refusal;
		size_t                     n = size - done < piece ? size - done : piece;

		memcpy(out + have, data + done, n);
		done += n;
		r = phr_decode_chunked(state, out + have, &n);
		have += n;
		refusal = guard_take_body_refusal();
		if (refusal != NULL) {
			*ret_n = have;
			return -refusal->status;
		}
	}
	*ret_n = have;
	return r < 0 ? r : r + (ssize_t)(size - done);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char   *whole, *pieces;
	size_t  n, m;
	ssize_t r, q;

	if (size < 2)
		return 0;
	whole = malloc(size);
	pieces = malloc(size);
	r = decode(data + 1, size - 1, size, whole, &n);
	q = decode(data + 1, size - 1, data[0] % 32 + 1u, pieces, &m);
	if (r != q || n != m || memcmp(whole, pieces, n) != 0 || n > guard.max_body)
		abort();
	free(whole);
	free(pieces);
	return 0;
}
