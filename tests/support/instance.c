/* instance.c - starts and ends whole instances for the system tests.
 *
 * Programs and bundle are copied to where the service users reach them, as `./dev run` does. The
 * supervisor is a child of the test and is told to end if the test is gone.
 *
 * The first start of a data folder is expensive: initdb waits for the disk. So the first instance of a
 * build leaves a copy of its folder behind, with the demo's content, and later ones begin with that.
 *
 * Owns: the folder below /tmp and the processes, /tmp/boardwalk-template-UID. Runs in: tests. Fails with: abort.
 * Tests: tests/system. */
#include "instance.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
	int     error = errno;
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (%s)\n", strerror(error));
	abort();
}

__attribute__((format(printf, 1, 2))) static char *format_text(const char *format, ...)
{
	char   *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		give_up("out of memory");
	va_end(args);
	return text;
}

unsigned long long test_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static bool is_free(unsigned port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		                  .sin_port = htons((unsigned short)port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	bool               good;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	good = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
	close(fd);
	return good;
}

/* Below those that the kernel gives to clients. */
unsigned test_find_ports(void)
{
	unsigned port = 20000 + 2 * ((unsigned)getpid() % 6000);

	for (unsigned tries = 0; tries < 6000; tries++, port = port >= 32000 ? 20000 : port + 2)
		if (is_free(port) && is_free(port + 1))
			return port;
	give_up("no free ports");
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		give_up("%s", path);
}

static void copy_file(const char *from, const char *to)
{
	int     in = open(from, O_RDONLY | O_CLOEXEC);
	int     out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	char    block[65536];
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, block, sizeof(block))) > 0)
		if (write(out, block, (size_t)n) != n)
			give_up("%s", to);
	if (n != 0)
		give_up("%s to %s", from, to);
	close(in);
	close(out);
}

static void copy_program(const struct test_instance *i, const char *folder, const char *name)
{
	char *from = format_text("%s/%s/%s", BOARDWALK_BUILD, folder, name);
	char *to = format_text("%s/bin/%s", i->root, name);

	copy_file(from, to);
	free(from);
	free(to);
}

static void copy_bundle(const struct test_instance *i, const char *folder, const char *name)
{
	char *from = format_text("%s/%s/%s.so", BOARDWALK_BUILD, folder, name);
	char *to = format_text("%s/bundles/%s.so", i->root, name);

	copy_file(from, to);
	free(from);
	free(to);
}

static void install_files(const struct test_instance         *i,
                          const struct test_instance_options *options)
{
	char *folder = format_text("%s/bin", i->root);

	make_folder(folder);
	free(folder);
	folder = format_text("%s/bundles", i->root);
	make_folder(folder);
	copy_bundle(i, "bundles", "demo");
	if (options != NULL && options->bundle != NULL)
		copy_bundle(i, "tests/bundles", options->bundle);
	copy_program(i, "cli", "boardwalk");
	copy_program(i, "gateway", "boardwalk-gateway");
	copy_program(i, "auth", "boardwalk-auth");
	copy_program(i, "repo", "boardwalk-repo");
	free(folder);
}

/* The script lies where an ordinary user reaches it, too. */
static void install_script(const struct test_instance *i)
{
	char *script = format_text("%s/demo.repoinit", i->root);

	copy_file(BOARDWALK_SOURCE "/servlets/demo/demo.repoinit", script);
	free(script);
}

static void write_config(const struct test_instance *i, const char *config)
{
	char *file = format_text("%s/boardwalk.yaml", i->root);
	FILE *out;

	if (config == NULL)
		copy_file(BOARDWALK_SOURCE "/conf/demo.yaml", file);
	else if ((out = fopen(file, "we")) == NULL || fputs(config, out) < 0 || fclose(out) != 0)
		give_up("%s", file);
	free(file);
}

void test_instance_prepare(struct test_instance *ret, const struct test_instance_options *options)
{
	const char *data = options != NULL && options->data != NULL ? options->data : "data";

	*ret = (struct test_instance){ .root = "/tmp/boardwalk-system-XXXXXX" };
	if (mkdtemp(ret->root) == NULL || chmod(ret->root, 0755) != 0)
		give_up("%s", ret->root);
	if (options != NULL && options->ordinary && geteuid() == 0) {
		const struct passwd *nobody = getpwnam("nobody");

		if (nobody == NULL || chown(ret->root, nobody->pw_uid, nobody->pw_gid) != 0)
			give_up("nobody");
	}
	snprintf(ret->data, sizeof(ret->data), "%s%s%s", data[0] == '/' ? "" : ret->root,
	         data[0] == '/' ? "" : "/", data);
	ret->port = test_find_ports();
	install_files(ret, options);
	install_script(ret);
	write_config(ret, options != NULL ? options->config : NULL);
}

static void add_environment(const struct test_instance_options *options)
{
	unsetenv("DATABASE_URL");
	for (const char *const *e = options != NULL ? options->environment : NULL; e && *e; e++)
		if (putenv((char *)*e) != 0)
			_exit(127);
}

/* In the child: becomes the supervisor. Its output is the pipe, its log a file. */
__attribute__((noreturn)) static void run_up(const struct test_instance         *i,
                                             const struct test_instance_options *options, int out)
{
	char       *program = format_text("%s/bin/boardwalk", i->root);
	char       *config = format_text("%s/boardwalk.yaml", i->root);
	char       *bundles = format_text("%s/bundles", i->root);
	char       *log_file = format_text("%s/log", i->root);
	char       *port = format_text("%u", i->port);
	char       *script = format_text("%s/demo.repoinit", i->root);
	int         log = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	const char *arguments[16] = { program,  "up", "--data",   i->data,
		                      "--port", port, "--config", config };
	size_t      n = 8;

	if (options == NULL || !options->without_demo) {
		arguments[n++] = "--bundles";
		arguments[n++] = bundles;
		arguments[n++] = "--repoinit";
		arguments[n++] = script;
	}
	add_environment(options);
	if (options != NULL && options->ordinary && geteuid() == 0) {
		const struct passwd *nobody = getpwnam("nobody");

		if (nobody == NULL || setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0)
			_exit(127);
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (log < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(127);
	execv(program, (char *const *)arguments);
	_exit(127);
}

/* Until the line that ends the announcement, or the end. */
static bool read_announcement(int in)
{
	char   text[4096];
	size_t have = 0;

	for (;;) {
		ssize_t n = read(in, text + have, sizeof(text) - 1 - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		have += (size_t)n;
		text[have] = '\0';
		if (strstr(text, "\ntry: ") != NULL && text[have - 1] == '\n')
			return true;
	}
}

static void read_password(struct test_instance *i)
{
	char *file = format_text("%s/admin-password", i->data);
	FILE *in = fopen(file, "re");

	if (in == NULL || fscanf(in, "%63s", i->password) != 1)
		give_up("%s", file);
	fclose(in);
	free(file);
	snprintf(i->credentials, sizeof(i->credentials), "admin:%s", i->password);
}

bool test_instance_up(struct test_instance *i, const struct test_instance_options *options)
{
	int  ends[2];
	bool ready;

	if (pipe2(ends, O_CLOEXEC) != 0)
		give_up("pipe");
	fflush(NULL);
	i->supervisor = fork();
	if (i->supervisor == 0)
		run_up(i, options, ends[1]);
	close(ends[1]);
	ready = i->supervisor > 0 && read_announcement(ends[0]);
	close(ends[0]);
	if (ready && (options == NULL || !options->joins))
		read_password(i);
	return ready;
}

static void print_log(const struct test_instance *i)
{
	char *file = format_text("%s/log", i->root), line[1024];
	FILE *in = fopen(file, "re");

	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
		fputs(line, stderr);
	if (in != NULL)
		fclose(in);
	free(file);
}

__attribute__((format(printf, 1, 2))) static bool run(const char *format, ...)
{
	char   *command;
	va_list args;
	bool    done;

	va_start(args, format);
	if (vasprintf(&command, format, args) < 0)
		give_up("out of memory");
	va_end(args);
	done = system(command) == 0;
	free(command);
	return done;
}

/* What a template was made from: the program, with the migrations in it, and the demo's content. */
static char *template_key(void)
{
	struct stat program, content;

	if (stat(BOARDWALK_BUILD "/cli/boardwalk", &program) != 0 ||
	    stat(BOARDWALK_SOURCE "/servlets/demo/demo.repoinit", &content) != 0)
		give_up("what a template is made from");
	return format_text("%s %lld.%09ld %lld.%09ld\n", BOARDWALK_BUILD,
	                   (long long)program.st_mtim.tv_sec, program.st_mtim.tv_nsec,
	                   (long long)content.st_mtim.tv_sec, content.st_mtim.tv_nsec);
}

static bool has_key(const char *folder, const char *key)
{
	char   text[512] = "";
	char  *file = format_text("%s/key", folder);
	FILE  *in = fopen(file, "re");
	size_t n = in != NULL ? fread(text, 1, sizeof(text) - 1, in) : 0;

	if (in != NULL)
		fclose(in);
	free(file);
	return n > 0 && strcmp(text, key) == 0;
}

/* Starts the instance once for its data, and keeps a copy. The key comes last: it vouches for it. */
static bool make_template(struct test_instance *i, const char *folder, const char *key)
{
	char *file = format_text("%s/key", folder);
	FILE *out;
	bool  done = run("rm -rf %s/data %s", folder, file) && test_instance_up(i, NULL) &&
	            test_instance_end(i) == 0 && run("cp -a %s %s/data", i->data, folder);

	out = done ? fopen(file, "we") : NULL;
	if (out != NULL)
		done = fputs(key, out) >= 0 && fclose(out) == 0;
	free(file);
	return done;
}

/* One maker at a time, whoever runs tests beside us. The folder must be ours: /tmp is everybody's. */
static bool use_template(struct test_instance *i)
{
	char       *folder = format_text("/tmp/boardwalk-template-%u", geteuid());
	char       *lock_file = format_text("%s/lock", folder), *key = template_key();
	struct stat st;
	int         lock;
	bool        done;

	if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || lstat(folder, &st) != 0 ||
	    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		give_up("%s", folder);
	lock = open(lock_file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) != 0)
		give_up("%s", lock_file);
	done = has_key(folder, key) ? run("cp -a %s/data %s", folder, i->data)
	                            : make_template(i, folder, key);
	close(lock);
	free(key);
	free(lock_file);
	free(folder);
	return done;
}

void test_instance_start(struct test_instance *ret, const struct test_instance_options *options)
{
	bool fresh = options != NULL &&
	             (options->fresh || options->data != NULL || options->config != NULL ||
	              options->without_demo || options->ordinary);

	test_instance_prepare(ret, options);
	if ((fresh || use_template(ret)) && test_instance_up(ret, options))
		return;
	print_log(ret);
	test_instance_stop(ret);
	give_up("the instance does not start");
}

/* A confined process cannot open the file that UBSan's reports belong into, so they stand in the log, where
 * nobody would count them. */
static void look_for_reports(const struct test_instance *i)
{
	if (i->crashes_on_purpose || !test_instance_logged(i, "runtime error: "))
		return;
	print_log(i);
	give_up("a process was reported by the undefined-behaviour sanitizer");
}

int test_instance_end(struct test_instance *i)
{
	int status = 0;

	if (i->supervisor <= 0)
		return 0;
	kill(i->supervisor, SIGTERM);
	while (waitpid(i->supervisor, &status, 0) < 0 && errno == EINTR)
		;
	i->supervisor = 0;
	look_for_reports(i);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void test_instance_stop(struct test_instance *i)
{
	test_instance_end(i);
	nftw(i->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the command line ---- */

static void run_command(const struct test_instance *i, const char *const *arguments, int in,
                        int out)
{
	char       *program = format_text("%s/bin/boardwalk", i->root);
	const char *argv[32] = { program };
	size_t      n = 1;

	for (; *arguments != NULL && n < 28; arguments++)
		argv[n++] = *arguments;
	argv[n++] = "--data";
	argv[n++] = i->data;
	if (i->database != NULL)
		setenv("DATABASE_URL", i->database, 1);
	else
		unsetenv("DATABASE_URL");
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		_exit(127);
	execv(program, (char *const *)argv);
	_exit(127);
}

static char *read_all(int in)
{
	size_t have = 0, room = 4096;
	char  *text = malloc(room);

	for (;;) {
		ssize_t n = text != NULL ? read(in, text + have, room - 1 - have) : -1;

		if (n < 0 && errno != EINTR)
			give_up("reading a command's output");
		if (n == 0)
			break;
		have += n > 0 ? (size_t)n : 0;
		if (have == room - 1)
			text = realloc(text, room *= 2);
	}
	text[have] = '\0';
	return text;
}

/* A file that holds the input: it may be longer than a pipe. */
static int input_file(const char *input)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || write(fd, input, strlen(input)) != (ssize_t)strlen(input) ||
	    lseek(fd, 0, SEEK_SET) != 0)
		give_up("memfd");
	return fd;
}

int test_instance_cli(const struct test_instance *i, const char *input, char **ret_output,
                      const char *const *arguments)
{
	int   in = input_file(input != NULL ? input : ""), ends[2], status = 0;
	char *output;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		give_up("pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_command(i, arguments, in, ends[1]);
	close(in);
	close(ends[1]);
	output = read_all(ends[0]);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (ret_output != NULL)
		*ret_output = output;
	else
		free(output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

pid_t test_instance_spawn(const struct test_instance *i, int *ret_out, const char *const *arguments)
{
	int   in = input_file(""), ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		give_up("pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_command(i, arguments, in, ends[1]);
	}
	close(in);
	close(ends[1]);
	*ret_out = ends[0];
	return pid;
}

void test_instance_repoinit(const struct test_instance *i, const char *script)
{
	char *output;

	if (test_instance_cli(i, script, &output, (const char *[]){ "repoinit", "-", NULL }) != 0) {
		fputs(output, stderr);
		give_up("repoinit failed");
	}
	free(output);
}

void test_instance_password(const struct test_instance *i, const char *user, const char *password)
{
	char *line = format_text("%s\n", password), *output;

	/* Fails if the user is there already, which is as well. */
	test_instance_cli(i, NULL, NULL, (const char *[]){ "user", "add", user, NULL });
	if (test_instance_cli(i, line, &output, (const char *[]){ "user", "passwd", user, NULL }) !=
	    0) {
		fputs(output, stderr);
		give_up("passwd failed");
	}
	free(output);
	free(line);
}

/* ---- looking at it ---- */

pid_t test_instance_pid(const struct test_instance *i, const char *name)
{
	char  *output, *at;
	size_t n = strlen(name);
	long   pid = 0;

	test_instance_cli(i, NULL, &output, (const char *[]){ "status", NULL });
	for (at = output; at != NULL && pid == 0; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, n) == 0 && at[n] == ' ')
			pid = strtol(at + n, NULL, 10);
		if (*at == '\0')
			break;
	}
	free(output);
	return (pid_t)pid;
}

size_t test_instance_workers(const struct test_instance *i, pid_t *ret_pids, size_t max)
{
	int    parent = (int)test_instance_pid(i, "gateway");
	char  *file = format_text("/proc/%d/task/%d/children", parent, parent);
	FILE  *in = fopen(file, "re");
	size_t n = 0;

	while (in != NULL && n < max && fscanf(in, "%d", &ret_pids[n]) == 1)
		n++;
	if (in != NULL)
		fclose(in);
	free(file);
	return n;
}

/* The run folder stands in the file of the lock, behind the supervisor's pid. */
void test_instance_socket(const struct test_instance *i, const char *name, char *ret, size_t size)
{
	char *file = format_text("%s/supervisor.pid", i->data), run[100];
	FILE *in = fopen(file, "re");

	if (in == NULL || fscanf(in, "%*d %99s", run) != 1)
		give_up("%s", file);
	fclose(in);
	free(file);
	snprintf(ret, size, "%s%s%s", run, *name != '\0' ? "/" : "", name);
}

const char *test_process_status(pid_t pid, const char *field)
{
	static char line[4096];
	char       *file = format_text("/proc/%d/status", (int)pid), *value = NULL;
	FILE       *in = fopen(file, "re");
	size_t      n = strlen(field);

	while (in != NULL && value == NULL && fgets(line, sizeof(line), in) != NULL)
		if (strncmp(line, field, n) == 0 && line[n] == ':')
			value = line + n + 1 + strspn(line + n + 1, " \t");
	if (in != NULL)
		fclose(in);
	free(file);
	if (value == NULL)
		return "";
	value[strcspn(value, "\n")] = '\0';
	return value;
}

bool test_instance_recovered(const struct test_instance *i, const char *name, pid_t before,
                             unsigned limit_ms)
{
	unsigned long long limit = test_now_ms() + limit_ms;

	while (test_now_ms() < limit) {
		pid_t                now = test_instance_pid(i, name);
		struct http_response response;
		int                  status;

		http_ask_once(i->port + 1, "GET", "/health/ready", NULL, &response);
		status = response.status;
		http_response_done(&response);
		if (now != 0 && now != before && status == 200)
			return true;
		pause_ms(20);
	}
	return false;
}

bool test_instance_logged(const struct test_instance *i, const char *text)
{
	char *file = format_text("%s/log", i->root), *content;
	int   fd = open(file, O_RDONLY | O_CLOEXEC);
	bool  found;

	if (fd < 0)
		give_up("%s", file);
	content = read_all(fd);
	found = strstr(content, text) != NULL;
	close(fd);
	free(content);
	free(file);
	return found;
}
