/* soon.c - asks on every connection until the answer is the wanted one, or too late.
 *
 * Owns: the connections. Runs in: tests. Fails with: abort, as http.h says.
 * Tests: tests/system/change_test.c. */
#include "soon.h"

#include <string.h>

#include "instance.h"

void soon_open(struct soon *s, unsigned port)
{
	for (unsigned k = 0; k < SOON_CONNECTIONS; k++)
		http_open(&s->connections[k], port);
}

void soon_close(struct soon *s)
{
	for (unsigned k = 0; k < SOON_CONNECTIONS; k++)
		http_close(&s->connections[k]);
}

static bool answers(struct http *http, const char *path, const char *credentials, int status,
                    const char *body)
{
	struct http_response r;
	bool                 same;

	http_ask(http, "GET", path, credentials, &r);
	same = r.status == status && (body == NULL || strcmp(r.body, body) == 0);
	http_response_done(&r);
	return same;
}

unsigned soon_count(struct soon *s, const char *path, const char *credentials, int status,
                    const char *body)
{
	unsigned n = 0;

	for (unsigned k = 0; k < SOON_CONNECTIONS; k++)
		n += answers(&s->connections[k], path, credentials, status, body);
	return n;
}

bool soon_all(struct soon *s, const char *path, const char *credentials, int status,
              const char *body)
{
	unsigned long long limit = test_now_ms() + SOON_MS, asked;

	for (unsigned k = 0; k < SOON_CONNECTIONS; k++) {
		bool same;

		do {
			asked = test_now_ms();
			same = answers(&s->connections[k], path, credentials, status, body);
		} while (!same && asked < limit);
		if (!same)
			return false;
	}
	return true;
}
