/* postgres.c - starts, breaks and removes a private PostgreSQL.
 *
 * Owns: a folder /tmp/boardwalk-test.XXXXXX and the server in it, in a process group of its own.
 * Runs in: the test's process, blocking. Fails with: a message and exit code 1. */
#include "postgres.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_TIMEOUT_MS 30000
#define POLL_MS          10
#define MAX_CROWD        200

struct test_postgres {
	char    dir[64];
	char    conninfo[160];
	pid_t   pid;
	PGconn *owner; /* opened when it is needed */
	PGconn *crowd[MAX_CROWD];
	size_t  n_crowd;

	struct test_postgres *next; /* in living */
};

/* Those that a test which ends early leaves behind; freed at exit. */
static struct test_postgres *living;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list ap;

	fputs("tests/support/postgres: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* The user the server runs as: PostgreSQL refuses root. */
static const struct passwd *server_user(void)
{
	const struct passwd *pw = geteuid() != 0 ? getpwuid(geteuid()) : getpwnam("postgres");

	if (pw == NULL)
		die("no user to run PostgreSQL as");
	return pw;
}

static void become(const struct passwd *pw)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || setgid(pw->pw_gid) != 0 || setuid(pw->pw_uid) != 0))
		_exit(126);
}

static void run(const struct passwd *pw, const char *const *argv)
{
	pid_t pid = fork();
	int   status;

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		if (chdir("/") == 0) {
			become(pw);
			execv(argv[0], (char *const *)argv);
		}
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		die("%s failed", argv[0]);
}

/* initdb takes a second: once per user, found again by name, made under a lock. */
static void make_template(const struct passwd *pw, char *path, size_t size)
{
	const char *initdb = POSTGRES_BIN "/initdb";
	char        lock[128], temporary[128];
	struct stat st;
	int         fd;

	snprintf(path, size, "/tmp/boardwalk-test-template.%s.%u", POSTGRES_VERSION,
	         (unsigned)pw->pw_uid);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		die("%s: %s", lock, strerror(errno));
	if (stat(path, &st) != 0) {
		snprintf(temporary, sizeof(temporary), "%s.new", path);
		run(pw, (const char *const[]){ "/bin/rm", "-rf", temporary, NULL });
		run(pw, (const char *const[]){ initdb, "-D", temporary, "-U", "postgres", "-A",
		                               "trust", "-E", "UTF8", "--locale=C", "--no-sync",
		                               "--no-instructions", NULL });
		if (rename(temporary, path) != 0)
			die("%s: %s", path, strerror(errno));
	} else if (st.st_uid != pw->pw_uid) {
		die("%s is not ours", path);
	}
	close(fd);
}

const char *test_postgres_dir(const struct test_postgres *p)
{
	return p->dir;
}

const char *test_postgres_conninfo(struct test_postgres *p, const char *role)
{
	snprintf(p->conninfo, sizeof(p->conninfo), "host=%s dbname=boardwalk user=%s", p->dir,
	         role);
	return p->conninfo;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000 }, NULL);
}

static PGconn *connect_to(const struct test_postgres *p, const char *database)
{
	char    info[160];
	PGconn *conn;

	snprintf(info, sizeof(info), "host=%s dbname=%s user=postgres", p->dir, database);
	for (int waited = 0; waited < START_TIMEOUT_MS; waited += POLL_MS) {
		conn = PQconnectdb(info);
		if (PQstatus(conn) == CONNECTION_OK)
			return conn;
		if (waitpid(p->pid, NULL, WNOHANG) == p->pid)
			die("the server ended: see %s/log", p->dir);
		PQfinish(conn);
		nap();
	}
	die("the server does not start: see %s/log", p->dir);
}

static void quiet(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static PGconn *owner(struct test_postgres *p)
{
	if (p->owner == NULL || PQstatus(p->owner) != CONNECTION_OK) {
		PQfinish(p->owner);
		p->owner = connect_to(p, "boardwalk");
		PQsetNoticeProcessor(p->owner, quiet, NULL);
	}
	return p->owner;
}

static PGresult *must(PGconn *conn, const char *sql)
{
	PGresult *r = PQexec(conn, sql);

	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
		die("%.200s: %s", sql, PQerrorMessage(conn));
	return r;
}

void test_postgres_start(struct test_postgres *p)
{
	const struct passwd *pw = server_user();
	char                 data[96], log[96];

	snprintf(data, sizeof(data), "%s/data", p->dir);
	snprintf(log, sizeof(log), "%s/log", p->dir);
	p->pid = fork();
	if (p->pid == 0) {
		int fd;

		setpgid(0, 0);
		become(pw);
		prctl(PR_SET_PDEATHSIG, SIGQUIT); /* after setuid, which clears it */
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		if (chdir("/") == 0)
			execl(POSTGRES_BIN "/postgres", "postgres", "-D", data, "-k", p->dir, "-c",
			      "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=32MB",
			      NULL);
		_exit(127);
	}
	if (p->pid < 0)
		die("fork: %s", strerror(errno));
	PQfinish(connect_to(p, "postgres"));
}

void test_postgres_migrate(struct test_postgres *p)
{
	glob_t files;

	PQclear(must(
		owner(p),
		"CREATE TABLE public.boardwalk_migration (version int PRIMARY KEY, "
		"name text NOT NULL, applied timestamptz NOT NULL DEFAULT now()); "
		"GRANT SELECT ON public.boardwalk_migration TO boardwalk_auth, boardwalk_repo"));
	if (glob(BOARDWALK_SOURCE "/migrations/[0-9]*.sql", 0, NULL, &files) != 0)
		die("no migrations");
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *name = strrchr(files.gl_pathv[i], '/') + 1;
		char        sql[131072];
		FILE       *f = fopen(files.gl_pathv[i], "re");
		size_t      n = f != NULL ? fread(sql, 1, sizeof(sql), f) : 0;

		if (n == 0 || n == sizeof(sql))
			die("%s cannot be read", files.gl_pathv[i]);
		fclose(f);
		sql[n] = '\0';
		PQclear(must(owner(p), sql));
		test_postgres_sql(
			p,
			"INSERT INTO public.boardwalk_migration (version, name) VALUES (%d, '%s')",
			atoi(name), name);
	}
	globfree(&files);
}

static void free_living(void)
{
	while (living != NULL)
		test_postgres_free(living);
}

struct test_postgres *test_postgres_new_empty(void)
{
	const struct passwd  *pw = server_user();
	struct test_postgres *p = calloc(1, sizeof(*p));
	char template[96], data[96];
	PGconn *conn;

	if (p == NULL)
		die("out of memory");
	make_template(pw, template, sizeof(template));
	strcpy(p->dir, "/tmp/boardwalk-test.XXXXXX");
	if (mkdtemp(p->dir) == NULL || chmod(p->dir, 0755) != 0 ||
	    chown(p->dir, pw->pw_uid, pw->pw_gid) != 0)
		die("%s: %s", p->dir, strerror(errno));
	if (living == NULL)
		atexit(free_living);
	p->next = living;
	living = p;
	snprintf(data, sizeof(data), "%s/data", p->dir);
	run(pw, (const char *const[]){ "/bin/cp", "-a", "--reflink=auto", template, data, NULL });
	test_postgres_start(p);
	conn = connect_to(p, "postgres");
	PQclear(must(conn, "CREATE DATABASE boardwalk"));
	PQclear(must(conn, "CREATE ROLE boardwalk_auth LOGIN; CREATE ROLE boardwalk_repo LOGIN"));
	PQfinish(conn);
	return p;
}

struct test_postgres *test_postgres_new(void)
{
	struct test_postgres *p = test_postgres_new_empty();

	test_postgres_migrate(p);
	return p;
}

static PGresult *execute(struct test_postgres *p, const char *format, va_list ap)
{
	char     *sql;
	PGresult *r;

	if (vasprintf(&sql, format, ap) < 0)
		die("out of memory");
	r = PQexec(owner(p), sql);
	free(sql);
	return r;
}

void test_postgres_sql(struct test_postgres *p, const char *format, ...)
{
	va_list   ap;
	PGresult *r;

	va_start(ap, format);
	r = execute(p, format, ap);
	va_end(ap);
	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
		die("%s: %s", format, PQresultErrorMessage(r));
	PQclear(r);
}

char *test_postgres_value(struct test_postgres *p, const char *format, ...)
{
	va_list   ap;
	PGresult *r;
	char     *value;

	va_start(ap, format);
	r = execute(p, format, ap);
	va_end(ap);
	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		die("%s: %s", format, PQresultErrorMessage(r));
	value = strdup(PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
	PQclear(r);
	return value;
}

bool test_postgres_fails(struct test_postgres *p, char *ret_sqlstate, const char *format, ...)
{
	va_list     ap;
	PGresult   *r;
	const char *state;
	bool        failed;

	va_start(ap, format);
	r = execute(p, format, ap);
	va_end(ap);
	failed = PQresultStatus(r) == PGRES_FATAL_ERROR;
	state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	snprintf(ret_sqlstate, 6, "%s", state != NULL ? state : "");
	PQclear(r);
	return failed;
}

/* Until it has ended: a new server does not start beside an old one's backend. */
static void wait_for_end(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return; /* it has ended */
	poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
	close(fd);
}

/* To the server and its children; each backend leads a process group of its own. SIGKILL: and waits for
 * the children's end. */
static void signal_all(const struct test_postgres *p, int sig)
{
	DIR           *proc = opendir("/proc");
	struct dirent *d;

	if (sig != SIGKILL)
		kill(p->pid, sig);
	while (proc != NULL && (d = readdir(proc)) != NULL) {
		char  path[280], line[512];
		int   parent = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", d->d_name);
		f = atoi(d->d_name) > 0 ? fopen(path, "re") : NULL;
		if (f == NULL)
			continue;
		if (fgets(line, sizeof(line), f) != NULL && strrchr(line, ')') != NULL)
			sscanf(strrchr(line, ')') + 1, " %*c %d", &parent);
		fclose(f);
		if (parent != p->pid)
			continue;
		kill(atoi(d->d_name), sig);
		if (sig == SIGKILL)
			wait_for_end(atoi(d->d_name));
	}
	if (proc != NULL)
		closedir(proc);
}

void test_postgres_pause(struct test_postgres *p, bool paused)
{
	signal_all(p, paused ? SIGSTOP : SIGCONT);
}

void test_postgres_kill(struct test_postgres *p)
{
	kill(p->pid, SIGSTOP); /* no new children while they are listed */
	signal_all(p, SIGKILL);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
	PQfinish(p->owner);
	p->owner = NULL;
}

/* Our own connection tells when the server has ended them all. */
bool test_postgres_kill_backend(struct test_postgres *p, const char *role, unsigned pick)
{
	char *pid = test_postgres_value(p,
	                                "SELECT a[1 + %u %% cardinality(a)] FROM (SELECT"
	                                " array_agg(pid ORDER BY pid) FROM pg_stat_activity"
	                                " WHERE usename = '%s') s(a)",
	                                pick, role);
	pid_t victim = (pid_t)atoi(pid);
	bool  done = victim > 0 && kill(victim, SIGKILL) == 0;

	free(pid);
	if (!done)
		return false;
	wait_for_end(PQbackendPID(p->owner));
	PQfinish(p->owner);
	p->owner = NULL;
	return true;
}

unsigned test_postgres_fill(struct test_postgres *p, const char *role)
{
	while (p->n_crowd < MAX_CROWD) {
		PGconn *conn = PQconnectdb(test_postgres_conninfo(p, role));

		if (PQstatus(conn) != CONNECTION_OK) {
			PQfinish(conn);
			break;
		}
		p->crowd[p->n_crowd++] = conn;
	}
	return (unsigned)p->n_crowd;
}

void test_postgres_empty(struct test_postgres *p)
{
	while (p->n_crowd > 0)
		PQfinish(p->crowd[--p->n_crowd]);
}

void test_postgres_free(struct test_postgres *p)
{
	if (p == NULL)
		return;
	for (struct test_postgres **at = &living; *at != NULL; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	test_postgres_empty(p);
	PQfinish(p->owner);
	if (p->pid > 0) {
		kill(p->pid, SIGQUIT); /* at once: nothing in it is needed any more */
		waitpid(p->pid, NULL, 0);
	}
	run(server_user(),
	    (const char *const[]){ "/bin/sh", "-c", "rm -rf \"$0\"/*", p->dir, NULL });
	rmdir(p->dir);
	free(p);
}
