/* Fuzz target: gateway/security/origin.c. The input is an Origin or Referer. What is read keeps to the
 * rules, and written out it is read again as the same. */
#include <security/origin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct origin *o)
{
	char          text[4096];
	struct origin again;
	int           n = snprintf(text, sizeof(text), "%.*s://%.*s", (int)o->scheme.n, o->scheme.p,
	                           (int)o->host.n, o->host.p);

	if (o->port > 65535 || memchr(o->host.p, '@', o->host.n) != NULL ||
	    memchr(o->host.p, '/', o->host.n) != NULL || memchr(o->host.p, '\\', o->host.n) != NULL)
		abort();
	if (n >= (int)sizeof(text) - 8)
		return;
	if (o->port != 0)
		snprintf(text + n, sizeof(text) - (size_t)n, ":%u", o->port);
	if (!origin_parse(bw_str(text), &again))
		abort();
	if (o->port != 0 && !origin_eq(o, &again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct origin o;
	char         *copy = malloc(size + 1); /* of exactly that size: a read beyond is seen */

	if (size > 0)
		memcpy(copy, data, size);
	if (origin_parse((struct bw_str){ copy, size }, &o))
		check(&o);
	free(copy);
	return 0;
}
