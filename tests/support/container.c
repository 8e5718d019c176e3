/* container.c - mount and network namespaces for the services of docker-compose.yml.
 *
 *   /            tmpfs, read-only if the service is          /usr          the system's, read-only
 *   /opt/boardwalk   ours, read-only                         /etc          users and host names
 *   its volumes, its tmpfs, /run/secrets/NAME for its secrets, /proc, a few devices
 *
 * Owns: the folder below /tmp. Runs in: tests, as root. Fails with: abort, in a container with exit
 * code 125 after a line in the log. Tests: tests/system/compose_test.c. */
#include "container.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_OF_IMAGE "PATH=/opt/boardwalk/bin:/usr/bin:/bin"

/* In a container _exit, so that nobody takes it for the test itself. */
static pid_t test_process;

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
	int     error = errno;
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (%s)\n", strerror(error));
	if (getpid() == test_process)
		abort();
	_exit(125);
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

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
	char   *command;
	va_list args;

	va_start(args, format);
	if (vasprintf(&command, format, args) < 0)
		give_up("out of memory");
	va_end(args);
	if (system(command) != 0)
		give_up("%s", command);
	free(command);
}

/* ---- the world ---- */

/* A volume begins as the folder of the image it is mounted over: "install -d -o U -g G -m M PATH". */
static void make_volume(const struct container_world *world, const struct compose_mount *volume)
{
	char *path = format_text("%s/volumes/%s", world->root, volume->source), line[512];
	FILE *in = fopen(BOARDWALK_SOURCE "/Dockerfile", "re");
	bool  made = false;

	while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
		unsigned    uid, gid, mode;
		char        target[256];
		const char *at = strstr(line, "install -d -o ");

		if (at != NULL &&
		    sscanf(at, "install -d -o %u -g %u -m %o %255s", &uid, &gid, &mode, target) ==
		            4 &&
		    strcmp(target, volume->target) == 0)
			made = mkdir(path, mode) == 0 && chown(path, uid, gid) == 0 &&
			       chmod(path, mode) == 0;
	}
	if (!made)
		give_up("Dockerfile: no folder %s for volume %s", volume->target, volume->source);
	fclose(in);
	free(path);
}

static void make_volumes(const struct container_world *world)
{
	run("mkdir -m 755 %s/volumes", world->root);
	for (unsigned i = 0; i < world->compose->n; i++) {
		const struct compose_mount *v = world->compose->services[i].volumes;

		for (; v->target != NULL; v++) {
			char *path = format_text("%s/volumes/%s", world->root, v->source);

			if (access(path, F_OK) != 0)
				make_volume(world, v);
			free(path);
		}
	}
}

/* A namespace with nothing but its loopback. Services of one network share it. */
static int make_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int          own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd, s;

	if (own < 0 || unshare(CLONE_NEWNET) != 0)
		give_up("a network namespace");
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(s, SIOCSIFFLAGS, &lo) != 0 || setns(own, CLONE_NEWNET) != 0)
		give_up("loopback");
	close(s);
	close(own);
	return fd;
}

static int find_network(const struct container_world *world, const char *name)
{
	for (unsigned i = 0; i < world->n_networks; i++)
		if (strcmp(world->networks[i].name, name) == 0)
			return world->networks[i].fd;
	return -1;
}

void container_world_init(struct container_world *world, const struct compose *compose)
{
	*world = (struct container_world){ .root = "/tmp/boardwalk-compose-XXXXXX",
		                           .compose = compose };
	test_process = getpid();
	if (mkdtemp(world->root) == NULL || chmod(world->root, 0755) != 0)
		give_up("%s", world->root);
	run("%s/docker/install %s %s/image", BOARDWALK_SOURCE, BOARDWALK_BUILD, world->root);
	run("%s/docker/make-secrets %s/secrets", BOARDWALK_SOURCE, world->root);
	run("mkdir -m 755 %s/mnt", world->root);
	make_volumes(world);
	for (unsigned i = 0; i < compose->n; i++)
		if (find_network(world, compose->services[i].network) < 0) {
			world->networks[world->n_networks].name = compose->services[i].network;
			world->networks[world->n_networks++].fd = make_network();
		}
}

void container_world_done(struct container_world *world)
{
	for (unsigned i = 0; i < world->n_networks; i++)
		close(world->networks[i].fd);
	run("rm -rf %s", world->root);
}

/* ---- one container, from inside ---- */

static void make_folders(const char *path)
{
	char *copy = format_text("%s", path);

	for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash != NULL)
			*slash = '\0';
		if (mkdir(copy, 0755) != 0 && errno != EEXIST)
			give_up("%s", copy);
		if (slash == NULL)
			break;
		*slash = '/';
	}
	free(copy);
}

static void lay(const char *from, const char *to, bool read_only)
{
	struct stat st;

	if (stat(from, &st) != 0)
		give_up("%s", from);
	if (S_ISDIR(st.st_mode))
		make_folders(to);
	else
		close(open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) != 0 ||
	    (read_only && mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0))
		give_up("%s on %s", from, to);
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");

	if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0)
		give_up("%s", path);
}

/* Users as in the Dockerfile; names of the services in this network, which are all on its loopback. */
static void make_etc(const struct container_world *world, const char *network)
{
	static const char *const users[] = { "boardwalk", "boardwalk-gateway", "boardwalk-auth",
		                             "boardwalk-repo" };
	char                    *passwd = format_text("root:x:0:0::/:/bin/sh\n");
	char                    *hosts = format_text("127.0.0.1 localhost\n");

	for (unsigned i = 0; i < 4; i++)
		passwd = format_text("%s%s:x:%u:%u::/:/usr/sbin/nologin\n", passwd, users[i],
		                     10000 + i, 10000 + i);
	for (unsigned i = 0; i < world->compose->n; i++)
		if (strcmp(world->compose->services[i].network, network) == 0)
			hosts = format_text("%s127.0.0.1 %s\n", hosts,
			                    world->compose->services[i].name);
	make_folders("etc");
	write_file("etc/passwd", passwd);
	write_file("etc/hosts", hosts);
	write_file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
}

static void make_system(const struct container_world *world, const char *network)
{
	static const char *const links[] = { "bin", "sbin", "lib", "lib64" };
	static const char *const devices[] = { "null", "zero", "random", "urandom" };
	char                    *image = format_text("%s/image", world->root);

	lay("/usr", "usr", true);
	for (size_t i = 0; i < 4; i++)
		if (symlinkat(format_text("usr/%s", links[i]), AT_FDCWD, links[i]) != 0)
			give_up("%s", links[i]);
	make_etc(world, network);
	lay("/proc", "proc", false);
	make_folders("dev/shm");
	for (size_t i = 0; i < 4; i++)
		lay(format_text("/dev/%s", devices[i]), format_text("dev/%s", devices[i]), false);
	if (mount("shm", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
		give_up("/dev/shm");
	lay(image, "opt/boardwalk", true);
}

static void make_own(const struct container_world *world, const struct compose_service *s)
{
	for (const struct compose_mount *v = s->volumes; v->target != NULL; v++)
		lay(format_text("%s/volumes/%s", world->root, v->source), v->target + 1,
		    v->read_only);
	for (const struct compose_mount *t = s->tmpfs; t->target != NULL; t++) {
		make_folders(t->target + 1);
		if (mount("tmpfs", t->target + 1, "tmpfs", MS_NOSUID | MS_NODEV, t->source) != 0)
			give_up("%s (%s)", t->target, t->source);
	}
	for (const char *const *secret = s->secrets; *secret != NULL; secret++) {
		make_folders("run/secrets");
		lay(format_text("%s/secrets/%s", world->root, *secret),
		    format_text("run/secrets/%s", *secret), true);
	}
}

static void enter(const struct container_world *world, const struct compose_service *s)
{
	char *root = format_text("%s/mnt", world->root);

	if (setns(find_network(world, s->network), CLONE_NEWNET) != 0 ||
	    unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("root", root, "tmpfs", 0, "mode=755") != 0 || chdir(root) != 0)
		give_up("namespaces of %s", s->name);
	make_system(world, s->network);
	make_own(world, s);
	if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
	    chdir("/") != 0)
		give_up("the root of %s", s->name);
	if (s->read_only && mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0)
		give_up("read-only");
}

/* Without capabilities, since the user is not root; with its own environment and the image's. */
static void become(const struct compose_service *s)
{
	if (clearenv() != 0 || putenv((char *)PATH_OF_IMAGE) != 0 ||
	    putenv((char *)"LC_ALL=C.UTF-8") != 0)
		give_up("environment");
	for (const char *const *variable = s->environment; *variable != NULL; variable++)
		if (putenv((char *)*variable) != 0)
			give_up("environment");
	if (setgroups(0, NULL) != 0 || setgid(s->gid) != 0 || setuid(s->uid) != 0)
		give_up("user of %s", s->name);
	if (s->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		give_up("no-new-privileges");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void redirect(const struct container_world *world)
{
	char *file = format_text("%s/log", world->root);
	int   log = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int   null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (log < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
	    dup2(log, STDERR_FILENO) < 0)
		_exit(125);
	free(file);
}

/* ---- from outside ---- */

pid_t container_start(const struct container_world *world, const struct compose_service *service,
                      const char *const *command)
{
	const char *const *words = command != NULL ? command : service->command;
	pid_t              pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (pid > 0)
		return pid;
	redirect(world);
	enter(world, service);
	become(service);
	execvpe(words[0], (char *const *)words, environ);
	give_up("%s", words[0]);
}

pid_t container_call(const struct container_world *world, const struct compose_service *service,
                     int (*fn)(void *arg), void                                        *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (pid > 0)
		return pid;
	enter(world, service);
	become(service);
	_exit(fn(arg));
}

pid_t container_call_in_network(const struct container_world *world, const char *network,
                                int (*fn)(void *arg), void                      *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (pid > 0)
		return pid;
	if (setns(find_network(world, network), CLONE_NEWNET) != 0)
		give_up("network %s", network);
	_exit(fn(arg));
}

int container_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
