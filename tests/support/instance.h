/* instance.h - a whole private Boardwalk for a test: own folder below /tmp, own ports, own cluster,
 * the demo's bundle and content. A start takes about half a second.
 *
 * It ends with the test's process, however that ends. Whatever cannot be done ends the test with a
 * line on stderr, the instance's log and abort(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct test_instance {
	char     root[64]; /* everything is below it; removed by test_instance_stop */
	char     data[256];
	unsigned port;            /* of the gateway; management is port + 1 */
	char     password[64];    /* of admin */
	char     credentials[80]; /* "admin:PASSWORD" */
	pid_t    supervisor;
	const char *
		database; /* the owner's DATABASE_URL for the CLI, set by the test; NULL: its own */
	bool crashes_on_purpose; /* set it before the end: what a sanitizer says of that is fine */
};

struct test_instance_options {
	const char        *config; /* YAML instead of the demo's; NULL: the demo's */
	const char        *data;   /* the data folder, below root if not absolute; NULL: "data" */
	const char *const *environment; /* "NAME=value" ..., NULL-terminated, added; may be NULL */
	const char *bundle;       /* one of tests/support/bundles besides the demo's; may be NULL */
	bool        without_demo; /* neither its bundle nor its content */
	bool        ordinary;     /* as user nobody, if the test runs as root */
	bool        joins; /* another node of a database that is in use: it has its admin already */
	bool        fresh; /* a first start, with initdb and all; otherwise from a copy of one */
};

/* Starts and waits until it is ready. options: NULL for the demo. */
void test_instance_start(struct test_instance *ret, const struct test_instance_options *options);
/* The same in two steps: files and ports without a process; then the start, also again. False: it
 * ended before it was ready; what it said is in root/log. */
void test_instance_prepare(struct test_instance *ret, const struct test_instance_options *options);
bool test_instance_up(struct test_instance *i, const struct test_instance_options *options);
/* Ends it and waits for its end; the exit code of `up`. Twice is fine (then 0). */
int test_instance_end(struct test_instance *i);
/* The end, and its files go as well. */
void test_instance_stop(struct test_instance *i);

/* The process named postgres, auth, repo or gateway, as `boardwalk status` says; 0: none. */
pid_t test_instance_pid(const struct test_instance *i, const char *name);
/* The gateway's workers, at most max of them; how many there are. */
size_t test_instance_workers(const struct test_instance *i, pid_t *ret_pids, size_t max);
/* The path of one of its sockets: auth/auth.sock, repo/repo.sock, gateway/control.sock, or of pg, the folder
 * of PostgreSQL's; and, for "", the run folder. */
void test_instance_socket(const struct test_instance *i, const char *name, char *ret, size_t size);
/* Waits until that process has another pid than before and /health/ready is 200. False after limit_ms. */
bool test_instance_recovered(const struct test_instance *i, const char *name, pid_t before,
                             unsigned limit_ms);
/* Runs `boardwalk ARGUMENTS... --data DATA` (NULL-terminated) with input on standard input. Returns
 * the exit code; *ret_output (may be NULL): stdout and stderr together, heap. */
int test_instance_cli(const struct test_instance *i, const char *input, char **ret_output,
                      const char *const *arguments);
/* The same, without waiting for its end; the caller waits for the pid. *ret_out: stdout and stderr. It
 * ends with the test. */
pid_t test_instance_spawn(const struct test_instance *i, int *ret_out,
                          const char *const *arguments);
/* `boardwalk repoinit -` with that script; a failure ends the test. */
void test_instance_repoinit(const struct test_instance *i, const char *script);
/* Gives a user, made if necessary, that password. */
void test_instance_password(const struct test_instance *i, const char *user, const char *password);
/* Whether text stands in the instance's log. */
bool test_instance_logged(const struct test_instance *i, const char *text);
/* What /proc/PID/status says behind "field:", without the blanks before it; "" if there is no such
 * process or field. Borrowed until the next call. */
const char *test_process_status(pid_t pid, const char *field);
/* The first of two neighbouring ports that nobody listens on. */
unsigned test_find_ports(void);
/* Milliseconds of the monotonic clock, for limits. */
unsigned long long test_now_ms(void);
