/* Updates under constant load, end to end: a folder that `boardwalk bundle watch` looks after, renames
 * into it, and clients that ask all the while. No request is lost, none is answered by a servlet that was
 * destroyed, no connection sees a number that is lower than the one before, and a worker is afterwards
 * what it was: its resident memory and its mappings are compared with those after a hundred updates.
 *
 * The promise is for 10,000 updates; the sanitizers get fewer. BOARDWALK_UPDATES says another number. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/generation.h"
#include "support/http.h"
#include "support/instance.h"

#define CONNECTIONS 16u /* each worker has some */
#define WARM        100u
#define WORKERS     2u
#define WARM_ASKED  15000u /* of each worker: the ring of its log has been filled by then */

#ifdef BOARDWALK_SANITIZED
#define UPDATES 600u
static const bool is_quarantined = true; /* what is freed stays resident for a long time */
#else
#define UPDATES 10000u
static const bool is_quarantined = false;
#endif

static const char *const                  workers_two[] = { "BOARDWALK_GATEWAY_WORKERS=2", NULL };
static const struct test_instance_options two_workers = { .environment = workers_two };

/* ---- the clients ---- */

static struct seen { /* shared with them */
	_Atomic bool     over;
	_Atomic uint64_t asked, lost, backwards, strange, slowest_ms;
} * seen;

static void ask(struct http *http, unsigned *last, unsigned port)
{
	struct http_response r;
	unsigned long long   began_ms = test_now_ms(), took_ms;
	unsigned             number;
	char                *end;

	http_ask(http, "GET", "/gen", NULL, &r);
	took_ms = test_now_ms() - began_ms;
	if (took_ms > seen->slowest_ms)
		seen->slowest_ms = took_ms;
	seen->asked++;
	number = (unsigned)strtoul(r.body ? r.body : "", &end, 10);
	if (r.status != 200) {
		seen->lost++;
		if (r.status == 0) {
			http_close(http);
			http_open(http, port);
		}
	} else if (end == r.body || *end != '\0')
		seen->strange++;
	else if (number < *last)
		seen->backwards++;
	else
		*last = number;
	http_response_done(&r);
}

static pid_t start_clients(unsigned port)
{
	static struct http connections[CONNECTIONS];
	unsigned           last[CONNECTIONS] = { 0 };
	pid_t              pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned k = 0; k < CONNECTIONS; k++)
		http_open(&connections[k], port);
	while (!seen->over) {
		for (unsigned k = 0; k < CONNECTIONS; k++)
			ask(&connections[k], &last[k], port);
		usleep(500); /* the load is constant; it is not to starve what is measured */
	}
	for (unsigned k = 0; k < CONNECTIONS; k++)
		http_close(&connections[k]);
	_exit(0);
}

/* ---- the workers ---- */

struct size {
	unsigned long rss_kib, mappings;
};

static void measure(const struct test_instance *i, struct size ret[WORKERS])
{
	pid_t workers[WORKERS + 1] = { 0 };

	cr_assert_eq(test_instance_workers(i, workers, WORKERS + 1), WORKERS);
	for (unsigned w = 0; w < WORKERS; w++) {
		char  path[64], line[512];
		FILE *in;

		ret[w] = (struct size){ .rss_kib = strtoul(test_process_status(workers[w], "VmRSS"),
			                                   NULL, 10) };
		snprintf(path, sizeof(path), "/proc/%d/maps", (int)workers[w]);
		in = fopen(path, "re");
		while (in != NULL && fgets(line, sizeof(line), in) != NULL)
			ret[w].mappings += strchr(line, '\n') != NULL;
		if (in != NULL)
			fclose(in);
		cr_assert(ret[w].rss_kib > 0 && ret[w].mappings > 0);
	}
}

static unsigned long requests_of(const char *metrics, unsigned worker)
{
	char        label[64];
	const char *at;

	snprintf(label, sizeof(label), "boardwalk_requests_total{worker=\"%u\"} ", worker);
	at = strstr(metrics, label);
	cr_assert_not_null(at, "%s", metrics);
	return strtoul(at + strlen(label), NULL, 10);
}

static void wait_until_warm(unsigned port)
{
	bool is_warm = false;

	while (!is_warm) {
		struct http_response r;

		usleep(10000);
		http_ask_once(port + 1, "GET", "/metrics", NULL, &r);
		is_warm = r.status == 200 && requests_of(r.body, 0) > WARM_ASKED &&
		          requests_of(r.body, 1) > WARM_ASKED;
		http_response_done(&r);
	}
}

static bool is_within_a_tenth(unsigned long was, unsigned long is)
{
	return is * 10 <= was * 11;
}

/* ---- the folder ---- */

static FILE *watch; /* what the command says */

static void expect_line(const char *begin)
{
	char line[512];

	do
		cr_assert_not_null(fgets(line, sizeof(line), watch), "it ended before: %s", begin);
	while (strncmp(line, begin, strlen(begin)) != 0 && strstr(line, "boardwalk: ") == NULL);
	cr_assert(strncmp(line, begin, strlen(begin)) == 0, "%s", line);
}

static void put(const struct generation *g, const char *folder, unsigned n)
{
	char words[32], path[2][300];

	snprintf(words, sizeof(words), "n=%u", n);
	snprintf(path[0], sizeof(path[0]), "%s/.fresh", folder);
	snprintf(path[1], sizeof(path[1]), "%s/gen.so", folder);
	generation_write(g, words, path[0]);
	cr_assert_eq(rename(path[0], path[1]), 0);
}

static unsigned wanted(void)
{
	const char *text = getenv("BOARDWALK_UPDATES");

	return text != NULL ? (unsigned)strtoul(text, NULL, 10) : UPDATES;
}

static void report(unsigned n, unsigned long long took_ms, const struct size *warm,
                   const struct size *last)
{
	printf("%u updates in %llu ms; %llu requests: %llu lost, %llu backwards, %llu strange, "
	       "slowest %llu ms\n",
	       n, took_ms, (unsigned long long)seen->asked, (unsigned long long)seen->lost,
	       (unsigned long long)seen->backwards, (unsigned long long)seen->strange,
	       (unsigned long long)seen->slowest_ms);
	for (unsigned w = 0; w < WORKERS; w++)
		printf("worker %u: after %u updates %lu KiB, %lu mappings; after %u %lu KiB, %lu "
		       "mappings\n",
		       w, WARM, warm[w].rss_kib, warm[w].mappings, n, last[w].rss_kib,
		       last[w].mappings);
}

Test(bundle_load, updates_under_load_lose_nothing_and_leave_nothing)
{
	struct test_instance i;
	struct generation    g;
	struct size          warm[WORKERS], last[WORKERS];
	char                 folder[128];
	const char          *arguments[] = { "bundle", "watch", folder, NULL };
	unsigned             n = wanted();
	unsigned long long   began_ms;
	pid_t                watcher, clients;
	int                  out, status = -1;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	test_instance_start(&i, &two_workers);
	generation_read(&g, TEST_BUNDLES "/generation.so");
	snprintf(folder, sizeof(folder), "%s/watched", i.root);
	cr_assert_eq(mkdir(folder, 0755), 0);
	put(&g, folder, 1);
	watcher = test_instance_spawn(&i, &out, arguments);
	watch = fdopen(out, "r");
	expect_line("installed test.generation");
	expect_line("watching ");
	clients = start_clients(i.port);

	began_ms = test_now_ms();
	for (unsigned k = 2; k <= n; k++) {
		put(&g, folder, k);
		expect_line("updated test.generation");
		if (k == WARM) {
			wait_until_warm(i.port);
			measure(&i, warm);
		}
	}
	measure(&i, last);
	report(n, test_now_ms() - began_ms, warm, last);
	seen->over = true;
	waitpid(clients, &status, 0);
	cr_expect_eq(status, 0);

	cr_expect_gt(seen->asked, n, "the load was no load");
	cr_expect(seen->lost == 0 && seen->backwards == 0 && seen->strange == 0);
	for (unsigned w = 0; w < WORKERS; w++) {
		if (!is_quarantined)
			cr_expect(is_within_a_tenth(warm[w].rss_kib, last[w].rss_kib), "worker %u",
			          w);
		cr_expect(is_within_a_tenth(warm[w].mappings, last[w].mappings), "worker %u", w);
	}
	kill(watcher, SIGTERM);
	waitpid(watcher, &status, 0);
	cr_expect_eq(status, 0, "watch ends with 0 when it is told to");
	fclose(watch);
	generation_done(&g);
	test_instance_stop(&i);
}

/* Half of them fail in the second worker only, when the first one has prepared them. */
Test(bundle_load, updates_that_fail_leave_no_gap)
{
	static const char *const words[] = { "n=9 init=fail", "n=9 start=fail",
		                             "n=9 init=fail in=1", "n=9 start=fail in=1" };
	struct test_instance     i;
	struct generation        g;
	char                     file[128];
	const char              *install[] = { "bundle", "install", file, NULL };
	const char              *update[] = { "bundle", "update", file, NULL };
	pid_t                    clients;
	int                      status = -1;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	test_instance_start(&i, &two_workers);
	generation_read(&g, TEST_BUNDLES "/generation.so");
	snprintf(file, sizeof(file), "%s/gen.so", i.root);
	generation_write(&g, "n=1", file);
	cr_assert_eq(test_instance_cli(&i, NULL, NULL, install), 0);
	clients = start_clients(i.port);
	for (unsigned k = 0; k < 20; k++) {
		cr_assert_eq(unlink(file), 0);
		generation_write(&g, words[k % 4], file);
		cr_assert_eq(test_instance_cli(&i, NULL, NULL, update), 1, "%s", words[k % 4]);
	}
	cr_assert_eq(unlink(file), 0);
	generation_write(&g, "n=2", file);
	cr_assert_eq(test_instance_cli(&i, NULL, NULL, update), 0);
	seen->over = true;
	waitpid(clients, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect_gt(seen->asked, 100);
	cr_expect(seen->lost == 0 && seen->backwards == 0 && seen->strange == 0);
	generation_done(&g);
	test_instance_stop(&i);
}
