/* faults_test.c - what clients see while processes are killed, stopped, or caught in an endless loop.
 * Proves: no wrong body ever, each question ends, errors only while somebody is away, and the full
 * rate again without anybody's help. Every kill of process X is 20 times (BOARDWALK_KILLS). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <support/http.h>
#include <support/instance.h>
#include <support/load.h>

#ifdef BOARDWALK_SANITIZED
#define KILLS        "3" /* the sanitized programs start slowly */
#define REPLACED_MS  6000u
#define MEMORY_KIB   (4u << 20)
#else
#define KILLS        "20"
#define REPLACED_MS  1000u
#define MEMORY_KIB   (64u << 10)
#endif

#define MAX_KILLS 512

/* ---- questions ---- */

static char questions_text[4][512];

static const struct load_question *demo_questions(const struct test_instance *i)
{
	static struct load_question questions[4];
	static const struct {
		const char *path, *body;
		bool        admin;
	} rows[4] = {
		{ "/test/hello", "Hello World", false },
		{ "/content/test/hello", "Hello World", false },
		{ "/test/serviceuser", "Hello servlettest the message is Hello World", false },
		{ "/content/test/auth", "Hello admin the dam count is 5", true },
	};

	for (int n = 0; n < 4; n++) {
		char *basic = http_basic(rows[n].admin ? i->credentials : NULL);

		snprintf(questions_text[n], sizeof(questions_text[n]),
		         "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", rows[n].path,
		         rows[n].admin ? basic : "");
		if (rows[n].admin)
			free(basic);
		questions[n] = (struct load_question){ questions_text[n], rows[n].body };
	}
	return questions;
}

/* The first process whose parent is pid; 0: none. */
static pid_t child_of(pid_t pid)
{
	char  path[64];
	int   child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%d", &child) != 1)
			child = 0;
		fclose(f);
	}
	return child;
}

static void report(const struct load *load)
{
	printf("ok %llu, 502 %llu, 503 %llu, 504 %llu, closed %llu, refused %llu, slowest %llu ms\n",
	       (unsigned long long)load_ok(load), (unsigned long long)load->by_status[502],
	       (unsigned long long)load->by_status[503], (unsigned long long)load->by_status[504],
	       (unsigned long long)load->closed, (unsigned long long)load->refused,
	       (unsigned long long)load->slowest_ms);
}

static void expect_only_honest_errors(const struct load *load)
{
	report(load);
	cr_expect(eq(u64, load->wrong_bodies, 0));
	cr_expect(eq(u64, load->malformed, 0));
	cr_expect(eq(u64, load->stuck, 0));
	cr_expect(eq(u64, load_other(load), 0));
}

/* ---- kill -9 ---- */

static const char *const victims[] = { "gateway", "worker", "auth", "repo", "postgres" };
#define N_VICTIMS (sizeof(victims) / sizeof(*victims))

struct killing {
	struct test_instance instance;
	unsigned             rounds, n;
	uint64_t             next_ms, end_ms;
	struct {
		uint64_t at_ms;
		size_t   victim;
	} kills[MAX_KILLS];
};

static pid_t victim_pid(const struct test_instance *i, size_t victim)
{
	if (strcmp(victims[victim], "worker") == 0)
		return child_of(test_instance_pid(i, "gateway"));
	return test_instance_pid(i, victims[victim]);
}

/* One victim after the other, so that each has lived long enough to be restarted at once. */
static bool kill_now_and_then(void *arg, uint64_t now_ms)
{
	struct killing *k = arg;
	size_t          victim = k->n % N_VICTIMS;
	bool            slow = victim == N_VICTIMS - 1;
	pid_t           pid;

	if (now_ms < k->next_ms)
		return false;
	if (k->n == k->rounds * N_VICTIMS)
		return true;
	pid = victim_pid(&k->instance, victim);
	cr_assert(gt(int, pid, 0), "%s is not there before kill %u", victims[victim], k->n);
	cr_assert(eq(int, kill(pid, SIGKILL), 0));
	k->kills[k->n].at_ms = now_ms;
	k->kills[k->n].victim = victim;
	k->n++;
	k->next_ms = now_ms + (slow ? 5000 : 0) + REPLACED_MS + 1200 + (uint64_t)(rand() % 500);
	return false;
}

/* From the time it has to be well again until the next kill: no error, and the rate of before. */
static void expect_recovery(const struct killing *k, const struct load *load, double full_rate)
{
	for (unsigned n = 0; n < k->n; n++) {
		bool     slow = k->kills[n].victim == N_VICTIMS - 1;
		uint64_t at = k->kills[n].at_ms, well = at + (slow ? 5000 : 0) + REPLACED_MS + 100;
		uint64_t until = n + 1 < k->n ? k->kills[n + 1].at_ms : k->next_ms;
		double   rate = load_rate(load, well, until);

		printf("kill %u, %s: %llu errors, then %.0f/s of %.0f/s\n", n,
		       victims[k->kills[n].victim], (unsigned long long)load_bad(load, at, until), rate,
		       full_rate);
		cr_expect(eq(u64, load_bad(load, well, until), 0), "errors after the recovery of %s",
		          victims[k->kills[n].victim]);
		cr_expect(gt(dbl, rate, full_rate * 0.6), "%s: %.0f/s", victims[k->kills[n].victim], rate);
	}
}

Test(faults, killed_processes_come_back_and_nobody_gets_a_wrong_answer, .timeout = 580)
{
	static struct killing k;
	static struct load    load;
	const char           *kills = getenv("BOARDWALK_KILLS");

	k.rounds = (unsigned)strtoul(kills ? kills : KILLS, NULL, 10);
	cr_assert(le(uint, k.rounds * N_VICTIMS, MAX_KILLS));
	k.next_ms = 2000;
	srand((unsigned)getpid());
	test_instance_start(&k.instance, NULL);
	load = (struct load){
		.port = (uint16_t)k.instance.port, .n_clients = 64,
		.questions = demo_questions(&k.instance), .n_questions = 4,
		.answer_within_ms = 5000, .tick = kill_now_and_then, .arg = &k,
	};
	load_run(&load);
	expect_only_honest_errors(&load);
	expect_recovery(&k, &load, load_rate(&load, 500, 2000));
	load_done(&load);
	test_instance_stop(&k.instance);
}

/* ---- repo stops answering ---- */

struct stopping {
	struct test_instance instance;
	pid_t                repo, worker;
	uint64_t             peak_kib;
	bool                 stopped, went_on;
};

static uint64_t resident_kib(pid_t pid)
{
	char     path[64], line[256];
	uint64_t kib = 0;
	FILE    *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	cr_assert(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

static bool stop_repo_for_ten_seconds(void *arg, uint64_t now_ms)
{
	struct stopping *s = arg;
	uint64_t         kib = resident_kib(s->worker);

	if (kib > s->peak_kib)
		s->peak_kib = kib;
	if (!s->stopped && now_ms >= 1000)
		s->stopped = kill(s->repo, SIGSTOP) == 0;
	if (!s->went_on && now_ms >= 11000)
		s->went_on = kill(s->repo, SIGCONT) == 0;
	return now_ms >= 16000;
}

Test(faults, a_stopped_repo_costs_503_at_once_and_no_memory, .timeout = 120)
{
	static const char *const one_worker[] = { "BOARDWALK_GATEWAY_WORKERS=1", NULL };
	static struct stopping   s;
	static struct load       load;
	struct rlimit            files = { 16384, 16384 };

	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &files), 0));
	test_instance_start(&s.instance,
	                    &(struct test_instance_options){ .environment = one_worker });
	s.repo = test_instance_pid(&s.instance, "repo");
	s.worker = child_of(test_instance_pid(&s.instance, "gateway"));
	load = (struct load){
		.port = (uint16_t)s.instance.port, .n_clients = 3000,
		.questions = demo_questions(&s.instance) + 1, .n_questions = 1,
		.answer_within_ms = 15000, .tick = stop_repo_for_ten_seconds, .arg = &s,
	};
	load_run(&load);
	expect_only_honest_errors(&load);
	printf("peak %llu KiB\n", (unsigned long long)s.peak_kib);
	cr_expect(gt(u64, load.by_status[503], 1000), "the bound was never reached");
	cr_expect(gt(dbl, (double)load_bad(&load, 5000, 6000), 100), "503 must come at once");
	cr_expect(lt(u64, s.peak_kib, MEMORY_KIB));
	cr_expect(gt(dbl, load_rate(&load, 13000, 16000), load_rate(&load, 500, 1000) * 0.6));
	cr_expect(eq(u64, load_bad(&load, 13000, 16000), 0));
	load_done(&load);
	test_instance_stop(&s.instance);
}

/* ---- fairness ---- */

static bool until_six_seconds(void *arg, uint64_t now_ms)
{
	(void)arg;
	return now_ms >= 6000;
}

Test(faults, a_thousand_clients_each_get_their_share, .timeout = 60)
{
	struct test_instance i;
	static struct load   load;
	struct rlimit        files = { 16384, 16384 };
	uint64_t             least = UINT64_MAX, total = 0;

	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &files), 0));
	test_instance_start(&i, NULL);
	load = (struct load){
		.port = (uint16_t)i.port, .n_clients = 1000, .questions = demo_questions(&i),
		.n_questions = 2, .answer_within_ms = 5000, .tick = until_six_seconds,
	};
	load_run(&load);
	expect_only_honest_errors(&load);
	for (unsigned n = 0; n < load.n_clients; n++) {
		total += load.ok_of_client[n];
		if (load.ok_of_client[n] < least)
			least = load.ok_of_client[n];
	}
	printf("mean %llu, least %llu\n", (unsigned long long)(total / load.n_clients),
	       (unsigned long long)least);
	cr_expect(ge(u64, least * 2, total / load.n_clients));
	load_done(&load);
	test_instance_stop(&i);
}
