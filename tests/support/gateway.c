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
#include <store/store.h>
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

static void copy_bundle(const struct test_gateway *g, const char *name, const char *as)
{
	char  *from, *to = below(g, as);
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
	        "  control_socket: %s/control.sock\n  store: %s\n"
	        "  spool: %s\n  access_log: \"\"\n  log_level: warning\n  bundles: [",
	        g->port, g->port + 1, o->workers, g->root, g->root, g->root, g->root, g->root);
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

static FILE *open_control(const struct test_gateway *g)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE              *in;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/control.sock", g->root);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || (in = fdopen(fd, "r")) == NULL)
		give_up(g, at.sun_path);
	return in;
}

/* A line of each worker, then one that says that it was all. */
static json_t *order(FILE *in, const char *request)
{
	json_t *all = json_array(), *line = NULL, *answer;

	dprintf(fileno(in), "%s\n", request);
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
	return all;
}

json_t *test_gateway_order(const struct test_gateway *g, const char *request)
{
	FILE   *in = open_control(g);
	json_t *all = order(in, request);

	fclose(in);
	return all;
}

/* What the store says is what is decided. */
static void write_store(const struct test_gateway *g, const char *name, bool there)
{
	struct store         s;
	struct store_bundle *b;
	char                 err[256];

	if (!store_read(g->root, &s, err, sizeof(err)))
		give_up(g, err);
	b = store_find(&s, name);
	if (there) {
		b = b != NULL ? b : store_add(&s, name);
		b->generation = g->generation;
		memset(b->sha256, '0', STORE_SHA256); /* only the operator's commands look at it */
	} else if (b != NULL) {
		store_remove(&s, b);
	}
	s.next = g->generation + 1;
	if (!store_write(g->root, &s, false, err, sizeof(err)))
		give_up(g, err);
	store_done(&s);
}

/* A change is of the connection that prepared it. */
static bool change_bundle(const struct test_gateway *g, const char *action, const char *name)
{
	FILE   *in = open_control(g);
	char   *prepare;
	json_t *prepared, *published = NULL;

	if (asprintf(&prepare,
	             "{\"verb\": \"bundle.prepare\", \"action\": \"%s\", \"name\": \"%s\","
	             " \"generation\": %u}",
	             action, name, g->generation) < 0)
		give_up(g, name);
	prepared = order(in, prepare);
	if (prepared != NULL) {
		write_store(g, name, strcmp(action, "install") == 0);
		published = order(in, "{\"verb\": \"bundle.publish\"}");
	}
	json_decref(prepared);
	json_decref(published);
	free(prepare);
	fclose(in);
	return published != NULL;
}

bool test_gateway_install(struct test_gateway *g, const char *name, const char *file)
{
	char *as;

	if (asprintf(&as, "%s.%u.so", name, ++g->generation) < 0)
		give_up(g, name);
	copy_bundle(g, file, as);
	free(as);
	return change_bundle(g, "install", name);
}

bool test_gateway_uninstall(struct test_gateway *g, const char *name)
{
	g->generation++;
	return change_bundle(g, "uninstall", name);
}

static bool has_mapped(const struct test_gateway *g, long pid, const char *name)
{
	char  path[64], line[512], begin[128];
	FILE *in;
	bool  found = false;

	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	snprintf(begin, sizeof(begin), "%s/%s.", g->root, name);
	in = fopen(path, "re");
	while (in != NULL && !found && fgets(line, sizeof(line), in) != NULL)
		found = strstr(line, begin) != NULL;
	if (in != NULL)
		fclose(in);
	return found;
}

bool test_gateway_maps(const struct test_gateway *g, const char *name)
{
	char  path[64];
	FILE *in;
	long  pid;
	bool  found = false;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)g->pid, (int)g->pid);
	in = fopen(path, "re");
	if (in == NULL)
		give_up(g, path);
	while (!found && fscanf(in, "%ld", &pid) == 1)
		found = has_mapped(g, pid, name);
	fclose(in);
	return found;
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
static unsigned count_accepting(const struct test_gateway *g)
{
	static const char    name[] = "\nboardwalk_accepting{worker=\"";
	struct http_response r;
	unsigned             n = 0, worker, value;

	http_ask_once(g->port + 1, "GET", "/metrics", NULL, &r);
	for (const char *at = r.body; at && (at = strstr(at, name)) != NULL; at += sizeof(name))
		n += sscanf(at + sizeof(name) - 1, "%u\"} %u", &worker, &value) == 2 && value == 1;
	http_response_done(&r);
	return n;
}

static void wait_until_open(struct test_gateway *g, unsigned workers)
{
	unsigned long long limit = test_now_ms() + PATIENCE_MS;
	bool               open = false;
	int                status;

	while (!open) {
		open = count_accepting(g) == workers;
		if (waitpid(g->pid, &status, WNOHANG) == g->pid || test_now_ms() > limit)
			give_up(g, "a gateway that does not start");
		if (!open)
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
		copy_bundle(ret, options->bundles[i], options->bundles[i]);
	write_settings(ret, options);
	fflush(NULL);
	ret->pid = fork();
	if (ret->pid < 0)
		give_up(ret, "fork");
	if (ret->pid == 0)
		become_gateway(ret, options);
	wait_until_open(ret, options->workers);
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
