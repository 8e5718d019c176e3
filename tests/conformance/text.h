/* text.h - cutting lines of row files. All text lives until text_free_all: a row file is small. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

__attribute__((returns_nonnull)) char                       *text_dup(const char *p, size_t n);
__attribute__((returns_nonnull, format(printf, 1, 2))) char *text_printf(const char *format, ...);
/* Cleared. */
__attribute__((returns_nonnull)) void *text_alloc(size_t n);
/* Everything that the functions here have handed out. */
void text_free_all(void);

struct words {
	char **items;
	size_t n;
};

/* Splits at each occurrence of separator outside of "quotes", (), []; drops blanks around the parts
 * and empty parts; keeps quotes. */
struct words text_split(const char *text, const char *separator);
void         words_add(struct words *w, char *word);
/* A value as written: quotes go away, - becomes NULL. */
char *text_value(const char *word);
/* [a, b] or a: the values. */
struct words text_list(const char *word);
/* name(argument): true, with both; the argument as written. */
bool text_call(const char *word, char **ret_name, char **ret_argument);
bool text_begins(const char *text, const char *with);
/* "each 1000 S s#: /p/#": the thousand steps, # being 0 to 999; "each 1000 reverse -s#", "each 1000
 * shuffled -s#". Any other step: that one. */
struct words text_steps(const char *step);
