/* repo.c - boardwalk-repo: the content, and who may see it.
 *
 * Holds the right to read the schema repo, as PostgreSQL's role boardwalk_repo, and the key to
 * check resolver handles with. Talks to the gateway, which it does not trust, and to PostgreSQL.
 * Refuses everything but the four messages of answer.c's permit table, and any peer that is not the
 * gateway's user.
 *
 *     gateway ---RESOURCE_*---> answer --> resource --> cache
 *             <--RESOURCE_*---    | handles   | acl, type   ^
 *                                 |           `--> fetch --'--> PostgreSQL
 *                                             journal ---------> (what has changed)
 *
 * Until the database has the schema of this program, and the entries are loaded, it does not greet.
 * SIGTERM: reads under way are finished; a second one: at once.
 * Owns: all of it. Runs in: the process's main thread. Fails with: a fatal line at start, after
 * that per question. Tests: tests/system. */
#include "answer.h"
#include "journal.h"
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

struct repo {
	struct repo_settings settings;
	char                *conninfo;
	struct handle_key    keys[2];
	size_t               n_keys;
	int                  listener;
	uid_t                gateway;
	struct ev_loop      *loop;
	ev_signal            terminate;
	bool                 is_stopping;
	ev_prepare           stopped; /* while stopping: looks whether the last read has ended */
	struct resources    *resources;
	struct journal      *journal;
	struct answers      *answers; /* NULL until there is something to answer from */
};

static void usage(FILE *out)
{
	fputs("usage: boardwalk-repo [--config FILE] [--check | --help]\n\n", out);
	repo_settings_print(out);
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
	fatalx("repo.log_level: \"%s\" is not error, warning, info or debug", name);
}

static void load_settings(struct repo *repo, const char *file)
{
	char err[512];

	if (repo_settings_load(file, &repo->settings, err, sizeof(err)) != 0)
		fatalx("%s", err);
	log_init("repo", log_level_of(repo->settings.log_level));
}

/* The first line of a file, without its end. */
static char *read_line(const char *path)
{
	FILE  *f = fopen(path, "re");
	char  *line = NULL;
	size_t size = 0;

	if (f == NULL || getline(&line, &size, f) < 0)
		fatal("REPO_DATABASE_URL_FILE: %s", path);
	fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

static char *database_of(const struct repo_settings *s)
{
	const char *url = getenv("REPO_DATABASE_URL"), *file = getenv("REPO_DATABASE_URL_FILE");

	if (url != NULL && *url != '\0')
		return xstrdup(url);
	if (file != NULL && *file != '\0')
		return read_line(file);
	return xstrdup(s->database);
}

static uid_t user_id(const char *name)
{
	struct passwd *pw = *name != '\0' ? getpwnam(name) : NULL;

	if (pw == NULL)
		log_info(0, "there is no user \"%s\": only repo's own user is let in", name);
	return pw != NULL ? pw->pw_uid : (uid_t)-1;
}

/* Who may connect is decided by the peer's credentials, hence the wide mode of the file. */
static void open_sockets(struct repo *repo)
{
	repo->gateway = user_id(repo->settings.gateway_user);
	repo->listener = unix_listen(repo->settings.socket, 0666, BACKLOG);
	if (repo->listener < 0)
		fatal("repo.socket: %s", repo->settings.socket);
}

static void load_secrets(struct repo *repo)
{
	char err[512];
	int  n = handle_keys_load(repo->settings.key_file, repo->keys, err, sizeof(err));

	if (n < 0)
		fatalx("repo.key_file: %s", err);
	repo->n_keys = (size_t)n;
	repo->conninfo = database_of(&repo->settings);
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

static void on_current(void *arg)
{
	struct repo *repo = arg;

	if (repo->answers != NULL) {
		log_info(0, "serving again");
		return;
	}
	repo->answers = answers_new(repo->loop, repo->listener, repo->gateway, repo->keys,
	                            repo->n_keys, repo->resources);
	log_info(0, "serving %s", repo->settings.socket);
}

static void on_want_entries(void *arg)
{
	struct repo *repo = arg;

	journal_want_entries(repo->journal);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct repo *repo = w->data;

	(void)revents;
	if (resources_waiting(repo->resources) == 0)
		ev_break(loop, EVBREAK_ALL);
}

static void on_terminate(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct repo *repo = w->data;

	(void)revents;
	if (repo->is_stopping || repo->answers == NULL) {
		ev_break(loop, EVBREAK_ALL);
		return;
	}
	repo->is_stopping = true;
	answers_drain(repo->answers);
	ev_prepare_start(loop, &repo->stopped);
}

static void run(struct repo *repo)
{
	const struct repo_settings *s = &repo->settings;

	ev_signal_init(&repo->terminate, on_terminate, SIGTERM);
	ev_prepare_init(&repo->stopped, on_prepare);
	repo->terminate.data = repo->stopped.data = repo;
	ev_signal_start(repo->loop, &repo->terminate);
	repo->resources = resources_new(
		repo->loop, &(struct resources_settings){
				    .conninfo = repo->conninfo,
				    .statement_timeout_ms = (unsigned)s->statement_timeout_ms,
				    .cache_bytes = s->cache_bytes,
				    .search_path = s->search_path.items,
				    .n_search_path = s->search_path.n,
				    .want_entries = on_want_entries,
				    .on_current = on_current,
				    .arg = repo,
			    });
	repo->journal = journal_new(repo->loop, repo->conninfo, (unsigned)s->statement_timeout_ms,
	                            s->search_path.items, s->search_path.n, repo->resources);
	ev_run(repo->loop, 0);
	ev_prepare_stop(repo->loop, &repo->stopped);
	ev_signal_stop(repo->loop, &repo->terminate);
}

/* What still waits is answered BW_EGONE, and then the connections close. */
static void stop(struct repo *repo)
{
	if (repo->answers != NULL)
		answers_drain(repo->answers);
	journal_free(repo->journal);
	resources_free(repo->resources);
	answers_free(repo->answers);
	ev_loop_destroy(repo->loop);
	close(repo->listener);
	sodium_memzero(repo->keys, sizeof(repo->keys));
	free(repo->conninfo);
	repo_settings_done(&repo->settings);
}

int main(int argc, char **argv)
{
	struct repo repo = { 0 };
	bool        check_only = false;
	const char *file = parse_options(argc, argv, &check_only);

	log_init("repo", LOG_LEVEL_INFO);
	if (sodium_init() < 0)
		fatalx("libsodium does not start");
	load_settings(&repo, file);
	if (check_only) {
		repo_settings_done(&repo.settings);
		return 0;
	}
	if (getenv("BOARDWALK_DIE_WITH_PARENT") != NULL)
		sandbox_die_with_parent();
	open_sockets(&repo);
	sandbox_become(repo.settings.user);
	sandbox_harden();
	load_secrets(&repo);
	log_start();
	repo.loop = ev_default_loop(EVFLAG_AUTO);
	if (repo.loop == NULL)
		fatalx("no event loop");
	filter_calls();
	run(&repo);
	stop(&repo);
	log_info(0, "stopped");
	log_stop();
	return 0;
}
