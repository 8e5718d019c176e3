/* logins.c - what a flood of wrong passwords costs those who are logged in: asks PATH with remembered Basic
 * credentials at an even rate, for SECONDS without and for SECONDS beside WRONG logins a second, each of
 * another name. Prints both rows and how many of the wrong ones were refused (401), told to wait (429) or
 * turned away (503).
 *
 *     logins PORT PATH USER:PASSWORD [WRONG [SECONDS]]
 *
 * Owns: everything until it ends. Runs in: one thread that measures, SENDERS that send what is wrong, since
 * each of those waits for a hash. Fails with: a fatal line. See bench/flood. */
#include <arpa/inet.h>
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SENDERS     128u
#define RATE        200u /* measured requests a second */
#define MAX_SAMPLES 60000u

struct sender {
	pthread_t thread;
	unsigned  number, every_us;
};

static unsigned    port;
static const char *path;
static atomic_bool is_over;
static atomic_uint n_refused, n_waiting, n_busy, n_other;
static uint64_t    took_us[MAX_SAMPLES];

static int connect_to(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons((uint16_t)port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		fatal("127.0.0.1:%u", port);
	return fd;
}

static size_t make_request(char *out, size_t size, const char *credentials)
{
	char basic[512];

	sodium_bin2base64(basic, sizeof(basic), (const uint8_t *)credentials, strlen(credentials),
	                  sodium_base64_VARIANT_ORIGINAL);
	return (size_t)snprintf(out, size,
	                        "GET %s HTTP/1.1\r\nHost: h\r\nAuthorization: Basic %s\r\n\r\n",
	                        path, basic);
}

/* The status; 0: the connection is over. The answers are short: head and body come in few reads. */
static int ask(int fd, const char *request, size_t n)
{
	char   in[16384];
	size_t have = 0, whole = 0;

	if (write(fd, request, n) != (ssize_t)n)
		return 0;
	while (whole == 0 || have < whole) {
		ssize_t     k = read(fd, in + have, sizeof(in) - 1 - have);
		const char *end, *length;

		if (k <= 0)
			return 0;
		have += (size_t)k;
		in[have] = '\0';
		end = strstr(in, "\r\n\r\n");
		length = strcasestr(in, "\r\ncontent-length:");
		if (end != NULL && length != NULL && length < end)
			whole = (size_t)(end + 4 - in) + strtoul(length + 17, NULL, 10);
	}
	return atoi(in + 9);
}

static void wait_until(uint64_t at_us)
{
	struct timespec t = { (time_t)(at_us / 1000000u), (long)(at_us % 1000000u) * 1000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		continue;
}

/* ---- the wrong ones ---- */

static void *guess(void *arg)
{
	const struct sender *s = arg;
	uint64_t             at_us = clock_mono_us() + (uint64_t)s->number * s->every_us / SENDERS;
	char                 credentials[64], request[512];
	int                  fd = connect_to();

	for (unsigned i = 0; wait_until(at_us), !is_over; i++, at_us += s->every_us) {
		size_t n;
		int    status;

		snprintf(credentials, sizeof(credentials), "nobody-%u-%u-%u:x", (unsigned)getpid(),
		         s->number, i);
		n = make_request(request, sizeof(request), credentials);
		status = ask(fd, request, n);
		atomic_fetch_add(status == 401   ? &n_refused
		                 : status == 429 ? &n_waiting
		                 : status == 503 ? &n_busy
		                                 : &n_other,
		                 1);
		if (status == 0) {
			close(fd);
			fd = connect_to();
		}
	}
	close(fd);
	return NULL;
}

/* ---- those who are logged in ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* From when each was due: one that comes late because another took long has waited as well. */
static void measure(const char *what, const char *request, size_t n, unsigned seconds)
{
	uint64_t at_us = clock_mono_us();
	unsigned total = seconds * RATE;
	int      fd = connect_to();

	for (unsigned i = 0; i < total; i++, at_us += 1000000u / RATE) {
		wait_until(at_us);
		if (ask(fd, request, n) != 200)
			fatalx("%s: not answered 200", path);
		took_us[i] = clock_mono_us() - at_us;
	}
	close(fd);
	qsort(took_us, total, sizeof(took_us[0]), compare);
	printf("%-8s %6u requests  p50 %6llu us  p99 %6llu us  worst %6llu us\n", what, total,
	       (unsigned long long)took_us[total / 2],
	       (unsigned long long)took_us[total * 99 / 100],
	       (unsigned long long)took_us[total - 1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct sender senders[SENDERS];
	unsigned             wrong = argc > 4 ? (unsigned)atoi(argv[4]) : 100;
	unsigned             seconds = argc > 5 ? (unsigned)atoi(argv[5]) : 10;
	char                 request[512];
	size_t               n;

	log_init("bench", LOG_LEVEL_WARNING);
	if (argc < 4 || wrong < 1 || seconds < 1 || seconds * RATE > MAX_SAMPLES)
		fatalx("usage: logins PORT PATH USER:PASSWORD [WRONG [SECONDS]]");
	port = (unsigned)atoi(argv[1]);
	path = argv[2];
	n = make_request(request, sizeof(request), argv[3]);
	measure("without", request, n, seconds);
	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){ .number = i, .every_us = 1000000u * SENDERS / wrong };
		if (pthread_create(&senders[i].thread, NULL, guess, &senders[i]) != 0)
			fatalx("no thread");
	}
	measure("beside", request, n, seconds);
	is_over = true;
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_join(senders[i].thread, NULL);
	printf("wrong    %u refused, %u told to wait, %u turned away, %u otherwise\n", n_refused,
	       n_waiting, n_busy, n_other);
	return 0;
}
