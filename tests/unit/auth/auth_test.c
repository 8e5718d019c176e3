/* Under test: the process boardwalk-auth (auth/auth.c), from outside: what it refuses to start with,
 * what it waits for, that it works behind its system call filter, and how it ends. */
#include "asker.h"
#include <base/clock.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/postgres.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE 96

static char  dir[] = "/tmp/auth-test.XXXXXX";
static char  conf[PATH_SIZE], key_file[PATH_SIZE], sock[PATH_SIZE], log_file[PATH_SIZE];
static pid_t pid;

static void write_file(const char *path, const char *format, ...)
{
	FILE   *f = fopen(path, "we");
	va_list ap;

	cr_assert_not_null(f);
	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	fclose(f);
}

static void path_of(char *path, const char *name)
{
	snprintf(path, PATH_SIZE, "%s/%s", dir, name);
}

/* As root the process becomes nobody; it and its files are in a folder that nobody may enter. */
static void set_up(void)
{
	const struct passwd *nobody = getpwnam("nobody");

	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chmod(dir, 0711), 0);
	path_of(conf, "boardwalk.yaml");
	path_of(key_file, "handle.key");
	path_of(sock, "auth.sock");
	path_of(log_file, "log");
	write_file(key_file, "3 2a%062d\n", 0);
	cr_assert_eq(chmod(key_file, 0400), 0);
	if (geteuid() == 0)
		cr_assert_eq(chown(key_file, nobody->pw_uid, nobody->pw_gid), 0);
	asker_loop = ev_loop_new(EVFLAG_AUTO);
}

static void tear_down(void)
{
	const char *const files[] = { conf, key_file, sock, log_file };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	rmdir(dir);
	ev_loop_destroy(asker_loop);
}

TestSuite(auth, .init = set_up, .fini = tear_down);

static void write_conf(const char *conninfo, const char *more)
{
	write_file(conf,
	           "auth:\n  user: nobody\n  gateway_user: %s\n  socket: %s\n  key_file: %s\n"
	           "  database: \"%s\"\n  argon2_ops: 1\n  argon2_mem: 8192\n%s",
	           getpwuid(geteuid())->pw_name, sock, key_file, conninfo, more);
}

static void start(const char *option)
{
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		int fd = open(log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		execl(BOARDWALK_AUTH, "boardwalk-auth", "--config", conf, option, NULL);
		_exit(127);
	}
}

static void wait_until_it_listens(void)
{
	int fd;

	while ((fd = unix_connect(sock)) < 0)
		cr_assert_eq(waitpid(pid, NULL, WNOHANG), 0);
	close(fd);
}

static int end_of(void)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "it was killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void assert_logged(const char *text)
{
	static char log[1u << 16];
	FILE       *f = fopen(log_file, "re");
	size_t      n;

	cr_assert_not_null(f);
	n = fread(log, 1, sizeof(log) - 1, f);
	log[n] = '\0';
	fclose(f);
	cr_assert_not_null(strstr(log, text), "\"%s\" in: %s", text, log);
}

/* ---- what it does not start with ---- */

Test(auth, bad_configuration)
{
	static const struct {
		const char *more, *says;
	} rows[] = {
		{ "  colour: blue\n", "boardwalk.yaml:9: " },
		{ "  hash_threads: 0\n", "hash_threads" },
		{ "  argon2_mem: 4K\n", "argon2_mem" },
		{ "  log_level: loud\n", "log_level" },
		{ "  service_users: [\"b=[p,q]\"]\n", "a list of principals is not supported" },
		{ "  service_users: [\"b=u\", \"b=v\"]\n", "map the same service" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_conf("", rows[i].more);
		start("--check");
		cr_assert_eq(end_of(), 1, "row %zu", i);
		assert_logged(rows[i].says);
		start(NULL);
		cr_assert_eq(end_of(), 1, "row %zu", i);
	}
	write_conf("", "  service_users: [\"b=u\"]\n");
	start("--check");
	cr_assert_eq(end_of(), 0);
}

Test(auth, options)
{
	write_conf("", "");
	start("--help");
	cr_assert_eq(end_of(), 0);
	assert_logged("remember_seconds: 300");
	start("--colour");
	cr_assert_eq(end_of(), 2);
}

Test(auth, bad_key_file)
{
	write_conf("host=/nowhere", "");
	cr_assert_eq(chmod(key_file, 0444), 0);
	start(NULL);
	cr_assert_eq(end_of(), 1);
	assert_logged("auth.key_file");
	unlink(key_file);
	start(NULL);
	cr_assert_eq(end_of(), 1);
}

/* ---- its life ---- */

/* As start-up goes: PostgreSQL is there, the schema comes later; the gateway is greeted only then.
 * Passwords are computed behind the filter. */
Test(auth, waits_serves_and_ends)
{
	struct test_postgres *db = test_postgres_new_empty();
	struct gateway        g;
	struct question       q;
	char                  verifier[crypto_pwhash_STRBYTES];
	uint64_t              since;

	write_conf(test_postgres_conninfo(db, "boardwalk_auth"), "");
	start(NULL);
	wait_until_it_listens();
	gateway_connect(&g, sock, "0123456789abcdef");
	for (since = clock_mono_us(); clock_mono_us() - since < 300000;)
		ev_run(asker_loop, EVRUN_NOWAIT);
	cr_assert_not(g.open);
	test_postgres_migrate(db);
	cr_assert_eq(crypto_pwhash_str(verifier, "secret", 6, 2, 16384), 0);
	test_postgres_sql(db, "SELECT auth.password_set('admin', '%s')", verifier);
	gateway_wait(&g);
	cr_assert(g.open);
	cr_assert_eq(basic(&g, &q, "admin", "secret"), BW_OK, "who is greeted is served");
	cr_assert_eq(q.handle.kind, HANDLE_ADMIN);
	cr_assert_eq(basic(&g, &q, "admin", "Secret"), BW_ELOGIN);
	cr_assert_eq(anonymous(&g, &q), BW_OK);
	cr_assert_eq(service(&g, &q, "boardwalk.demo", NULL), BW_ELOGIN);

	cr_assert_eq(kill(pid, SIGTERM), 0);
	while (!g.closed)
		ev_run(asker_loop, EVRUN_ONCE);
	cr_assert_eq(end_of(), 0);
	assert_logged("request=0000000000000abc");
	assert_logged("stopped");
	gateway_done(&g);
	test_postgres_free(db);
}

/* Its memory is not to be read by other processes of its user, it has given up what it could. */
Test(auth, confined)
{
	struct test_postgres *db = test_postgres_new();
	struct gateway        g;
	char                  path[64], line[256];
	unsigned              seen = 0;
	FILE                 *f;
	struct stat           st;

	write_conf(test_postgres_conninfo(db, "boardwalk_auth"), "");
	start(NULL);
	wait_until_it_listens();
	gateway_init(&g, sock, "0123456789abcdef");
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned long value;

		if (sscanf(line, "NoNewPrivs: %lu", &value) == 1)
			seen += value == 1;
		if (sscanf(line, "Seccomp: %lu", &value) == 1)
			seen += value == 2;
		if (geteuid() == 0 && sscanf(line, "Uid: %lu", &value) == 1)
			cr_assert_eq(value, getpwnam("nobody")->pw_uid);
	}
	fclose(f);
	cr_assert_eq(seen, 2);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	cr_assert_eq(stat(path, &st), 0);
#ifdef BOARDWALK_SANITIZED
	cr_assert_neq(st.st_uid, 0, "LeakSanitizer looks into it");
#else
	cr_assert_eq(st.st_uid, 0, "undumpable");
#endif
	kill(pid, SIGTERM);
	cr_assert_eq(end_of(), 0);
	gateway_done(&g);
	test_postgres_free(db);
}
