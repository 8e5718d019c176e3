/* process.h - boardwalk-auth or boardwalk-repo as a process under test: a folder with its
 * configuration, key, socket and log, its start and its end. What does not go as it must fails the test
 * (Criterion). As root the process becomes nobody, in a folder that nobody may enter. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#define TEST_PROCESS_PATH 80

struct test_process {
	const char *section, *binary; /* "auth" or "repo"; the program's file */
	char        dir[32];
	char        conf[TEST_PROCESS_PATH], key_file[TEST_PROCESS_PATH],
		session_key_file[TEST_PROCESS_PATH]; /* of auth */
	char  socket[TEST_PROCESS_PATH], log[TEST_PROCESS_PATH];
	pid_t pid; /* 0: not started */
};

/* The key files hold the keys 3 and 4 (of sessions), whose first octets are 0x2a and 0x2b and the others
 * 0. */
void test_process_init(struct test_process *p, const char *section, const char *binary);
/* Removes the folder. */
void test_process_done(struct test_process *p);
/* more: further lines of its section, indented by two blanks. */
void test_process_configure(const struct test_process *p, const char *conninfo, const char *more);
/* option: one more argument, may be NULL. */
void test_process_start(struct test_process *p, const char *option);
void test_process_wait_until_it_listens(const struct test_process *p);
/* Waits for its end; the exit status. */
int test_process_end(struct test_process *p);
/* SIGKILL, and waits. */
void test_process_kill(struct test_process *p);
bool test_process_has_logged(const struct test_process *p, const char *text);
/* It cannot get new privileges, is behind a filter, has the right user, and its memory is closed to
 * other processes of that user. */
void test_process_assert_confined(const struct test_process *p);
