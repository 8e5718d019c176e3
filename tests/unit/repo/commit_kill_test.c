/* Commits to the process boardwalk-repo while it, or PostgreSQL, is killed at random moments: what was
 * acknowledged is there, what was not is there wholly or not at all, clients are told, and no path in
 * the tree is other than its parent's and its name.
 *
 * Each slot has one commit under way: it sets the slot's number at two nodes and moves a third, with a
 * child, to and fro: even numbers have it below left, odd ones below right. */
#include "changing.h"
#include <criterion/new/assert.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/process.h>
#include <unistd.h>

#define SLOTS        6
#define REPO_ROUNDS  40
#define SERVER_EVERY 8 /* rounds in which PostgreSQL is killed instead */

static struct world          w; /* its loop, key and socket only */
static struct test_process   p;
static struct test_postgres *db;
static struct client         c;
static uint64_t              admin;

static struct slot {
	struct call call;
	unsigned    acknowledged, sent;
	bool        busy;
} slots[SLOTS];

static unsigned n_acknowledged, n_lost;

/* ---- repo and its gateway ---- */

static void start_repo(void)
{
	test_process_start(&p, NULL);
	test_process_wait_until_it_listens(&p);
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
}

/* Until the dead repo's transactions have ended, one way or the other. */
static void wait_for_backends(void)
{
	for (bool gone = false; !gone;) {
		char *n = test_postgres_value(db, "SELECT count(*) FROM pg_stat_activity"
		                                  " WHERE usename = 'boardwalk_repo'");

		gone = strcmp(n, "0") == 0;
		free(n);
		world_turn(&w);
	}
}

static int commit(const char *steps)
{
	int err;

	do {
		err = change(&c, admin, steps);
		if (err == BW_EGONE)
			world_turn(&w);
	} while (err == BW_EGONE); /* the connections for commits come up after the greeting */
	return err;
}

/* ---- commits ---- */

static void steps_of(unsigned slot, unsigned number, char steps[256])
{
	const char *from = number % 2 == 0 ? "right" : "left",
		   *to = number % 2 == 0 ? "left" : "right";

	snprintf(steps, 256,
	         "blind set /a%u n=l:%u; blind move /%s%u/m /%s%u/m; blind set /%s%u/m/k n=l:%u",
	         slot, number, from, slot, to, slot, to, slot, number);
}

static void send(unsigned i)
{
	struct slot    *s = &slots[i];
	struct changing changing;
	char            steps[256];

	s->sent = s->acknowledged + 1;
	steps_of(i, s->sent, steps);
	changing_init(&changing, &c, admin, steps);
	changing_send(&changing, &s->call);
	changing_done(&changing);
	s->busy = true;
}

static void take(unsigned i)
{
	struct slot *s = &slots[i];

	s->busy = false;
	if (s->call.err == BW_OK) {
		s->acknowledged = s->sent;
		n_acknowledged++;
	} else {
		cr_assert(s->call.err == BW_EGONE || s->call.err == BW_EBUSY ||
		                  s->call.err == BW_ETIME,
		          "slot %u is told %d", i, s->call.err);
		n_lost++;
	}
	call_done(&s->call);
}

static bool any_busy(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].busy)
			return true;
	return false;
}

static void take_all(void)
{
	double until = ev_time() + 20.;

	while (any_busy()) {
		for (unsigned i = 0; i < SLOTS; i++)
			if (slots[i].busy && slots[i].call.ended)
				take(i);
		if (any_busy())
			world_turn(&w);
		cr_assert(ev_time() < until, "a commit is never answered");
	}
}

/* Commits one after the other in each slot, for so long from the first that is acknowledged. */
static void work(double seconds)
{
	double   until = ev_time() + 20.;
	unsigned before = n_acknowledged;
	bool     begun = false;

	while (ev_time() < until) {
		if (!begun && n_acknowledged > before) {
			begun = true;
			until = ev_time() + seconds;
		}
		for (unsigned i = 0; i < SLOTS; i++) {
			if (slots[i].busy && slots[i].call.ended)
				take(i);
			if (!slots[i].busy && slots[i].sent == slots[i].acknowledged)
				send(i);
		}
		world_turn(&w);
	}
}

/* ---- what is there ---- */

/* As client_read; waits until PostgreSQL is there again. */
static int read_at(const char *path, struct call *call, struct record *ret)
{
	int err;

	while ((err = client_read(&c, admin, path, call, ret)) == BW_EGONE) {
		call_done(call);
		world_turn(&w);
	}
	return err;
}

static unsigned number_at(const char *path)
{
	struct record_prop prop;
	struct record      r;
	struct call        call;
	unsigned           n;

	cr_assert(eq(int, read_at(path, &call, &r), BW_OK), "%s", path);
	cr_assert(record_prop(&r, BW_STR("n"), &prop), "%s has no number", path);
	n = (unsigned)strtoul(record_value(&r, &prop, 0).p, NULL, 10);
	call_done(&call);
	return n;
}

static void check_slot(unsigned i)
{
	struct slot  *s = &slots[i];
	struct call   call;
	struct record r;
	char          path[64];
	unsigned      n;

	snprintf(path, sizeof(path), "/a%u", i);
	n = number_at(path);
	cr_assert(n == s->acknowledged || n == s->sent, "slot %u: %u, acknowledged %u, sent %u", i,
	          n, s->acknowledged, s->sent);
	snprintf(path, sizeof(path), "/%s%u/m/k", n % 2 == 0 ? "left" : "right", i);
	cr_assert(eq(uint, number_at(path), n), "slot %u", i);
	snprintf(path, sizeof(path), "/%s%u/m", n % 2 == 0 ? "right" : "left", i);
	cr_assert(eq(int, read_at(path, &call, &r), BW_ENOTFOUND), "%s", path);
	call_done(&call);
	s->acknowledged = s->sent = n;
}

static void check_all(void)
{
	char *bad;

	for (unsigned i = 0; i < SLOTS; i++)
		check_slot(i);
	bad = test_postgres_value(
		db, "SELECT t.path FROM repo.tree t JOIN repo.tree p ON p.id = t.parent"
		    " WHERE t.path <> rtrim(p.path, '/') || '/' || t.name");
	cr_assert(eq(str, bad, ""));
	free(bad);
}

/* ---- rounds ---- */

static void kill_repo(void)
{
	test_process_kill(&p);
	take_all(); /* the connection has ended, and with it all that was asked */
	client_close(&c);
	wait_for_backends();
	start_repo();
}

static void kill_server(void)
{
	test_postgres_kill(db);
	take_all();
	test_postgres_start(db);
	client_close(&c); /* repo lives; what was opened before the loss may be too old to use */
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	cr_assert(eq(int, commit("blind set /a0 again=1"), BW_OK));
}

static void make_slots(void)
{
	char steps[256];

	for (unsigned i = 0; i < SLOTS; i++) {
		snprintf(steps, sizeof(steps),
		         "create /a%u n=l:0; create /left%u; create /right%u; create /left%u/m; "
		         "create /left%u/m/k n=l:0",
		         i, i, i, i, i);
		cr_assert(eq(int, commit(steps), BW_OK));
	}
}

Test(commit_kill, acknowledged_is_there_and_the_rest_wholly_or_not)
{
	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	srandom(1);
	db = test_postgres_new();
	test_process_init(&p, "repo", BOARDWALK_REPO);
	snprintf(w.socket, sizeof(w.socket), "%s", p.socket);
	w.key = (struct handle_key){ .id = 3, .key = { 0x2a } };
	w.loop = ev_loop_new(EVFLAG_AUTO);
	test_process_configure(&p, test_postgres_conninfo(db, "boardwalk_repo"), "");
	start_repo();
	make_slots();
	for (unsigned round = 1; round <= REPO_ROUNDS; round++) {
		work((double)(random() % 100) / 1000. + 0.005);
		if (round % SERVER_EVERY == 0)
			kill_server();
		else
			kill_repo();
		check_all();
	}
	cr_assert(n_acknowledged > REPO_ROUNDS && n_lost > REPO_ROUNDS,
	          "%u acknowledged, %u not: nothing was tested", n_acknowledged, n_lost);
	kill(p.pid, SIGTERM);
	world_until(&w, c.closed);
	cr_assert(eq(int, test_process_end(&p), 0));
	client_close(&c);
	test_process_done(&p);
	ev_loop_destroy(w.loop);
	test_postgres_free(db);
}
