/* Binary values of a whole instance: a large one goes in and comes out without any process holding it,
 * a range of it is found at once, and what kills a process in between leaves nothing half.
 *
 * Its size is 96 MiB; BOARDWALK_TEST_BLOB_MIB asks for another one, up to 1024. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "support/http.h"
#include "support/instance.h"

#define PIECE    (1u << 20)
#define MEMORY   (32u << 10) /* KiB that neither a worker nor repo may have at any time */
#define PATIENCE 20000u

static const char *const large_bodies[] = { "BOARDWALK_GATEWAY_MAX_BODY=2G",
	                                    "BOARDWALK_GATEWAY_REQUEST_TIMEOUT_MS=300000", NULL };

static const struct test_instance_options options = { .environment = large_bodies,
	                                              .bundle = "blobs" };
static struct test_instance               instance;
static pid_t                              repo;
static unsigned long long                 most_kib; /* of one process, since the test began */
static const char                        *most_of = "nobody";

static void begin(void)
{
	test_instance_start(&instance, &options);
	test_instance_repoinit(&instance, "create path /content/film(nt:unstructured)\n");
	repo = test_instance_pid(&instance, "repo");
}

static void end(void)
{
	test_instance_stop(&instance);
}

TestSuite(blob, .init = begin, .fini = end);

static uint64_t size_of_film(void)
{
	const char *text = getenv("BOARDWALK_TEST_BLOB_MIB");
	uint64_t    mib = text != NULL ? strtoull(text, NULL, 10) : 96;

	cr_assert(mib >= 1 && mib <= 1024, "BOARDWALK_TEST_BLOB_MIB: 1 to 1024");
	return mib << 20;
}

/* Octets at to at + n of the content number seed. */
static void fill(char *p, size_t n, uint64_t at, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t x = ((at + i) / 8 + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;

		p[i] = (char)(x >> (at + i) % 8 * 8);
	}
}

/* ---- what they hold ---- */

/* The spool file that a worker has mapped is on disk, and does not count. */
static void look_at(const char *what, pid_t pid)
{
	unsigned long long kib = strtoull(test_process_status(pid, "RssAnon"), NULL, 10);

	if (kib > most_kib) {
		most_kib = kib;
		most_of = what;
	}
}

static void look_at_all(void)
{
	pid_t  workers[16];
	size_t n = test_instance_workers(&instance, workers, 16);

	for (size_t i = 0; i < n; i++)
		look_at("a worker", workers[i]);
	look_at("repo", repo);
}

/* ---- in ---- */

static void send_head(struct http *http, uint64_t length)
{
	char *basic = http_basic(instance.credentials), head[512];
	int   n = snprintf(head, sizeof(head),
	                   "POST /blobs/film HTTP/1.1\r\nHost: t\r\n%s"
	                     "Content-Type: application/octet-stream\r\n"
	                     "Content-Length: %llu\r\n\r\n",
	                   basic, (unsigned long long)length);

	free(basic);
	cr_assert(http_send(http, head, (size_t)n));
}

static void send_octets(struct http *http, uint64_t from, uint64_t to, unsigned seed)
{
	char *piece = malloc(PIECE);

	for (uint64_t at = from; at < to; at += PIECE) {
		size_t n = to - at < PIECE ? (size_t)(to - at) : PIECE;

		fill(piece, n, at, seed);
		cr_assert(http_send(http, piece, n), "after %llu octets", (unsigned long long)at);
		if (at % (8 * PIECE) == 0)
			look_at_all();
	}
	free(piece);
}

/* The client waits for its answer as long as it takes. */
static int upload(uint64_t length, unsigned seed)
{
	const struct timeval patience = { .tv_sec = 280 };
	struct http          http;
	struct http_response answer = { 0 };

	http_open(&http, instance.port);
	setsockopt(http.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	send_head(&http, length);
	send_octets(&http, 0, length, seed);
	http_read(&http, false, &answer);
	http_response_done(&answer);
	http_close(&http);
	return answer.status;
}

/* ---- out ---- */

static int download_range(uint64_t from, size_t n, unsigned seed)
{
	struct http_response answer;
	char                 path[96], *expected = malloc(n + 1);
	int                  status;

	snprintf(path, sizeof(path), "/blobs/film?from=%llu&octets=%zu", (unsigned long long)from,
	         n);
	http_ask_once(instance.port, "GET", path, instance.credentials, &answer);
	status = answer.status;
	if (status == 200) {
		cr_assert_eq(answer.size, n, "%s: %zu octets", path, answer.size);
		fill(expected, n, from, seed);
		cr_assert(memcmp(answer.body, expected, n) == 0, "%s: other octets", path);
	}
	free(expected);
	http_response_done(&answer);
	return status;
}

static void download_whole(uint64_t length, unsigned seed)
{
	for (uint64_t at = 0; at < length; at += 8 * PIECE) {
		size_t n = length - at < 8 * PIECE ? (size_t)(length - at) : 8 * PIECE;

		cr_assert_eq(download_range(at, n, seed), 200);
		look_at_all();
	}
}

#ifdef BOARDWALK_SANITIZED
#define IS_SANITIZED true /* its memory is the sanitizer's */
#else
#define IS_SANITIZED false
#endif

Test(blob, a_large_one_goes_in_and_out_and_nobody_holds_it)
{
	uint64_t           length = size_of_film();
	unsigned long long start = test_now_ms(), in, out;
	int                status;

	status = upload(length, 1);
	cr_assert_eq(status, 200, "%d", status);
	in = test_now_ms();
	download_whole(length, 1);
	out = test_now_ms();
	printf("%llu MiB: in %llu ms, out %llu ms\n", (unsigned long long)length >> 20, in - start,
	       out - in);
	cr_assert_eq(download_range(length - 10, 10, 1), 200);
	cr_assert_eq(download_range(length / 2 - 3, 77, 1), 200);
	printf("at most %llu KiB, in %s\n", most_kib, most_of);
	cr_assert_gt(most_kib, 0);
	cr_assert(IS_SANITIZED || most_kib < MEMORY, "%s had %llu KiB", most_of, most_kib);
}

Test(blob, what_was_there_stays_if_the_new_one_does_not_arrive)
{
	struct http http;

	cr_assert_eq(upload(3 * PIECE, 2), 200);
	http_open(&http, instance.port);
	send_head(&http, 4 * PIECE);
	send_octets(&http, 0, 2 * PIECE, 3);
	http_close(&http);
	cr_assert_eq(download_range(0, 3 * PIECE, 2), 200);
}

/* Acknowledged is there, whoever is killed right after. */
static void kill_and_look(const char *name, unsigned seed)
{
	pid_t              before = test_instance_pid(&instance, name);
	unsigned long long limit;
	int                status;

	cr_assert_eq(upload(5 * PIECE + 7, seed), 200, "before %s is killed", name);
	cr_assert_eq(kill(before, SIGKILL), 0);
	cr_assert(test_instance_recovered(&instance, name, before, PATIENCE), "%s", name);
	limit = test_now_ms() + PATIENCE;
	do /* what repo has of PostgreSQL comes back one by one */
		status = download_range(0, 5 * PIECE + 7, seed);
	while (status == 503 && test_now_ms() < limit);
	cr_assert_eq(status, 200, "after %s was killed: %d", name, status);
}

Test(blob, what_is_acknowledged_survives)
{
	kill_and_look("repo", 11);
	kill_and_look("postgres", 12);
}
