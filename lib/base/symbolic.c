/* symbolic.c - see symbolic.h. Owns: nothing. Tests: tests/unit/base/symbolic_test.c. */
#include "symbolic.h"
#include <string.h>

static bool is_token_octet(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

bool symbolic_ok(const char *p, size_t n)
{
	bool in_token = false;

	for (size_t i = 0; i < n; i++) {
		if (p[i] != '.' && !is_token_octet(p[i]))
			return false;
		if (p[i] == '.' && !in_token)
			return false;
		in_token = p[i] != '.';
	}
	return in_token;
}

bool symbolic_name_ok(const char *name)
{
	size_t n = strlen(name);

	return n <= SYMBOLIC_NAME_MAX && symbolic_ok(name, n);
}
