/* gateway/http/accesslog.c: the line, and that no client writes one of its own. */
#include <base/log.h>

/* In place of the ring. */
static void capture_line(int to, const char *line, size_t n);
#define log_line capture_line
#include "gateway/http/accesslog.c"

#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>

struct http_server http_server; /* internal.h's; not linked here */

static char captured[65536];

static void capture_line(int to, const char *line, size_t n)
{
	cr_assert(to == STDOUT_FILENO && n < sizeof(captured));
	memcpy(captured, line, n);
	captured[n] = 0;
}

static struct bw_req request(void)
{
	struct bw_req req = { .method = BW_STR("GET"),
		              .uri = BW_STR("/a;b/c"),
		              .query = BW_STR("q=1"),
		              .remote_addr = BW_STR("192.0.2.7"),
		              .id_text = "00000000000000ab",
		              .started_us = clock_mono_us() };

	return req;
}

static void expect_line(const char *pattern)
{
	regex_t re;

	cr_assert(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) == 0);
	cr_expect(regexec(&re, captured, 0, NULL, 0) == 0, "%s", captured);
	regfree(&re);
	cr_expect(strchr(captured, '\n') == captured + strlen(captured) - 1, "%s", captured);
}

#define STAMP "\\[[0-9]{2}/[A-Z][a-z]{2}/20[0-9]{2}:[0-9]{2}:[0-9]{2}:[0-9]{2} \\+0000\\]"

Test(accesslog, lines)
{
	struct bw_req        req = request();
	struct bw_res_header headers[2] = { { BW_STR("user-agent"), BW_STR("a \"b\"\\ \n\xe4") },
		                            { BW_STR("referer"), BW_STR("http://x/") } };

	accesslog_init("-");
	accesslog_write(&req, 200, 1234567890123u);
	expect_line("^192\\.0\\.2\\.7 - - " STAMP
	            " \"GET /a;b/c\\?q=1 HTTP/1\\.1\" 200 1234567890123 "
	            "\"-\" \"-\" 00000000000000ab [0-9]+\n$");
	req.headers = headers;
	req.n_headers = 2;
	req.http10 = true;
	req.query = BW_STR("");
	req.remote_user = BW_STR("a\" 200 0\n");
	accesslog_write(&req, 404, 0);
	expect_line("^192\\.0\\.2\\.7 - a\\\\x22 200 0\\\\x0a " STAMP
	            " \"GET /a;b/c\\? HTTP/1\\.0\" 404 0 "
	            "\"http://x/\" \"a \\\\x22b\\\\x22\\\\x5c \\\\x0a\\\\xe4\" 00000000000000ab "
	            "[0-9]+\n$");
	accesslog_done();
}

/* The largest of everything, all to be escaped, fits the buffer. */
Test(accesslog, largest)
{
	static char          big[20000];
	struct bw_req        req = request();
	struct bw_res_header headers[2];

	memset(big, '"', sizeof(big));
	headers[0] = (struct bw_res_header){ BW_STR("user-agent"), { big, sizeof(big) } };
	headers[1] = (struct bw_res_header){ BW_STR("referer"), { big, sizeof(big) } };
	req.headers = headers;
	req.n_headers = 2;
	req.uri = req.query = req.method = req.remote_user = headers[0].value;
	accesslog_init("-");
	accesslog_write(&req, 200, UINT64_MAX);
	cr_expect(strlen(captured) > 6 * 4 * MAX_VALUE &&
	          strlen(captured) < 6 * 4 * MAX_VALUE + 400);
	accesslog_done();
	captured[0] = 0;
	accesslog_write(&req, 200, 1); /* switched off */
	cr_expect(captured[0] == 0);
}
