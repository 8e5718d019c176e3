/* conf.h - a process's settings: one table, one YAML file for all processes, environment above it.
 *
 * The table is the documentation: --help and conf/boardwalk.yaml are printed from it. A key is
 * "section.name"; the same file serves every process, so a process knows the sections of the others
 * by name and skips them, but an unknown key of its own section, an unknown section, a duplicate or
 * a value that does not fit stops the start with file, line and reason. The environment variable of
 * gateway.spin_us is BOARDWALK_GATEWAY_SPIN_US; a variable that begins like one of the process's
 * own section and is none of its keys stops the start too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum conf_type {
	CONF_STRING,  /* char *, heap */
	CONF_UINT,    /* uint64_t, between min and max */
	CONF_SIZE,    /* uint64_t octets; K, M, G suffix */
	CONF_BOOL,    /* bool */
	CONF_STRINGS, /* struct conf_list: a YAML sequence of strings (environment: comma) */
};

struct conf_list {
	char **items; /* heap */
	size_t n;
};

struct conf_key {
	const char    *name; /* "gateway.spin_us" */
	enum conf_type type;
	size_t         offset; /* into the settings struct */
	/* The default, in the file's own syntax: 8080, 64M, "*:80", [a, b]; "" is the empty text.
	 * NULL: none, the value is NULL, 0, false or an empty list. */
	const char *initial;
	uint64_t    min, max; /* CONF_UINT, CONF_SIZE; max 0: no limit */
	const char *help;
};

/* Fills *settings from the defaults, then file (NULL: none), then the environment. sections: the
 * NULL-terminated names of all sections of the product. On failure writes "file:line: reason" into
 * err and returns -1; *settings may then be half filled and is still to be freed by conf_done. */
int conf_load(const struct conf_key *keys, size_t n_keys, const char *const *sections,
              const char *file, void *settings, char *err, size_t err_size);
/* The same for a file beside the configuration, of which there may be many: what the environment says
 * would hold for each of them, so it is not asked. */
int  conf_load_part(const struct conf_key *keys, size_t n_keys, const char *const *sections,
                    const char *file, void *settings, char *err, size_t err_size);
void conf_done(const struct conf_key *keys, size_t n_keys, void *settings);
/* The commented example: every key with its default and help. */
void conf_print(const struct conf_key *keys, size_t n_keys, FILE *out);
