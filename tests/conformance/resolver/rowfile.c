/* rowfile.c - see rowfile.h. */
#include "rowfile.h"
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID 16384u

static void ask(const struct row_runner *runner, char *text, char *said)
{
	runner->ask(ROWS_ROOT, text, said, SAID);
}

/* The requests of a row, which " ;; " parts; what they say is put together. */
static void ask_all(const struct row_runner *runner, char *text, char *said)
{
	static char one[SAID];
	size_t      n = 0;

	said[0] = '\0';
	for (char *at = text, *end; at; at = end ? end + 4 : NULL) {
		end = strstr(at, " ;; ");
		if (end)
			*end = '\0';
		ask(runner, at, one);
		if (one[0] != '\0' && n < SAID)
			n += (size_t)snprintf(said + n, SAID - n, "%s%s", n > 0 ? " ; " : "", one);
	}
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (*text == ' ')
		text++;
	while (end > text && (end[-1] == ' ' || end[-1] == '\n'))
		*--end = '\0';
	return text;
}

static void run_row(const struct row_runner *runner, const char *fixture, const char *id,
                    const char *steps, const char *want, struct row_result *total)
{
	char *said = xmalloc(SAID), *text = xstrdup(fixture);

	runner->begin();
	ask(runner, text, said);
	if (said[0] != '\0')
		fatalx("%s: its fixture says %s", id, said);
	free(text);
	text = xstrdup(steps);
	ask_all(runner, text, said);
	if (strcmp(said[0] ? said : "-", want) == 0) {
		total->passed++;
	} else {
		printf("%s\n  want %s\n  got  %s\n", id, want, said);
		total->failed++;
	}
	runner->end();
	free(text);
	free(said);
}

void rowfile_run(const char *file, const struct row_runner *runner, bool with_stars,
                 struct row_result *total)
{
	FILE    *in = fopen(file, "re");
	char    *line = NULL, *fixture = xstrdup("");
	size_t   size = 0;
	unsigned number = 0;

	if (!in)
		fatal("%s", file);
	while (getline(&line, &size, in) >= 0) {
		char *rest = trim(line), *id, *steps;

		number++;
		if (*rest == '\0' || *rest == '#')
			continue;
		if (strncmp(rest, "fixture: ", 9) == 0) {
			free(fixture);
			fixture = xstrdup(rest + 9);
			continue;
		}
		id = trim(strsep(&rest, "|"));
		steps = rest ? trim(strsep(&rest, "|")) : NULL;
		if (!steps || !rest)
			fatalx("%s:%u: not understood", file, number);
		if (with_stars || id[strlen(id) - 1] != '*')
			run_row(runner, fixture, id, steps, trim(rest), total);
	}
	free(fixture);
	free(line);
	fclose(in);
}
