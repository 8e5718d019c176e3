/* lib/base/log.c, log_ring.c: the shape of a line, nothing forged in it; order, and no line mixed
 * with another; a stuck reader costs lines that are counted and never the caller's time; forks. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/log_ring.c>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "child.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static char captured[4 << 20];

/* ---- the shape ---- */

static void write_a_line(void *arg)
{
	log_init("repo", LOG_LEVEL_WARNING);
	log_warning(0xab, "%s", (const char *)arg);
}

Test(log, a_line_is_logfmt)
{
	regex_t shape;

	cr_assert(eq(int,
	             regcomp(&shape,
	                     "^20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]"
	                     "\\.[0-9]{6}Z level=warning process=repo pid=[1-9][0-9]* "
	                     "request=00000000000000ab msg=\"took 5 ms\"\n$",
	                     REG_EXTENDED),
	             0));
	cr_assert(eq(int, run_child(write_a_line, "took 5 ms", captured, sizeof(captured)), 0));
	cr_assert(eq(int, regexec(&shape, captured, 0, NULL, 0), 0), "%s", captured);
	regfree(&shape);
}

/* ---- events ---- */

static void write_an_event(void *arg)
{
	struct log_field fields[] = { { "user", "a\" level=error\n", 15 },
		                      { "long", arg, 8000 },
		                      { "last", "x", 1 } };

	log_init("auth", LOG_LEVEL_ERROR); /* an audit trail is written all the same */
	log_event(0xab, "login_failed", fields, 3);
}

/* A value that no longer fits is cut, a field for which nothing is left is not begun. */
Test(log, an_event_has_fields)
{
	static char long_text[8000];
	const char *line;

	memset(long_text, 'y', sizeof(long_text));
	cr_assert(eq(int, run_child(write_an_event, long_text, captured, sizeof(captured)), 0));
	line = strstr(captured, " level=info process=auth pid=");
	cr_assert_not_null(line);
	cr_assert_not_null(strstr(line, " request=00000000000000ab event=login_failed "
	                                "user=\"a\\\" level=error\\n\" long=\"yyyy"));
	cr_assert_str_eq(line + strlen(line) - 9, "yyyy...\"\n");
	cr_assert_leq(strlen(captured), 4000);
}

/* The date is worked out without libc: compared with libc's around today. */
Test(log, the_time_is_now_in_utc)
{
	uint64_t  before = clock_real_us(), after;
	struct tm t = { 0 };
	long      us;
	uint64_t  said;

	cr_assert(eq(int, run_child(write_a_line, "x", captured, sizeof(captured)), 0));
	after = clock_real_us();
	cr_assert(eq(int,
	             sscanf(captured, "%d-%d-%dT%d:%d:%d.%ldZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
	                    &t.tm_hour, &t.tm_min, &t.tm_sec, &us),
	             7));
	t.tm_year -= 1900;
	t.tm_mon -= 1;
	said = (uint64_t)timegm(&t) * 1000000 + (uint64_t)us;
	cr_assert(ge(u64, said, before));
	cr_assert(le(u64, said, after));
}

Test(log, escapes_so_that_nobody_forges_a_line)
{
	static const struct {
		const char *text, *msg;
	} rows[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "say \"hi\"", "say \\\"hi\\\"" },
		{ "x\" level=error msg=\"y", "x\\\" level=error msg=\\\"y" },
		{ "back\\slash", "back\\\\slash" },
		{ "a\nb", "a\\nb" },
		{ "a\r\n2026-11-30T00:00:00.000000Z level=error",
		  "a\\r\\n2026-11-30T00:00:00.000000Z "
		  "level=error" },
		{ "tab\there", "tab\\there" },
		{ "\x01\x1b[31m\x7f", "\\x01\\x1b[31m\\x7f" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xc2\x9b"
		  "31m",
		  "\\xc2\\x9b31m" }, /* a control of Latin-1 */
		{ "\xe2\x80\xa8\xe2\x80\xa9",
		  "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" }, /* line separators */
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "cut \xc3", "cut \\xc3" },
		{ "\xc0\x8a", "\\xc0\\x8a" }, /* a newline, overlong */
		{ "\xe0\x80\x8a", "\\xe0\\x80\\x8a" },
		{ "\xf0\x80\x80\x8a", "\\xf0\\x80\\x80\\x8a" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* half a pair */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* beyond Unicode */
		{ "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80" },
	};

	for (size_t i = 0; i < N(rows); i++) {
		char *msg, expected[256];

		run_child(write_a_line, (char *)rows[i].text, captured, sizeof(captured));
		msg = strstr(captured, "msg=");
		cr_assert(msg != NULL);
		snprintf(expected, sizeof(expected), "msg=\"%s\"\n", rows[i].msg);
		cr_assert(eq(str, msg, expected));
	}
}

Test(log, long_texts_are_cut_and_stay_one_line)
{
	static const char fill[] = { 'x', '\n', '"', '\x01', '\xff' };

	for (size_t i = 0; i < N(fill); i++) {
		char  *text = malloc(10001);
		size_t n;

		memset(text, fill[i], 10000);
		text[10000] = '\0';
		run_child(write_a_line, text, captured, sizeof(captured));
		n = strlen(captured);
		cr_assert(eq(str, captured + n - 5, "...\"\n"));
		cr_assert(le(sz, n, 4096), "one write to a pipe");
		cr_assert(eq(ptr, strchr(captured, '\n'), captured + n - 1));
		free(text);
	}
}

static void write_all_levels(void *arg)
{
	errno = EDOM;
	log_init("x", *(enum log_level *)arg);
	log_error(0, "E");
	log_warning(0, "W");
	log_info(0, "I");
	log_debug(0, "D");
	child_assert(errno == EDOM);
}

Test(log, levels_above_the_set_one_are_silent)
{
	static const struct {
		enum log_level level;
		const char    *letters;
	} rows[] = {
		{ LOG_LEVEL_ERROR, "E" },
		{ LOG_LEVEL_WARNING, "EW" },
		{ LOG_LEVEL_INFO, "EWI" },
		{ LOG_LEVEL_DEBUG, "EWID" },
	};

	for (size_t i = 0; i < N(rows); i++) {
		char           letters[8] = "";
		enum log_level level = rows[i].level;

		cr_assert(eq(int, run_child(write_all_levels, &level, captured, sizeof(captured)),
		             0));
		for (char *p = captured; (p = strstr(p, "msg=\"")) != NULL; p++)
			strncat(letters, p + 5, 1);
		cr_assert(eq(str, letters, (char *)rows[i].letters));
		cr_assert(strstr(captured, "request=") == NULL, "0 is no request");
	}
}

/* ---- order, and lines that stay whole ---- */

static void write_many(void *arg)
{
	(void)arg;
	log_init("x", LOG_LEVEL_INFO);
	log_info(0, "first, before the thread");
	log_start();
	for (int i = 0; i < 2000; i++)
		log_info(0, "line %d", i);
	log_stop();
	log_info(0, "last, after the thread");
	log_start();
	log_info(0, "once more");
	log_stop();
	child_assert(log_dropped() == 0);
}

Test(log, lines_come_in_order_before_during_and_after_the_thread)
{
	int   i = 0;
	char *p = captured;

	cr_assert(eq(int, run_child(write_many, NULL, captured, sizeof(captured)), 0), "%s",
	          captured);
	cr_assert(strstr(p, "first, before") != NULL);
	while ((p = strstr(p, "msg=\"line ")) != NULL) {
		cr_assert(eq(int, atoi(p + 10), i++));
		p++;
	}
	cr_assert(eq(int, i, 2000));
	p = strstr(captured, "last, after");
	cr_assert(p != NULL && strstr(p, "once more") != NULL);
}

/* ---- many threads ---- */

/* A producer is at most WINDOW lines ahead of the reader, so that nothing is lost. */
enum { PRODUCERS = 4, MANY = 40000, WINDOW = 2000 };

struct producer {
	int       id, fd;
	int       seen; /* lines the reader has seen */
	pthread_t thread;
};

static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  seen_more = PTHREAD_COND_INITIALIZER;

/* Lengths differ, so that records end at every place of the ring. */
static int make_line(char line[64], int id, int i)
{
	return snprintf(line, 64, "%d %d %.*s\n", id, i, i % 37,
	                "0123456789012345678901234567890123456789");
}

static void *write_from_thread(void *arg)
{
	struct producer *p = arg;
	char             line[64];

	for (int i = 0; i < MANY; i++) {
		log_line(p->fd, line, (size_t)make_line(line, p->id, i));
		pthread_mutex_lock(&seen_lock);
		while (i - p->seen >= WINDOW)
			pthread_cond_wait(&seen_more, &seen_lock);
		pthread_mutex_unlock(&seen_lock);
	}
	return NULL;
}

static void note_seen(struct producer *p)
{
	pthread_mutex_lock(&seen_lock);
	p->seen++;
	pthread_cond_broadcast(&seen_more);
	pthread_mutex_unlock(&seen_lock);
}

/* Six times around the ring: each line whole, each producer's lines all there and in order. */
Test(log, many_threads_do_not_mix_their_lines)
{
	struct producer producers[PRODUCERS];
	char            line[128], expected[64];
	int             out[2];
	FILE           *in;

	cr_assert(pipe(out) == 0);
	in = fdopen(out[0], "r");
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	for (int id = 0; id < PRODUCERS; id++) {
		producers[id] = (struct producer){ .id = id, .fd = out[1] };
		cr_assert(pthread_create(&producers[id].thread, NULL, write_from_thread,
		                         &producers[id]) == 0);
	}
	for (int n = 0; n < PRODUCERS * MANY; n++) {
		int id;

		cr_assert(fgets(line, sizeof(line), in) != NULL);
		id = line[0] - '0';
		cr_assert(id >= 0 && id < PRODUCERS, "%s", line);
		make_line(expected, id, producers[id].seen);
		cr_assert(eq(str, line, expected));
		note_seen(&producers[id]);
	}
	for (int id = 0; id < PRODUCERS; id++)
		pthread_join(producers[id].thread, NULL);
	log_stop();
	cr_assert(eq(u64, log_dropped(), 0));
}

/* Step by step, without the thread, twice around the ring: what is reserved and not yet written is
 * not taken for a line, whatever lay there before, and holds those behind it back. */
Test(log, a_record_is_not_read_before_it_is_written)
{
	struct record *first, *second;
	int            null = open("/dev/null", O_WRONLY);

	renew_ring();
	for (size_t n = 1; atomic_load(&ring.head) < 2 * RING_SIZE; n = n % 301 + 1) {
		size_t size = sizeof(*first) + n;

		first = reserve(record_space(size));
		second = reserve(record_space(size));
		cr_assert(first != NULL && second != NULL);
		cr_assert(eq(u32, first->size, 0));
		cr_assert(eq(u32, second->size, 0));
		second->fd = first->fd = null;
		memset(second->text, 'y', n);
		second->size = (uint32_t)size;
		while (drain_record()) /* a pad at most */
			cr_assert(ne(ptr, record_at(atomic_load(&ring.tail)), second));
		cr_assert(eq(ptr, record_at(atomic_load(&ring.tail)), first));
		memset(first->text, 'x', n);
		first->size = (uint32_t)size;
		cr_assert(drain_record());
		while (drain_record())
			;
		cr_assert(eq(u64, atomic_load(&ring.tail), atomic_load(&ring.head)));
	}
}

Test(log, a_line_of_any_length_is_cut_to_one)
{
	char name[] = "/tmp/log_test.XXXXXX", *big = malloc(100001), *back = malloc(200000);
	int  fd = mkstemp(name);
	long n;

	memset(big, 'x', 100000);
	big[100000] = '\n';
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	log_line(fd, big, 100001);
	log_line(fd, "", 0);
	log_line(-1, "nowhere\n", 8);
	log_line(fd, "short\n", 6);
	log_stop();
	n = pread(fd, back, 200000, 0);
	cr_assert(eq(long, n, 16384 + 6));
	cr_assert(eq(chr, back[16382], 'x'));
	cr_assert(memcmp(back + 16383, "\nshort\n", 7) == 0);
	cr_assert(eq(u64, log_dropped(), 0));
	close(fd);
	unlink(name);
	free(big);
	free(back);
}

/* A line after a long silence still gets out: the sleeping thread is woken. */
Test(log, a_sleeping_writer_is_woken)
{
	int           out[2];
	char          line[64];
	struct pollfd p;

	cr_assert(pipe(out) == 0);
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	p = (struct pollfd){ .fd = out[0], .events = POLLIN };
	for (int i = 0; i < 20; i++) {
		int n = snprintf(line, sizeof(line), "%d\n", i);

		/* 0 to 30 ms: it is awake, naps, or sleeps */
		cr_assert(eq(int, poll(&p, 1, i % 4 * 10), 0));
		log_line(out[1], line, (size_t)n);
		cr_assert(eq(int, poll(&p, 1, 5000), 1), "line %d", i);
		cr_assert(read(out[0], line, sizeof(line)) == n && atoi(line) == i);
	}
	log_stop();
	close(out[0]);
	close(out[1]);
}

/* ---- readers that fail ---- */

static char number_line[64];

static void put_numbered(int fd, int i)
{
	int n = snprintf(number_line, sizeof(number_line), "line %d %040d\n", i, 0);

	log_line(fd, number_line, (size_t)n);
}

#define LOST "msg=\"%" SCNu64 " log lines were lost, %" SCNu64 " since the start\"\n"

/* Nobody reads: the caller is not held up, what does not fit is counted, what was accepted comes
 * out whole and in order once somebody reads, and a line tells what was lost. */
Test(log, a_stuck_reader_costs_counted_lines_only)
{
	enum { LINES = 100000 };
	int      out[2], errors[2], last = -1, read_lines = 0;
	uint64_t begin, dropped, told = 0, lost, lost_since_start;
	FILE    *in;
	char     line[256];

	cr_assert(pipe(out) == 0 && pipe(errors) == 0);
	dup2(errors[1], STDERR_FILENO);
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	begin = clock_mono_us();
	for (int i = 0; i < LINES; i++)
		put_numbered(out[1], i);
	cr_assert(lt(u64, clock_mono_us() - begin, 2000000));
	dropped = log_dropped();
	cr_assert(gt(u64, dropped, LINES / 2)); /* 5 MB into a ring of 1 MiB */
	cr_assert(lt(u64, dropped, LINES));
	in = fdopen(out[0], "r");
	while (read_lines < LINES - (int)dropped && fgets(line, sizeof(line), in) != NULL) {
		int i;

		cr_assert(eq(int, sscanf(line, "line %d 0", &i), 1), "%s", line);
		cr_assert(gt(int, i, last));
		last = i;
		read_lines++;
	}
	cr_assert(eq(int, read_lines, LINES - (int)dropped));
	in = fdopen(errors[0], "r");
	do { /* told at most once a second, so in one line or two */
		cr_assert(fgets(line, sizeof(line), in) != NULL);
		cr_assert(strstr(line, "level=warning process=x") != NULL, "%s", line);
		cr_assert(eq(int, sscanf(strstr(line, "msg="), LOST, &lost, &lost_since_start), 2));
		told += lost;
		cr_assert(eq(u64, told, lost_since_start));
	} while (told < dropped);
	cr_assert(eq(u64, told, dropped));
	put_numbered(out[1], LINES); /* all is well again */
	log_stop();
	cr_assert(eq(u64, log_dropped(), dropped));
}

/* The end of the process does not wait for a reader for ever, and later lines block nobody. */
Test(log, stopping_gives_up_on_a_stuck_reader)
{
	int      out[2];
	uint64_t begin;

	cr_assert(pipe(out) == 0);
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	for (int i = 0; i < 10000; i++)
		put_numbered(out[1], i);
	begin = clock_mono_us();
	log_stop();
	cr_assert(lt(u64, clock_mono_us() - begin, 4000000));
	begin = log_dropped();
	put_numbered(out[1], 0);
	cr_assert(eq(u64, log_dropped(), begin + 1));
}

/* The same for a descriptor that says EAGAIN; and one that is read slowly loses nothing. */
Test(log, a_full_nonblocking_descriptor_is_waited_for)
{
	enum { LINES = 5000 };
	int   out[2], i;
	FILE *in;
	char  line[256];

	cr_assert(pipe(out) == 0);
	cr_assert(eq(int, fcntl(out[1], F_SETFL, O_NONBLOCK), 0));
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	for (i = 0; i < LINES; i++)
		put_numbered(out[1], i);
	in = fdopen(out[0], "r");
	for (i = 0; i < LINES; i++) {
		cr_assert(fgets(line, sizeof(line), in) != NULL);
		cr_assert(eq(int, atoi(line + 5), i));
	}
	for (i = 0; i < LINES; i++)
		put_numbered(out[1], i);
	log_stop(); /* nobody reads */
	cr_assert(gt(u64, log_dropped(), 0));
	cr_assert(lt(u64, log_dropped(), LINES));
}

static void lose_the_reader(void *arg)
{
	int out[2], saved = dup(STDERR_FILENO);

	(void)arg;
	child_assert(pipe(out) == 0);
	dup2(out[1], STDERR_FILENO);
	close(out[1]);
	close(out[0]);
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	for (int i = 0; i < 10; i++)
		log_info(0, "to nobody");
	log_stop(); /* SIGPIPE has not ended the process */
	child_assert(log_dropped() >= 10);
	dup2(saved, STDERR_FILENO);
	log_start();
	log_info(0, "back again");
	log_stop();
}

Test(log, survives_a_broken_pipe)
{
	cr_assert(eq(int, run_child(lose_the_reader, NULL, captured, sizeof(captured)), 0), "%s",
	          captured);
	cr_assert(strstr(captured, "back again") != NULL);
}

/* ---- forks ---- */

static void fork_while_logging(void *arg)
{
	int   status;
	pid_t pid;

	(void)arg;
	log_init("x", LOG_LEVEL_INFO);
	log_start();
	for (int i = 0; i < 1000; i++)
		log_info(0, "parent %d", i);
	pid = fork();
	if (pid == 0) {
		log_info(0, "child direct");
		log_start();
		for (int i = 0; i < 1000; i++)
			log_info(0, "child %d", i);
		log_stop();
		child_assert(log_dropped() == 0);
		_exit(0);
	}
	child_assert(waitpid(pid, &status, 0) == pid && status == 0);
	log_info(0, "parent last");
	log_stop();
}

/* Each line once: those that lay in the ring at the fork are the parent's to write. */
Test(log, a_forked_child_starts_afresh)
{
	int parent = 0, child = 0, direct = 0;

	cr_assert(eq(int, run_child(fork_while_logging, NULL, captured, sizeof(captured)), 0), "%s",
	          captured);
	for (char *p = captured; (p = strstr(p, "msg=\"")) != NULL; p++) {
		if (strncmp(p + 5, "child direct", 12) == 0)
			direct++;
		else if (strncmp(p + 5, "child ", 6) == 0)
			cr_assert(eq(int, atoi(p + 11), child++));
		else if (strncmp(p + 5, "parent last", 11) != 0)
			cr_assert(eq(int, atoi(p + 12), parent++));
	}
	cr_assert(eq(int, direct, 1));
	cr_assert(eq(int, child, 1000));
	cr_assert(eq(int, parent, 1000));
	cr_assert(strstr(captured, "parent last") != NULL);
}
