/* commit - how many commits a second repo takes from so many writers.
 *
 *   commit SOCKET KEY_FILE FOLDER WRITERS SECONDS
 *
 * Each writer is one of the callers of a gateway's connection, of which there are as many as four: it
 * adds a node with two properties to FOLDER, which is there, waits for the answer, and adds the next.
 * The administrator's handles are made here, with auth's key. Prints commits a second, and how many
 * failed. To be run as a user that repo lets in. */
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <ev.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wire/chan.h>
#include <wire/changes.h>
#include <wire/handle.h>

enum { MAX_WRITERS = 256, CONNECTIONS = 4 };

struct connection {
	struct wire_chan *chan;
	ev_io             io;
	ev_prepare        flush;
	uint64_t          sequence;
};

struct writer {
	struct wire_call   call;
	struct connection *connection;
	unsigned           number, n;
};

static struct ev_loop   *loop;
static struct handle_key key;
static struct connection connections[CONNECTIONS];
static struct writer     writers[MAX_WRITERS];
static const char       *folder;
static unsigned          n_open, n_writers;
static unsigned long     committed, failed, in_flight;
static bool              over;
static uint64_t          run;

/* ---- a commit ---- */

static void send_commit(struct writer *w)
{
	static const struct bw_str title = { "A node of the benchmark", 23 }, number = { "42", 2 };
	static const struct change_text texts[] = { { BW_VALUE_LONG, false, 1, &number },
		                                    { BW_VALUE_STRING, false, 1, &title } };
	Bw__Wire__ResourceCommit        m = BW__WIRE__RESOURCE_COMMIT__INIT;
	char                            path[256];
	struct buf                      list;
	size_t                          change;

	snprintf(path, sizeof(path), "%s/%llx-%u-%u", folder, (unsigned long long)run, w->number,
	         w->n++);
	buf_init(&list);
	(void)changes_begin(&list);
	change = change_begin(&list, CHANGE_CREATE, 0, bw_str(path), BW_STR("nt:unstructured"));
	change_put_prop(&list, change, BW_STR("number"), &texts[0]);
	change_put_prop(&list, change, BW_STR("title"), &texts[1]);
	change_end(&list, 0, change);
	m.sequence = w->connection->sequence;
	m.changes = (ProtobufCBinaryData){ changes_end(&list, 0), buf_data(&list) };
	if (wire_call(w->connection->chan, &w->call, WIRE_RESOURCE_COMMIT, w->number, &m.base) !=
	    BW_OK)
		fatalx("a commit cannot be sent");
	in_flight++;
	buf_done(&list);
}

static void on_committed(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct writer *w = (struct writer *)call;

	(void)f;
	in_flight--;
	committed += err == BW_OK;
	failed += err != BW_OK;
	if (!over)
		send_commit(w);
	else if (in_flight == 0)
		ev_break(loop, EVBREAK_ALL);
}

/* ---- connections ---- */

/* The handle is opened by asking for the folder. */
static struct wire_call opened[CONNECTIONS];

static void on_opened(struct wire_call *call, int err, const struct wire_frame *f)
{
	(void)call;
	(void)f;
	if (err != BW_OK)
		fatalx("%s cannot be read: %s", folder, wire_err_text(err));
	if (++n_open == CONNECTIONS)
		ev_break(loop, EVBREAK_ALL);
}

static void on_hello(struct wire_chan *ch, struct bw_str channel)
{
	struct connection    *c = wire_chan_owner(ch);
	uint64_t              admin = 1 << 1;
	uint8_t               handle[HANDLE_MAX];
	struct handle         h = { .kind = HANDLE_ADMIN,
		                    .user_id = 1,
		                    .sequence = clock_boot_us(),
		                    .issued_us = clock_boot_us(),
		                    .n_principals = 1 };
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	h.expires_us = h.issued_us + HANDLE_LIFE_US;
	memcpy(h.channel, channel.p, sizeof(h.channel));
	c->sequence = m.sequence = h.sequence;
	m.has_handle = true;
	m.handle = (ProtobufCBinaryData){ handle_put(&h, &admin, &key, handle), handle };
	m.path = (ProtobufCBinaryData){ strlen(folder), (uint8_t *)folder };
	opened[c - connections].on_end = on_opened;
	if (wire_call(ch, &opened[c - connections], WIRE_RESOURCE_GET, 1, &m.base) != BW_OK)
		fatalx("nothing can be asked");
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	(void)ch;
	fatalx("repo has closed the connection: %s", reason);
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	(void)ch;
	(void)flush_soon;
	(void)writable; /* so few small calls never fill a socket */
}

static void on_readable(struct ev_loop *l, ev_io *w, int events)
{
	(void)l;
	(void)events;
	wire_chan_readable(((struct connection *)w->data)->chan);
}

static void on_prepare(struct ev_loop *l, ev_prepare *w, int events)
{
	(void)l;
	(void)events;
	wire_chan_flush(((struct connection *)w->data)->chan);
}

static void connect_one(struct connection *c, const char *path)
{
	static const struct wire_chan_ops ops = {
		.on_hello = on_hello,
		.on_close = on_close,
		.want = on_want,
	};
	int fd = unix_connect(path);

	if (fd < 0)
		fatal("%s", path);
	c->chan = wire_chan_new(fd, WIRE_GATEWAY, WIRE_REPO, &ops, c);
	wire_hello(c->chan, BW_STR(""));
	ev_io_init(&c->io, on_readable, fd, EV_READ);
	ev_prepare_init(&c->flush, on_prepare);
	c->io.data = c->flush.data = c;
	ev_io_start(loop, &c->io);
	ev_prepare_start(loop, &c->flush);
}

static void on_time(struct ev_loop *l, ev_timer *w, int events)
{
	(void)l;
	(void)w;
	(void)events;
	over = true;
}

/* ---- all ---- */

static double measure(double seconds)
{
	ev_timer timer;
	uint64_t since;

	ev_timer_init(&timer, on_time, seconds, 0.);
	ev_timer_start(loop, &timer);
	since = clock_mono_us();
	for (unsigned i = 0; i < n_writers; i++) {
		writers[i] = (struct writer){ .call = { .on_end = on_committed },
			                      .connection = &connections[i % CONNECTIONS],
			                      .number = i };
		send_commit(&writers[i]);
	}
	ev_run(loop, 0);
	return (double)committed * 1e6 / (double)(clock_mono_us() - since);
}

int main(int argc, char **argv)
{
	struct handle_keys keys;
	char               err[256];

	log_init("bench", LOG_LEVEL_WARNING);
	if (argc != 6 || (n_writers = (unsigned)atoi(argv[4])) < 1 || n_writers > MAX_WRITERS)
		fatalx("usage: commit SOCKET KEY_FILE FOLDER WRITERS SECONDS");
	if (sodium_init() < 0 || handle_keys_load(argv[2], &keys, err, sizeof(err)) != 0)
		fatalx("%s: no key", argv[2]);
	key = keys.keys[0];
	folder = argv[3];
	run = clock_boot_us();
	loop = ev_loop_new(EVFLAG_AUTO);
	for (int i = 0; i < CONNECTIONS; i++)
		connect_one(&connections[i], argv[1]);
	ev_run(loop, 0);
	printf("%.0f %lu\n", measure(atof(argv[5])), failed);
	return failed > 0;
}
