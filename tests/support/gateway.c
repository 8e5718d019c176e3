/* gateway.c - starts and ends a gateway without the other processes.
 *
 * Its bundles are copied, as it refuses what others than its user could have written, and a build folder
 * may be such.
 *
 * Owns: a folder below /tmp and the process. Runs in: tests. Fails with: abort.
 * Tests: tests/conformance, tests/system/race_test.c. */
#include "gateway.h"

#include "http.h"
#include "instance.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000u

__attribute__((noreturn)) static void give_up(const struct test_gateway *g, const char *what)
{
	perror(what);
	test_gateway_print_log(g);
	abort();
}

static char *below(const struct test_gateway *g, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", g->root, name) < 0)
		give_up(g, name);
	return path;
}

static char *read_log(const struct test_gateway *g)
{
	char  *file = below(g, "log"), *text = NULL;
	size_t n;
	FILE  *in = fopen(file, "re"), *out = open_memstream(&text, &n);
	int    c;

	while (in != NULL && (c = getc(in)) != EOF)
		putc(c, out);
	fclose(out);
	if (in != NULL)
		fclose(in);
	free(file);
	return text;
}

void test_gateway_print_log(const struct test_gateway *g)
{
	char *text = read_log(g);

	fputs(text, stderr);
	free(text);
}

bool test_gateway_logged(const struct test_gateway *g, const char *text)
{
	char *all = read_log(g);
	bool  found = strstr(all, text) != NULL;

	free(all);
	return found;
}

/* ---- files ---- */

static void copy_bundle(const struct test_gateway *g, const char *name)
{
	char  *from, *to = below(g, name);
	char   block[65536];
	FILE  *in, *out;
	size_t n;

	if (asprintf(&from, "%s/tests/bundles/%s.so", BOARDWALK_BUILD, name) < 0)
		give_up(g, name);
	in = fopen(from, "re");
	out = fopen(to, "we");
	if (in == NULL || out == NULL)
		give_up(g, from);
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		if (fwrite(block, 1, n, out) != n)
			give_up(g, to);
	fclose(in);
	if (fclose(out) != 0 || chmod(to, 0755) != 0)
		give_up(g, to);
	free(from);
	free(to);
}

static void write_settings(const struct test_gateway *g, const struct test_gateway_options *o)
{
	char *file = below(g, "boardwalk.yaml");
	FILE *out = fopen(file, "we");

	if (out == NULL)
		give_up(g, file);
	fprintf(out,
	        "gateway:\n  listen: 127.0.0.1:%u\n  management: 127.0.0.1:%u\n  workers: %u\n"
	        "  user: \"\"\n  owner: \"\"\n  auth_socket: %s/auth.sock\n  repo_socket: "
	        "%s/repo.sock\n"
	        "  control_socket: %s/control.sock\n"
	        "  spool: %s\n  access_log: \"\"\n  log_level: warning\n  bundles: [",
	        g->port, g->port + 1, o->workers, g->root, g->root, g->root, g->root);
	for (size_t i = 0; o->bundles != NULL && o->bundles[i] != NULL; i++)
		fprintf(out, "%s%s/%s", i > 0 ? ", " : "", g->root, o->bundles[i]);
	fprintf(out, "]\n%s", o->settings != NULL ? o->settings : "");
	if (fclose(out) != 0)
		give_up(g, file);
	free(file);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

/* ---- orders ---- */

static FILE *send_order(const struct test_gateway *g, const char *request)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE              *both;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/control.sock", g->root);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    (both = fdopen(fd, "r+")) == NULL)
		give_up(g, at.sun_path);
	fprintf(both, "%s\n", request);
	fflush(both);
	return both;
}

/* A line of each worker, then one that says that it was all. */
json_t *test_gateway_order(const struct test_gateway *g, const char *request)
{
	FILE   *in = send_order(g, request);
	json_t *all = json_array(), *line = NULL, *answer;

	do {
		json_decref(line);
		line = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL);
		answer = json_object_get(line, "answer");
		if (answer != NULL)
			json_array_append(all, answer);
	} while (answer != NULL);
	if (!json_is_true(json_object_get(line, "ok"))) {
		json_decref(all);
		all = NULL;
	}
	json_decref(line);
	fclose(in);
	return all;
}

/* ---- the process ---- */

__attribute__((noreturn)) static void become_gateway(const struct test_gateway         *g,
                                                     const struct test_gateway_options *o)
{
	char *config = below(g, "boardwalk.yaml"), *file = below(g, "log");
	int   log = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	for (const char *const *e = o->environment; e != NULL && *e != NULL; e++)
		if (putenv((char *)(size_t)*e) != 0)
			_exit(127);
	setenv("BOARDWALK_DIE_WITH_PARENT", "1", 1);
	if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(127);
	execl(BOARDWALK_BUILD "/gateway/boardwalk-gateway", "boardwalk-gateway", "--config", config,
	      (char *)NULL);
	_exit(127);
}

/* It does not tell when it listens, so it is asked until it answers, where no bundle is. That it accepts
 * a connection is no sign: it first takes its address alone, and resets who came in that moment. */
static void wait_until_open(struct test_gateway *g)
{
	unsigned long long limit = test_now_ms() + PATIENCE_MS;
	int                answer = 0, status;

	while (answer == 0) {
		struct http_response r;

		http_ask_once(g->port + 1, "GET", "/health/live", NULL, &r);
		answer = r.status;
		http_response_done(&r);
		if (waitpid(g->pid, &status, WNOHANG) == g->pid || test_now_ms() > limit)
			give_up(g, "a gateway that does not start");
		if (answer == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

void test_gateway_start(struct test_gateway *ret, const struct test_gateway_options *options)
{
	*ret = (struct test_gateway){ .root = "/tmp/boardwalk-gateway-XXXXXX" };
	if (mkdtemp(ret->root) == NULL)
		give_up(ret, ret->root);
	ret->port = test_find_ports();
	for (size_t i = 0; options->bundles != NULL && options->bundles[i] != NULL; i++)
		copy_bundle(ret, options->bundles[i]);
	write_settings(ret, options);
	fflush(NULL);
	ret->pid = fork();
	if (ret->pid < 0)
		give_up(ret, "fork");
	if (ret->pid == 0)
		become_gateway(ret, options);
	wait_until_open(ret);
}

static int wait_for_end(const struct test_gateway *g)
{
	int status = 0;

	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

bool test_gateway_stop(struct test_gateway *g)
{
	int  status;
	bool well;

	kill(g->pid, SIGTERM);
	status = wait_for_end(g);
	/* A worker that a sanitizer ends is started anew: only the log tells. */
	well = WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
	       !test_gateway_logged(g, " ended with status ") &&
	       !test_gateway_logged(g, " ended by signal ") &&
	       !test_gateway_logged(g, "stopped with requests still running");
	if (!well)
		test_gateway_print_log(g);
	nftw(g->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return well;
}

void test_gateway_discard(struct test_gateway *g)
{
	kill(g->pid, SIGKILL); /* its workers end with it */
	wait_for_end(g);
	nftw(g->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
