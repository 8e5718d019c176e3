/* test.c - a bundle for system tests: what a servlet can do wrong, or big, or slowly. Loaded by tests
 * alone. Everything is in context t at /t, which lets everybody in:
 *
 *   /t/loop            never returns and never waits: the watchdog's case
 *   /t/crash           writes through a null pointer
 *   /t/crash/N         so does this, N below 32, each a pattern of its own
 *   /t/slow?ms=N       waits N ms, then says so
 *   /t/block?ms=N      blocks a thread of the pool for N ms
 *   /t/big?n=N         a body of N octets, the octet at i being 'a' + i % 23
 *   /t/echo            method, length and FNV-1a checksum of the body; ?header=X: that header too
 *   /t/fail?name=a.b   returns that error name
 *   /t/error?code=N    sends that status as an error
 *   /t/err?n=N         returns that number
 *   /t/half            commits, writes a little and fails
 *   /t/forbidden       makes calls that no servlet may make, and tells what each came to, a line each
 *   /t/execute         becomes another program */
#include <boardwalk/boardwalk.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT "text/plain;charset=utf-8"

/* The value of a query parameter, undecoded, in the request's memory; "" if there is none. */
static const char *param(struct bw_req *req, const char *name)
{
	struct bw_str query = bw_req_get(req, BW_REQ_QUERY);
	size_t        n = strlen(name);
	const char   *at = query.p;

	while (at && *at) {
		size_t part = strcspn(at, "&");

		if (part > n && strncmp(at, name, n) == 0 && at[n] == '=') {
			char *value = bw_req_alloc(req, part);

			memcpy(value, at + n + 1, part - n - 1);
			value[part - n - 1] = '\0';
			return value;
		}
		at += part + (at[part] == '&');
	}
	return "";
}

static unsigned long number(struct bw_req *req, const char *name)
{
	return strtoul(param(req, name), NULL, 10);
}

static int get_loop(void *self, struct bw_req *req)
{
	volatile unsigned turns = 0;

	(void)self;
	(void)req;
	for (;;)
		turns++;
	return BW_OK;
}

static int get_crash(void *self, struct bw_req *req)
{
	volatile int *volatile nowhere = NULL;

	(void)self;
	(void)req;
	*nowhere = 1;
	return BW_OK;
}

static int get_slow(void *self, struct bw_req *req)
{
	unsigned long ms = number(req, "ms");
	int           err = bw_sleep_ms(req, (uint32_t)ms);

	(void)self;
	return err != BW_OK ? err : bw_res_printf(req, "slept %lu ms", ms);
}

static void block(void *arg)
{
	usleep(*(useconds_t *)arg);
}

static int get_block(void *self, struct bw_req *req)
{
	useconds_t us = (useconds_t)number(req, "ms") * 1000;
	int        err = bw_offload(req, block, &us);

	(void)self;
	return err != BW_OK ? err : bw_res_puts(req, "blocked");
}

static int get_big(void *self, struct bw_req *req)
{
	unsigned long left = number(req, "n"), at = 0;
	char          part[4096];

	(void)self;
	bw_res_content_type(req, TEXT);
	while (left > 0) {
		size_t n = left < sizeof(part) ? left : sizeof(part);
		int    err;

		for (size_t i = 0; i < n; i++)
			part[i] = (char)('a' + at++ % 23);
		err = bw_res_write(req, part, n);
		if (err != BW_OK)
			return err;
		left -= n;
	}
	return BW_OK;
}

static int any_echo(void *self, struct bw_req *req)
{
	uint64_t      sum = 0xcbf29ce484222325u, at = 0;
	struct bw_str method = bw_req_get(req, BW_REQ_METHOD);
	const char   *name = param(req, "header");
	struct bw_str header = *name ? bw_req_header(req, name) : BW_ABSENT;
	unsigned char part[4096];
	size_t        n;

	(void)self;
	do {
		int err = bw_req_body_read(req, at, part, sizeof(part), &n);

		if (err != BW_OK)
			return err;
		for (size_t i = 0; i < n; i++)
			sum = (sum ^ part[i]) * 0x100000001b3u;
		at += n;
	} while (n > 0);
	bw_res_content_type(req, TEXT);
	return bw_res_printf(req, "method=%s length=%lld read=%llu sum=%016llx header=%s\n",
	                     method.p, (long long)bw_req_body_length(req), (unsigned long long)at,
	                     (unsigned long long)sum, header.p ? header.p : "-");
}

static int get_fail(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_fail(req, param(req, "name"), "asked for");
}

static int get_error(void *self, struct bw_req *req)
{
	(void)self;
	return bw_res_send_error(req, (int)number(req, "code"), "asked for");
}

static int get_err(void *self, struct bw_req *req)
{
	(void)self;
	return (int)strtol(param(req, "n"), NULL, 10);
}

static int get_half(void *self, struct bw_req *req)
{
	int err = bw_res_puts(req, "half");

	(void)self;
	if (err == BW_OK)
		err = bw_res_flush(req);
	return err != BW_OK ? err : bw_req_fail(req, "test.half", "after the head was sent");
}

/* Without a filter each of these would succeed, or fail in another way. */
static int get_forbidden(void *self, struct bw_req *req)
{
	const struct {
		const char *name;
		long        number, arguments[6];
	} calls[] = {
		{ "rename",
		  SYS_rename,
		  { (long)"/tmp/boardwalk-forbidden", (long)"/tmp/boardwalk-x" } },
		{ "symlink", SYS_symlink, { (long)"/", (long)"/tmp/boardwalk-forbidden" } },
		{ "memfd_create", SYS_memfd_create, { (long)"forbidden", 0 } },
		{ "executable memory",
		  SYS_mmap,
		  { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0 } },
		{ "kill", SYS_kill, { getpid(), 0 } },
		{ "clone of a process", SYS_clone, { CLONE_FS | CLONE_NEWNS } },
		{ "dumpable", SYS_prctl, { PR_SET_DUMPABLE, 1 } },
		{ "setpriority", SYS_setpriority, { 0, 0, 19 } },
		{ "listen", SYS_listen, { -1, 0 } },
		{ "unshare", SYS_unshare, { 0 } },
		{ "io_uring_setup", SYS_io_uring_setup, { 1, 0 } },
		{ "file elsewhere",
		  SYS_openat,
		  { AT_FDCWD, (long)"/tmp/boardwalk-forbidden", O_WRONLY | O_CREAT, 0600 } },
		{ "folder elsewhere", SYS_mkdir, { (long)"/tmp/boardwalk-forbidden", 0700 } },
	};
	int err = BW_OK;

	(void)self;
	for (size_t i = 0; err == BW_OK && i < sizeof(calls) / sizeof(*calls); i++) {
		const long *a = calls[i].arguments;
		long        result = syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);

		err = bw_res_printf(req, "%s %s\n", calls[i].name,
		                    result == -1 ? strerrorname_np(errno) : "succeeded");
	}
	return err;
}

static int get_execute(void *self, struct bw_req *req)
{
	(void)self;
	execl("/bin/true", "true", (char *)NULL);
	return bw_res_puts(req, strerrorname_np(errno));
}

static const struct {
	const char       *pattern;
	struct bw_servlet type;
} servlets[] = {
	{ "/loop", { .size = sizeof(struct bw_servlet), .get = get_loop } },
	{ "/crash", { .size = sizeof(struct bw_servlet), .get = get_crash } },
	{ "/slow", { .size = sizeof(struct bw_servlet), .get = get_slow } },
	{ "/block", { .size = sizeof(struct bw_servlet), .get = get_block } },
	{ "/big", { .size = sizeof(struct bw_servlet), .get = get_big } },
	{ "/echo", { .size = sizeof(struct bw_servlet), .service = any_echo } },
	{ "/fail", { .size = sizeof(struct bw_servlet), .get = get_fail } },
	{ "/error", { .size = sizeof(struct bw_servlet), .get = get_error } },
	{ "/err", { .size = sizeof(struct bw_servlet), .get = get_err } },
	{ "/half", { .size = sizeof(struct bw_servlet), .get = get_half } },
	{ "/forbidden", { .size = sizeof(struct bw_servlet), .get = get_forbidden } },
	{ "/execute", { .size = sizeof(struct bw_servlet), .get = get_execute } },
};

static const struct bw_context_helper context = { .size = sizeof(context) };

/* One servlet with a pattern for each crash of a series: one that crashed is not run for a while. */
static int register_crashes(struct bw_bundle *self)
{
	static const struct bw_servlet type = { .size = sizeof(type), .get = get_crash };
	char                           patterns[32][16];
	const char                    *list[33] = { NULL };

	for (unsigned i = 0; i < 32; i++) {
		snprintf(patterns[i], sizeof(patterns[i]), "/crash/%u", i);
		list[i] = patterns[i];
	}
	return bw_register_servlet(self, &type, NULL, BW_P_STRING(BW_CONTEXT_SELECT, "t"),
	                           { BW_SERVLET_PATTERN, BW_PROP_STRINGS, { .strings = list } });
}

static int start(struct bw_bundle *self)
{
	int err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "t"),
	                              BW_P_STRING(BW_CONTEXT_PATH, "/t"));

	for (size_t i = 0; err == BW_OK && i < sizeof(servlets) / sizeof(*servlets); i++)
		err = bw_register_servlet(self, &servlets[i].type, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "t"),
		                          BW_P_STRING(BW_SERVLET_NAME, servlets[i].pattern + 1),
		                          BW_P_STRING(BW_SERVLET_PATTERN, servlets[i].pattern));
	return err != BW_OK ? err : register_crashes(self);
}

BW_BUNDLE("boardwalk.test", "1.0.0", start, NULL);
