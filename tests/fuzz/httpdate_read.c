/* Fuzz target: lib/base/httpdate.c. The input is a date as a client might send it. One that is
 * accepted can be written, and what was written is read as the same second, whatever the time of
 * day here. */
#include <base/httpdate.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t now[] = { 0, 1796000000, 4102444799 };
	char                 text[HTTPDATE_SIZE];
	int64_t              seconds, again;

	for (size_t i = 0; i < sizeof(now) / sizeof(*now); i++) {
		if (!httpdate_read((const char *)data, size, now[i], &seconds))
			continue;
		httpdate_write(seconds, text);
		if (strlen(text) != HTTPDATE_SIZE - 1 ||
		    !httpdate_read(text, strlen(text), now[i], &again))
			abort();
		/* The last leap second of the last year is in none that can be written. */
		if (again != seconds && seconds != 253402300800)
			abort();
	}
	return 0;
}
