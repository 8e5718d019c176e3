/* Fuzz target: gateway/security/rule.c. The input is one authentication requirement. What is read has a
 * canonical path and a host without user info, and covers its own path. */
#include <security/rule.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rule *rule)
{
	if (rule->path.n > 0 && (rule->path.p[0] != '/' || rule->path.p[rule->path.n - 1] == '/' ||
	                         memmem(rule->path.p, rule->path.n, "//", 2) != NULL))
		abort();
	if (rule->path.n == 0 && rule->site.host.p == NULL)
		abort();
	if (rule->site.host.p != NULL &&
	    (rule->site.host.n == 0 || memchr(rule->site.host.p, '@', rule->site.host.n) != NULL))
		abort();
	if (rule->site.port > 65535 || rule->site.port == 80 || rule->site.port == 443)
		abort();
	if (!rule_covers(rule, rule->path))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char       *copy = malloc(size + 1); /* of exactly that size: a read beyond is seen */
	struct rule rule;

	if (size > 0)
		memcpy(copy, data, size);
	if (rule_parse((struct bw_str){ copy, size }, &rule) == NULL && rule.text != NULL) {
		check(&rule);
		rule_done(&rule);
	}
	free(copy);
	return 0;
}
