/* faults_test.c - what clients see while processes are killed and stopped, and while many of them want
 * to be served. Proves: no wrong body ever, each question ends, errors only while somebody is away, and
 * the full rate again without anybody's help. Every process is killed 20 times (BOARDWALK_KILLS). */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/http.h>
#include <support/instance.h>
#include <support/load.h>
#include <sys/resource.h>

#ifdef BOARDWALK_SANITIZED
#define KILLS      "3"   /* the sanitized programs start slowly */
#define WELL_MS    6000u /* after a kill: no more errors, and the full rate */
#define MEMORY_KIB (4u << 20)
#else
#define KILLS      "20"
#define WELL_MS    1000u
#define MEMORY_KIB (64u << 10)
#endif
#define POSTGRES_MS 4000u /* what PostgreSQL may take beyond that */
#define CALM_MS     600u  /* at least so long nothing happens between two faults */

#define MAX_KILLS 512
#define N_CLIENTS 64u

/* ---- questions ---- */

enum { ASK_NOBODY, ASK_REPO, ASK_SERVICE, ASK_ADMIN, N_QUESTIONS };

static const struct load_question *demo_questions(const struct test_instance *i)
{
	static struct load_question questions[N_QUESTIONS];
	static char                 texts[N_QUESTIONS][512];
	static const struct {
		const char *path, *body;
		bool        admin;
	} rows[N_QUESTIONS] = {
		[ASK_NOBODY] = { "/test/hello", "Hello World", false },
		[ASK_REPO] = { "/content/test/hello", "Hello World", false },
		[ASK_SERVICE] = { "/test/serviceuser",
		                  "Hello servlettest the message is Hello World", false },
		[ASK_ADMIN] = { "/content/test/auth", "Hello admin the dam count is 5", true },
	};

	for (int n = 0; n < N_QUESTIONS; n++) {
		char *basic = http_basic(rows[n].admin ? i->credentials : NULL);

		snprintf(texts[n], sizeof(texts[n]), "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
		         rows[n].path, basic);
		free(basic);
		questions[n] = (struct load_question){ texts[n], rows[n].body };
	}
	return questions;
}

static pid_t any_worker(const struct test_instance *i)
{
	pid_t  workers[64];
	size_t n = test_instance_workers(i, workers, 64);

	return n > 0 ? workers[(size_t)rand() % n] : 0;
}

static void expect_only_honest_errors(const struct load *load)
{
	const struct load_counts *c = &load->counts;

	printf("200 %llu, 502 %llu, 503 %llu, 504 %llu, closed %llu, refused %llu, slowest %llu "
	       "ms\n",
	       (unsigned long long)c->by_status[200], (unsigned long long)c->by_status[502],
	       (unsigned long long)c->by_status[503], (unsigned long long)c->by_status[504],
	       (unsigned long long)c->closed, (unsigned long long)c->refused,
	       (unsigned long long)c->slowest_ms);
	cr_expect(eq(u64, c->wrong_bodies, 0));
	cr_expect(eq(u64, c->malformed, 0));
	cr_expect(eq(u64, c->stuck, 0));
	cr_expect(eq(u64, load_other(c), 0));
}

/* ---- kill -9 ---- */

/* While one of them is away the others go on. What a client may lose besides 503: the one question it
 * has in flight at a worker that dies (the gateway's workers die one by one: it may meet two of them),
 * and connections while nobody listens. */
static const struct victim {
	const char *name;
	unsigned    well_ms;
	unsigned    loses; /* questions of each client */
	bool        refuses;
} victims[] = {
	{ "gateway", WELL_MS, 2, true },
	{ "worker", WELL_MS, 1, false },
	{ "auth", WELL_MS, 0, false },
	{ "repo", WELL_MS, 0, false },
	{ "postgres", WELL_MS + POSTGRES_MS, 0, false },
};
#define N_VICTIMS (sizeof(victims) / sizeof(*victims))

struct kill_seen {
	uint64_t           at_ms;
	struct load_counts before;
};

struct killing {
	struct test_instance instance;
	struct load          load;
	unsigned             rounds, n;
	uint64_t             next_ms;
	struct kill_seen     kills[MAX_KILLS + 1]; /* the last one: the end */
};

static const struct victim *victim_of(unsigned n)
{
	return &victims[n % N_VICTIMS];
}

static pid_t victim_pid(const struct test_instance *i, const struct victim *v)
{
	if (strcmp(v->name, "worker") == 0)
		return any_worker(i);
	return test_instance_pid(i, v->name);
}

/* One victim after the other, so that each has lived for ten seconds and is started again at once. */
static bool kill_now_and_then(void *arg, uint64_t now_ms)
{
	struct killing      *k = arg;
	const struct victim *v = victim_of(k->n);
	pid_t                pid;

	if (now_ms < k->next_ms)
		return false;
	k->kills[k->n].at_ms = now_ms;
	k->kills[k->n].before = k->load.counts;
	if (k->n == k->rounds * N_VICTIMS)
		return true;
	pid = victim_pid(&k->instance, v);
	cr_assert(gt(int, pid, 0), "%s is not there before kill %u", v->name, k->n);
	cr_assert(eq(int, kill(pid, SIGKILL), 0));
	k->n++;
	k->next_ms = now_ms + v->well_ms + CALM_MS + (uint64_t)(rand() % 300);
	return false;
}

/* The errors of one kill: of the kinds that its victim may cause. *ret_well_ms: when they were over. */
static void expect_honest_kill(const struct killing *k, unsigned n, uint64_t *ret_well_ms)
{
	const struct victim      *v = victim_of(n);
	const struct load_counts *a = &k->kills[n].before, *b = &k->kills[n + 1].before;
	uint64_t                  at = k->kills[n].at_ms, until = k->kills[n + 1].at_ms;
	uint64_t                  closed = b->closed - a->closed, refused = b->refused - a->refused;

	*ret_well_ms = load_last_bad(&k->load, at, until) - at;
	printf("kill %u, %s: 502 %llu, 503 %llu, 504 %llu, closed %llu, refused %llu; well after "
	       "%llu ms\n",
	       n, v->name, (unsigned long long)(b->by_status[502] - a->by_status[502]),
	       (unsigned long long)(b->by_status[503] - a->by_status[503]),
	       (unsigned long long)(b->by_status[504] - a->by_status[504]),
	       (unsigned long long)closed, (unsigned long long)refused,
	       (unsigned long long)*ret_well_ms);
	cr_expect(le(u64, closed, v->loses * N_CLIENTS), "kill %u, %s", n, v->name);
	cr_expect(v->refuses || refused == 0, "kill %u, %s: refused", n, v->name);
	if (v->loses == 0)
		cr_expect(eq(u64, b->bad_of_question[ASK_NOBODY], a->bad_of_question[ASK_NOBODY]),
		          "kill %u: what needs no %s must not notice", n, v->name);
}

/* Whether this machine had time for us: who is alive answers, if only 503, about as often as ever. */
static bool was_starved(const struct killing *k, unsigned n)
{
	uint64_t at = k->kills[n].at_ms, limit = at + victim_of(n)->well_ms,
		 calm = at - CALM_MS + 100;
	double seconds = (double)(limit - at) / 1000;
	double answers =
		load_rate(&k->load, at, limit) + (double)load_bad(&k->load, at, limit) / seconds;

	return victim_of(n)->loses == 0 && answers < load_rate(&k->load, calm, at) * 0.5;
}

/* All kills of a victim were over in time; but for one in twenty, since this machine may do other things
 * than our tests. */
static void expect_well_in_time(const struct killing *k, size_t victim, const uint64_t *well_ms)
{
	uint64_t limit = victims[victim].well_ms + LOAD_BUCKET_MS, slowest = 0;
	unsigned late = 0, starved = 0;

	for (unsigned n = (unsigned)victim; n < k->n; n += N_VICTIMS) {
		slowest = well_ms[n] > slowest ? well_ms[n] : slowest;
		if (well_ms[n] > limit && was_starved(k, n))
			starved++;
		else
			late += well_ms[n] > limit;
	}
	printf("%s: well within %llu ms, %u late, %u without a verdict\n", victims[victim].name,
	       (unsigned long long)slowest, late, starved);
	cr_expect(le(uint, late, k->rounds / 20), "%s", victims[victim].name);
	cr_expect(le(uint, starved, k->rounds / 4), "%s", victims[victim].name);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What the rate was between recovery and the next fault, against the same before the fault. The
 * median, and of enough of them: other things may run on this machine as well. */
static void expect_full_rate(const struct killing *k, size_t victim)
{
	double   ratios[MAX_KILLS / N_VICTIMS + 1];
	unsigned rounds = 0;
	uint64_t calm = 500; /* since when nothing has happened, before kill n */

	for (unsigned n = 0; n < k->n; n++) {
		uint64_t at = k->kills[n].at_ms, until = k->kills[n + 1].at_ms;
		double   before = load_rate(&k->load, calm, at);

		calm = at + victim_of(n)->well_ms + LOAD_BUCKET_MS;
		if (n % N_VICTIMS == victim)
			ratios[rounds++] = load_rate(&k->load, calm, until) / before;
	}
	qsort(ratios, rounds, sizeof(*ratios), compare);
	printf("%s: then %.2f of the rate before (%.2f to %.2f)\n", victims[victim].name,
	       ratios[rounds / 2], ratios[0], ratios[rounds - 1]);
	if (rounds >= 10)
		cr_expect(gt(dbl, ratios[rounds / 2], 0.5), "%s", victims[victim].name);
}

Test(faults, killed_processes_come_back_and_nobody_gets_a_wrong_answer)
{
	static struct killing k;
	const char           *kills = getenv("BOARDWALK_KILLS");
	static uint64_t       well_ms[MAX_KILLS];

	k.rounds = (unsigned)strtoul(kills ? kills : KILLS, NULL, 10);
	cr_assert(gt(uint, k.rounds, 0));
	cr_assert(le(uint, k.rounds * N_VICTIMS, MAX_KILLS));
	k.next_ms = 1500;
	srand((unsigned)getpid());
	test_instance_start(&k.instance, NULL);
	k.load = (struct load){
		.port = (uint16_t)k.instance.port,
		.n_clients = N_CLIENTS,
		.questions = demo_questions(&k.instance),
		.n_questions = N_QUESTIONS,
		.answer_within_ms = 5000,
		.tick = kill_now_and_then,
		.arg = &k,
	};
	load_run(&k.load);
	expect_only_honest_errors(&k.load);
	for (unsigned n = 0; n < k.n; n++)
		expect_honest_kill(&k, n, &well_ms[n]);
	for (size_t v = 0; v < N_VICTIMS; v++) {
		expect_well_in_time(&k, v, well_ms);
		expect_full_rate(&k, v);
	}
	load_done(&k.load);
	test_instance_stop(&k.instance);
}

/* ---- repo stops answering ---- */

#define CROWD 3000u
#define FEW   500u

struct stopping {
	struct load load;
	pid_t       repo;
	bool        stopped, went_on;
};

/* The crowd comes while repo stands still: otherwise it might reach the bound by itself. */
static bool stop_repo_for_ten_seconds(void *arg, uint64_t now_ms)
{
	struct stopping *s = arg;

	if (!s->stopped && now_ms >= 2000) {
		s->stopped = kill(s->repo, SIGSTOP) == 0;
		s->load.n_idle = 0;
	}
	if (!s->went_on && now_ms >= 12000) {
		s->went_on = kill(s->repo, SIGCONT) == 0;
		s->load.n_idle = CROWD - FEW;
	}
	return now_ms >= 15000;
}

/* Waiting requests fill the bound (gateway.max_requests), and whoever comes then is refused at once: a
 * client has its 503 hundreds of times while others wait. All of them are at one worker. */
Test(faults, a_stopped_repo_costs_503_at_once_and_no_memory)
{
	static const char *const one_worker[] = { "BOARDWALK_GATEWAY_WORKERS=1", NULL };
	static struct stopping   s;
	struct test_instance     i;
	struct rlimit            files = { 16384, 16384 };
	pid_t                    worker;
	uint64_t                 kib;

	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &files), 0));
	test_instance_start(&i, &(struct test_instance_options){ .environment = one_worker });
	s.repo = test_instance_pid(&i, "repo");
	worker = any_worker(&i);
	s.load = (struct load){
		.port = (uint16_t)i.port,
		.n_clients = CROWD,
		.n_idle = CROWD - FEW,
		.questions = demo_questions(&i) + ASK_REPO,
		.n_questions = 1,
		.answer_within_ms = 15000,
		.tick = stop_repo_for_ten_seconds,
		.arg = &s,
	};
	load_run(&s.load);
	kib = strtoull(test_process_status(worker, "VmHWM"), NULL, 10);
	printf("the worker's peak: %llu KiB\n", (unsigned long long)kib);
	expect_only_honest_errors(&s.load);
	cr_expect(eq(u64, s.load.counts.closed + s.load.counts.refused, 0));
	cr_expect(eq(u64, load_bad(&s.load, 0, 2000), 0));
	for (uint64_t ms = 3000; ms < 12000; ms += 1000)
		cr_expect(gt(u64, load_bad(&s.load, ms, ms + 1000), 1000), "503 must come at once");
	cr_expect(gt(u64, kib, 0));
	cr_expect(lt(u64, kib, MEMORY_KIB));
	cr_expect(eq(u64, load_bad(&s.load, 13000, 15000), 0));
	cr_expect(gt(dbl, load_rate(&s.load, 13000, 15000), load_rate(&s.load, 1000, 2000) * 0.3));
	load_done(&s.load);
	test_instance_stop(&i);
}

/* ---- the health page ---- */

/* The status that comes in the end, of answers that each come soon. */
static int ready_becomes(const struct test_instance *i, bool well, unsigned limit_ms)
{
	unsigned long long limit = test_now_ms() + limit_ms;
	int                status;

	do {
		unsigned long long   asked = test_now_ms();
		struct http_response r;

		http_ask_once(i->port + 1, "GET", "/health/ready", NULL, &r);
		status = r.status;
		http_response_done(&r);
		cr_expect(lt(u64, test_now_ms() - asked, 2000 + WELL_MS), "the page is stuck");
	} while ((status == 200) != well && test_now_ms() < limit);
	return status;
}

Test(faults, who_asks_whether_we_are_ready_is_not_kept_waiting)
{
	static const char *const names[] = { "auth", "repo" };
	struct test_instance     i;

	test_instance_start(&i, NULL);
	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
		pid_t pid = test_instance_pid(&i, names[n]);
		int   status;

		cr_assert(eq(int, kill(pid, SIGSTOP), 0));
		status = ready_becomes(&i, false, 5000);
		cr_expect(status == 503 || status == 504, "%s stopped: %d", names[n], status);
		cr_assert(eq(int, kill(pid, SIGCONT), 0));
		cr_expect(eq(int, ready_becomes(&i, true, 5000), 200), "%s", names[n]);
	}
	test_instance_stop(&i);
}

/* ---- fairness ---- */

struct sharing {
	struct load load;
	bool        settled;
};

/* The first two seconds do not count: a thousand clients arrive at once, and one of them is last. */
static bool share_for_six_seconds(void *arg, uint64_t now_ms)
{
	struct sharing *s = arg;

	if (!s->settled && now_ms >= 2000) {
		memset(s->load.of_client, 0, s->load.n_clients * sizeof(*s->load.of_client));
		s->settled = true;
	}
	return now_ms >= 8000;
}

/* The kernel spreads connections over the workers' sockets by a hash: of 1,000, one worker gets a few
 * dozen more than another, and its clients a few parts in a hundred less. */
Test(faults, a_thousand_clients_each_get_their_share)
{
	static struct sharing s;
	struct load          *load = &s.load;
	struct test_instance  i;
	struct rlimit         files = { 16384, 16384 };
	uint64_t              least = UINT64_MAX, mean = 0;

	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &files), 0));
	test_instance_start(&i, NULL);
	*load = (struct load){
		.port = (uint16_t)i.port,
		.n_clients = 1000,
		.questions = demo_questions(&i),
		.n_questions = 2,
		.answer_within_ms = 5000,
		.tick = share_for_six_seconds,
		.arg = &s,
	};
	load_run(load);
	expect_only_honest_errors(load);
	for (unsigned n = 0; n < load->n_clients; n++) {
		mean += load->of_client[n].ok;
		if (load->of_client[n].ok < least)
			least = load->of_client[n].ok;
	}
	mean /= load->n_clients;
	printf("mean %llu, least %llu\n", (unsigned long long)mean, (unsigned long long)least);
	cr_expect(gt(u64, least, 0));
	cr_expect(ge(u64, least * 2, mean));
	load_done(load);
	test_instance_stop(&i);
}
