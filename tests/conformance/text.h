/* text.h - cutting lines of row files. All text lives until the program ends: a row file is small. */
#pragma once
#include <base/arena.h>
#include <stdbool.h>

extern struct arena text_arena;
#define text_dup(p, n)   arena_dup(&text_arena, p, n)
#define text_printf(...) arena_printf(&text_arena, __VA_ARGS__)
#define text_alloc(n)    arena_zalloc(&text_arena, n)

struct words {
	char **items;
	size_t n;
};

/* Splits at each occurrence of separator outside of "quotes", (), []; drops blanks around the parts
 * and empty parts; keeps quotes. */
struct words text_split(const char *text, const char *separator);
/* A value as written: quotes go away, - becomes NULL. */
char *text_value(const char *word);
/* [a, b] or a: the values. */
struct words text_list(const char *word);
/* name(argument): true, with both; the argument as written. */
bool text_call(const char *word, char **ret_name, char **ret_argument);
bool text_begins(const char *text, const char *with);
