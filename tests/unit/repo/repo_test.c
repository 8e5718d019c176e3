/* Under test: the process boardwalk-repo (repo/repo.c), from outside: what it refuses to start
 * with, what it waits for, that it works behind its system call filter, and how it ends. */
#include "world.h"
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE 64

static struct world w; /* its loop, key and socket only: repo is another process here */
static char         dir[] = "/tmp/repo-test.XXXXXX";
static char         conf[PATH_SIZE], key_file[PATH_SIZE], log_file[PATH_SIZE];
static pid_t        pid;

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

/* As root the process becomes nobody; it and its files are in a folder that nobody may enter. */
static void set_up(void)
{
	const struct passwd *nobody = getpwnam("nobody");

	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chmod(dir, 0711), 0);
	snprintf(conf, PATH_SIZE, "%s/boardwalk.yaml", dir);
	snprintf(key_file, PATH_SIZE, "%s/handle.key", dir);
	snprintf(log_file, PATH_SIZE, "%s/log", dir);
	snprintf(w.socket, sizeof(w.socket), "%s/repo.sock", dir);
	write_file(key_file, "3 2a%062d\n", 0);
	w.key = (struct handle_key){ .id = 3, .key = { 0x2a } };
	cr_assert_eq(chmod(key_file, 0400), 0);
	if (geteuid() == 0)
		cr_assert_eq(chown(key_file, nobody->pw_uid, nobody->pw_gid), 0);
	w.loop = ev_loop_new(EVFLAG_AUTO);
}

static void tear_down(void)
{
	const char *const files[] = { conf, key_file, w.socket, log_file };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	rmdir(dir);
	ev_loop_destroy(w.loop);
}

TestSuite(repo, .init = set_up, .fini = tear_down);

static void write_conf(const char *conninfo, const char *more)
{
	write_file(conf,
	           "repo:\n  user: nobody\n  gateway_user: %s\n  socket: %s\n  key_file: %s\n"
	           "  database: \"%s\"\n%s",
	           getpwuid(geteuid())->pw_name, w.socket, key_file, conninfo, more);
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
		execl(BOARDWALK_REPO, "boardwalk-repo", "--config", conf, option, NULL);
		_exit(127);
	}
}

static int end_of(void)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "it was killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static bool has_logged(const char *text)
{
	static char log[1u << 16];
	FILE       *f = fopen(log_file, "re");
	size_t      n = f != NULL ? fread(log, 1, sizeof(log) - 1, f) : 0;

	if (f != NULL)
		fclose(f);
	log[n] = '\0';
	return strstr(log, text) != NULL;
}

static void wait_until_it_listens(void)
{
	struct stat st;

	world_until(&w, stat(w.socket, &st) == 0 && S_ISSOCK(st.st_mode));
}

/* ---- what it does not start with ---- */

Test(repo, bad_configuration)
{
	static const struct {
		const char *more, *says;
	} rows[] = {
		{ "  colour: blue\n", "boardwalk.yaml:7: " },
		{ "  cache_bytes: 1K\n", "cache_bytes" },
		{ "  statement_timeout_ms: 0\n", "statement_timeout_ms" },
		{ "  log_level: loud\n", "log_level" },
		{ "  search_path: [/apps]\n", "does not begin and end with /" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_conf("", rows[i].more);
		start("--check");
		cr_assert_eq(end_of(), 1, "row %zu", i);
		cr_assert(has_logged(rows[i].says), "row %zu", i);
		start(NULL);
		cr_assert_eq(end_of(), 1, "row %zu", i);
	}
	write_conf("", "  search_path: [/apps/, /libs/]\n");
	start("--check");
	cr_assert_eq(end_of(), 0);
}

Test(repo, options)
{
	write_conf("", "");
	start("--help");
	cr_assert_eq(end_of(), 0);
	cr_assert(has_logged("cache_bytes: 64M") && has_logged("search_path: [/apps/, /libs/]"));
	start("--colour");
	cr_assert_eq(end_of(), 2);
}

Test(repo, bad_key_file)
{
	write_conf("host=/nowhere", "");
	cr_assert_eq(chmod(key_file, 0444), 0);
	start(NULL);
	cr_assert_eq(end_of(), 1);
	cr_assert(has_logged("repo.key_file"));
	unlink(key_file);
	start(NULL);
	cr_assert_eq(end_of(), 1);
}

Test(repo, schema_that_is_too_new)
{
	struct test_postgres *db = test_postgres_new();

	test_postgres_sql(
		db, "INSERT INTO public.boardwalk_migration (version, name) VALUES (9999, 'x')");
	write_conf(test_postgres_conninfo(db, "boardwalk_repo"), "");
	start(NULL);
	cr_assert_eq(end_of(), 1);
	cr_assert(has_logged("the database is at schema version 9999"));
	test_postgres_free(db);
}

/* ---- its life ---- */

/* As start-up goes: PostgreSQL is there, the schema comes later; the gateway is greeted only
 * then. */
Test(repo, waits_serves_and_ends)
{
	struct test_postgres *db = test_postgres_new_empty();
	struct client         c;
	uint64_t              as_admin;
	char                 *value;
	double                since = ev_time();

	write_conf(test_postgres_conninfo(db, "boardwalk_repo"), "");
	start(NULL);
	wait_until_it_listens();
	world_until(&w, has_logged("trying on"));
	while (ev_time() - since < 0.5)
		world_turn(&w);
	cr_assert(!has_logged("serving"));
	test_postgres_migrate(db);
	test_postgres_sql(db, "SELECT repo.property_set('/', 'v', '{\"s\":\"here\"}')");
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	value = client_property(&c, as_admin, "/", "v");
	cr_assert_str_eq(value, "here", "who is greeted is served");
	free(value);
	cr_assert_eq(kill(pid, SIGTERM), 0);
	world_until(&w, c.closed);
	cr_assert_eq(end_of(), 0);
	cr_assert(has_logged("stopped"));
	client_close(&c);
	test_postgres_free(db);
}

/* Its memory is not to be read by other processes of its user, it has given up what it could. */
Test(repo, confined)
{
	struct test_postgres *db = test_postgres_new();
	struct client         c;
	char                  path[64], line[256];
	unsigned              seen = 0;
	FILE                 *f;
	struct stat           st;

	write_conf(test_postgres_conninfo(db, "boardwalk_repo"), "");
	start(NULL);
	wait_until_it_listens();
	client_open(&w, &c);
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
	world_until(&w, c.closed);
	cr_assert_eq(end_of(), 0);
	client_close(&c);
	test_postgres_free(db);
}
