/* ask - what requests of a gateway cost repo and PostgreSQL.
 *
 *   ask SOCKET KEY_FILE USER DEPTH CLOCKED [PID...] <LIST
 *
 * A line of LIST is a task: its kind and what it is about, with tabs between.
 *
 *   get PATH          page PATH [AFTER]     walk PATH: all pages      tree PATH: children of children
 *   search TERM&...   search-all TERM&...: all pages                  commit FOLDER CHANGES
 *
 * DEPTH of them are under way at a time over one connection, each with a handle of its own for USER, the
 * number of a principal (1: the administrator), as a request of a gateway has one. The first ones warm
 * up; the last CLOCKED are measured. Prints
 *
 *   tasks, resources per task, us per task (wall clock / tasks), median and 99th percentile of the us
 *   that a task took, us of CPU per task of the first PID, and of all the others
 *
 * The handles are made here, with auth's key. To be run as a user that repo lets in and that may read
 * /proc of these processes; after two minutes it ends with a signal: nobody answers. Owns: the
 * connection and the tasks. Fails with: exit 1, a line on stderr.
 * Tests: tests/bench. */
#include "ask.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <dirent.h>
#include <ev.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wire/handle.h>

enum { MAX_DEPTH = 256, MAX_LINE = 8192, MAX_SECONDS = 120, EVERYONE = 3 };

static struct ev_loop   *loop;
static struct wire_chan *chan;
static ev_io             io;
static struct handle_key key;
static uint64_t          user, sequence;
static uint8_t           channel[HANDLE_CHANNEL];
static char            **lines;
static size_t            n_lines, next_line, until, n_ended, clocked;
static struct task       tasks[MAX_DEPTH];
static uint64_t         *took_us;
static unsigned long     items;
static char            **pids; /* NULL behind the last */
static double            cpu_before[2];
static uint64_t          since_us;

/* ---- the clock ---- */

/* Nanoseconds of CPU of all threads of a process so far. */
static double cpu_ns(const char *pid)
{
	char           path[300];
	double         sum = 0, one;
	DIR           *dir;
	struct dirent *entry;
	FILE          *f;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	if (dir == NULL)
		fatal("%s", path);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid, entry->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue; /* a thread has ended meanwhile */
		sum += fscanf(f, "%lf", &one) == 1 ? one : 0;
		fclose(f);
	}
	closedir(dir);
	return sum;
}

static void cpu_now(double ret[2])
{
	ret[0] = ret[1] = 0;
	for (unsigned i = 0; pids[i] != NULL; i++)
		ret[i > 0] += cpu_ns(pids[i]);
}

static void begin_clock(void)
{
	items = 0;
	cpu_now(cpu_before);
	since_us = clock_mono_us();
}

static int compare_us(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print(void)
{
	double wall = (double)(clock_mono_us() - since_us), cpu[2], n = (double)clocked;

	cpu_now(cpu);
	qsort(took_us, clocked, sizeof(*took_us), compare_us);
	printf("%zu %.2f %.2f %llu %llu %.2f %.2f\n", clocked, (double)items / n, wall / n,
	       (unsigned long long)took_us[clocked / 2],
	       (unsigned long long)took_us[clocked * 99 / 100],
	       (cpu[0] - cpu_before[0]) / 1000. / n, (cpu[1] - cpu_before[1]) / 1000. / n);
}

/* ---- questions ---- */

static void begin_next(struct task *t)
{
	if (next_line == until)
		return;
	if (!task_read(t, lines[next_line++]))
		fatalx("not a task: %s", lines[next_line - 1]);
	t->sequence = ++sequence;
	task_begin(t);
}

static void end_task(struct task *t)
{
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;

	m.sequence = t->sequence;
	if (wire_send(chan, WIRE_HANDLE_CLOSE, t->sequence, &m.base) != BW_OK)
		fatalx("a handle cannot be closed");
	items += t->items;
	if (until == n_lines)
		took_us[n_ended - (n_lines - clocked)] = clock_mono_us() - t->began_us;
	if (++n_ended == until)
		ev_break(loop, EVBREAK_ALL);
	else
		begin_next(t);
}

/* All lines before number `to`: nothing is under way when this returns. */
static void run_to(size_t to, size_t depth)
{
	until = to;
	for (size_t i = 0; i < depth; i++)
		begin_next(&tasks[i]);
	if (n_ended < until)
		ev_run(loop, 0);
}

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct task *t = (struct task *)call;

	if (err != BW_OK)
		fatalx("%s: %s", t->what, wire_err_text(err));
	if (task_go_on(t, f))
		end_task(t);
}

void ask_send(struct task *t, enum wire_id id, ProtobufCMessage *m, protobuf_c_boolean *has_handle,
              ProtobufCBinaryData *handle)
{
	uint64_t      principals[2] = { user << 1, EVERYONE << 1 | 1 };
	uint8_t       octets[HANDLE_MAX];
	struct handle h = { .kind = user == 1 ? HANDLE_ADMIN : HANDLE_SERVICE,
		            .user_id = user,
		            .sequence = t->sequence,
		            .issued_us = clock_boot_us(),
		            .n_principals = 2 };

	if (!t->is_open) {
		h.expires_us = h.issued_us + HANDLE_LIFE_US;
		memcpy(h.channel, channel, sizeof(h.channel));
		*has_handle = true;
		*handle = (ProtobufCBinaryData){ handle_put(&h, principals, &key, octets), octets };
		t->is_open = true;
	}
	t->call.on_end = on_end;
	if (wire_call(chan, &t->call, id, t->sequence, m) != BW_OK)
		fatalx("%s: cannot be asked", t->what);
}

/* ---- the connection ---- */

static void on_hello(struct wire_chan *ch, struct bw_str id)
{
	(void)ch;
	memcpy(channel, id.p, sizeof(channel));
	ev_break(loop, EVBREAK_ALL);
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	(void)ch;
	fatalx("repo has closed the connection: %s", reason);
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	if (flush_soon)
		return; /* on_prepare does */
	ev_io_stop(loop, &io);
	ev_io_set(&io, wire_chan_fd(ch), EV_READ | (writable ? EV_WRITE : 0));
	ev_io_start(loop, &io);
}

static void on_io(struct ev_loop *l, ev_io *w, int events)
{
	(void)l;
	(void)w;
	if (events & EV_WRITE)
		wire_chan_writable(chan);
	else
		wire_chan_readable(chan);
}

static void on_prepare(struct ev_loop *l, ev_prepare *w, int events)
{
	(void)l;
	(void)w;
	(void)events;
	wire_chan_flush(chan);
}

static void greet(const char *path)
{
	static const struct wire_chan_ops ops = {
		.on_hello = on_hello,
		.on_close = on_close,
		.want = on_want,
	};
	static ev_prepare flush;
	int               fd = unix_connect(path);

	if (fd < 0)
		fatal("%s", path);
	chan = wire_chan_new(fd, WIRE_GATEWAY, WIRE_REPO, &ops, NULL);
	ev_io_init(&io, on_io, fd, EV_READ);
	ev_prepare_init(&flush, on_prepare);
	ev_io_start(loop, &io);
	ev_prepare_start(loop, &flush);
	wire_hello(chan, BW_STR(""));
	ev_run(loop, 0);
}

/* ---- all ---- */

static void read_lines(void)
{
	char line[MAX_LINE];

	for (size_t cap = 0; fgets(line, sizeof(line), stdin) != NULL;) {
		if (n_lines == cap) {
			cap = cap > 0 ? 2 * cap : 1024;
			lines = xrealloc(lines, cap * sizeof(*lines));
		}
		lines[n_lines++] = xstrndup(line, strcspn(line, "\n"));
	}
}

int main(int argc, char **argv)
{
	struct handle_keys keys;
	char               err[256];
	size_t             depth;

	log_init("bench", LOG_LEVEL_WARNING);
	if (argc < 6 || (depth = (size_t)atoi(argv[4])) < 1 || depth > MAX_DEPTH)
		fatalx("usage: ask SOCKET KEY_FILE USER DEPTH CLOCKED [PID...] <LIST");
	if (sodium_init() < 0 || handle_keys_load(argv[2], &keys, err, sizeof(err)) != 0)
		fatalx("%s: no key", argv[2]);
	key = keys.keys[0];
	user = strtoull(argv[3], NULL, 10);
	clocked = strtoull(argv[5], NULL, 10);
	pids = argv + 6;
	read_lines();
	if (clocked < 1 || clocked > n_lines)
		fatalx("%zu of %zu tasks cannot be measured", clocked, n_lines);
	took_us = xcalloc(clocked, sizeof(*took_us));
	alarm(MAX_SECONDS);
	loop = ev_loop_new(EVFLAG_AUTO);
	sequence = clock_boot_us();
	greet(argv[1]);
	run_to(n_lines - clocked, depth);
	begin_clock();
	run_to(n_lines, depth);
	print();
	return 0;
}
