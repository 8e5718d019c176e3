/* log_ring.c - many producers, one writer thread, no lock and no system call per line.
 *
 * A record is a head (size, fd) and the text, at a multiple of 8. head and tail only grow; their
 * place in the ring is the value modulo its size:
 *
 *        tail                              head
 *   zero  | record | record | not ready |   | zero          size == 0: reserved, not written yet
 *
 * A producer reserves by moving head (compare and swap), copies, and stores size last, which hands
 * the record over. The writer copies ready records out, clears them to zero and only then moves
 * tail: whatever place becomes a head later reads as "not ready" until it is written. A record does
 * not wrap; a pad (fd -1) fills the end of the ring.
 *
 * Waking: the writer sleeps without limit only after 10 ms without a line. While lines flow it naps
 * for 10 ms between rounds and no producer makes a system call, unless the ring is half full.
 * Going to sleep is store state, then look at head; a producer moves head, then looks at state.
 * Both are sequentially consistent, so one of them sees the other.
 *
 * Owns: the ring, the thread. Runs in: any thread; the child of a fork starts with DIRECT.
 * Fails with: a line that finds no room, or whose descriptor fails, is counted.
 * Tests: tests/unit/base/log_test.c. */
#include "log_ring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fatal.h"

enum {
	RING_SIZE = 1 << 20,
	RING_ALIGN = 8,
	BATCH_SIZE = 65536,
	NAP_MS = 10,
	STUCK_MS = 1000, /* how long a full descriptor is waited for where nobody may be held up */
	STOP_S = 2,      /* how long log_ring_stop waits for the writer */
	TELL_US = 1000000,
	WRITER_STACK = 256 * 1024,
};

enum ring_mode { RING_DIRECT, RING_RUNS, RING_DEAD };
enum writer_state { WRITER_AWAKE, WRITER_NAPS, WRITER_SLEEPS };

struct record {
	_Atomic uint32_t size; /* head and text; 0: not ready */
	int32_t          fd;   /* -1: pad */
	char             text[];
};

/* Each on its own cache line: producers write head, the writer tail; the rest is seldom written. */
static struct {
	_Alignas(64) _Atomic uint64_t head;
	_Alignas(64) _Atomic uint64_t tail;
	_Alignas(64) uint8_t *bytes;
	_Atomic int      mode;     /* enum ring_mode */
	_Atomic uint32_t state;    /* enum writer_state; the futex */
	atomic_bool      stopping; /* write what is there, then end */
	_Atomic uint64_t dropped;
	pthread_t        thread;
	void (*tell)(uint64_t lost, uint64_t total);
	uint64_t told, told_us; /* how many losses were told, and when; the writer's */
} ring;

/* Lines for one descriptor, collected to leave in few system calls. Writer thread only. */
static struct {
	int      fd;
	size_t   n;
	uint64_t lines;
	char     bytes[BATCH_SIZE];
} batch;

static void count_dropped(uint64_t lines)
{
	atomic_fetch_add_explicit(&ring.dropped, lines, memory_order_relaxed);
}

uint64_t log_ring_dropped(void)
{
	return atomic_load_explicit(&ring.dropped, memory_order_relaxed);
}

/* ---- writing ---- */

/* False if the descriptor failed, or stayed full where nobody may be held up. Only the running
 * writer waits for a full descriptor without limit. */
static bool wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	for (;;) {
		int n = poll(&p, 1, STUCK_MS);

		if (n > 0)
			return true; /* an error shows at the next write */
		if (n < 0 && errno != EINTR)
			return false;
		if (n == 0 && (atomic_load(&ring.mode) != RING_RUNS || atomic_load(&ring.stopping)))
			return false;
	}
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done >= 0) {
			p += done;
			n -= (size_t)done;
		} else if (errno == EAGAIN) {
			if (!wait_writable(fd))
				return false;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* As many whole lines as fit into PIPE_BUF octets, at least one. */
static size_t lines_within_pipe_buf(const char *p, size_t n)
{
	const char *end;

	if (n <= PIPE_BUF)
		return n;
	end = memrchr(p, '\n', PIPE_BUF);
	if (end == NULL)
		end = memchr(p + PIPE_BUF, '\n', n - PIPE_BUF);
	return end == NULL ? n : (size_t)(end + 1 - p);
}

/* The processes of a node share a pipe: a write of up to PIPE_BUF octets is not mixed with those of
 * others, a longer one may be. A file takes any length in one piece. */
static bool write_lines(int fd, const char *p, size_t n)
{
	bool is_file = lseek(fd, 0, SEEK_CUR) >= 0;

	while (n > 0) {
		size_t piece = is_file ? n : lines_within_pipe_buf(p, n);

		if (!write_all(fd, p, piece))
			return false;
		p += piece;
		n -= piece;
	}
	return true;
}

bool log_ring_write_now(int fd, const char *line, size_t n)
{
	return write_lines(fd, line, n);
}

static void flush_batch(void)
{
	if (batch.n > 0 && !write_lines(batch.fd, batch.bytes, batch.n))
		count_dropped(batch.lines);
	batch.n = 0;
	batch.lines = 0;
}

static void add_to_batch(int fd, const char *text, size_t n)
{
	if (batch.fd != fd || batch.n + n > BATCH_SIZE)
		flush_batch();
	batch.fd = fd;
	memcpy(batch.bytes + batch.n, text, n);
	batch.n += n;
	batch.lines++;
}

/* ---- the writer thread ---- */

static struct record *record_at(uint64_t position)
{
	return (struct record *)(ring.bytes + (position & (RING_SIZE - 1)));
}

static size_t record_space(size_t size)
{
	return (size + RING_ALIGN - 1) & ~(size_t)(RING_ALIGN - 1);
}

/* Takes one ready record out of the ring; false if there is none. */
static bool drain_record(void)
{
	uint64_t       tail = atomic_load_explicit(&ring.tail, memory_order_relaxed);
	struct record *r = record_at(tail);
	uint32_t       size;

	if (atomic_load_explicit(&ring.head, memory_order_relaxed) == tail)
		return false;
	size = atomic_load_explicit(&r->size, memory_order_acquire);
	if (size == 0)
		return false;
	if (r->fd >= 0)
		add_to_batch(r->fd, r->text, size - sizeof(*r));
	memset((void *)r, 0, record_space(size));
	atomic_store_explicit(&ring.tail, tail + record_space(size), memory_order_release);
	return true;
}

static bool drain(void)
{
	bool any = false;

	while (drain_record())
		any = true;
	flush_batch();
	return any;
}

static long futex(int operation, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, &ring.state, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL,
	               0);
}

/* Until a producer asks for it or, for a nap, 10 ms have passed. What lies in the ring unfinished
 * when it wants to sleep is worth a nap only. */
static void rest(enum writer_state how)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };

	atomic_store(&ring.state, how);
	if (how == WRITER_SLEEPS && atomic_load(&ring.head) != atomic_load(&ring.tail)) {
		how = WRITER_NAPS;
		atomic_store(&ring.state, how);
	}
	if (!atomic_load(&ring.stopping))
		futex(FUTEX_WAIT, how, how == WRITER_NAPS ? &nap : NULL);
	atomic_store(&ring.state, WRITER_AWAKE);
}

static void tell_dropped(bool at_once)
{
	uint64_t dropped = log_ring_dropped(), now = clock_mono_us();

	if (dropped == ring.told || (!at_once && now - ring.told_us < TELL_US))
		return;
	ring.tell(dropped - ring.told, dropped);
	ring.told = dropped;
	ring.told_us = now;
}

static void *run_writer(void *arg)
{
	bool stopping;

	(void)arg;
	do {
		bool any;

		stopping = atomic_load(&ring.stopping);
		any = drain();
		tell_dropped(stopping);
		if (!stopping)
			rest(any || log_ring_dropped() != ring.told ? WRITER_NAPS : WRITER_SLEEPS);
	} while (!stopping);
	return NULL;
}

static void wake_writer(void)
{
	atomic_store(&ring.state, WRITER_AWAKE);
	futex(FUTEX_WAKE, 1, NULL);
}

/* ---- producing ---- */

/* Reserves need octets, with a pad before them where they would wrap; NULL if there is no room. */
static struct record *reserve(size_t need)
{
	uint64_t head = atomic_load_explicit(&ring.head, memory_order_relaxed);
	size_t   to_end, pad;

	do {
		to_end = RING_SIZE - (head & (RING_SIZE - 1));
		pad = need > to_end ? to_end : 0;
		if (head + pad + need - atomic_load_explicit(&ring.tail, memory_order_acquire) >
		    RING_SIZE)
			return NULL;
	} while (!atomic_compare_exchange_weak(&ring.head, &head, head + pad + need));
	if (pad > 0) {
		struct record *r = record_at(head);

		r->fd = -1;
		atomic_store_explicit(&r->size, (uint32_t)pad, memory_order_release);
	}
	return record_at(head + pad);
}

static void wake_if_needed(void)
{
	uint32_t state = atomic_load(&ring.state);
	uint64_t used;

	if (state == WRITER_AWAKE)
		return;
	used = atomic_load_explicit(&ring.head, memory_order_relaxed) -
	       atomic_load_explicit(&ring.tail, memory_order_relaxed);
	if (state == WRITER_NAPS && used < RING_SIZE / 2)
		return;
	/* Of several producers one makes the call. */
	if (atomic_compare_exchange_strong(&ring.state, &state, WRITER_AWAKE))
		futex(FUTEX_WAKE, 1, NULL);
}

static void put_record(int fd, const char *line, size_t n, bool is_cut)
{
	size_t         size = sizeof(struct record) + n;
	struct record *r = reserve(record_space(size));

	if (r == NULL) {
		count_dropped(1);
		return;
	}
	r->fd = fd;
	memcpy(r->text, line, n);
	if (is_cut)
		r->text[n - 1] = '\n';
	atomic_store_explicit(&r->size, (uint32_t)size, memory_order_release);
	wake_if_needed();
}

void log_ring_put(int fd, const char *line, size_t n)
{
	bool is_cut = n > LOG_LINE_MAX;
	int  error = errno;

	if (n == 0 || fd < 0)
		return;
	switch ((enum ring_mode)atomic_load_explicit(&ring.mode, memory_order_acquire)) {
	case RING_RUNS:
		put_record(fd, line, is_cut ? LOG_LINE_MAX : n, is_cut);
		break;
	case RING_DIRECT:
		if (!log_ring_write_now(fd, line, n))
			count_dropped(1);
		break;
	case RING_DEAD:
		count_dropped(1);
		break;
	}
	errno = error;
}

/* ---- start and stop ---- */

/* The writer does not exist in the child, and the lines in the ring are the parent's to write. */
static void on_forked(void)
{
	atomic_store(&ring.mode, RING_DIRECT);
	atomic_store(&ring.dropped, 0);
	ring.told = ring.told_us = 0;
}

static void register_fork_handler(void)
{
	if (pthread_atfork(NULL, NULL, on_forked) != 0)
		fatalx("pthread_atfork: out of memory");
}

void log_ring_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_fork_handler);
}

/* A forked child has inherited its parent's ring in some state: it is thrown away. */
static void renew_ring(void)
{
	if (ring.bytes != NULL)
		munmap(ring.bytes, RING_SIZE);
	ring.bytes =
		mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring.bytes == MAP_FAILED)
		fatal("out of memory: log ring");
	atomic_store(&ring.head, 0);
	atomic_store(&ring.tail, 0);
	atomic_store(&ring.state, WRITER_AWAKE);
	atomic_store(&ring.stopping, false);
	batch.n = 0;
	batch.lines = 0;
}

/* All signals stay with the other threads; a broken pipe is then an error of write. */
void log_ring_start(void (*tell)(uint64_t lost, uint64_t total))
{
	pthread_attr_t attr;
	sigset_t       all, before;
	int            error;

	if (atomic_load(&ring.mode) != RING_DIRECT)
		return;
	log_ring_init();
	renew_ring();
	ring.tell = tell;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WRITER_STACK);
	error = pthread_create(&ring.thread, &attr, run_writer, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0)
		fatalx("log thread: %s", strerror(error));
	atomic_store(&ring.mode, RING_RUNS);
}

/* A writer that hangs in a blocking write is left behind: the process is about to end, and must. */
void log_ring_stop(void)
{
	struct timespec until;

	if (atomic_load(&ring.mode) != RING_RUNS || atomic_exchange(&ring.stopping, true))
		return;
	wake_writer();
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STOP_S;
	if (pthread_clockjoin_np(ring.thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
		atomic_store(&ring.mode, RING_DEAD);
		return;
	}
	atomic_store(&ring.mode, RING_DIRECT);
	drain(); /* what another thread put in at the last moment */
}
