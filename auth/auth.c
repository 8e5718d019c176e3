/* auth.c - boardwalk-auth: who somebody is.
 *
 * Holds the keys that resolver handles and session tokens are signed with, the verifiers of all passwords
 * and the keys of those whose bearer tokens are believed. Talks to the gateway, which it does not trust,
 * and to PostgreSQL as role boardwalk_auth. Refuses everything but the messages of answer.c's permit
 * table, and any peer that is not the gateway's user.
 *
 *     gateway ---AUTHENTICATE_*---> answer --> login --> password (threads: argon2id)
 *             <--RESOLVER_HANDLE---   | mint     |------> remember
 *                                     |--> session, bearer --> jws, checked
 *                                     `---------------> account <--- journal (what has changed)
 *
 * It accepts nobody before the database has the schema of this program, accounts can be read and the
 * journal is followed: who is greeted is served. SIGTERM or SIGINT: logins under way are
 * finished; a second one: at once.
 * Owns: all of it. Runs in: the process's main thread. Fails with: a fatal line at start, after that
 * per login. Tests: tests/unit/auth/auth_test.c, tests/system. */
#include "answer.h"
#include "audit.h"
#include "journal.h"
#include "lock.h"
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

#define BACKLOG  128
#define FOLLOW_S 1.0

struct auth {
	struct auth_settings  settings;
	char                 *conninfo;
	struct handle_keys    keys;
	struct session_keys  *session_keys;
	ev_timer              follow; /* the files of the keys */
	int                   listener;
	uid_t                 gateway;
	struct ev_loop       *loop;
	struct mapping       *mapping;
	struct password_pool *pool;
	struct remember      *remember;
	struct throttle      *throttle;
	struct locks          locks;
	struct accounts      *accounts;
	struct journal       *journal;
	struct logins        *logins;
	struct sessions      *sessions;
	struct issuers       *issuers;
	struct bearers       *bearers;
	struct answers       *answers;
};

static struct mapping *load_mapping(const struct auth_settings *s, char *err, size_t err_size)
{
	struct mapping_settings settings = {
		.service_users = &s->service_users,
		.service_places = &s->service_places,
		.required_validators = &s->required_validators,
		.folder = s->service_users_folder,
		.default_user = s->service_user_default,
		.default_mapping = s->service_user_default_mapping,
	};

	return mapping_new(&settings, err, err_size);
}

static void load_settings(struct auth *auth, const char *file)
{
	char err[512];

	if (auth_settings_load(file, &auth->settings, err, sizeof(err)) != 0)
		fatalx("%s", err);
	log_init("auth", program_log_level("auth.log_level", auth->settings.log_level));
	auth->mapping = load_mapping(&auth->settings, err, sizeof(err));
	if (auth->mapping == NULL)
		fatalx("%s", err);
}

/* Who may connect is decided by the peer's credentials, hence the wide mode of the file. */
static void open_sockets(struct auth *auth)
{
	auth->gateway = program_peer(auth->settings.gateway_user);
	auth->listener = unix_listen(auth->settings.socket, 0666, BACKLOG);
	if (auth->listener < 0)
		fatal("auth.socket: %s", auth->settings.socket);
}

static void load_secrets(struct auth *auth)
{
	char err[512];

	if (handle_keys_load(auth->settings.key_file, &auth->keys, err, sizeof(err)) != 0)
		fatalx("auth.key_file: %s", err);
	auth->session_keys = session_keys_load(auth->settings.session_key_file, err, sizeof(err));
	if (auth->session_keys == NULL)
		fatalx("auth.session_key_file: %s", err);
	auth->issuers = issuers_new(&auth->settings.issuers, err, sizeof(err));
	if (auth->issuers == NULL)
		fatalx("auth.issuers: %s", err);
	auth->conninfo = program_secret("AUTH_DATABASE_URL", auth->settings.database);
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
		.key = &auth->keys.keys[0],
		.sessions = auth->sessions,
		.bearers = auth->bearers,
		.throttle = auth->throttle,
		.impersonators = &auth->settings.impersonators,
		.pool = auth->pool,
		.self_registration = auth->settings.self_registration,
		.keys = &auth->keys,
	};

	if (auth->answers != NULL)
		return;
	auth->answers = answers_new(auth->loop, auth->listener, auth->gateway, &parts);
	log_info(0, "serving %s", auth->settings.socket);
}

/* Accounts can be read, and sessions. */
static void follow_if_up(struct auth *auth)
{
	if (auth->journal == NULL && pg_is_up(accounts_pg(auth->accounts)) &&
	    sessions_are_up(auth->sessions))
		auth->journal = journal_new(auth->loop, auth->conninfo, auth->accounts,
		                            auth->sessions, on_followed, auth);
}

static void on_accounts_up(void *arg)
{
	struct auth *auth = arg;

	locks_load(&auth->locks);
	follow_if_up(auth);
}

static void on_sessions_up(void *arg)
{
	follow_if_up(arg);
}

static bool drain(void *arg)
{
	struct auth *auth = arg;

	if (auth->answers == NULL)
		return false;
	answers_drain(auth->answers);
	return true;
}

static size_t under_way(const void *arg)
{
	const struct auth *auth = arg;

	return logins_in_flight(auth->logins) + sessions_in_flight(auth->sessions) +
	       bearers_in_flight(auth->bearers);
}

/* For the audit trail: what is believed has changed, by a rotation or by the end of an old key. */
static void tell_of_keys(const char *which)
{
	struct audit a = { .event = "keys_changed", .target = bw_str(which) };

	audit_write(0, &a);
}

static void on_follow(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct auth *auth = w->data;

	(void)loop;
	(void)revents;
	if (handle_keys_follow(&auth->keys))
		tell_of_keys("handles");
	if (session_keys_follow(auth->session_keys)) {
		sessions_forget(auth->sessions);
		tell_of_keys("sessions");
	}
	if (issuers_follow(auth->issuers)) {
		bearers_forget(auth->bearers);
		tell_of_keys("issuers");
	}
}

static void run(struct auth *auth)
{
	static const struct wire_run_ops ops = { drain, under_way };
	const struct session_times       times = { (int64_t)auth->settings.session_idle,
		                                   (int64_t)auth->settings.session_life };

	auth->accounts = accounts_new(auth->loop, auth->conninfo, on_accounts_up, auth);
	auth->locks.pg = accounts_pg(auth->accounts);
	auth->logins = logins_new(auth->accounts, auth->remember, auth->throttle, auth->pool);
	auth->sessions = sessions_new(auth->loop, auth->conninfo, auth->accounts,
	                              auth->session_keys, &times, on_sessions_up, auth);
	auth->bearers = bearers_new(auth->accounts, auth->issuers);
	ev_timer_init(&auth->follow, on_follow, FOLLOW_S, FOLLOW_S);
	auth->follow.data = auth;
	ev_timer_start(auth->loop, &auth->follow);
	wire_run(auth->loop, &ops, auth);
}

static void start_throttle(struct auth *auth)
{
	const struct auth_settings  *s = &auth->settings;
	const struct throttle_limits limits = {
		.failures = (unsigned)s->throttle_failures,
		.address_failures = (unsigned)s->throttle_address_failures,
		.window_s = (unsigned)s->throttle_window_seconds,
		.delay_s = (unsigned)s->throttle_delay_seconds,
		.max_delay_s = (unsigned)s->throttle_max_delay_seconds,
	};

	auth->throttle = throttle_new(&limits, locks_keep, &auth->locks);
	auth->locks.throttle = auth->throttle;
	auth->locks.window_s = limits.window_s;
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
	ev_timer_stop(auth->loop, &auth->follow);
	answers_free(auth->answers);
	journal_free(auth->journal);
	sessions_free(auth->sessions);
	password_pool_free(auth->pool);
	accounts_free(auth->accounts);
	logins_free(auth->logins);
	bearers_free(auth->bearers);
	issuers_free(auth->issuers);
	throttle_free(auth->throttle);
	remember_free(auth->remember);
	mapping_free(auth->mapping);
	ev_loop_destroy(auth->loop);
	close(auth->listener);
	session_keys_free(auth->session_keys);
	sodium_memzero(&auth->keys, sizeof(auth->keys));
	free(auth->conninfo);
	auth_settings_done(&auth->settings);
}

int main(int argc, char **argv)
{
	static const char *const nowhere[] = { NULL };
	struct auth              auth = { 0 };
	struct program_options   options =
		program_options(argc, argv, "boardwalk-auth", auth_settings_print);

	log_init("auth", LOG_LEVEL_INFO);
	if (sodium_init() < 0)
		fatalx("libsodium does not start");
	load_settings(&auth, options.config);
	if (options.check) {
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
	if (!sandbox_write_below(nowhere))
		log_info(0, "this kernel has no Landlock");
	log_start();
	start_pool(&auth);
	start_throttle(&auth);
	sandbox_filter_asking();
	run(&auth);
	stop(&auth);
	log_info(0, "stopped");
	log_stop();
	return 0;
}
