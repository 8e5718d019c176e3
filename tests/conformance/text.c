/* Cutting lines of row files, and the memory for the pieces. Nothing but the C library: this is part of
 * a bundle, too. Tests: every row file. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
	struct block *next;
	_Alignas(16) char bytes[];
};

static struct block *blocks; /* the newest first */

void *text_alloc(size_t n)
{
	struct block *b = calloc(1, sizeof(*b) + n);

	if (!b)
		abort();
	b->next = blocks;
	blocks = b;
	return b->bytes;
}

void text_free_all(void)
{
	while (blocks) {
		struct block *b = blocks;

		blocks = b->next;
		free(b);
	}
}

char *text_dup(const char *p, size_t n)
{
	char *text = text_alloc(n + 1);

	if (n > 0)
		memcpy(text, p, n);
	return text;
}

char *text_printf(const char *format, ...)
{
	va_list args;
	char   *text;
	int     n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = text_alloc((size_t)n + 1);
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

bool text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

void words_add(struct words *w, char *word)
{
	if (w->n % 8 == 0) {
		char **more = text_alloc((w->n + 8) * sizeof(char *));

		if (w->n > 0)
			memcpy(more, w->items, w->n * sizeof(char *));
		w->items = more;
	}
	w->items[w->n++] = word;
}

static void add(struct words *w, const char *from, const char *to)
{
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	if (from != to)
		words_add(w, text_dup(from, (size_t)(to - from)));
}

struct words text_split(const char *text, const char *separator)
{
	struct words w = { NULL, 0 };
	const char  *from = text;
	int          depth = 0;
	bool         quoted = false;

	for (; *text; text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (quoted)
			continue;
		else if (*text == '(' || *text == '[')
			depth++;
		else if (*text == ')' || *text == ']')
			depth--;
		else if (depth == 0 && text_begins(text, separator)) {
			add(&w, from, text);
			text += strlen(separator) - 1;
			from = text + 1;
		}
	}
	add(&w, from, text);
	return w;
}

char *text_value(const char *word)
{
	size_t n = strlen(word);

	if (strcmp(word, "-") == 0)
		return NULL;
	if (n >= 2 && word[0] == '"' && word[n - 1] == '"')
		return text_dup(word + 1, n - 2);
	return text_dup(word, n);
}

struct words text_list(const char *word)
{
	size_t       n = strlen(word);
	struct words w;

	if (n < 2 || word[0] != '[' || word[n - 1] != ']') {
		w = (struct words){ text_alloc(sizeof(char *)), 1 };
		w.items[0] = text_value(word);
		return w;
	}
	w = text_split(text_dup(word + 1, n - 2), ",");
	for (size_t i = 0; i < w.n; i++)
		w.items[i] = text_value(w.items[i]);
	return w;
}

bool text_call(const char *word, char **ret_name, char **ret_argument)
{
	const char *open = strchr(word, '(');
	size_t      n = strlen(word);

	if (!open || open == word || word[n - 1] != ')')
		return false;
	*ret_name = text_dup(word, (size_t)(open - word));
	*ret_argument = text_dup(open + 1, (size_t)(word + n - 1 - open - 1));
	return true;
}

/* Text with each # replaced. */
static char *numbered(const char *text, size_t number)
{
	char *all = text_printf("%s", "");

	for (const char *hash; (hash = strchr(text, '#')) != NULL; text = hash + 1)
		all = text_printf("%s%.*s%zu", all, (int)(hash - text), text, number);
	return text_printf("%s%s", all, text);
}

struct words text_steps(const char *step)
{
	struct words w = { NULL, 0 };
	char         order[16] = "";
	int          at = 0;
	size_t       n;

	if (sscanf(step, "each %zu %n", &n, &at) != 1 || at == 0) {
		words_add(&w, text_printf("%s", step));
		return w;
	}
	step += at;
	if (text_begins(step, "reverse ") || text_begins(step, "shuffled ")) {
		sscanf(step, "%15s %n", order, &at);
		step += at;
	}
	for (size_t i = 0; i < n; i++)
		words_add(&w, numbered(step, *order == 'r'   ? n - 1 - i
		                             : *order == 's' ? i * 7919 % n /* a prime */
		                                             : i));
	return w;
}
