/* Under test: repo/answer.c with handles.c. Whatever is done to a handle has its exact answer, and
 * its line in the log. */
#include "world.h"
#include <base/log.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct world  w;
static struct client c;
static char          log_path[64];

static void begin(void)
{
	world_begin(&w, 1u << 20);
	test_postgres_sql(w.server, "SELECT repo.ace_append('/', 3, true, '{jcr:read}')");
	client_open(&w, &c);
	client_settle(&c, client_login(&c, HANDLE_ADMIN, 1, NULL));
	/* The log goes to stderr, hence to a file from now on. */
	log_init("repo", LOG_LEVEL_INFO);
	strcpy(log_path, "/tmp/repo-answer-test.XXXXXX");
	{
		int fd = mkstemp(log_path);

		cr_assert(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
		close(fd);
	}
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
	unlink(log_path);
}

/* Whether the log has this since the last time. */
static bool logged(const char *text)
{
	static char buffer[65536];
	int         fd = open(log_path, O_RDWR | O_CLOEXEC);
	ssize_t     n = read(fd, buffer, sizeof(buffer) - 1);

	cr_assert(fd >= 0 && n >= 0);
	buffer[n] = '\0';
	cr_assert_eq(ftruncate(fd, 0), 0);
	close(fd);
	lseek(STDERR_FILENO, 0, SEEK_SET);
	return strstr(buffer, text) != NULL;
}

static const uint64_t everyone[] = { 3, 0 };

/* Asks for "/" with these octets; the error, or 1 if the connection was closed instead. */
static int present(struct client *from, const uint8_t *handle, size_t n, uint64_t sequence)
{
	struct call call;

	client_get(from, &call, handle, n, sequence, BW_STR("/"));
	call_wait(&w, &call);
	call_done(&call);
	return from->closed ? 1 : call.err;
}

static size_t make(struct client *from, uint8_t *handle, uint64_t *ret_sequence)
{
	return client_handle(from, HANDLE_ANONYMOUS, 2, everyone, HANDLE_LIFE_US, handle,
	                     ret_sequence);
}

Test(answer, each_bit_of_a_handle)
{
	uint8_t  handle[HANDLE_MAX];
	uint64_t sequence;
	size_t   n;

	begin();
	n = make(&c, handle, &sequence);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		struct client hostile;
		size_t        n_now;

		client_open(&w, &hostile);
		n_now = make(&hostile, handle, &sequence);
		cr_assert_eq(n_now, n);
		handle[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_eq(present(&hostile, handle, n, sequence), 1, "bit %zu is not missed",
		             bit);
		client_close(&hostile);
		if (bit % 100 == 0)
			cr_assert(logged("closed: malformed handle or wrong MAC (request"));
	}
	cr_assert_eq(present(&c, handle, 0, c.last_sequence + 1), BW_ECLOSED,
	             "others are not disturbed");
	end();
}

Test(answer, malformed_handles_and_questions)
{
	uint8_t  handle[HANDLE_MAX + 8];
	uint64_t sequence;
	size_t   n;

	begin();
	for (int i = 0; i < 6; i++) {
		struct client hostile;
		struct call   call;

		client_open(&w, &hostile);
		n = make(&hostile, handle, &sequence);
		if (i == 0)
			cr_assert_eq(present(&hostile, handle, n - 1, sequence), 1);
		else if (i == 1)
			cr_assert_eq(present(&hostile, handle, n + 1, sequence), 1);
		else if (i == 2)
			cr_assert_eq(present(&hostile, handle, 1, sequence), 1);
		else if (i == 3)
			cr_assert_eq(present(&hostile, handle, n, sequence + 1), 1,
			             "another number");
		else {
			cr_assert_eq(present(&hostile, handle, n, sequence), BW_OK);
			client_children(&hostile, &call, sequence, BW_STR("/"), BW_ABSENT,
			                i == 4 ? 0 : 257);
			call_wait(&w, &call);
			call_done(&call);
			cr_assert(hostile.closed);
		}
		client_close(&hostile);
	}
	end();
}

Test(answer, foreign_expired_closed_reused)
{
	uint8_t       one[HANDLE_MAX], two[HANDLE_MAX];
	uint64_t      s1, s2;
	size_t        n1, n2;
	struct client other;
	struct call   call;

	begin();
	client_open(&w, &other);
	/* Of another connection. */
	n1 = make(&c, one, &s1);
	cr_assert_eq(present(&other, one, n1, s1), BW_EFOREIGN);
	cr_assert(logged("refused: resolver handle of another connection"));
	cr_assert(!other.closed, "an honest race can bring that about");
	cr_assert_eq(present(&c, one, n1, s1), BW_OK, "where it belongs it is good");
	cr_assert_eq(present(&c, NULL, 0, s1), BW_OK, "and open");
	cr_assert_eq(present(&other, NULL, 0, s1), BW_ECLOSED, "only there");
	cr_assert_eq(present(&c, one, n1, s1), BW_ECLOSED, "presented twice");
	cr_assert(logged("refused: resolver handle closed"));
	/* Closed. */
	client_handle_close(&c, s1);
	cr_assert_eq(present(&c, NULL, 0, s1), BW_ECLOSED);
	cr_assert_eq(present(&c, one, n1, s1), BW_ECLOSED, "replayed");
	cr_assert(logged("request="), "the line names the request");
	client_handle_close(&c, s1); /* nothing */
	client_handle_close(&c, 424242);
	/* The number of another one. */
	c.last_sequence = s1 - 1;
	n2 = client_handle(&c, HANDLE_ADMIN, 1, NULL, HANDLE_LIFE_US, two, &s2);
	cr_assert_eq(s2, s1);
	cr_assert_eq(present(&c, two, n2, s2), BW_ECLOSED);
	/* Expired: before it was presented, and while it was open. */
	n2 = client_handle(&c, HANDLE_ANONYMOUS, 2, everyone, 0, two, &s2);
	cr_assert_eq(present(&c, two, n2, s2), BW_EEXPIRED);
	cr_assert(logged("refused: resolver handle expired"));
	n2 = client_handle(&c, HANDLE_ANONYMOUS, 2, everyone, 300000, two, &s2);
	cr_assert_eq(present(&c, two, n2, s2), BW_OK);
	world_until(&w, present(&c, NULL, 0, s2) == BW_EEXPIRED);
	/* A handle that is refused does no work. */
	client_children(&c, &call, s2, BW_STR("/"), BW_ABSENT, 10);
	call_wait(&w, &call);
	cr_assert_eq(call.err, BW_EEXPIRED);
	call_done(&call);
	client_close(&other);
	end();
}

/* What an earlier repo let in, this one does not: each connection draws a new channel. */
Test(answer, replayed_after_a_new_connection)
{
	uint8_t  handle[HANDLE_MAX];
	uint64_t sequence;
	size_t   n;

	begin();
	n = make(&c, handle, &sequence);
	cr_assert_eq(present(&c, handle, n, sequence), BW_OK);
	client_close(&c);
	client_open(&w, &c);
	cr_assert_eq(present(&c, handle, n, sequence), BW_EFOREIGN);
	cr_assert_eq(present(&c, NULL, 0, sequence), BW_ECLOSED);
	end();
}

/* Whole requests in one read: each is answered, in its order, though its handle is closed before
 * the answer is worked out; and a bad one among them ends the connection, whatever stands before
 * it. */
Test(answer, many_in_one_read)
{
	enum { N = 200 };
	static struct call calls[N];
	static uint64_t    sequences[N];
	uint8_t            handle[HANDLE_MAX];
	size_t             n;

	begin();
	for (unsigned bad = 0; bad < 2; bad++) {
		for (unsigned i = 0; i < N; i++) {
			n = make(&c, handle, &sequences[i]);
			if (bad && i == N / 2)
				handle[20] ^= 1;
			if (i % 3 == 0)
				client_get(&c, &calls[i], handle, n, sequences[i], BW_STR("/"));
			else
				client_resolve(&c, &calls[i], handle, n, sequences[i],
				               BW_STR("/.html"));
			client_handle_close(&c, sequences[i]);
		}
		for (unsigned i = 0; i < N; i++) {
			call_wait(&w, &calls[i]);
			cr_assert(bad || calls[i].err == BW_OK, "%u: %d", i, calls[i].err);
			call_done(&calls[i]);
		}
		cr_assert_eq(c.closed, bad == 1);
		if (!bad)
			for (unsigned i = 0; i < N; i++)
				cr_assert_eq(present(&c, NULL, 0, sequences[i]), BW_ECLOSED);
	}
	end();
}

Test(answer, draining)
{
	uint8_t     handle[HANDLE_MAX];
	uint64_t    sequence;
	size_t      n;
	struct call waits;

	begin();
	n = make(&c, handle, &sequence);
	client_get(&c, &waits, handle, n, sequence, BW_STR("/not/known/yet"));
	world_until(&w, resources_waiting(w.resources) == 1);
	answers_drain(w.answers);
	cr_assert_eq(present(&c, NULL, 0, sequence), BW_EGONE);
	call_wait(&w, &waits);
	cr_assert_eq(waits.err, BW_ENOTFOUND, "what waited is still answered");
	call_done(&waits);
	end();
}
