/* Fuzz target: lib/base/conf.c, conf_yaml.c, conf_value.c. The input is a settings file. What is
 * refused has a reason that begins with the file's name; what is accepted lies in its range. */
#include <base/conf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct settings {
	char            *text;
	uint64_t         number, size;
	bool             on;
	struct conf_list list;
};

#define KEY(name, type, field, initial, min, max) \
	{ \
		name, type, offsetof(struct settings, field), initial, min, max, "" \
	}

static const struct conf_key keys[] = {
	KEY("own.text", CONF_STRING, text, "x", 0, 0),
	KEY("own.number", CONF_UINT, number, "5", 1, 10),
	KEY("own.size", CONF_SIZE, size, "1K", 1, 1u << 20),
	KEY("own.on", CONF_BOOL, on, "false", 0, 0),
	KEY("own.list", CONF_STRINGS, list, "[a]", 0, 0),
};
enum { N_KEYS = sizeof(keys) / sizeof(*keys) };

static const char *const sections[] = { "own", "other", NULL };

static void check_settings(const struct settings *s)
{
	size_t octets = s->text != NULL ? strlen(s->text) : 0;

	if (s->text == NULL || s->number < 1 || s->number > 10 || s->size < 1 || s->size > 1u << 20)
		abort();
	for (size_t i = 0; i < s->list.n; i++)
		octets += strlen(s->list.items[i]);
	if (octets > 1u << 30)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings s;
	char            file[64], err[256] = "";
	int             fd = memfd_create("conf", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (conf_load(keys, N_KEYS, sections, file, &s, err, sizeof(err)) == 0)
		check_settings(&s);
	else if (strncmp(err, file, strlen(file)) != 0)
		abort();
	conf_done(keys, N_KEYS, &s);
	close(fd);
	return 0;
}
