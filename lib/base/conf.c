/* conf.c - settings: defaults, then the file, then the environment.
 *
 * Defaults are written in the file's own syntax and read by the same code, so what --help prints is
 * what the file may say.
 * Owns: nothing after conf_load; the settings' strings belong to the caller until conf_done.
 * Runs in: every process, at start. Fails with: -1, err says where and why.
 * Tests: tests/unit/base/conf_test.c, tests/fuzz/conf_load.c. */
#include "conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf_impl.h"
#include "fatal.h"

#define ENVIRONMENT_PREFIX "BOARDWALK_"

int conf_fail(struct conf_load *l, unsigned line, const char *format, ...)
{
	int     n;
	va_list ap;

	if (line > 0)
		n = snprintf(l->err, l->err_size, "%s:%u: ", l->source, line);
	else
		n = snprintf(l->err, l->err_size, "%s: ", l->source);
	if (n < 0 || (size_t)n >= l->err_size)
		return -1;
	va_start(ap, format);
	vsnprintf(l->err + n, l->err_size - (size_t)n, format, ap);
	va_end(ap);
	return -1;
}

int conf_fail_value(struct conf_load *l, unsigned line, const struct conf_key *key)
{
	char what[160];

	conf_describe(key, what, sizeof(what));
	return conf_fail(l, line, "%s: expected %s", key->name, what);
}

static bool is_in_section(const struct conf_key *key, const char *section)
{
	size_t n = strlen(section);

	return strncmp(key->name, section, n) == 0 && key->name[n] == '.';
}

bool conf_is_own_section(const struct conf_load *l, const char *section)
{
	size_t i;

	for (i = 0; i < l->n_keys; i++) {
		if (is_in_section(&l->keys[i], section))
			return true;
	}
	return false;
}

const struct conf_key *conf_find_key(const struct conf_load *l, const char *section,
                                     const char *name)
{
	size_t i;

	for (i = 0; i < l->n_keys; i++) {
		if (is_in_section(&l->keys[i], section) &&
		    strcmp(l->keys[i].name + strlen(section) + 1, name) == 0)
			return &l->keys[i];
	}
	return NULL;
}

/* ---- defaults and file ---- */

static int read_source(struct conf_load *l, const char *name, FILE *in)
{
	int result;

	l->source = name;
	memset(l->key_lines, 0, l->n_keys * sizeof(*l->key_lines));
	memset(l->section_lines, 0, sizeof(l->section_lines));
	result = conf_read_yaml(l, in);
	fclose(in);
	return result;
}

/* The default alone, as a file with this one key would say it. */
static int set_default(struct conf_load *l, const struct conf_key *key)
{
	const char *dot = strchr(key->name, '.');
	char       *text, *source;
	FILE       *in;
	int         result;

	if (key->initial == NULL)
		return 0;
	text = xasprintf("%.*s:\n  %s: %s\n", (int)(dot - key->name), key->name, dot + 1,
	                 *key->initial == '\0' ? "\"\"" : key->initial);
	source = xasprintf("default of %s", key->name);
	in = fmemopen(text, strlen(text), "r");
	if (in == NULL)
		fatal("reading the %s", source);
	result = read_source(l, source, in);
	free(source);
	free(text);
	return result;
}

static int read_defaults(struct conf_load *l)
{
	size_t i;

	for (i = 0; i < l->n_keys; i++) {
		if (set_default(l, &l->keys[i]) != 0)
			return -1;
	}
	return 0;
}

static int read_file(struct conf_load *l, const char *file)
{
	FILE *in = fopen(file, "re");

	l->source = file;
	if (in == NULL)
		return conf_fail(l, 0, "%s", strerror(errno));
	return read_source(l, file, in);
}

/* ---- environment ---- */

/* Whether variable begins with the section's or key's name in capitals, '.' as '_'. Returns how
 * many octets that took, 0 if it does not. */
static size_t match_upper(const char *variable, const char *name)
{
	size_t i;

	for (i = 0; name[i] != '\0'; i++) {
		int c = name[i] == '.' ? '_' : toupper((unsigned char)name[i]);

		if (variable[i] != c)
			return 0;
	}
	return i;
}

static void split_list(struct conf_list *list, const char *text)
{
	while (*text != '\0') {
		size_t n = strcspn(text, ","), begin = strspn(text, " \t"), end = n;

		if (begin > n)
			begin = n;
		while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t'))
			end--;
		conf_list_add(list, text + begin, end - begin);
		text += n + (text[n] == ',');
	}
}

static int set_from_environment(struct conf_load *l, const struct conf_key *key, const char *text)
{
	struct conf_text value = { .is_list = key->type == CONF_STRINGS };
	int              result = 0;

	if (value.is_list)
		split_list(&value.list, text);
	else
		value.text = xstrdup(text);
	if (!conf_set_value(key, l->settings, &value))
		result = conf_fail_value(l, 0, key);
	conf_text_done(&value);
	return result;
}

/* rest: the variable behind the prefix, "NAME=value". */
static int read_variable(struct conf_load *l, const char *variable, const char *rest)
{
	char   source[160];
	size_t i, n;

	snprintf(source, sizeof(source), "environment %.*s", (int)strcspn(variable, "="), variable);
	l->source = source;
	for (i = 0; i < l->n_keys; i++) {
		n = match_upper(rest, l->keys[i].name);
		if (n > 0 && rest[n] == '=')
			return set_from_environment(l, &l->keys[i], rest + n + 1);
	}
	for (i = 0; l->sections[i] != NULL; i++) {
		n = match_upper(rest, l->sections[i]);
		if (n > 0 && rest[n] == '_' && conf_is_own_section(l, l->sections[i]))
			return conf_fail(l, 0, "section %s has no such setting", l->sections[i]);
	}
	return 0;
}

static int read_environment(struct conf_load *l)
{
	const size_t n = strlen(ENVIRONMENT_PREFIX);
	char       **variable;

	for (variable = environ; variable != NULL && *variable != NULL; variable++) {
		if (strncmp(*variable, ENVIRONMENT_PREFIX, n) == 0 &&
		    read_variable(l, *variable, *variable + n) != 0)
			return -1;
	}
	return 0;
}

static int load(const struct conf_key *keys, size_t n_keys, const char *const *sections,
                const char *file, bool environment, void *settings, char *err, size_t err_size)
{
	struct conf_load l = { .keys = keys,
		               .n_keys = n_keys,
		               .sections = sections,
		               .settings = settings,
		               .err = err,
		               .err_size = err_size };
	size_t           i;
	int              result;

	for (i = 0; i < n_keys; i++) /* what the caller's memory held is not freed */
		conf_init_value(&keys[i], settings);
	l.key_lines = xcalloc(n_keys, sizeof(*l.key_lines));
	result = read_defaults(&l);
	if (result == 0 && file != NULL)
		result = read_file(&l, file);
	if (result == 0 && environment)
		result = read_environment(&l);
	free(l.key_lines);
	return result;
}

int conf_load(const struct conf_key *keys, size_t n_keys, const char *const *sections,
              const char *file, void *settings, char *err, size_t err_size)
{
	return load(keys, n_keys, sections, file, true, settings, err, err_size);
}

int conf_load_part(const struct conf_key *keys, size_t n_keys, const char *const *sections,
                   const char *file, void *settings, char *err, size_t err_size)
{
	return load(keys, n_keys, sections, file, false, settings, err, err_size);
}

void conf_done(const struct conf_key *keys, size_t n_keys, void *settings)
{
	size_t i;

	for (i = 0; i < n_keys; i++)
		conf_clear_value(&keys[i], settings);
}

/* ---- printing ---- */

/* A comment of words, broken before column 80. */
static void print_comment(FILE *out, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " \n");

		if (n > 0 && column > 0 && column + 1 + n > 80) {
			fputc('\n', out);
			column = 0;
		}
		if (n > 0)
			column += (size_t)fprintf(out, "%s%.*s", column == 0 ? "  # " : " ", (int)n,
			                          text);
		text += n + (text[n] != '\0');
	}
	if (column > 0)
		fputc('\n', out);
}

static void print_kind(FILE *out, const struct conf_key *key)
{
	char   what[160], variable[128], *line;
	size_t i;

	conf_describe(key, what, sizeof(what));
	for (i = 0; key->name[i] != '\0' && i < sizeof(variable) - 1; i++)
		variable[i] =
			key->name[i] == '.' ? '_' : (char)toupper((unsigned char)key->name[i]);
	variable[i] = '\0';
	line = xasprintf("(%s; " ENVIRONMENT_PREFIX "%s)", what, variable);
	print_comment(out, line);
	free(line);
}

/* A key without a default is printed as a comment: the file can be used as it is. */
static void print_key(FILE *out, const struct conf_key *key)
{
	const char *name = strchr(key->name, '.') + 1;

	print_comment(out, key->help);
	print_kind(out, key);
	if (key->initial == NULL)
		fprintf(out, "  # %s:\n", name);
	else
		fprintf(out, "  %s: %s\n", name, *key->initial == '\0' ? "\"\"" : key->initial);
}

void conf_print(const struct conf_key *keys, size_t n_keys, FILE *out)
{
	size_t i;

	for (i = 0; i < n_keys; i++) {
		size_t n = strcspn(keys[i].name, ".") + 1; /* with the dot */

		if (i == 0 || strncmp(keys[i].name, keys[i - 1].name, n) != 0)
			fprintf(out, "%s%.*s:\n", i == 0 ? "" : "\n", (int)n - 1, keys[i].name);
		else
			fputc('\n', out);
		print_key(out, &keys[i]);
	}
}
