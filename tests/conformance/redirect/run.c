/* Where clients may be sent, against its rows: gateway/security/redirect.c alone.
 *
 * Usage: conformance_redirect FILE... ; the files explain their lines. Fails if a row fails, if a line is
 * not understood, or if there was none. */
#include <base/fatal.h>
#include <base/log.h>
#include <security/redirect.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FIELDS 6

static char    *context, *paths; /* of set */
static unsigned passed, failed;

static size_t split(char *text, char **ret, size_t max)
{
	size_t n = 0;

	while (text != NULL && n < max) {
		char *at = strstr(text, " | ");

		ret[n++] = text;
		if (at != NULL)
			*at = '\0';
		text = at != NULL ? at + 3 : NULL;
	}
	return n;
}

/* set | context, exists | value; "-": nothing */
static void run_set(const char *name, const char *value)
{
	char **to = strcmp(name, "context") == 0  ? &context
	            : strcmp(name, "exists") == 0 ? &paths
	                                          : NULL;

	if (to == NULL)
		fatalx("there is no setting %s", name);
	free(*to);
	*to = xstrdup(strcmp(value, "-") == 0 ? "" : value);
}

/* Is it among the paths that exist, which blanks part? */
static bool exists(void *arg, struct bw_str path)
{
	for (const char *p = arg; *p != '\0'; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n == path.n && memcmp(p, path.p, n) == 0)
			return true;
		p += n;
	}
	return false;
}

static int number(const char **text, int base, size_t digits)
{
	char  buf[9];
	char *end;
	long  value;

	snprintf(buf, sizeof(buf), "%.*s", (int)digits, *text);
	value = strtol(buf, &end, base);
	if (end == buf)
		fatalx("%s: no number", *text);
	*text += end - buf;
	return (int)value;
}

/* A field's text: "-" alone is empty, \xHH an octet, and \*N: as many of the character behind it. */
static struct bw_str text_of(struct arena *a, const char *field)
{
	char  *p = arena_alloc(a, strlen(field) + 8192);
	size_t n = 0;

	if (strcmp(field, "-") == 0)
		return BW_STR("");
	while (*field != '\0') {
		if (strncmp(field, "\\x", 2) == 0) {
			field += 2;
			p[n++] = (char)number(&field, 16, 2);
		} else if (strncmp(field, "\\*", 2) == 0) {
			int times;

			field += 2;
			times = number(&field, 10, 4);
			if (*field != ':' || times < 0 || n + (size_t)times > 8000)
				fatalx("\\*N: is not followed by what it repeats");
			memset(p + n, field[1], (size_t)times);
			n += (size_t)times;
			field += 2;
		} else {
			p[n++] = *field++;
		}
	}
	return (struct bw_str){ p, n };
}

static void judge(const char *id, const char *want, struct bw_str got)
{
	bool is_no = strcmp(want, "no") == 0;

	if (is_no ? got.p == NULL : bw_str_eq(got, bw_str(want))) {
		passed++;
		return;
	}
	failed++;
	printf("%s: want %s, got %.*s\n", id, want, got.p != NULL ? (int)got.n : 2,
	       got.p != NULL ? got.p : "no");
}

static void run_line(const char *file, unsigned at, char *line)
{
	struct redirect_site site = { bw_str(context), exists, paths };
	struct arena         a;
	char                *f[MAX_FIELDS];
	size_t               n;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return;
	arena_init(&a);
	n = split(line, f, MAX_FIELDS);
	if (n == 3 && strcmp(f[0], "set") == 0)
		run_set(f[1], f[2]);
	else if (n == 4 && strcmp(f[0], "check") == 0)
		judge(f[1], f[3], redirect_check(&a, &site, text_of(&a, f[2])));
	else if (n == 5 && strcmp(f[0], "from") == 0)
		judge(f[1], f[4],
		      redirect_check(&a, &site,
		                     redirect_resolve(&a, &site, bw_str(f[2]), text_of(&a, f[3]))));
	else if (n == 5 && strcmp(f[0], "add") == 0)
		judge(f[1], f[4], redirect_add(&a, bw_str(f[2]), "resource", text_of(&a, f[3])));
	else
		fatalx("%s:%u: not understood", file, at);
	arena_done(&a);
}

static void run_file(const char *file)
{
	FILE    *in = fopen(file, "r");
	char    *line = NULL;
	size_t   size = 0;
	unsigned at = 0;

	if (in == NULL)
		fatal("%s", file);
	run_set("context", "-");
	run_set("exists", "-");
	while (getline(&line, &size, in) >= 0)
		run_line(file, ++at, line);
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	log_init("conformance", 0);
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	free(context);
	free(paths);
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
