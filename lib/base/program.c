/* program.c - the beginning of every process.
 * Owns: nothing. Runs in: main, before anything else. Fails with: the end of the process.
 * Tests: tests/unit/base/program_test.c. */
#include "program.h"
#include "fatal.h"
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out, const char *name, void (*print_settings)(FILE *out))
{
	fprintf(out, "usage: %s [--config FILE] [--check | --help]\n\n", name);
	print_settings(out);
}

struct program_options program_options(int argc, char **argv, const char *name,
                                       void (*print_settings)(FILE *out))
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct program_options ret = { NULL, false };
	int                    c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			ret.config = optarg;
			break;
		case 'n':
			ret.check = true;
			break;
		case 'h':
			usage(stdout, name, print_settings);
			exit(0);
		default:
			usage(stderr, name, print_settings);
			exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr, name, print_settings);
		exit(2);
	}
	return ret;
}

enum log_level program_log_level(const char *setting, const char *level)
{
	static const struct {
		const char    *name;
		enum log_level level;
	} levels[] = {
		{ "error", LOG_LEVEL_ERROR },
		{ "warning", LOG_LEVEL_WARNING },
		{ "info", LOG_LEVEL_INFO },
		{ "debug", LOG_LEVEL_DEBUG },
	};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(levels[i].name, level) == 0)
			return levels[i].level;
	fatalx("%s: \"%s\" is not error, warning, info or debug", setting, level);
}

/* The first line of a file, without its end. */
static char *read_line(const char *variable, const char *path)
{
	FILE  *f = fopen(path, "re");
	char  *line = NULL;
	size_t size = 0;

	if (f == NULL || getline(&line, &size, f) < 0)
		fatal("%s: %s", variable, path);
	fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

char *program_secret(const char *variable, const char *otherwise)
{
	char       *in_file = xasprintf("%s_FILE", variable), *ret;
	const char *value = getenv(variable), *file = getenv(in_file);

	if (value != NULL && *value != '\0')
		ret = xstrdup(value);
	else if (file != NULL && *file != '\0')
		ret = read_line(in_file, file);
	else
		ret = xstrdup(otherwise);
	free(in_file);
	return ret;
}

uid_t program_peer(const char *user)
{
	struct passwd *pw = *user != '\0' ? getpwnam(user) : NULL;

	if (pw == NULL && *user != '\0')
		log_info(0, "there is no user \"%s\": only our own user is let in", user);
	return pw != NULL ? pw->pw_uid : (uid_t)-1;
}
