/* auth.c - boardwalk-auth: who somebody is.
 *
 * Holds the key that resolver handles are signed with and the verifiers of all passwords. Talks to
 * the gateway, which it does not trust, and to PostgreSQL as role boardwalk_auth. Refuses everything
 * but the three messages of answer.c's permit table, and any peer that is not the gateway's user.
 *
 *     gateway ---AUTHENTICATE_*---> answer --> login --> password (threads: argon2id)
 *             <--RESOLVER_HANDLE---   | mint     |------> remember
 *                                     `---------------> account <--- journal (what has changed)
 *
 * It accepts nobody before the database has the schema of this program, accounts can be read and the
 * journal is followed: who is greeted is served. SIGTERM or SIGINT: logins under way are
 * finished; a second one: at once.
 * Owns: all of it. Runs in: the process's main thread. Fails with: a fatal line at start, after that
 * per login. Tests: tests/unit/auth/auth_test.c, tests/system. */
#include "answer.h"
#include "journal.h"
#include "schema.h"
#include "settings.h"
#include <base/fatal.h>
#include <base/log.h>
#include <base/sandbox.h>
#include <base/unix_socket.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BACKLOG 128

struct auth {
	struct auth_settings  settings;
	char                 *conninfo;
	struct handle_key     keys[2];
	int                   listener;
	uid_t                 gateway;
	struct ev_loop       *loop;
	ev_signal             terminate, interrupt;
	bool                  is_stopping;
	ev_prepare            stopped; /* while stopping: looks whether the last login has ended */
	struct schema_wait   *schema;
	struct mapping       *mapping;
	struct password_pool *pool;
	struct remember      *remember;
	struct accounts      *accounts;
	struct journal       *journal;
	struct logins        *logins;
	struct answers       *answers;
};

static void usage(FILE *out)
{
	fputs("usage: boardwalk-auth [--config FILE] [--check | --help]\n\n", out);
	auth_settings_print(out);
}

/* Returns the file's name or NULL; may end the process. */
static const char *parse_options(int argc, char **argv, bool *ret_check)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *file = NULL;
	int         c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			file = optarg;
			break;
		case 'n':
			*ret_check = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
	return file;
}

static enum log_level log_level_of(const char *name)
{
	static const struct {
		const char    *name;
		enum log_level level;
	} levels[] = {
		{ "error", LOG_LEVEL_ERROR },
		{ "warning", LOG_LEVEL_WARNING },
		{ "info", LOG_LEVEL_INFO },
		{ "debug", LOG_LEVEL_DEBUG },
	};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(levels[i].name, name) == 0)
			return levels[i].level;
	fatalx("auth.log_level: \"%s\" is not error, warning, info or debug", name);
}

static void load_settings(struct auth *auth, const char *file)
{
	char err[512];

	if (auth_settings_load(file, &auth->settings, err, sizeof(err)) != 0)
		fatalx("%s", err);
	log_init("auth", log_level_of(auth->settings.log_level));
	auth->mapping = mapping_new(&auth->settings.service_users, err, sizeof(err));
	if (auth->mapping == NULL)
		fatalx("%s", err);
}

/* The first line of a file, without its end. */
static char *read_line(const char *path)
{
	FILE  *f = fopen(path, "re");
	char  *line = NULL;
	size_t size = 0;

	if (f == NULL || getline(&line, &size, f) < 0)
		fatal("AUTH_DATABASE_URL_FILE: %s", path);
	fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

static char *database_of(const struct auth_settings *s)
{
	const char *url = getenv("AUTH_DATABASE_URL"), *file = getenv("AUTH_DATABASE_URL_FILE");

	if (url != NULL && *url != '\0')
		return xstrdup(url);
	if (file != NULL && *file != '\0')
		return read_line(file);
	return xstrdup(s->database);
}

static uid_t user_id(const char *name)
{
	struct passwd *pw = *name != '\0' ? getpwnam(name) : NULL;

	if (pw == NULL && *name != '\0')
		log_info(0, "there is no user \"%s\": only auth's own user is let in", name);
	return pw != NULL ? pw->pw_uid : (uid_t)-1;
}

/* Who may connect is decided by the peer's credentials, hence the wide mode of the file. */
static void open_sockets(struct auth *auth)
{
	auth->gateway = user_id(auth->settings.gateway_user);
	auth->listener = unix_listen(auth->settings.socket, 0666, BACKLOG);
	if (auth->listener < 0)
		fatal("auth.socket: %s", auth->settings.socket);
}

static void load_secrets(struct auth *auth)
{
	char err[512];

	if (handle_keys_load(auth->settings.key_file, auth->keys, err, sizeof(err)) < 0)
		fatalx("auth.key_file: %s", err);
	auth->conninfo = database_of(&auth->settings);
}

static void filter_calls(void)
{
	/* PostgreSQL over a socket or the network: names are looked up and certificates read. */
	static const char *const allow[] = {
		"socket", "connect", "sendmmsg", "openat", "fstat",      "newfstatat", "access",
		"ioctl",  "getuid",  "geteuid",  "uname",  "getdents64", NULL,
	};
	static const char *const kill_for[] = { "execve", "execveat", "fork",
		                                "vfork",  "ptrace",   NULL };

	sandbox_filter(allow, kill_for);
}

/* ---- the loop ---- */

/* The last step of starting, and once more after each loss of the connection. */
static void on_followed(void *arg)
{
	struct auth        *auth = arg;
	struct answer_parts parts = {
		.accounts = auth->accounts,
		.logins = auth->logins,
		.remember = auth->remember,
		.mapping = auth->mapping,
		.key = &auth->keys[0],
	};

	if (auth->answers != NULL)
		return;
	auth->answers = answers_new(auth->loop, auth->listener, auth->gateway, &parts);
	log_info(0, "serving %s", auth->settings.socket);
}

static void on_accounts_up(void *arg)
{
	struct auth *auth = arg;

	if (auth->journal == NULL)
		auth->journal =
			journal_new(auth->loop, auth->conninfo, auth->accounts, on_followed, auth);
}

static void on_schema_ready(void *arg)
{
	struct auth *auth = arg;

	schema_wait_free(auth->schema);
	auth->schema = NULL;
	auth->accounts = accounts_new(auth->loop, auth->conninfo, on_accounts_up, auth);
	auth->logins = logins_new(auth->accounts, auth->remember, auth->pool);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct auth *auth = w->data;

	(void)revents;
	if (logins_in_flight(auth->logins) == 0)
		ev_break(loop, EVBREAK_ALL);
}

static void on_terminate(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct auth *auth = w->data;

	(void)revents;
	if (auth->is_stopping || auth->answers == NULL) {
		ev_break(loop, EVBREAK_ALL);
		return;
	}
	auth->is_stopping = true;
	answers_drain(auth->answers);
	ev_prepare_start(loop, &auth->stopped);
}

static void run(struct auth *auth)
{
	ev_signal_init(&auth->terminate, on_terminate, SIGTERM);
	ev_signal_init(&auth->interrupt, on_terminate, SIGINT);
	ev_prepare_init(&auth->stopped, on_prepare);
	auth->terminate.data = auth->interrupt.data = auth->stopped.data = auth;
	ev_signal_start(auth->loop, &auth->terminate);
	ev_signal_start(auth->loop, &auth->interrupt);
	auth->schema = schema_wait_new(auth->loop, auth->conninfo, on_schema_ready, auth);
	ev_run(auth->loop, 0);
	ev_prepare_stop(auth->loop, &auth->stopped);
	ev_signal_stop(auth->loop, &auth->terminate);
	ev_signal_stop(auth->loop, &auth->interrupt);
}

static void start_pool(struct auth *auth)
{
	const struct auth_settings *s = &auth->settings;

	auth->loop = ev_default_loop(EVFLAG_AUTO);
	if (auth->loop == NULL)
		fatalx("no event loop");
	auth->pool = password_pool_new(auth->loop, (unsigned)s->hash_threads,
	                               (unsigned)s->hash_queue, s->argon2_ops, s->argon2_mem);
	auth->remember = remember_new(s->remember_seconds);
}

/* Whoever waits is told in this order: first nobody is left to answer, then what is being computed
 * or read ends. */
static void stop(struct auth *auth)
{
	answers_free(auth->answers);
	schema_wait_free(auth->schema);
	journal_free(auth->journal);
	password_pool_free(auth->pool);
	accounts_free(auth->accounts);
	logins_free(auth->logins);
	remember_free(auth->remember);
	mapping_free(auth->mapping);
	ev_loop_destroy(auth->loop);
	close(auth->listener);
	sodium_memzero(auth->keys, sizeof(auth->keys));
	free(auth->conninfo);
	auth_settings_done(&auth->settings);
}

int main(int argc, char **argv)
{
	struct auth auth = { 0 };
	bool        check_only = false;
	const char *file = parse_options(argc, argv, &check_only);

	log_init("auth", LOG_LEVEL_INFO);
	if (sodium_init() < 0)
		fatalx("libsodium does not start");
	load_settings(&auth, file);
	if (check_only) {
		mapping_free(auth.mapping);
		auth_settings_done(&auth.settings);
		return 0;
	}
	if (getenv("BOARDWALK_DIE_WITH_PARENT") != NULL)
		sandbox_die_with_parent();
	open_sockets(&auth);
	sandbox_become(auth.settings.user);
	sandbox_harden();
	load_secrets(&auth);
	log_start();
	start_pool(&auth);
	filter_calls();
	run(&auth);
	stop(&auth);
	log_info(0, "stopped");
	log_stop();
	return 0;
}
