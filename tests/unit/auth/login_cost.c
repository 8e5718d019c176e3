/* login_cost.c - what a login costs auth: asks a running one, as a gateway worker does, DEPTH
 * questions at a time, and prints logins per second and the process's CPU time for each. Run by hand,
 * as a user that auth lets in (or root); it is no test.
 *
 *     login_cost SOCKET PID basic USER PASSWORD [DEPTH [N]]
 *     login_cost SOCKET PID service BUNDLE - [DEPTH [N]]
 *     login_cost SOCKET PID anonymous - - [DEPTH [N]]
 *
 * Owns: everything until it ends. Runs in: one thread, blocking. Fails with: a fatal line. */
#include <base/clock.h>
#include <base/fatal.h>
#include <base/unix_socket.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wire/messages.h>

#define WARM_UP 20000u
#define ROOM    (1u << 20)

static uint8_t  out[ROOM], in[ROOM];
static size_t   n_in;
static unsigned n_failed;
static uint32_t last_call;

/* Microseconds that the process has been on a CPU. */
static uint64_t cpu_us(const char *pid)
{
	char               path[64];
	unsigned long long ns = 0;
	FILE              *f;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
	f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%llu", &ns) != 1)
		fatal("%s", path);
	fclose(f);
	return ns / 1000;
}

static ProtobufCBinaryData bytes_of(const char *s)
{
	return (ProtobufCBinaryData){ strlen(s), (uint8_t *)s };
}

static size_t put(uint8_t *p, enum wire_id id, const ProtobufCMessage *m)
{
	struct wire_frame f = {
		.id = id, .call = ++last_call, .request = last_call, .flags = WIRE_END
	};

	f.length = (uint32_t)protobuf_c_message_pack(m, p + WIRE_HEADER);
	wire_header_put(p, &f);
	return WIRE_HEADER + f.length;
}

static size_t put_question(uint8_t *p, const char *kind, const char *a, const char *b)
{
	Bw__Wire__AuthenticateBasic     basic = BW__WIRE__AUTHENTICATE_BASIC__INIT;
	Bw__Wire__AuthenticateService   service = BW__WIRE__AUTHENTICATE_SERVICE__INIT;
	Bw__Wire__AuthenticateAnonymous anonymous = BW__WIRE__AUTHENTICATE_ANONYMOUS__INIT;

	if (strcmp(kind, "basic") == 0) {
		basic.user = bytes_of(a);
		basic.password = bytes_of(b);
		return put(p, WIRE_AUTHENTICATE_BASIC, &basic.base);
	}
	if (strcmp(kind, "service") == 0) {
		service.bundle = bytes_of(a);
		service.count = 1;
		return put(p, WIRE_AUTHENTICATE_SERVICE, &service.base);
	}
	anonymous.count = 1;
	return put(p, WIRE_AUTHENTICATE_ANONYMOUS, &anonymous.base);
}

static void send_all(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, p, n);

		if (k <= 0)
			fatal("write");
		p += k;
		n -= (size_t)k;
	}
}

/* Waits for that many frames. */
static void receive(int fd, unsigned wanted)
{
	while (wanted > 0) {
		size_t            at = 0;
		struct wire_frame f;
		ssize_t           k = read(fd, in + n_in, sizeof(in) - n_in);

		if (k <= 0)
			fatal("read");
		n_in += (size_t)k;
		while (n_in - at >= WIRE_HEADER) {
			if (wire_header_get(in + at, WIRE_AUTH, WIRE_GATEWAY, &f) != BW_OK)
				fatalx("not a frame");
			if (n_in - at < WIRE_HEADER + f.length)
				break;
			n_failed += f.id == WIRE_FAILED;
			wanted--;
			at += WIRE_HEADER + f.length;
		}
		memmove(in, in + at, n_in - at);
		n_in -= at;
	}
}

static void greet(int fd)
{
	Bw__Wire__Hello m = BW__WIRE__HELLO__INIT;

	m.wire_version = WIRE_VERSION;
	m.build = bytes_of(BOARDWALK_VERSION);
	m.channel = bytes_of("0123456789abcdef");
	send_all(fd, out, put(out, WIRE_HELLO, &m.base));
	last_call = 0;
	receive(fd, 1);
}

static void ask(int fd, char **question, unsigned depth, unsigned n)
{
	for (unsigned done = 0; done < n; done += depth) {
		size_t n_out = 0;

		for (unsigned i = 0; i < depth; i++)
			n_out += put_question(out + n_out, question[0], question[1], question[2]);
		send_all(fd, out, n_out);
		receive(fd, depth);
	}
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 6 ? (unsigned)atoi(argv[6]) : 64,
		 n = argc > 7 ? (unsigned)atoi(argv[7]) : 500000;
	uint64_t began_us, began_cpu_us;
	int      fd;

	if (argc < 6 || depth < 1 || depth > 256 || n < 1)
		fatalx("usage: login_cost SOCKET PID KIND NAME PASSWORD [DEPTH [N]]");
	fd = unix_connect(argv[1]);
	if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0)
		fatal("%s", argv[1]);
	greet(fd);
	ask(fd, argv + 3, depth, WARM_UP);
	n_failed = 0;
	began_us = clock_mono_us();
	began_cpu_us = cpu_us(argv[2]);
	ask(fd, argv + 3, depth, n);
	printf("%s, %u at a time: %.0f/s, %.2f us of CPU each, %u failed\n", argv[3], depth,
	       n * 1e6 / (double)(clock_mono_us() - began_us),
	       (double)(cpu_us(argv[2]) - began_cpu_us) / n, n_failed);
	close(fd);
	return 0;
}
