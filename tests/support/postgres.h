/* postgres.h - a private PostgreSQL for one test: unix socket only, migrated, gone with the test.
 *
 * Made from a template that initdb writes once per machine and user. Started by root, it runs as
 * the user postgres. Everything that fails here ends the test with a reason. The server dies with
 * the process that started it. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct test_postgres;

/* A running server with the database boardwalk, the roles boardwalk_auth and boardwalk_repo, and
 * all migrations applied. Free with test_postgres_free. */
struct test_postgres *test_postgres_new(void);
/* The same without migrations: an empty database and the roles. */
struct test_postgres *test_postgres_new_empty(void);
void                  test_postgres_migrate(struct test_postgres *p);
void                  test_postgres_free(
			 struct test_postgres *p); /* stops it and removes its folder; NULL is fine */
/* conninfo for a role ("postgres" is the owner); borrowed until the next call with p. */
const char *test_postgres_conninfo(struct test_postgres *p, const char *role);
/* Runs statements as the owner, in one transaction unless they say BEGIN or are alone. */
void test_postgres_sql(struct test_postgres *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The first column of the first row, "" for none or NULL; free with free. */
char *test_postgres_value(struct test_postgres *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* True if the statement fails; its SQLSTATE goes to ret (6 octets). */
bool test_postgres_fails(struct test_postgres *p, char *ret_sqlstate, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* SIGKILL to the server and all its backends; then as a crash leaves it, until _start. */
void test_postgres_kill(struct test_postgres *p);
void test_postgres_start(struct test_postgres *p);
/* SIGKILL to one backend of that role, the pick-th modulo their number: the server ends all of them, and
 * recovers. Returns when they have ended; the next statement waits for the recovery. False: there is none. */
bool test_postgres_kill_backend(struct test_postgres *p, const char *role, unsigned pick);
/* Connections of that role until the server refuses one more; until _empty. How many. */
unsigned test_postgres_fill(struct test_postgres *p, const char *role);
void     test_postgres_empty(struct test_postgres *p);
/* SIGSTOP and SIGCONT to the server and all its backends. */
void test_postgres_pause(struct test_postgres *p, bool paused);
/* Its folder: data/ and the socket are below. */
const char *test_postgres_dir(const struct test_postgres *p);
