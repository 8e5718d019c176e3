/* gateway/control: the parent's half of a change, and who speaks with it. The workers here are the other
 * ends of their channels, which answer as the test says; the operator is a client of the socket. */
#include <base/clock.h>
#include <base/unix_socket.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/control.h"

#define WORKERS 3u
#define SHA     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char            folder[64], path[128];
static struct crew    *crew;
static struct changes *changes;
static struct control *control;
static struct channel  ends[WORKERS]; /* the workers' */
static unsigned        aborted;       /* a bit per worker */
static uint64_t        late_us;       /* what the clock is ahead of the real one */

static void abort_worker(void *arg, uint32_t worker, const char *why)
{
	(void)arg;
	(void)why;
	aborted |= 1u << worker;
}

/* ---- the store ---- */

static void put_state(const char *name, uint64_t generation, bool stopped)
{
	struct store         s = { .next = generation + 1 };
	struct store_bundle *b;
	char                 err[256];

	if (name != NULL) {
		b = store_add(&s, name);
		b->generation = generation;
		b->stopped = stopped;
		strcpy(b->sha256, SHA);
	}
	cr_assert(store_write(folder, &s, false, err, sizeof(err)), "%s", err);
	store_done(&s);
}

static void start_worker(uint32_t i)
{
	channel_open(&ends[i], crew_open(crew, i));
	crew_started(crew, i, 1000 + (pid_t)i);
}

static void init(void)
{
	const struct changes_hooks hooks = { abort_worker, NULL };

	strcpy(folder, "/tmp/boardwalk-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	put_state("acme.a", 3, false);
	snprintf(path, sizeof(path), "%s/sock", folder);
	crew = crew_new(WORKERS);
	changes = changes_new(crew, folder, &hooks);
	control = control_new(crew, changes, unix_listen(path, 0666, 16), geteuid());
	for (uint32_t i = 0; i < WORKERS; i++)
		start_worker(i);
}

static void fini(void)
{
	char command[128];

	for (uint32_t i = 0; i < WORKERS; i++) {
		if (crew_pid(crew, i) > 0)
			crew_ended(crew, i, "ends");
		channel_close(&ends[i]);
	}
	control_free(control);
	changes_free(changes);
	crew_free(crew);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(control, .init = init, .fini = fini);

/* ---- the parent's loop ---- */

static void turn(void)
{
	struct pollfd fds[WORKERS + 1 + CONTROL_MAX_CLIENTS];

	for (int quiet = 0; quiet < 2;) {
		size_t n;

		for (uint32_t i = 0; i < WORKERS; i++)
			fds[i].fd = crew_fd(crew, i, &fds[i].events);
		n = control_poll(control, fds + WORKERS);
		quiet = poll(fds, WORKERS + n, 2) == 0 ? quiet + 1 : 0;
		for (uint32_t i = 0; i < WORKERS; i++)
			crew_turn(crew, i, fds[i].revents);
		control_turn(control, fds + WORKERS, n);
		control_tend(control, clock_mono_us() + late_us, 1);
		crew_tend(crew, clock_mono_us() + late_us, 1);
		changes_tend(changes, clock_mono_us() + late_us, 1);
	}
}

/* ---- a worker ---- */

/* The next order, its words joined by blanks; "" if there is none. */
static const char *order(uint32_t i, uint32_t *ret_call)
{
	static char          text[1024];
	struct channel_frame frame;

	turn();
	channel_read(&ends[i]);
	if (!channel_next(&ends[i], &frame))
		return "";
	memcpy(text, frame.text, frame.n);
	for (size_t k = 0; k + 1 < frame.n; k++)
		if (text[k] == '\0')
			text[k] = ' ';
	*ret_call = frame.call;
	return text;
}

static void reply(uint32_t i, uint32_t call, uint32_t status, const char *text)
{
	channel_put(&ends[i], call, status, text, strlen(text));
	cr_assert(channel_flush(&ends[i]));
	turn();
}

/* The order begins like that, and is answered. */
static void expect_order(uint32_t i, const char *begin, uint32_t status, const char *text)
{
	uint32_t    call = 0;
	const char *got = order(i, &call);

	cr_assert(strncmp(got, begin, strlen(begin)) == 0, "worker %u got \"%s\", not \"%s\"", i,
	          got, begin);
	reply(i, call, status, text);
}

static void expect_nothing(uint32_t i)
{
	uint32_t    call;
	const char *got = order(i, &call);

	cr_assert(*got == '\0', "worker %u got \"%s\"", i, got);
}

/* ---- the operator ---- */

static int speak_up(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(to.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	turn();
	return fd;
}

static void say(int fd, const char *text)
{
	cr_assert(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
	turn();
}

/* Everything that has come; "" for nothing, "EOF" when it has hung up. */
static const char *heard(int fd)
{
	static char text[65536];
	ssize_t     n;

	turn();
	n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	if (n == 0)
		return "EOF";
	text[n > 0 ? n : 0] = '\0';
	return text;
}

#define expect_heard(fd, want) \
	do { \
		const char *got_ = heard(fd); \
		cr_assert(strstr(got_, want) != NULL, "heard \"%s\", not \"%s\"", got_, want); \
	} while (0)

#define UPDATE4 \
	"{\"verb\":\"bundle.prepare\",\"action\":\"update\",\"name\":\"acme.a\",\"generation\":4}" \
	"\n"
#define PUBLISH "{\"verb\":\"bundle.publish\"}\n"
#define PREPARE "bundle.prepare update acme.a 4 /tmp/"

/* Whether the list that a new worker would get has that generation. */
static bool starts_with(uint64_t generation)
{
	struct bundle_list list = inventory_rows(changes_inventory(changes));
	bool               is = list.n == 1 && list.rows[0].generation == generation &&
	          strcmp(list.rows[0].name, "acme.a") == 0 && list.rows[0].state == BUNDLE_ACTIVE;

	inventory_rows_free(&list);
	return is;
}

/* ---- changes ---- */

Test(control, a_change_is_tried_by_one_prepared_by_all_and_published_by_all)
{
	int fd = speak_up();

	say(fd, UPDATE4);
	expect_nothing(1);
	expect_order(0, PREPARE, CHANNEL_OK, "null");
	expect_nothing(0);
	expect_order(1, PREPARE, CHANNEL_OK, "null");
	cr_assert_str_eq(heard(fd), "", "not all have prepared");
	cr_assert(changes_hold_starts(changes));
	expect_order(2, PREPARE, CHANNEL_OK, "null");
	expect_heard(fd, "{\"ok\":true}\n");
	cr_assert(starts_with(3), "nothing is changed yet");

	say(fd, PUBLISH);
	expect_heard(fd, "the store does not say so");
	put_state("acme.a", 4, false);
	say(fd, PUBLISH);
	for (uint32_t i = 0; i < WORKERS; i++) {
		cr_assert_str_eq(heard(fd), "");
		expect_order(i, "bundle.publish 4", CHANNEL_OK, "null");
	}
	expect_heard(fd, "{\"ok\":true}\n");
	cr_assert(starts_with(4) && !changes_hold_starts(changes));
	close(fd);
}

Test(control, one_that_fails_has_all_drop_it)
{
	int fd = speak_up();

	say(fd, UPDATE4);
	expect_order(0, PREPARE, CHANNEL_OK, "null");
	expect_order(1, PREPARE, CHANNEL_FAILED, "failed to start\n\x1b[2J");
	expect_order(2, PREPARE, CHANNEL_OK, "null");
	expect_heard(fd, "worker 1: it failed to start??[2J");
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.drop 4", CHANNEL_OK, "null");
	cr_assert(starts_with(3) && !changes_hold_starts(changes));
	say(fd, PUBLISH);
	expect_heard(fd, "nothing is prepared");
	say(fd, "{\"verb\":\"bundle.list\"}\n");
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.list", CHANNEL_OK, "[]");
	expect_heard(fd,
	             "\"failed\":[{\"name\":\"acme.a\",\"generation\":4,\"reason\":\"worker 1:");
	close(fd);
}

Test(control, a_first_that_fails_spares_the_others)
{
	int fd = speak_up();

	say(fd, UPDATE4);
	crew_ended(crew, 0, "has ended by signal SEGV");
	expect_heard(fd, "worker 0: it has ended by signal SEGV");
	expect_order(1, "bundle.drop 4", CHANNEL_OK, "null");
	expect_order(2, "bundle.drop 4", CHANNEL_OK, "null");
	channel_close(&ends[0]);
	start_worker(0);
	cr_assert(starts_with(3));
	close(fd);
}

Test(control, one_that_is_silent_is_aborted)
{
	int fd = speak_up();

	say(fd, UPDATE4);
	expect_order(0, PREPARE, CHANNEL_OK, "null");
	expect_order(2, PREPARE, CHANNEL_OK, "null");
	late_us = 11000000;
	turn();
	late_us = 0;
	cr_assert_eq(aborted, 2);
	expect_heard(fd, "worker 1: it gave no answer in time");
	cr_assert(starts_with(3));
	close(fd);
}

static void prepare_all(int fd)
{
	say(fd, UPDATE4);
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, PREPARE, CHANNEL_OK, "null");
	expect_heard(fd, "{\"ok\":true}\n");
}

Test(control, who_hangs_up_before_the_state_is_written_has_changed_nothing)
{
	int fd = speak_up();

	prepare_all(fd);
	close(fd);
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.drop 4", CHANNEL_OK, "null");
	cr_assert(starts_with(3));
}

Test(control, who_hangs_up_after_the_state_is_written_has_made_the_change)
{
	int fd = speak_up();

	prepare_all(fd);
	put_state("acme.a", 4, false);
	close(fd);
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.publish 4", CHANNEL_OK, "null");
	cr_assert(starts_with(4));
}

Test(control, who_hangs_up_while_it_is_prepared_leaves_it_to_the_store)
{
	int fd = speak_up();

	say(fd, UPDATE4);
	close(fd);
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, PREPARE, CHANNEL_OK, "null");
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.drop 4", CHANNEL_OK, "null");
	cr_assert(starts_with(3) && !changes_hold_starts(changes));
}

Test(control, who_does_not_decide_in_time_is_decided_for)
{
	int fd = speak_up();

	prepare_all(fd);
	late_us = 11000000;
	turn();
	late_us = 0;
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.drop 4", CHANNEL_OK, "null");
	cr_assert(starts_with(3));
	close(fd);
}

Test(control, a_worker_that_dies_undecided_starts_with_what_was_decided)
{
	int fd = speak_up();

	prepare_all(fd);
	crew_ended(crew, 1, "has ended by signal KILL");
	channel_close(&ends[1]);
	put_state("acme.a", 4, false);
	say(fd, PUBLISH);
	expect_order(0, "bundle.publish 4", CHANNEL_OK, "null");
	expect_order(2, "bundle.publish 4", CHANNEL_OK, "null");
	expect_heard(fd, "{\"ok\":true}\n");
	cr_assert(starts_with(4));
	close(fd);
}

Test(control, a_worker_that_makes_room_for_its_successor_is_no_failure)
{
	int fd = speak_up();

	say(fd, UPDATE4);
	expect_order(0, PREPARE, CHANNEL_OK, "null");
	expect_order(1, PREPARE, CHANNEL_OK, "null");
	crew_ended(crew, 2, NULL);
	channel_close(&ends[2]);
	expect_heard(fd, "{\"ok\":true}\n");
	close(fd);
}

Test(control, another_change_has_to_wait)
{
	int a = speak_up(), b = speak_up();

	say(a, UPDATE4);
	say(b, UPDATE4);
	expect_heard(b, "another change is in work");
	say(b, PUBLISH);
	expect_heard(b, "nothing is prepared");
	close(a);
	close(b);
}

Test(control, what_cannot_be_is_not_even_tried)
{
	static const struct {
		const char *action, *name, *reason;
	} rows[] = {
		{ "install", "acme.a", "installed already" },
		{ "start", "acme.a", "started already" },
		{ "stop", "acme.b", "not installed" },
		{ "uninstall", "acme.b", "not installed" },
		{ "update", "../acme.a", "no name" },
		{ "replace", "acme.a", "asked for" },
	};
	int fd = speak_up();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[256];

		snprintf(text, sizeof(text),
		         "{\"verb\":\"bundle.prepare\",\"action\":\"%s\",\"name\":\"%s\","
		         "\"generation\":9}\n",
		         rows[i].action, rows[i].name);
		say(fd, text);
		expect_heard(fd, rows[i].reason);
	}
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_nothing(i);
	close(fd);
}

Test(control, three_crashes_in_its_start_have_a_bundle_refused_until_it_is_updated)
{
	struct bundle_list list;
	int                fd;

	inventory_crash(changes_inventory(changes), 9, "crashed in init");
	inventory_crash(changes_inventory(changes), 3, "crashed in init");
	inventory_crash(changes_inventory(changes), 3, "crashed in init");
	cr_assert(starts_with(3));
	inventory_crash(changes_inventory(changes), 3, "crashed in init");
	list = inventory_rows(changes_inventory(changes));
	cr_expect(list.rows[0].state == BUNDLE_REFUSED && list.rows[0].file == NULL);
	cr_expect(strcmp(list.rows[0].reason, "crashed in init, 3 times in a row") == 0);
	inventory_rows_free(&list);

	fd = speak_up();
	prepare_all(fd);
	put_state("acme.a", 4, false);
	say(fd, PUBLISH);
	cr_assert(starts_with(4));
	close(fd);
}

Test(control, stop_start_and_uninstall_follow_the_store)
{
	static const struct {
		const char *action, *order;
		bool        stopped, gone;
	} rows[] = {
		{ "stop", "bundle.prepare stop acme.a 5", true, false },
		{ "start", "bundle.prepare start acme.a 5 /tmp/", false, false },
		{ "uninstall", "bundle.prepare uninstall acme.a 5", false, true },
	};
	int                fd = speak_up();
	struct bundle_list list;

	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		char text[256];

		snprintf(text, sizeof(text),
		         "{\"verb\":\"bundle.prepare\",\"action\":\"%s\",\"name\":\"acme.a\","
		         "\"generation\":5}\n",
		         rows[k].action);
		say(fd, text);
		for (uint32_t i = 0; i < WORKERS; i++)
			expect_order(i, rows[k].order, CHANNEL_OK, "null");
		expect_heard(fd, "{\"ok\":true}\n");
		put_state(rows[k].gone ? NULL : "acme.a", 5, rows[k].stopped);
		say(fd, PUBLISH);
		for (uint32_t i = 0; i < WORKERS; i++)
			expect_order(i, "bundle.publish 5", CHANNEL_OK, "null");
		expect_heard(fd, "{\"ok\":true}\n");
		list = inventory_rows(changes_inventory(changes));
		cr_expect(list.n == !rows[k].gone, "%s", rows[k].action);
		cr_expect(rows[k].gone ||
		          (list.rows[0].state == BUNDLE_STOPPED) == rows[k].stopped);
		inventory_rows_free(&list);
	}
	close(fd);
}

/* ---- speaking ---- */

Test(control, what_workers_say_is_passed_on_a_line_each)
{
	int fd = speak_up();

	say(fd, "{\"verb\":\"route\",\"args\":[\"GET\",\"/x\"]}\n");
	expect_order(1, "route GET /x", CHANNEL_OK, "{\"a\":1}");
	expect_order(0, "route GET /x", CHANNEL_OK, "{\"a\":2}\n{\"ok\":true}");
	expect_order(2, "route GET /x", CHANNEL_FAILED, "does not know");
	expect_heard(fd, "{\"worker\":1,\"answer\":{\"a\":1}}\n"
	                 "{\"worker\":0,\"error\":\"does not answer with a line\"}\n"
	                 "{\"worker\":2,\"error\":\"does not know\"}\n"
	                 "{\"ok\":true}\n");
	close(fd);
}

Test(control, a_worker_that_does_not_run_is_told)
{
	int fd = speak_up();

	crew_ended(crew, 1, "has ended by signal SEGV");
	channel_close(&ends[1]);
	say(fd, "{\"verb\":\"bundle.list\"}\n");
	expect_order(0, "bundle.list", CHANNEL_OK, "[]");
	expect_order(2, "bundle.list", CHANNEL_OK, "[]");
	expect_heard(fd, "{\"worker\":1,\"error\":\"does not run\"}\n");
	say(fd, "{\"verb\":\"bundle.footprint\",\"args\":[\"acme.a\"]}\n");
	expect_order(0, "bundle.footprint acme.a", CHANNEL_OK, "[]");
	expect_heard(fd, "{\"worker\":0,\"answer\":[]}\n{\"ok\":true}\n");
	close(fd);
}

Test(control, garbage_is_answered_and_hung_up_on)
{
	static const char *const garbage[] = { "\n",
		                               "x\n",
		                               "[]\n",
		                               "{\"verb\":\"x\"} {}\n",
		                               "{\"verb\":\"a\",\"verb\":\"b\"}\n",
		                               "\xff\xfe\n" };

	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		int fd = speak_up();

		say(fd, garbage[i]);
		expect_heard(fd, "{\"ok\":false,\"error\":");
		cr_assert_str_eq(heard(fd), "EOF", "%s", garbage[i]);
		close(fd);
	}
}

Test(control, an_unknown_verb_costs_nothing)
{
	int fd = speak_up();

	say(fd, "{\"verb\":\"bundle.eat\"}\n{\"no\":\"verb\"}\n{\"verb\":7}\n");
	expect_heard(fd, "{\"ok\":false,\"error\":\"there is no such verb\"}\n"
	                 "{\"ok\":false,\"error\":\"there is no such verb\"}\n"
	                 "{\"ok\":false,\"error\":\"there is no such verb\"}\n");
	say(fd, "{\"verb\":\"whiteboard\",\"args\":7}\n");
	expect_heard(fd, "args is no list of strings");
	close(fd);
}

Test(control, a_line_without_an_end_is_hung_up_on)
{
	static char text[70000];
	int         fd = speak_up();

	memset(text, 'x', sizeof(text) - 1);
	for (size_t sent = 0; sent < sizeof(text) - 1;) {
		ssize_t n =
			send(fd, text + sent, sizeof(text) - 1 - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		turn();
		if (n < 0)
			break;
	}
	expect_heard(fd, "the line is too long");
	cr_assert_str_eq(heard(fd), "EOF");
	close(fd);
}

Test(control, who_is_slow_is_hung_up_on)
{
	int fd = speak_up();

	say(fd, "{\"verb\":");
	late_us = 11000000;
	turn();
	late_us = 0;
	cr_assert_str_eq(heard(fd), "EOF");
	close(fd);
}

Test(control, no_more_than_sixteen_are_heard)
{
	int fds[CONTROL_MAX_CLIENTS + 1];

	for (size_t i = 0; i <= CONTROL_MAX_CLIENTS; i++)
		fds[i] = speak_up();
	expect_heard(fds[CONTROL_MAX_CLIENTS], "too many");
	close(fds[0]);
	turn();
	close(fds[CONTROL_MAX_CLIENTS]);
	fds[0] = speak_up();
	say(fds[0], "{\"verb\":\"x\"}\n");
	expect_heard(fds[0], "no such verb");
	for (size_t i = 0; i < CONTROL_MAX_CLIENTS; i++)
		close(fds[i]);
}

Test(control, a_reader_that_reads_nothing_holds_nobody_up)
{
	int slow = speak_up(), quick = speak_up();

	for (unsigned k = 0; k < 20000; k++)
		if (send(slow, "{\"verb\":\"x\"}\n", 13, MSG_NOSIGNAL | MSG_DONTWAIT) != 13)
			break;
	say(quick, "{\"verb\":\"x\"}\n");
	expect_heard(quick, "no such verb");
	late_us = 11000000;
	turn();
	late_us = 0;
	close(slow);
	close(quick);
}
