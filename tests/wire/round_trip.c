/* round_trip - what one call over the wire costs: a gateway's channel and repo's server in two
 * processes on two libev loops, both on one core, 64 calls in flight.
 *
 *   wire_round_trip [calls] [core]
 *
 * Prints the processor time of both sides together per call. No test: a measure, run by hand. */
#include <base/clock.h>
#include <base/unix_socket.h>
#include <ev.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wire/server.h>

#define IN_FLIGHT 64
#define RECORD    500

static struct ev_loop   *loop;
static struct wire_chan *chan;
static struct wire_call  calls[IN_FLIGHT];
static unsigned long     to_send = 2000000, answered, total;
static ev_io             io;
static uint8_t           record[RECORD];

/* ---- repo ---- */

static int on_open(struct wire_conn *c, struct bw_str channel)
{
	(void)c;
	(void)channel;
	return BW_OK;
}

static void on_message(struct wire_conn *c, const struct wire_question *q, struct wire_message *m)
{
	static const uint8_t head[] = { 1 << 3, 30, 2 << 3 | 2, 0x80 | (RECORD & 0x7f),
		                        RECORD >> 7 };

	if (m->u->resource_get.path.len != 30)
		abort();
	wire_answer_raw(c->chan, q, 1, 2, head, sizeof(head), record, sizeof(record));
}

static void on_gone(struct wire_conn *c, const char *reason)
{
	(void)c;
	(void)reason;
	ev_break(loop, EVBREAK_ALL);
}

static void serve(int listener)
{
	static const enum wire_id           permit[] = { WIRE_RESOURCE_GET, WIRE_NONE };
	static const struct wire_server_ops ops = {
		.on_open = on_open,
		.on_message = on_message,
		.on_close = on_gone,
	};

	loop = ev_loop_new(EVFLAG_AUTO);
	wire_server_new(loop, listener, WIRE_REPO, permit, true, (uid_t)-1, &ops, NULL);
	ev_run(loop, 0);
	_exit(0);
}

/* ---- gateway ---- */

static void ask(struct wire_call *call)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	if (to_send == 0)
		return;
	to_send--;
	m.sequence = 1234567890123;
	m.path = (ProtobufCBinaryData){ 30, (uint8_t *)"/content/test/hello/some/thing" };
	if (wire_call(chan, call, WIRE_RESOURCE_GET, to_send, &m.base) != BW_OK)
		abort();
}

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct wire_message m;

	if (err != BW_OK || wire_message_get(f, &m) != BW_OK ||
	    m.u->resource_found.record.len != RECORD)
		abort();
	answered++;
	ask(call);
}

static void on_hello(struct wire_chan *ch, struct bw_str channel)
{
	(void)ch;
	(void)channel;
	for (int i = 0; i < IN_FLIGHT; i++) {
		calls[i].on_end = on_end;
		ask(&calls[i]);
	}
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	(void)ch;
	fprintf(stderr, "closed: %s\n", reason);
	exit(1);
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	(void)ch;
	(void)flush_soon;
	(void)writable; /* 64 small calls never fill a socket */
}

static void on_readable(struct ev_loop *l, ev_io *w, int events)
{
	(void)w;
	(void)events;
	wire_chan_readable(chan);
	if (answered == total)
		ev_break(l, EVBREAK_ALL);
}

static void on_prepare(struct ev_loop *l, ev_prepare *w, int events)
{
	(void)l;
	(void)w;
	(void)events;
	wire_chan_flush(chan);
}

static void run(const char *path)
{
	static const struct wire_chan_ops ops = {
		.on_hello = on_hello,
		.on_close = on_close,
		.want = on_want,
	};
	ev_prepare prepare;
	int        fd = unix_connect(path);

	loop = ev_loop_new(EVFLAG_AUTO);
	chan = wire_chan_new(fd, WIRE_GATEWAY, WIRE_REPO, &ops, NULL);
	wire_hello(chan, BW_STR(""));
	ev_io_init(&io, on_readable, fd, EV_READ);
	ev_io_start(loop, &io);
	ev_prepare_init(&prepare, on_prepare);
	ev_prepare_start(loop, &prepare);
	ev_run(loop, 0);
	wire_chan_free(chan);
}

static double cpu_us(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	char      path[64];
	cpu_set_t cores;
	uint64_t  started;
	int       listener;
	pid_t     pid;

	if (argc > 1)
		to_send = strtoul(argv[1], NULL, 10);
	total = to_send;
	CPU_ZERO(&cores);
	CPU_SET(argc > 2 ? strtoul(argv[2], NULL, 10) : 0, &cores);
	sched_setaffinity(0, sizeof(cores), &cores);
	snprintf(path, sizeof(path), "/tmp/wire-round-trip.%d", (int)getpid());
	listener = unix_listen(path, 0600, 16);
	if (listener < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		serve(listener);
	started = clock_mono_us();
	run(path);
	printf("%lu calls, %d in flight: %.3f us each, wall\n", answered, IN_FLIGHT,
	       (double)(clock_mono_us() - started) / (double)answered);
	unlink(path);
	waitpid(pid, NULL, 0);
	printf("processor time per call: gateway %.3f us, repo %.3f us, together %.3f us\n",
	       cpu_us(RUSAGE_SELF) / (double)answered, cpu_us(RUSAGE_CHILDREN) / (double)answered,
	       (cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN)) / (double)answered);
	return 0;
}
