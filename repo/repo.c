/* repo.c - boardwalk-repo: the content, and who may see and change it.
 *
 * Holds the right to read and to change the schema repo and to keep sessions in it, as PostgreSQL's role
 * boardwalk_repo, and the key to check resolver handles with. Talks to the gateway, which it does not
 * trust, and to PostgreSQL. Refuses everything but the messages of answer.c's permit table, and any
 * peer that is not the gateway's user.
 *
 *     gateway ---RESOURCE_*---> answer --> resource --> cache
 *             <--RESOURCE_*---    | handles   | acl, type   ^
 *                                 |           `--> fetch --'--> PostgreSQL
 *             ---RESOURCE_COMMIT---------> commit ------------> (a transaction each)
 *             ---SESSION_*----> answer --> session -----------> (what it is told, at once)
 *             ---BLOB_*-------> answer --> blob --------------> (octets, in pieces)
 *                                             journal ---------> (what has changed)
 *
 * Until the database has the schema of this program, and the entries are loaded, it does not greet.
 * SIGTERM or SIGINT: questions under way are answered; a second one: at once.
 * Owns: all of it. Runs in: the process's main thread. Fails with: a fatal line at start, after
 * that per question. Tests: tests/system. */
#include "answer.h"
#include "journal.h"
#include "settings.h"
#include <base/fatal.h>
#include <base/log.h>
#include <base/program.h>
#include <base/sandbox.h>
#include <base/unix_socket.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wire/run.h>

#define BACKLOG 128

struct repo {
	struct repo_settings settings;
	char                *conninfo;
	struct handle_keys   keys;
	ev_timer             follow; /* the file of the keys */
	int                  listener;
	uid_t                gateway;
	struct ev_loop      *loop;
	struct resources    *resources;
	struct sessions     *sessions;
	struct commits      *commits;
	struct searches     *searches;
	struct blobs        *blobs;
	struct versions     *versions;
	struct journal      *journal;
	struct events       *events;
	char                 node[33]; /* what the journal calls us */
	struct answers      *answers;  /* NULL until there is something to answer from */
};

static void load_settings(struct repo *repo, const char *file)
{
	char err[512];

	if (repo_settings_load(file, &repo->settings, err, sizeof(err)) != 0)
		fatalx("%s", err);
	log_init("repo", program_log_level("repo.log_level", repo->settings.log_level));
}

/* Who may connect is decided by the peer's credentials, hence the wide mode of the file. */
static void open_sockets(struct repo *repo)
{
	repo->gateway = program_peer(repo->settings.gateway_user);
	repo->listener = unix_listen(repo->settings.socket, 0666, BACKLOG);
	if (repo->listener < 0)
		fatal("repo.socket: %s", repo->settings.socket);
}

static void load_secrets(struct repo *repo)
{
	char err[512];

	if (handle_keys_load(repo->settings.key_file, &repo->keys, err, sizeof(err)) != 0)
		fatalx("repo.key_file: %s", err);
	repo->conninfo = program_secret("REPO_DATABASE_URL", repo->settings.database);
}

/* ---- the loop ---- */

static void on_current(void *arg)
{
	struct repo *repo = arg;

	if (repo->answers != NULL) {
		log_info(0, "serving again");
		return;
	}
	repo->answers = answers_new(repo->loop, repo->listener, repo->gateway, &repo->keys,
	                            &(struct answer_parts){
					    .resources = repo->resources,
					    .sessions = repo->sessions,
					    .commits = repo->commits,
					    .blobs = repo->blobs,
					    .searches = repo->searches,
					    .events = repo->events,
					    .versions = repo->versions,
				    });
	log_info(0, "serving %s", repo->settings.socket);
}

static void on_want_entries(void *arg)
{
	struct repo *repo = arg;

	journal_want_entries(repo->journal);
}

static void on_follow(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	handle_keys_follow(w->data);
}

static bool drain(void *arg)
{
	struct repo *repo = arg;

	if (repo->answers == NULL)
		return false;
	answers_drain(repo->answers);
	return true;
}

static size_t under_way(const void *arg)
{
	const struct repo *repo = arg;

	return resources_waiting(repo->resources) + sessions_waiting(repo->sessions) +
	       commits_waiting(repo->commits) + blobs_waiting(repo->blobs) +
	       searches_waiting(repo->searches);
}

/* What this process writes bears it, so that others can be told from it. */
static const char *node_name(struct repo *repo)
{
	uint8_t random[16];

	if (repo->settings.node[0] != '\0')
		return repo->settings.node;
	randombytes_buf(random, sizeof(random));
	return sodium_bin2hex(repo->node, sizeof(repo->node), random, sizeof(random));
}

static void run(struct repo *repo)
{
	static const struct wire_run_ops ops = { drain, under_way };
	const struct repo_settings      *s = &repo->settings;
	const char                      *node = node_name(repo);

	repo->resources = resources_new(
		repo->loop, &(struct resources_settings){
				    .conninfo = repo->conninfo,
				    .statement_timeout_ms = (unsigned)s->statement_timeout_ms,
				    .cache_bytes = s->cache_bytes,
				    .search_path = s->search_path.items,
				    .n_search_path = s->search_path.n,
				    .composition = s->composition,
				    .want_entries = on_want_entries,
				    .on_current = on_current,
				    .arg = repo,
			    });
	repo->versions = versions_new(repo->resources);
	repo->sessions =
		sessions_new(repo->loop, repo->conninfo, (unsigned)s->statement_timeout_ms);
	repo->searches = searches_new(repo->loop,
	                              &(struct searches_settings){
					      .conninfo = repo->conninfo,
					      .connections = (unsigned)s->search_connections,
					      .timeout_ms = (unsigned)s->search_timeout_ms,
					      .search_path = s->search_path.items,
					      .n_search_path = s->search_path.n,
				      },
	                              repo->resources);
	repo->events = events_new(node);
	repo->journal =
		journal_new(repo->loop,
	                    &(struct journal_settings){
				    .conninfo = repo->conninfo,
				    .statement_timeout_ms = (unsigned)s->statement_timeout_ms,
				    .interval_ms = (unsigned)s->journal_interval_ms,
				    .search_path = s->search_path.items,
				    .n_search_path = s->search_path.n,
			    },
	                    repo->resources, repo->events);
	repo->blobs = blobs_new(repo->loop, repo->conninfo, (unsigned)s->statement_timeout_ms);
	repo->commits =
		commits_new(repo->loop,
	                    &(struct commits_settings){ repo->conninfo,
	                                                (unsigned)s->statement_timeout_ms, node },
	                    repo->resources, repo->journal);
	ev_timer_init(&repo->follow, on_follow, 1.0, 1.0);
	repo->follow.data = &repo->keys;
	ev_timer_start(repo->loop, &repo->follow);
	wire_run(repo->loop, &ops, repo);
}

/* What still waits is answered BW_EGONE, and then the connections close. */
static void stop(struct repo *repo)
{
	if (repo->answers != NULL)
		answers_drain(repo->answers);
	commits_free(repo->commits);
	blobs_free(repo->blobs);
	versions_free(repo->versions);
	journal_free(repo->journal);
	searches_free(repo->searches);
	resources_free(repo->resources);
	sessions_free(repo->sessions);
	answers_free(repo->answers);
	events_free(repo->events);
	ev_timer_stop(repo->loop, &repo->follow);
	ev_loop_destroy(repo->loop);
	close(repo->listener);
	sodium_memzero(&repo->keys, sizeof(repo->keys));
	free(repo->conninfo);
	repo_settings_done(&repo->settings);
}

int main(int argc, char **argv)
{
	static const char *const nowhere[] = { NULL };
	struct repo              repo = { 0 };
	struct program_options   options =
		program_options(argc, argv, "boardwalk-repo", repo_settings_print);

	log_init("repo", LOG_LEVEL_INFO);
	if (sodium_init() < 0)
		fatalx("libsodium does not start");
	load_settings(&repo, options.config);
	if (options.check) {
		repo_settings_done(&repo.settings);
		return 0;
	}
	if (getenv("BOARDWALK_DIE_WITH_PARENT") != NULL)
		sandbox_die_with_parent();
	open_sockets(&repo);
	sandbox_become(repo.settings.user);
	sandbox_harden();
	load_secrets(&repo);
	if (!sandbox_write_below(nowhere))
		log_info(0, "this kernel has no Landlock");
	log_start();
	repo.loop = ev_default_loop(EVFLAG_AUTO);
	if (repo.loop == NULL)
		fatalx("no event loop");
	sandbox_filter_asking();
	run(&repo);
	stop(&repo);
	log_info(0, "stopped");
	log_stop();
	return 0;
}
