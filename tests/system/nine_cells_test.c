/* The nine cells of the demonstration over real sockets and a real database, as everybody who may ask
 * and some who may not. One instance for all: each row says who asks what and what must come. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"

#define MESSAGE "Hello servlettest the message is Hello World"
#define READER  "reader:reader's password"

enum who { NOBODY, ADMIN, READER_USER, WRONG_PASSWORD, UNKNOWN_USER };

static const struct row {
	const char *path;
	enum who    who;
	int         status;
	const char *body; /* NULL: anything */
} rows[] = {
	{ "/test/hello", NOBODY, 200, "Hello World" },
	{ "/bin/test/hello", NOBODY, 200, "Hello World" },
	{ "/content/test/hello", NOBODY, 200, "Hello World" },
	{ "/test/serviceuser", NOBODY, 200, MESSAGE },
	{ "/bin/test/serviceuser", NOBODY, 200, MESSAGE },
	{ "/content/test/serviceuser", NOBODY, 200, MESSAGE },
	{ "/test/auth", NOBODY, 401, NULL },
	{ "/bin/test/auth", NOBODY, 401, NULL },
	{ "/content/test/auth", NOBODY, 401, NULL },

	{ "/test/hello", ADMIN, 200, "Hello World" },
	{ "/bin/test/hello", ADMIN, 200, "Hello World" },
	{ "/content/test/hello", ADMIN, 200, "Hello World" },
	{ "/test/serviceuser", ADMIN, 200, MESSAGE },
	{ "/bin/test/serviceuser", ADMIN, 200, MESSAGE },
	{ "/content/test/serviceuser", ADMIN, 200, MESSAGE },
	{ "/test/auth", ADMIN, 200, "Hello admin the dam count is 5" },
	{ "/bin/test/auth", ADMIN, 200, "Hello admin the dam count is 5" },
	{ "/content/test/auth", ADMIN, 200, "Hello admin the dam count is 5" },

	{ "/test/hello", READER_USER, 200, "Hello World" },
	{ "/bin/test/hello", READER_USER, 200, "Hello World" },
	{ "/content/test/hello", READER_USER, 200, "Hello World" },
	{ "/test/serviceuser", READER_USER, 200, MESSAGE },
	{ "/bin/test/serviceuser", READER_USER, 200, MESSAGE },
	{ "/content/test/serviceuser", READER_USER, 200, MESSAGE },
	{ "/test/auth", READER_USER, 200, "Hello reader the dam count is 3" },
	{ "/bin/test/auth", READER_USER, 200, "Hello reader the dam count is 3" },
	{ "/content/test/auth", READER_USER, 200, "Hello reader the dam count is 3" },

	{ "/test/auth", WRONG_PASSWORD, 401, NULL },
	{ "/bin/test/auth", WRONG_PASSWORD, 401, NULL },
	{ "/content/test/auth", WRONG_PASSWORD, 401, NULL },
	{ "/test/auth", UNKNOWN_USER, 401, NULL },
	{ "/content/test/auth", UNKNOWN_USER, 401, NULL },

	/* Missing; not to be told from what one may not read; open and missing. */
	{ "/content/test/none", NOBODY, 401, NULL },
	{ "/content/test/none", ADMIN, 404, NULL },
	{ "/content/test/none", READER_USER, 404, NULL },
	{ "/var/test/serviceuser", READER_USER, 404, NULL },
	{ "/content/dam/four", READER_USER, 404, NULL },
	{ "/content/test/hello/none", NOBODY, 404, NULL },
	{ "/", NOBODY, 401, NULL },
};

static const char *credentials_of(const struct test_instance *i, enum who who)
{
	switch (who) {
	case NOBODY:
		break;
	case ADMIN:
		return i->credentials;
	case READER_USER:
		return READER;
	case WRONG_PASSWORD:
		return "admin:not the password";
	case UNKNOWN_USER:
		return "nobody:not the password";
	}
	return NULL;
}

static void check_row(const struct test_instance *i, struct http *http, const struct row *row)
{
	struct http_response r;
	const char          *field;

	http_ask(http, "GET", row->path, credentials_of(i, row->who), &r);
	cr_assert_eq(r.status, row->status, "GET %s as %d: %d, %s", row->path, row->who, r.status,
	             r.body);
	if (row->body != NULL)
		cr_assert_str_eq(r.body, row->body, "GET %s as %d", row->path, row->who);
	field = http_field(&r, "WWW-Authenticate");
	cr_assert_eq(field != NULL && strncmp(field, "Basic realm=", 12) == 0, row->status == 401,
	             "GET %s as %d: the challenge", row->path, row->who);
	field = http_field(&r, "X-Request-Id");
	cr_assert(field != NULL && strlen(field) == 16 && strspn(field, "0123456789abcdef") == 16,
	          "GET %s: its number", row->path);
	http_response_done(&r);
}

/* What is true of every cell whatever it answers. */
static void check_methods(const struct test_instance *i, struct http *http, const char *path)
{
	struct http_response get, head, post, options;

	http_ask(http, "GET", path, i->credentials, &get);
	http_ask(http, "HEAD", path, i->credentials, &head);
	http_ask(http, "POST", path, i->credentials, &post);
	http_ask(http, "OPTIONS", path, i->credentials, &options);
	cr_assert_eq(head.status, 200, "HEAD %s: %d", path, head.status);
	cr_assert_eq(head.size, 0, "HEAD %s has a body", path);
	cr_assert_eq(strtoul(http_field(&head, "Content-Length"), NULL, 10), get.size, "HEAD %s",
	             path);
	cr_assert_eq(post.status, 405, "POST %s: %d", path, post.status);
	cr_assert(http_field(&post, "Allow") != NULL &&
	                  strstr(http_field(&post, "Allow"), "GET") != NULL,
	          "POST %s: Allow", path);
	cr_assert_eq(options.status, 200, "OPTIONS %s: %d", path, options.status);
	cr_assert_not_null(http_field(&options, "Allow"), "OPTIONS %s", path);
	http_response_done(&get);
	http_response_done(&head);
	http_response_done(&post);
	http_response_done(&options);
}

static void check_health(const struct test_instance *i)
{
	static const char *const paths[] = { "/health/live", "/health/ready", "/metrics" };
	struct http_response     r;

	for (size_t k = 0; k < 3; k++) {
		http_ask_once(i->port + 1, "GET", paths[k], NULL, &r);
		cr_assert_eq(r.status, 200, "%s on the management listener: %d", paths[k],
		             r.status);
		http_response_done(&r);
		http_ask_once(i->port, "GET", paths[k], i->credentials, &r);
		cr_assert_eq(r.status, 404, "%s on the public listener: %d", paths[k], r.status);
		http_response_done(&r);
	}
}

Test(nine_cells, answer_everybody_as_they_should)
{
	struct test_instance i;
	struct http          http;

	test_instance_start(&i, NULL);
	test_instance_password(&i, "reader", "reader's password");
	http_open(&http, i.port);
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
		check_row(&i, &http, &rows[k]);
	for (size_t k = 9; k < 18; k++)
		check_methods(&i, &http, rows[k].path);
	http_close(&http);
	check_health(&i);
	test_instance_stop(&i);
}
