/* Cutting lines of row files. Tests: every row file. */
#include "text.h"

#include <string.h>

struct arena text_arena;

bool text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void add(struct words *w, const char *from, const char *to)
{
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	if (from == to)
		return;
	if (w->n % 8 == 0) {
		char **more = text_alloc((w->n + 8) * sizeof(char *));

		if (w->n > 0)
			memcpy(more, w->items, w->n * sizeof(char *));
		w->items = more;
	}
	w->items[w->n++] = text_dup(from, (size_t)(to - from));
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
