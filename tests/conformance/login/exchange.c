/* exchange.c - requests of one client, and what is expected of the answers (login.rows says how they are
 * written).
 *
 * The jar is that of a browser as far as it matters: a cookie is kept under its name, goes when it comes
 * with Max-Age=0, and a Secure one is sent only with requests that came over https (as a proxy says).
 *
 * Owns: the jar. Runs in: the runner. Fails with: false and a reason; fatalx where a row cannot be read.
 * Tests: itself, by tests/conformance/login. */
#include "exchange.h"
#include "vars.h"

#include <base/buf.h>
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <support/http.h>
#include <support/instance.h>
#include <unistd.h>

#define MAX_COOKIES 16
#define MAX_FIELDS  16

struct cookie {
	char *name, *value;
	bool  secure;
};

static struct cookie jar[MAX_COOKIES];
static size_t        n_jar;

/* ---- the jar ---- */

static void drop_cookie(size_t i)
{
	free(jar[i].name);
	free(jar[i].value);
	jar[i] = jar[--n_jar];
}

void exchange_forget_cookies(void)
{
	while (n_jar > 0)
		drop_cookie(0);
}

void exchange_forget_all(void)
{
	exchange_forget_cookies();
	vars_forget();
}

static const struct cookie *find_cookie(const char *name)
{
	for (size_t i = 0; i < n_jar; i++)
		if (strcmp(jar[i].name, name) == 0)
			return &jar[i];
	return NULL;
}

void exchange_save(const char *name, const char *cookie)
{
	const struct cookie *c = find_cookie(cookie);
	const char          *value = c != NULL ? c->value : "";

	vars_set(name, value, strlen(value));
}

/* One Set-Cookie: NAME=VALUE; attributes. */
static void take_cookie(const char *line, size_t n)
{
	char  *text = xstrndup(line, n), *equals = strchr(text, '='), *end = strchr(text, ';');
	size_t i = 0;

	if (equals == NULL || (end != NULL && equals > end))
		fatalx("Set-Cookie: %s", text);
	*equals = '\0';
	while (i < n_jar && strcmp(jar[i].name, text) != 0)
		i++;
	if (i < n_jar)
		drop_cookie(i);
	if (end == NULL || strcasestr(end, "; Max-Age=0") == NULL) {
		if (n_jar == MAX_COOKIES)
			fatalx("too many cookies");
		jar[n_jar++] = (struct cookie){
			xstrdup(text),
			xstrndup(equals + 1,
			         end != NULL ? (size_t)(end - equals - 1) : strlen(equals + 1)),
			end != NULL && strcasestr(end, "; Secure") != NULL,
		};
	}
	free(text);
}

/* The next field of that name in the head from *at on; false: none. */
static bool next_field(const char **at, const char *name, const char **ret_value, size_t *ret_n)
{
	size_t n = strlen(name);

	while ((*at = strstr(*at, "\r\n")) != NULL) {
		*at += 2;
		if (strncasecmp(*at, name, n) != 0 || (*at)[n] != ':')
			continue;
		*ret_value = *at + n + 1 + strspn(*at + n + 1, " ");
		*ret_n = strcspn(*ret_value, "\r");
		return true;
	}
	return false;
}

static void take_cookies(const struct http_response *a)
{
	const char *at = a->head, *value;
	size_t      n;

	while (next_field(&at, "set-cookie", &value, &n))
		take_cookie(value, n);
}

/* ---- the request ---- */

static size_t split(char *text, const char *separator, char **ret, size_t max)
{
	size_t n = 0;

	while (text != NULL) {
		char *at = strstr(text, separator);

		if (n == max)
			fatalx("more than %zu fields", max);
		ret[n++] = text;
		if (at != NULL)
			*at = '\0';
		text = at != NULL ? at + strlen(separator) : NULL;
	}
	return n;
}

struct message {
	struct buf head;
	char      *body; /* NULL: none; heap */
	bool       has_host, has_cookie, has_type, is_https;
};

/* NAME=VALUE */
static void put_field(struct message *m, const char *field)
{
	char *text = vars_expand(field), *value = strchr(text, '=');

	if (value == NULL)
		fatalx("%s is no name=value", field);
	*value++ = '\0';
	if (strcmp(text, "as") == 0) {
		char *basic = http_basic(value);

		buf_printf(&m->head, "%s", basic);
		free(basic);
	} else if (strcmp(text, "body") == 0) {
		m->body = xstrdup(value);
	} else {
		if (strcmp(text, "agent") == 0)
			buf_printf(&m->head, "User-Agent: %s\r\n",
			           strcmp(value, "browser") == 0 ? "Mozilla/5.0" : value);
		else
			buf_printf(&m->head, "%s: %s\r\n", text, value);
		m->has_host |= strcasecmp(text, "host") == 0;
		m->has_cookie |= strcasecmp(text, "cookie") == 0;
		m->has_type |= strcasecmp(text, "content-type") == 0;
		m->is_https |=
			strcasecmp(text, "x-forwarded-proto") == 0 && strcmp(value, "https") == 0;
	}
	free(text);
}

static void put_cookies(struct message *m)
{
	const char *before = "Cookie: ";

	for (size_t i = 0; i < n_jar; i++) {
		if (jar[i].secure && !m->is_https)
			continue;
		buf_printf(&m->head, "%s%s=%s", before, jar[i].name, jar[i].value);
		before = "; ";
	}
	if (*before == ';')
		buf_printf(&m->head, "\r\n");
}

static void send(struct http *http, const char *line, char *fields)
{
	struct message m = { .body = NULL };
	char          *f[MAX_FIELDS], *target = vars_expand(line);
	size_t         n = strcmp(fields, "-") != 0 ? split(fields, "; ", f, MAX_FIELDS) : 0;

	buf_init(&m.head);
	buf_printf(&m.head, "%s HTTP/1.1\r\n", target);
	for (size_t i = 0; i < n; i++)
		put_field(&m, f[i]);
	if (!m.has_host)
		buf_printf(&m.head, "Host: %s\r\n", vars_get("host"));
	if (!m.has_cookie)
		put_cookies(&m);
	if (m.body != NULL && !m.has_type)
		buf_printf(&m.head, "Content-Type: application/x-www-form-urlencoded\r\n");
	if (m.body != NULL || strncmp(target, "GET", 3) != 0)
		buf_printf(&m.head, "Content-Length: %zu\r\n", m.body != NULL ? strlen(m.body) : 0);
	buf_printf(&m.head, "\r\n%s", m.body != NULL ? m.body : "");
	/* Whoever is refused early may be cut off: the answer counts. */
	(void)http_send(http, (char *)buf_data(&m.head), buf_size(&m.head));
	buf_done(&m.head);
	free(m.body);
	free(target);
}

/* ---- the answer ---- */

/* What comes for a cookie: 1 a value, -1 its end, 0 nothing; its attributes are those that a login's has
 * to have, else 2. */
static int what_comes(const struct http_response *a, const char *name)
{
	const char *at = a->head, *value;
	size_t      n, n_name = strlen(name);
	int         what = 0;

	while (next_field(&at, "set-cookie", &value, &n)) {
		char *text;

		if (n <= n_name || strncmp(value, name, n_name) != 0 || value[n_name] != '=')
			continue;
		text = xstrndup(value, n);
		if (what != 0 || strcasestr(text, "; Path=/") == NULL ||
		    strcasestr(text, "; HttpOnly") == NULL ||
		    strcasestr(text, "; Domain") != NULL ||
		    (strncmp(name, "__Host-", 7) == 0) != (strcasestr(text, "; Secure") != NULL))
			what = 2;
		else
			what = strcasestr(text, "; Max-Age=0") != NULL ? -1
			       : value[n_name + 1] != ';'              ? 1
			                                               : 2;
		free(text);
	}
	return what;
}

static bool says(const struct http_response *a, const char *word, const char *value)
{
	char *text = xasprintf("%s=%s%s", word, value, strcmp(word, "resolver") == 0 ? "\n" : " ");
	bool  found = strstr(a->body, text) != NULL;

	free(text);
	return found;
}

/* Handles at repo, by the gateway's metrics; what a request has opened is closed behind its answer. */
static bool none_is_open(const struct test_instance *instance)
{
	struct http_response a;
	bool                 none;

	http_ask_once(instance->port + 1, "GET", "/metrics", NULL, &a);
	none = a.status == 200 &&
	       strstr(a.body, "\nboardwalk_handles_open{worker=\"0\"} 0\n") != NULL;
	http_response_done(&a);
	return none;
}

static bool none_stays_open(const struct test_instance *instance)
{
	unsigned long long limit = test_now_ms() + 10000;

	while (!none_is_open(instance)) {
		if (test_now_ms() > limit)
			return false;
		usleep(20000);
	}
	return true;
}

/* HEADER=VALUE, or HEADER~PART. */
static bool header_is(const struct http_response *a, const char *expected)
{
	size_t      n = strcspn(expected, "=~");
	char       *name = xstrndup(expected, n);
	const char *value = http_field(a, name);

	if (expected[n] == '\0')
		fatalx("\"%s\" is nothing to expect", expected);
	free(name);
	return value != NULL && (expected[n] == '=' ? strcmp(value, expected + n + 1) == 0
	                                            : strstr(value, expected + n + 1) != NULL);
}

static const char *after(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && text[n] == ' ' ? text + n + 1 : NULL;
}

static bool holds(const struct test_instance *instance, const struct http_response *a,
                  const char *expected)
{
	const char *rest;

	if (strspn(expected, "0123456789") == strlen(expected))
		return a->status == atoi(expected);
	if (strcmp(expected, "empty") == 0)
		return a->size == 0;
	if (strcmp(expected, "handles 0") == 0)
		return none_stays_open(instance);
	if ((rest = after(expected, "user")) != NULL)
		return says(a, "user", rest);
	if ((rest = after(expected, "type")) != NULL)
		return says(a, "type", rest);
	if ((rest = after(expected, "resolver")) != NULL)
		return says(a, "resolver", rest);
	if ((rest = after(expected, "body")) != NULL)
		return strstr(a->body, rest) != NULL;
	if ((rest = after(expected, "without")) != NULL)
		return strstr(a->body, rest) == NULL;
	if ((rest = after(expected, "set")) != NULL)
		return what_comes(a, rest) == 1;
	if ((rest = after(expected, "clear")) != NULL)
		return what_comes(a, rest) == -1;
	if ((rest = after(expected, "leave")) != NULL)
		return what_comes(a, rest) == 0;
	if ((rest = after(expected, "no")) != NULL)
		return http_field(a, rest) == NULL;
	return header_is(a, expected);
}

bool exchange_run(const struct test_instance *instance, char *line, char *fields, char *expected,
                  char **why)
{
	struct http          http;
	struct http_response a;
	char                *all[MAX_FIELDS];
	size_t               n = split(expected, "; ", all, MAX_FIELDS);
	bool                 good = true;

	http_open(&http, instance->port);
	send(&http, line, fields);
	if (strcmp(expected, "hang up") == 0) {
		http_close(&http);
		return true;
	}
	http_read(&http, strncmp(line, "HEAD ", 5) == 0, &a);
	take_cookies(&a);
	for (size_t i = 0; good && i < n; i++) {
		char *text = vars_expand(all[i]);

		good = holds(instance, &a, text);
		if (!good)
			*why = xasprintf("want \"%s\", got\n%s%s", text, a.head,
			                 a.size < 600 ? a.body : "...");
		free(text);
	}
	http_response_done(&a);
	http_close(&http);
	return good;
}
