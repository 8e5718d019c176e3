/* vars.c - what stands between braces in a row of logins:
 *
 *   {NAME}           what was kept under that name, or {host}: authority of the instance
 *   {;}              a semicolon, which would part fields
 *   {basic:TEXT}     its base64
 *   {long:N}         N times the letter a
 *   {bearer:USER}    a token of the outside issuer; {bearer:USER:SECONDS} ends then
 *   {flip:NAME}      the value, one bit of its last segment changed
 *   {sub:USER:NAME}  the token, its claim sub another user, its signature as it was
 *
 * Owns: the values. Fails with: fatalx. */
#include "vars.h"

#include "idp.h"

#include <base/fatal.h>
#include <base/buf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARS 32

static struct {
	char *name, *value;
} vars[MAX_VARS];

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void vars_set(const char *name, const char *value, size_t n)
{
	size_t i = 0;

	while (i < MAX_VARS && vars[i].name != NULL && strcmp(vars[i].name, name) != 0)
		i++;
	if (i == MAX_VARS)
		fatalx("too many names");
	if (vars[i].name == NULL)
		vars[i].name = xstrdup(name);
	free(vars[i].value);
	vars[i].value = xstrndup(value, n);
}

const char *vars_get(const char *name)
{
	for (size_t i = 0; i < MAX_VARS && vars[i].name != NULL; i++)
		if (strcmp(vars[i].name, name) == 0)
			return vars[i].value;
	return NULL;
}

void vars_forget(void)
{
	for (size_t i = 0; i < MAX_VARS; i++) {
		free(vars[i].name);
		free(vars[i].value);
		vars[i].name = vars[i].value = NULL;
	}
}

static const char *need(const char *name)
{
	const char *value = vars_get(name);

	if (value == NULL)
		fatalx("nothing is kept as {%s}", name);
	return value;
}

/* ---- base64 ---- */

static void encode(struct buf *out, const char *text, size_t n, const char *letters, bool padded)
{
	for (size_t i = 0; i < n; i += 3) {
		size_t   have = n - i < 3 ? n - i : 3;
		unsigned bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < have ? (unsigned char)text[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			if (k <= have)
				buf_append(out, &letters[bits >> (18 - 6 * k) & 63], 1);
			else if (padded)
				buf_append(out, "=", 1);
	}
}

/* What for_urls encodes. */
static void decode(struct buf *out, const char *text, size_t n)
{
	unsigned bits = 0, have = 0;

	for (size_t i = 0; i < n; i++) {
		const char *at = memchr(for_urls, text[i], 64);

		if (at == NULL)
			fatalx("%.*s is no part of a token", (int)n, text);
		bits = bits << 6 | (unsigned)(at - for_urls);
		have += 6;
		if (have >= 8) {
			char c = (char)(bits >> (have -= 8));

			buf_append(out, &c, 1);
		}
	}
}

/* ---- forgeries ---- */

/* The first letter of the signature: all its bits count. */
static void put_flipped(struct buf *out, const char *token)
{
	const char *dot = strrchr(token, '.');
	size_t      at = dot != NULL ? (size_t)(dot + 1 - token) : 0;
	char       *copy = xstrdup(token);
	const char *letter = copy[at] != '\0' ? strchr(for_urls, copy[at]) : NULL;

	if (letter == NULL)
		fatalx("%s cannot be changed", token);
	copy[at] = for_urls[(letter - for_urls) ^ 1];
	buf_append(out, copy, strlen(copy));
	free(copy);
}

/* rest: USER:NAME */
static void put_sub(struct buf *out, const char *rest)
{
	static const char mark[] = "\"sub\":\"";
	const char       *colon = strchr(rest, ':');
	const char       *token = colon != NULL ? need(colon + 1) : "";
	const char       *first = strchr(token, '.'), *last = strrchr(token, '.');
	struct buf        claims, changed;
	char             *at, *end;

	if (first == NULL || first == last)
		fatalx("%s is no token", rest);
	buf_init(&claims);
	buf_init(&changed);
	decode(&claims, first + 1, (size_t)(last - first - 1));
	buf_append(&claims, "", 1);
	at = strstr((char *)buf_data(&claims), mark);
	end = at != NULL ? strchr(at + sizeof(mark) - 1, '"') : NULL;
	if (end == NULL)
		fatalx("the token says no sub");
	*at = '\0';
	buf_printf(&changed, "%s%s%.*s%s", (char *)buf_data(&claims), mark, (int)(colon - rest),
	           rest, end);
	buf_append(out, token, (size_t)(first + 1 - token));
	encode(out, (char *)buf_data(&changed), buf_size(&changed), for_urls, false);
	buf_append(out, last, strlen(last));
	buf_done(&changed);
	buf_done(&claims);
}

/* ---- braces ---- */

/* The rest of text behind a word and its colon; NULL: it begins otherwise. */
static const char *after(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && text[n] == ':' ? text + n + 1 : NULL;
}

static void put(struct buf *out, const char *text)
{
	const char *rest;

	if (strcmp(text, ";") == 0) {
		buf_append(out, ";", 1);
	} else if ((rest = after(text, "basic")) != NULL) {
		encode(out, rest, strlen(rest), standard, true);
	} else if ((rest = after(text, "long")) != NULL) {
		for (long n = atol(rest); n > 0; n--)
			buf_append(out, "a", 1);
	} else if ((rest = after(text, "bearer")) != NULL) {
		idp_put_token(out, rest);
	} else if ((rest = after(text, "flip")) != NULL) {
		put_flipped(out, need(rest));
	} else if ((rest = after(text, "sub")) != NULL) {
		put_sub(out, rest);
	} else {
		buf_append(out, need(text), strlen(need(text)));
	}
}

char *vars_expand(const char *text)
{
	struct buf  out;
	const char *open, *close;
	char       *name, *done;

	buf_init(&out);
	while ((open = strchr(text, '{')) != NULL && (close = strchr(open, '}')) != NULL) {
		buf_append(&out, text, (size_t)(open - text));
		name = xstrndup(open + 1, (size_t)(close - open - 1));
		put(&out, name);
		free(name);
		text = close + 1;
	}
	buf_append(&out, text, strlen(text) + 1);
	done = xstrdup((char *)buf_data(&out));
	buf_done(&out);
	return done;
}
