/* random.c - see random.h. */
#include "random.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t state;

void random_begin(unsigned seed)
{
	state = seed;
}

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* A path of up to three names. */
static const char *a_path(void)
{
	static char paths[8][32];
	static int  next;
	char       *path = paths[next++ % 8];
	size_t      n = 0;

	for (unsigned depth = 1 + draw(2) * draw(3); depth > 0; depth--)
		n += (size_t)sprintf(path + n, "/%c", 'a' + draw(4));
	return path;
}

static size_t add_step(char *out, size_t size)
{
	char name = (char)('a' + draw(4)), other = (char)('a' + draw(4));

	switch (draw(20)) {
	case 0:
		return (size_t)snprintf(out, size, "delete %s", a_path());
	case 1:
	case 2:
	case 3:
		return (size_t)snprintf(out, size, "move %s %s %c", a_path(),
		                        draw(3) ? a_path() : "/", name);
	case 4:
	case 5:
		return (size_t)snprintf(out, size, "copy %s %s %c", a_path(),
		                        draw(3) ? a_path() : "/", name);
	case 6:
	case 7:
		return (size_t)snprintf(out, size, "order %s %c before %c",
		                        draw(2) ? a_path() : "/", name, other);
	case 8:
		return (size_t)snprintf(out, size, "order %s %c last", draw(2) ? a_path() : "/",
		                        name);
	case 9:
		return (size_t)snprintf(out, size, "unset %s %c", a_path(), 'p' + draw(3));
	case 10:
	case 11:
	case 12:
		return (size_t)snprintf(out, size, "set %s %c=%u", a_path(), 'p' + draw(3),
		                        draw(4));
	default:
		return (size_t)snprintf(out, size, "create %s %c p=%u", draw(3) ? a_path() : "/",
		                        name, draw(3));
	}
}

const char *random_steps(unsigned most, const char *end)
{
	static char text[8192];
	unsigned    n = 1 + draw(most);
	size_t      at = 0;

	while (n-- > 0) {
		at += add_step(text + at, sizeof(text) - at);
		at += (size_t)sprintf(text + at, " ; ");
	}
	strcpy(text + at, end);
	return text;
}
