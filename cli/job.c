/* job.c - the supervisor's short-lived processes: whatever would block its loop, or needs the
 * database, is done here, so that the supervisor itself holds no connection and parses no answer.
 *
 * Owns: nothing. Runs in: a process forked from the supervisor, which ends with it.
 * Fails with: exit code 1 after a line on stderr. Tests: tests/system/setup_test.c. */
#include <arpa/inet.h>
#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <netinet/in.h>
#include <repoinit/repoinit.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "database.h"
#include "embedded.h"
#include "migrate.h"
#include "password.h"
#include "repoinit.h"
#include "supervisor.h"

static void on_job_ended(struct ev_loop *loop, struct ev_child *watcher, int events)
{
	struct supervisor *s = watcher->data;

	(void)events;
	ev_child_stop(loop, watcher);
	s->job = 0;
	s->job_done(s, watcher->rstatus);
}

void job_start(struct supervisor *s, job_cb fn, void (*done)(struct supervisor *s, int status))
{
	pid_t parent = getpid();

	fflush(NULL);
	s->job_done = done;
	s->job = fork();
	if (s->job < 0)
		fatal("fork");
	if (s->job == 0) {
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			_exit(1);
		int code = fn(s);
		fflush(NULL);
		_exit(code);
	}
	ev_child_init(&s->job_ended, on_job_ended, s->job, 0);
	s->job_ended.data = s;
	ev_child_start(s->loop, &s->job_ended);
}

/* The file was opened before the rights were given up. It is written first: a password in the
 * database that nobody knows would be worse than one in the file that does not work yet. */
static bool set_admin_password(struct supervisor *s, struct database *db)
{
	const struct cli_settings *settings = &s->cli->settings;
	char                       verifier[PASSWORD_VERIFIER];
	const char                *params[] = { "admin", verifier };
	size_t                     n = strlen(s->password);

	if (ftruncate(s->password_file, 0) != 0 || write(s->password_file, s->password, n) != (ssize_t)n ||
	    write(s->password_file, "\n", 1) != 1 || fsync(s->password_file) != 0)
		return complain_errno("admin-password");
	return password_verifier(settings, s->password, n, verifier) &&
	       database_query(db, "SELECT auth.password_set($1, $2)", 2, params, NULL);
}

/* Only an account that never had a password gets one. */
static bool prepare_admin(struct supervisor *s, struct database *db, bool *ret_made)
{
	PGresult *rows;
	bool      has_one;

	if (!database_query(db,
	                    "SELECT FROM auth.credential c JOIN auth.principal p ON p.id = c.principal"
	                    " WHERE p.name = 'admin'",
	                    0, NULL, &rows))
		return false;
	has_one = PQntuples(rows) > 0;
	PQclear(rows);
	*ret_made = !has_one;
	return has_one || set_admin_password(s, db);
}

/* The scripts may lie where only the operator reaches them, so they are read with his rights. */
struct script {
	const char *name;
	char       *text; /* heap */
	size_t      size;
};

static bool read_scripts(const struct conf_list *names, struct script *scripts)
{
	for (size_t i = 0; i < names->n; i++) {
		scripts[i].name = names->items[i];
		scripts[i].text = read_file(names->items[i], REPOINIT_MAX_SCRIPT, &scripts[i].size);
		if (scripts[i].text == NULL)
			return false;
	}
	return true;
}

static bool run_scripts(struct supervisor *s, struct database *db, const struct script *scripts)
{
	const struct cli_settings  *settings = &s->cli->settings;
	const struct embedded_file *base = &embedded_base_repoinit;

	if (!repoinit_run(db, settings, base->name, base->text, (size_t)(base->end - base->text), true))
		return false;
	for (size_t i = 0; i < settings->repoinit.n; i++)
		if (!repoinit_run(db, settings, scripts[i].name, scripts[i].text, scripts[i].size, true))
			return false;
	return true;
}

int job_database(struct supervisor *s)
{
	const struct conf_list *names = &s->cli->settings.repoinit;
	struct script          *scripts = xcalloc(names->n + 1, sizeof(*scripts));
	struct database         db = { 0 };
	bool                    made = false, done;

	done = read_scripts(names, scripts) && instance_become_owner(&s->instance) &&
	       database_open(&db, s->instance.owner_conninfo, true) && migrate_run(&db) &&
	       run_scripts(s, &db, scripts) && prepare_admin(s, &db, &made);
	database_close(&db);
	for (size_t i = 0; i < names->n; i++)
		free(scripts[i].text);
	free(scripts);
	return !done ? CLI_FAILED : made ? JOB_MADE_PASSWORD : CLI_OK;
}

/* "127.0.0.1:8081" or the path of a socket. 0 if it is neither. */
static socklen_t parse_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_un *un = (struct sockaddr_un *)ret;
	const char         *colon = strrchr(text, ':');
	char                host[64];

	memset(ret, 0, sizeof(*ret));
	if (text[0] == '/') {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", text);
		return sizeof(*un);
	}
	if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
		return 0;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
		return 0;
	if (in->sin_addr.s_addr == htonl(INADDR_ANY))
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(*in);
}

/* One question on a connection of its own. */
static bool is_ready(const struct sockaddr_storage *address, socklen_t size)
{
	static const char request[] = "GET /health/ready HTTP/1.0\r\n\r\n";
	static const char good[] = " 200 ";
	struct timeval    patience = { .tv_sec = 2 };
	char              answer[64] = "";
	int               fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool              ready;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ready = connect(fd, (const struct sockaddr *)address, size) == 0 &&
	        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(request) - 1 &&
	        recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL) > 12 &&
	        strncmp(answer + sizeof("HTTP/1.1") - 1, good, sizeof(good) - 1) == 0;
	close(fd);
	return ready;
}

/* Nothing tells when another process begins to listen, so this asks again and again; the limit of
 * the start ends it. */
int job_probe(struct supervisor *s)
{
	const struct timespec   pause = { .tv_nsec = 25 * 1000000 };
	const char             *management = s->cli->settings.management;
	struct sockaddr_storage address;
	socklen_t               size = parse_address(management, &address);

	if (size == 0) {
		complain("boardwalk.management: '%s' is neither an IPv4 address with port nor a path",
		         management);
		return CLI_FAILED;
	}
	while (!is_ready(&address, size))
		nanosleep(&pause, NULL);
	return CLI_OK;
}
