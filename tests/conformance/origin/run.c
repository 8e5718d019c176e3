/* Where requests may come from, against its rows: the gateway's own check on requests without a socket.
 *
 * Usage: conformance_origin FILE... ; the files explain their lines. Fails if a row fails, if a line is
 * not understood, or if there was none. */
#include <base/fatal.h>
#include <base/log.h>
#include <gateway/forms/params.h>
#include <gateway/path.h>
#include <gateway/request.h>
#include <gateway/security/handler.h>
#include <gateway/security/security.h>
#include <gateway/settings.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FIELDS  6
#define MAX_HEADERS 8

static struct gateway_settings settings = { .referrer_check = true };
static char                   *items[3][MAX_FIELDS]; /* of the lists */
static bool                    is_up;
static unsigned                passed, failed;

static size_t split(char *text, const char *separator, char **ret, size_t max)
{
	size_t n = 0;

	while (text != NULL && n < max) {
		char *at = strstr(text, separator);

		ret[n++] = text;
		if (at != NULL)
			*at = '\0';
		text = at != NULL ? at + strlen(separator) : NULL;
	}
	return n;
}

/* ---- settings ---- */

static void down(void)
{
	if (is_up)
		csrf_done();
	is_up = false;
}

/* set | name | value, "-" for nothing; lists are parted by blanks */
static void run_set(const char *name, char *value)
{
	struct conf_list *const  lists[] = { &settings.referrer_hosts,
		                             &settings.referrer_hosts_regexp,
		                             &settings.referrer_exclude };
	static const char *const names[] = { "hosts", "hosts_regexp", "exclude" };

	down();
	if (strcmp(name, "allow_empty") == 0) {
		settings.referrer_allow_empty = strcmp(value, "on") == 0;
		return;
	}
	for (size_t i = 0; i < 3; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		for (size_t k = 0; k < lists[i]->n; k++)
			free(items[i][k]);
		*lists[i] = (struct conf_list){ items[i], 0 };
		if (strcmp(value, "-") != 0)
			lists[i]->n = split(value, " ", items[i], MAX_FIELDS);
		for (size_t k = 0; k < lists[i]->n; k++)
			items[i][k] = xstrdup(items[i][k]);
		return;
	}
	fatalx("there is no setting %s", name);
}

/* ---- a request ---- */

static struct bw_str take(struct bw_req *req, const char *p, size_t n)
{
	return request_dup(req, (struct bw_str){ p, n });
}

/* METHOD scheme://host[:port]/path */
static void put_line(struct bw_req *req, const char *line)
{
	struct path_target t;
	const char        *url = strchr(line, ' '), *host, *path;

	if (url == NULL || (host = strstr(++url, "://")) == NULL ||
	    (path = strchr(host + 3, '/')) == NULL)
		fatalx("%s is no METHOD URL", line);
	req->method = take(req, line, (size_t)(url - 1 - line));
	req->scheme = take(req, url, (size_t)(host - url));
	req->host = take(req, host + 3, (size_t)(path - host - 3));
	if (path_canonical(&req->arena, bw_str(path), &t) != BW_OK)
		fatalx("%s is no target", path);
	req->uri = t.uri;
	req->query = t.query;
	req->path = t.path;
}

/* The text with {token} replaced by what this request's cookie makes the token. */
static struct bw_str with_token(struct bw_req *req, const char *text)
{
	static const char mark[] = "{token}";
	const char       *at = strstr(text, mark);
	struct bw_str     token;

	if (at == NULL)
		return request_dup(req, bw_str(text));
	if (security_csrf_token(req, &token) != BW_OK || token.n != 43)
		fatalx("no token");
	return bw_str(arena_printf(&req->arena, "%.*s%.*s%s", (int)(at - text), text, (int)token.n,
	                           token.p, at + strlen(mark)));
}

/* name=value, parted by "; "; body=TEXT is a form. Cookies first: a token needs them. */
static void put_headers(struct bw_req *req, char *text)
{
	char  *fields[MAX_HEADERS];
	size_t n = strcmp(text, "-") != 0 ? split(text, "; ", fields, MAX_HEADERS - 1) : 0;

	req->headers = arena_alloc(&req->arena, MAX_HEADERS * sizeof(*req->headers));
	for (size_t i = 0; i < n; i++) {
		char         *equals = strchr(fields[i], '=');
		struct bw_str value;

		if (equals == NULL)
			fatalx("%s is no name=value", fields[i]);
		*equals = '\0';
		value = with_token(req, equals + 1);
		if (strcmp(fields[i], "body") == 0) {
			req->body_in = (const uint8_t *)value.p;
			req->body_length = value.n;
			fields[i] = (char *)"content-type";
			value = BW_STR("application/x-www-form-urlencoded");
		}
		req->headers[req->n_headers++] =
			(struct bw_res_header){ request_dup(req, bw_str(fields[i])), value };
	}
}

/* send | id | METHOD URL | headers | yes or no */
static void run_send(char *f[MAX_FIELDS])
{
	struct bw_req *req = request_new();
	bool           want = strcmp(f[4], "yes") == 0, got;

	if (!is_up)
		csrf_init(&settings);
	is_up = true;
	request_set_state(req, REQ_SERVING);
	put_line(req, f[2]);
	put_headers(req, f[3]);
	got = security_permits(req);
	if (got == want && (want || strcmp(f[4], "no") == 0) && (req->status == 403) == !got) {
		passed++;
	} else {
		failed++;
		printf("%s: want %s, got %s with %d\n", f[1], f[4], got ? "yes" : "no",
		       req->status);
	}
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
}

/* ---- files ---- */

static void run_line(const char *file, unsigned number, char *line)
{
	char  *f[MAX_FIELDS];
	size_t n;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return;
	n = split(line, " | ", f, MAX_FIELDS);
	if (n == 3 && strcmp(f[0], "set") == 0)
		run_set(f[1], f[2]);
	else if (n == 5 && strcmp(f[0], "send") == 0)
		run_send(f);
	else
		fatalx("%s:%u: not understood", file, number);
}

static void run_file(const char *file)
{
	FILE    *in = fopen(file, "r");
	char    *line = NULL;
	size_t   size = 0;
	unsigned number = 0;

	if (in == NULL)
		fatal("%s", file);
	while (getline(&line, &size, in) >= 0)
		run_line(file, ++number, line);
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	log_init("conformance", 0);
	params_init(100, 65536);
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < MAX_FIELDS; k++)
			free(items[i][k]);
	down();
	request_pool_done();
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
