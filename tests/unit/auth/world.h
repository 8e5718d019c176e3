/* world.h - auth's parts on a private PostgreSQL, and a gateway that asks them, all on one loop: for
 * the tests that want the whole process without the process. Include once. */
#include "asker.h"
#include <auth/answer.h>
#include <auth/journal.h>
#include <auth/lock.h>
#include <base/clock.h>
#include <base/log.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/postgres.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPS 1
#define MEM 8192

struct world {
	struct test_postgres *db;
	struct ev_loop       *loop;
	char                  dir[32], path[64], session_key_file[64];
	int                   listener;
	struct accounts      *accounts;
	struct journal       *journal;
	struct password_pool *pool;
	struct remember      *remember;
	struct throttle      *throttle;
	struct locks          locks;
	struct logins        *logins;
	struct mapping       *mapping;
	struct session_keys  *session_keys;
	struct sessions      *sessions;
	struct issuers       *issuers;
	struct bearers       *bearers;
	struct answers       *answers;
};
static struct world w;

/* ---- auth ---- */

static const char *const mappings[] = { "demo=svc",
	                                "demo:off=svc-off",
	                                "demo:user=reader",
	                                "demo:none=nobody",
	                                "other:only=svc",
	                                "list=[svc,svc-two]",
	                                "list:user=[svc,reader]",
	                                "list:off=[svc,svc-off]",
	                                "list:none=[nobody,svc]" };

/* Beside the limits of the test, if it has any: nothing is throttled. */
#ifndef THROTTLE_LIMITS
#define THROTTLE_LIMITS \
	{ \
		0 \
	}
#endif

static char                  *configured_names[] = { "deputy" };
static const struct conf_list configured = { configured_names, 1 };

static void throttle_init(void)
{
	static const struct throttle_limits limits = THROTTLE_LIMITS;

	w.throttle = throttle_new(&limits, locks_keep, &w.locks);
	w.locks = (struct locks){ accounts_pg(w.accounts), w.throttle, limits.window_s };
}

/* Of the test, if it has any. */
#ifndef ISSUERS
#define ISSUERS \
	{ \
		NULL, 0 \
	}
#endif
static struct conf_list issuers = ISSUERS;

static const struct session_times session_times = { 1800, 43200 };

static void write_session_key(void)
{
	FILE *f;

	snprintf(w.session_key_file, sizeof(w.session_key_file), "%s/session.key", w.dir);
	f = fopen(w.session_key_file, "we");
	cr_assert_not_null(f);
	cr_assert_eq(fchmod(fileno(f), 0600), 0);
	fprintf(f, "4 2b%062d\n", 0);
	fclose(f);
}

static void world_init(unsigned threads, unsigned queue, uint64_t ops, uint64_t mem)
{
	const char      *conninfo;
	char             err[256];
	struct conf_list list = { (char **)mappings, sizeof(mappings) / sizeof(mappings[0]) };
	struct conf_list none = { NULL, 0 };

	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	log_init("test", LOG_LEVEL_ERROR);
	w.db = test_postgres_new();
	w.loop = asker_loop = ev_loop_new(EVFLAG_AUTO);
	strcpy(w.dir, "/tmp/auth-test.XXXXXX");
	cr_assert_not_null(mkdtemp(w.dir));
	snprintf(w.path, sizeof(w.path), "%s/auth.sock", w.dir);
	w.listener = unix_listen(w.path, 0600, 16);
	cr_assert_geq(w.listener, 0);
	conninfo = test_postgres_conninfo(w.db, "boardwalk_auth");
	w.accounts = accounts_new(w.loop, conninfo, NULL, NULL);
	write_session_key();
	w.session_keys = session_keys_load(w.session_key_file, err, sizeof(err));
	cr_assert_not_null(w.session_keys, "%s", err);
	w.sessions = sessions_new(w.loop, conninfo, w.accounts, w.session_keys, &session_times,
	                          NULL, NULL);
	w.journal = journal_new(w.loop, conninfo, w.accounts, w.sessions, NULL, NULL);
	w.pool = password_pool_new(w.loop, threads, queue, ops, mem);
	w.remember = remember_new(300);
	throttle_init();
	w.issuers = issuers_new(&issuers, err, sizeof(err));
	cr_assert_not_null(w.issuers, "%s", err);
	w.bearers = bearers_new(w.accounts, w.issuers);
	w.logins = logins_new(w.accounts, w.remember, w.throttle, w.pool);
	w.mapping = mapping_new(&(struct mapping_settings){ .service_users = &list,
	                                                    .service_places = &none,
	                                                    .required_validators = &none },
	                        err, sizeof(err));
	w.answers = answers_new(w.loop, w.listener, (uid_t)-1,
	                        &(struct answer_parts){ w.accounts, w.logins, w.remember, w.mapping,
	                                                &key, &configured, w.sessions, w.bearers,
	                                                w.throttle, w.pool, false, NULL });
}

static void world_done(void)
{
	answers_free(w.answers);
	journal_free(w.journal);
	sessions_free(w.sessions);
	session_keys_free(w.session_keys);
	password_pool_free(w.pool);
	accounts_free(w.accounts);
	logins_free(w.logins);
	bearers_free(w.bearers);
	issuers_free(w.issuers);
	throttle_free(w.throttle);
	remember_free(w.remember);
	mapping_free(w.mapping);
	close(w.listener);
	unlink(w.path);
	unlink(w.session_key_file);
	rmdir(w.dir);
	ev_loop_destroy(w.loop);
	test_postgres_free(w.db);
}

static void make_verifier(const char *password, uint64_t ops, char *verifier)
{
	cr_assert_eq(crypto_pwhash_str(verifier, password, strlen(password), ops, MEM), 0);
}

static inline void set_password(const char *user, const char *password)
{
	char verifier[crypto_pwhash_STRBYTES];

	make_verifier(password, OPS, verifier);
	test_postgres_sql(w.db, "SELECT auth.password_set('%s', '%s')", user, verifier);
}

/* Until the journal vouches for what is in memory; then logins need no database. */
static void wait_until_followed(void)
{
	const struct account *a = NULL;

	while (a == NULL) {
		struct question q;
		struct gateway  g;

		gateway_init(&g, w.path, "fedcba9876543210");
		service(&g, &q, "demo", NULL);
		a = accounts_find(w.accounts, BW_STR("svc"), clock_boot_us());
		gateway_done(&g);
	}
}
