/* Fuzz target: gateway/http/guard.c. The input is what a client has sent so far. However the octets
 * arrive, the head is refused, incomplete or complete, and a refused one shows nothing of itself. */
#include <http/guard.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct phr_header {
	const char *name;
	size_t      name_len;
	const char *value;
	size_t      value_len;
};
extern int phr_parse_request(const char *buf, size_t len, const char **method, size_t *method_len,
                             const char **path, size_t *path_len, int *minor_version,
                             struct phr_header *headers, size_t *num_headers, size_t last_len);
int        LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_in(const char *p, size_t n, const char *buf, size_t len)
{
	return p >= buf && p + n <= buf + len;
}

static int parse(const uint8_t *data, size_t size, size_t last, int *ret_status)
{
	char             *buf = malloc(size);
	const char       *method, *path;
	size_t            method_len, path_len, n_headers = 100;
	struct phr_header headers[100];
	int               minor, n;

	memcpy(buf, data, size);
	n = phr_parse_request(buf, size, &method, &method_len, &path, &path_len, &minor, headers,
	                      &n_headers, last);
	*ret_status = 0;
	if (n > 0) {
		const struct guard_answer *refusal = guard_head_refusal(path);

		if ((size_t)n > size || (minor != 0 && minor > 9))
			abort();
		if (refusal != NULL) {
			*ret_status = refusal->status;
			if (n_headers != 0 || refusal->status < 400)
				abort();
		} else if (!is_in(path, path_len, buf, size) || path_len > guard.max_target ||
		           (size_t)n > guard.max_head) {
			abort();
		}
		for (size_t i = 0; i < n_headers; i++)
			if (headers[i].name_len == 0 ||
			    !is_in(headers[i].name, headers[i].name_len, buf, size) ||
			    memchr(headers[i].value, '\n', headers[i].value_len) != NULL)
				abort();
	} else if (n != -2) {
		abort();
	}
	free(buf);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int n, status;

	if (guard.max_head == 0)
		guard_init(4096, 1024, 1000000);
	if (size == 0)
		return 0;
	n = parse(data, size, 0, &status);
	/* As if the last octet had come alone. */
	if (size > 1 && parse(data, size - 1, 0, &(int){ 0 }) == -2 && n > 0) {
		int again;

		if ((parse(data, size, size - 1, &again) > 0) && (again == 0) != (status == 0))
			abort();
	}
	return 0;
}
