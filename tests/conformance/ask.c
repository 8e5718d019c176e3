/* From a row's words to a request. Tests: every row file. */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOUNDARY "rows-boundary"

__attribute__((noreturn)) static void give_up(const char *what, const char *word)
{
	fprintf(stderr, "%s: %s\n", what, word);
	exit(2);
}

static void add_header(struct ask *a, const char *name, const char *value)
{
	a->headers[a->n_headers++] =
		(struct header){ text_printf("%s", name), text_printf("%s", value) };
}

static int escaped(char c)
{
	static const char names[] = "rn0t\\\"", octets[] = "\r\n\0\t\\\"";
	const char       *at = c ? strchr(names, c) : NULL;

	return at ? octets[at - names] : -1;
}

/* In quotes or not; \r \n \t \0 \\ \" as in C. */
static void set_body(struct ask *a, const char *word)
{
	const char *from = text_value(word);

	a->body = text_printf("%s", from ? from : "");
	for (; from && *from; from++) {
		int c = (unsigned char)*from;

		if (c == '\\' && (c = escaped(*++from)) < 0)
			give_up("no such escape", word);
		a->body[a->n_body++] = (char)c;
	}
}

/* "{text*n}" is text n times; anything else itself. */
static char *repeated(char *word)
{
	char  *star = word[0] == '{' ? strrchr(word, '*') : NULL, *text, *at;
	size_t len = star ? (size_t)(star - word - 1) : 0,
	       n = star ? strtoul(star + 1, NULL, 10) : 0;

	if (!star)
		return word;
	text = at = text_alloc(len * n + 1);
	for (; n > 0; n--, at += len)
		memcpy(at, word + 1, len);
	return text;
}

/* "name:content" is a field, "name:file:content" a file. */
static void add_part(struct ask *a, const char *word, unsigned times)
{
	char *text = text_value(word), *colon = strchr(text, ':');
	char *second = colon ? strchr(colon + 1, ':') : NULL, *part;

	if (!colon)
		give_up("no part", word);
	*colon = '\0';
	if (second)
		*second = '\0';
	part = text_printf("--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"%s%s%s\r\n"
	                   "\r\n%s\r\n",
	                   text, second ? "; filename=\"" : "", second ? colon + 1 : "",
	                   second ? "\"" : "", repeated(second ? second + 1 : colon + 1));
	if (!a->body)
		add_header(a, "Content-Type", "multipart/form-data; boundary=" BOUNDARY);
	while (times-- > 0)
		a->body = text_printf("%s%s", a->body ? a->body : "", part);
	a->n_body = strlen(a->body);
}

static void close_parts(struct ask *a)
{
	a->body = text_printf("%s--" BOUNDARY "--\r\n", a->body);
	a->n_body = strlen(a->body);
}

static void take_word(struct ask *a, char *word, bool *has_parts)
{
	char *colon = strchr(word, ':'), *equals = strchr(word, '=');

	if (strcmp(word, "HTTP/1.0") == 0) {
		a->http10 = true;
	} else if (text_begins(word, "body=")) {
		set_body(a, equals + 1);
	} else if (text_begins(word, "part=") || text_begins(word, "part*")) {
		add_part(a, equals + 1, word[4] == '*' ? (unsigned)atoi(word + 5) : 1);
		*has_parts = true;
	} else if (colon) {
		*colon = '\0';
		add_header(a, word, text_value(colon + 1));
	} else {
		give_up("neither header nor body", word);
	}
}

struct ask ask_read(const char *text)
{
	struct words w = text_split(text, " ");
	size_t       at = w.n > 1 && w.items[0][0] != '/' ? 1 : 0;
	struct ask   a = { .method = at ? w.items[0] : "GET" };
	bool         has_parts = false;

	if (w.n == 0)
		give_up("no request", text);
	a.target = w.items[at];
	a.headers = text_alloc((w.n + 1) * sizeof(*a.headers));
	for (size_t i = at + 1; i < w.n; i++)
		take_word(&a, w.items[i], &has_parts);
	if (has_parts)
		close_parts(&a);
	return a;
}
