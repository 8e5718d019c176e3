/* Fuzz target: lib/base/ldap.c. The input is a filter. What is refused has a reason; what is
 * accepted matches a map the same way twice, and the other way round inside "(!...)". */
#include <base/ldap.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char       *key;
	struct ldap_value value;
} properties[] = {
	{ "a", { .type = LDAP_STRING, .string = "abcabc" } },
	{ "a", { .type = LDAP_STRING, .string = "" } },
	{ "b", { .type = LDAP_STRING, .string = "x y*(z)\\" } },
	{ "n", { .type = LDAP_INTEGER, .integer = 10 } },
	{ "n", { .type = LDAP_INTEGER, .integer = INT64_MIN } },
	{ "t", { .type = LDAP_BOOL, .boolean = true } },
};

static bool look_up(void *map, const char *key, size_t i, struct ldap_value *ret)
{
	(void)map;
	for (size_t k = 0; k < sizeof(properties) / sizeof(*properties); k++) {
		if (strcasecmp(properties[k].key, key) == 0 && i-- == 0) {
			*ret = properties[k].value;
			return true;
		}
	}
	return false;
}

static void check_negation(const char *text, size_t n, bool matches)
{
	char               *negated = malloc(n + 4);
	struct ldap_filter *f;

	memcpy(negated, "(!", 2);
	memcpy(negated + 2, text, n);
	memcpy(negated + 2 + n, ")", 2);
	f = ldap_parse(negated, NULL, 0);
	if (f != NULL && ldap_match(f, look_up, NULL) == matches)
		abort();
	ldap_free(f); /* NULL: one level or three octets too many */
	free(negated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char               *text = malloc(size + 1), err[64] = "";
	struct ldap_filter *f;

	memcpy(text, data, size);
	text[size] = '\0';
	f = ldap_parse(text, err, sizeof(err));
	if (f != NULL) {
		bool matches = ldap_match(f, look_up, NULL);

		if (ldap_match(f, look_up, NULL) != matches)
			abort();
		check_negation(text, strlen(text), matches);
	} else if (strncmp(err, "character ", 10) != 0) {
		abort();
	}
	ldap_free(f);
	free(text);
	return 0;
}
