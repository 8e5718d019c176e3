/* conf_impl.h - between the files of conf: conf.c (order of sources, environment), conf_yaml.c (the
 * file), conf_value.c (text to typed value). */
#pragma once
#include <stdio.h>

#include "conf.h"

enum { CONF_SECTIONS_MAX = 16 };

/* One conf_load in progress. */
struct conf_load {
	const struct conf_key *keys;
	size_t                 n_keys;
	const char *const     *sections;
	void                  *settings;
	char                  *err; /* the first reason; later ones are not noted */
	size_t                 err_size;
	/* Of the source being read. */
	const char *source;    /* file name */
	unsigned   *key_lines; /* per key: where it stands, 0: not seen yet */
	unsigned    section_lines[CONF_SECTIONS_MAX];
};

/* A value as it is written: one text, or a list of them. */
struct conf_text {
	bool             is_list;
	char            *text; /* heap; NULL in a list */
	struct conf_list list;
};
void conf_text_done(struct conf_text *t);
void conf_list_add(struct conf_list *list, const char *text, size_t n);
void conf_list_done(struct conf_list *list);

/* Takes what it needs out of t; false if the value does not fit. */
bool conf_set_value(const struct conf_key *key, void *settings, struct conf_text *t);
/* What fits: "a number from 1 to 8". */
void conf_describe(const struct conf_key *key, char *out, size_t size);
/* Makes a value empty, without and with freeing what it holds. */
void conf_init_value(const struct conf_key *key, void *settings);
void conf_clear_value(const struct conf_key *key, void *settings);

/* Fills settings from a YAML stream; 0, or -1 with err set. */
int conf_read_yaml(struct conf_load *l, FILE *in);

const struct conf_key *conf_find_key(const struct conf_load *l, const char *section,
                                     const char *name);
/* Whether the table has a key in this section: it is the process's own. */
bool conf_is_own_section(const struct conf_load *l, const char *section);
/* "key: expected a number from 1 to 8". */
int conf_fail_value(struct conf_load *l, unsigned line, const struct conf_key *key);
/* Writes err and returns -1. line 0: the source has no lines. */
__attribute__((format(printf, 3, 4))) int conf_fail(struct conf_load *l, unsigned line,
                                                    const char *format, ...);
