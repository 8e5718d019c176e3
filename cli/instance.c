/* instance.c - folders, lock, users and connection strings of one instance.
 *
 * The lock is a record lock (fcntl): the kernel drops it with the process, however that ends, and
 * F_GETLK names the holder, so no stale pid is ever believed. It is taken after the last fork of
 * `up --detach`, since it is not inherited.
 *
 * Owns: struct instance. Runs in: every command that needs an instance. Fails with: false after a
 * line on stderr. Tests: tests/unit/cli/instance_test.c, tests/system/setup_test.c. */
#include "instance.h"

#include <base/fatal.h>
#include <base/sandbox.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_PATH 107u                                  /* octets of a socket's path */
#define SOCKET_TAIL (sizeof("/gateway/control.sock") - 1) /* the longest of them */

bool secret_variable(const char *name, char **ret_value)
{
	char       *file_name = xasprintf("%s_FILE", name);
	const char *value = getenv(name), *file = getenv(file_name);
	size_t      size;

	free(file_name);
	*ret_value = NULL;
	if (value != NULL && *value != '\0')
		*ret_value = xstrdup(value);
	else if (file != NULL && *file != '\0') {
		*ret_value = read_file(file, 4096, &size);
		if (*ret_value == NULL)
			return false;
		(*ret_value)[strcspn(*ret_value, "\r\n")] = '\0';
	}
	return true;
}

bool instance_user(const struct instance *instance, const char *name, uid_t *ret_uid,
                   gid_t *ret_gid)
{
	const struct passwd *pw;

	*ret_uid = geteuid();
	*ret_gid = getegid();
	if (!instance->separated)
		return true;
	pw = getpwnam(name);
	if (pw == NULL)
		return complain("there is no system user %s; as root, every process needs its own: "
		                "adduser --system --group --no-create-home %s",
		                name, name);
	if (pw->pw_uid == 0)
		return complain("user %s is root: nothing would be kept apart", name);
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return true;
}

bool instance_become_owner(const struct instance *instance)
{
	uid_t uid;
	gid_t gid;

	if (!instance->private_cluster || !instance->separated)
		return true;
	if (!instance_user(instance, instance->settings->user, &uid, &gid))
		return false;
	sandbox_become(instance->settings->user);
	return true;
}

/* A folder with that owner and mode, also if it was there; a link or anything else is refused. */
static bool make_folder(const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	struct stat st;
	int         fd;
	bool        done;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return complain_errno("%s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return complain_errno("%s", path);
	done = fstat(fd, &st) == 0 &&
	       ((st.st_uid == uid && st.st_gid == gid) || fchown(fd, uid, gid) == 0) &&
	       fchmod(fd, mode) == 0;
	if (!done)
		complain_errno("%s", path);
	close(fd);
	return done;
}

/* The folders above path, as mkdir -p makes them. */
static bool make_parents(const char *path)
{
	char *copy = xstrdup(path);
	bool  done = true;

	for (char *slash = strchr(copy + 1, '/'); slash != NULL && done;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755) != 0 && errno != EEXIST)
			done = complain_errno("%s", copy);
		*slash = '/';
	}
	free(copy);
	return done;
}

/* The service users must be able to walk to the data folder: not so below /root. */
static bool is_reachable(const char *path)
{
	char       *copy = xstrdup(path);
	struct stat st;
	bool        good = true;

	for (char *slash = copy; slash != NULL && good; slash = strchr(slash + 1, '/')) {
		char kept = slash[slash == copy];

		slash[slash == copy] = '\0'; /* the root itself keeps its slash */
		if (stat(copy, &st) == 0 && (st.st_mode & S_IXOTH) == 0)
			good = complain(
				"the system users cannot reach %s below %s: choose another --data",
				path, copy);
		slash[slash == copy] = kept;
	}
	free(copy);
	return good;
}

static char *absolute(const char *path)
{
	char cwd[PATH_MAX];

	if (path[0] == '/')
		return xstrdup(path);
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		fatal("the current folder");
	return xasprintf("%s/%s", cwd, path);
}

static char *data_path(const struct cli_settings *settings)
{
	const char *data = settings->data;

	if (*data == '\0')
		data = geteuid() == 0 ? "/var/lib/boardwalk" : "var";
	return absolute(data);
}

/* Two data folders never share a run folder: its name is a hash of the real path. */
static char *run_path(const struct cli_settings *settings, const char *data)
{
	unsigned char hash[crypto_generichash_BYTES_MIN];
	char          hex[9];
	const char   *runtime = getenv("XDG_RUNTIME_DIR");

	if (*settings->run != '\0')
		return absolute(settings->run);
	if (sodium_init() < 0)
		fatalx("libsodium does not start");
	crypto_generichash(hash, sizeof(hash), (const unsigned char *)data, strlen(data), NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, 4);
	if (geteuid() == 0)
		return xasprintf("/run/boardwalk/%s", hex);
	if (runtime != NULL && *runtime == '/' && strlen(runtime) < 60)
		return xasprintf("%s/boardwalk-%s", runtime, hex);
	return xasprintf("/tmp/boardwalk-%lu-%s", (unsigned long)geteuid(), hex);
}

/* 'x' with \ in front of ' and \: a value in libpq's keyword form. */
static char *quoted(const char *value)
{
	char *text = xmalloc(2 * strlen(value) + 3), *out = text;

	*out++ = '\'';
	for (; *value != '\0'; value++) {
		if (*value == '\'' || *value == '\\')
			*out++ = '\\';
		*out++ = *value;
	}
	*out++ = '\'';
	*out = '\0';
	return text;
}

static char *private_conninfo(const char *run, const char *role)
{
	char *folder = xasprintf("%s/pg", run), *host = quoted(folder);
	char *conninfo = xasprintf("host=%s dbname=boardwalk user=%s", host, role);

	free(host);
	free(folder);
	return conninfo;
}

static bool find_database(struct instance *instance)
{
	if (!secret_variable("DATABASE_URL", &instance->owner_conninfo))
		return false;
	instance->private_cluster = instance->owner_conninfo == NULL;
	return true;
}

static void set_private_conninfo(struct instance *instance)
{
	instance->owner_conninfo = private_conninfo(instance->run, "boardwalk");
	instance->auth_conninfo = private_conninfo(instance->run, "boardwalk_auth");
	instance->repo_conninfo = private_conninfo(instance->run, "boardwalk_repo");
}

static void instance_init(struct instance *instance, const struct cli_settings *settings)
{
	*instance =
		(struct instance){ .settings = settings, .lock = -1, .separated = geteuid() == 0 };
}

/* The lock file says where the run folder is, the kernel says who holds it. */
static bool read_lock(struct instance *instance)
{
	char        *file = xasprintf("%s/supervisor.pid", instance->data);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char         line[PATH_MAX + 32];
	int          fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t      n = -1;

	if (fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
		instance->supervisor = lock.l_pid;
		n = read(fd, line, sizeof(line) - 1);
	}
	if (n > 0) {
		const char *run;

		line[n] = '\0';
		line[strcspn(line, "\n")] = '\0';
		run = strchr(line, ' ');
		instance->run = run != NULL ? xstrdup(run + 1) : NULL;
	}
	if (fd >= 0)
		close(fd);
	free(file);
	return instance->run != NULL;
}

bool instance_find(struct instance *ret, const struct cli_settings *settings)
{
	instance_init(ret, settings);
	ret->data = data_path(settings);
	if (find_database(ret)) {
		bool running = read_lock(ret);

		if (running && ret->private_cluster)
			set_private_conninfo(ret);
		if (running || !ret->private_cluster)
			return true;
		complain("nothing runs on %s (and DATABASE_URL is not set)", ret->data);
	}
	instance_done(ret);
	return false;
}

void instance_find_data(struct instance *ret, const struct cli_settings *settings)
{
	instance_init(ret, settings);
	ret->data = data_path(settings);
}

bool instance_find_gateway(struct instance *ret, const struct cli_settings *settings)
{
	instance_init(ret, settings);
	ret->data = data_path(settings);
	if (find_database(ret)) {
		if (read_lock(ret) && ret->private_cluster)
			set_private_conninfo(ret);
		if (ret->run == NULL && *settings->run != '\0')
			ret->run = absolute(settings->run);
		if (ret->run != NULL)
			return true;
		complain("nothing runs on %s; --run names the sockets' folder of a gateway that "
		         "was not started by `boardwalk up`",
		         ret->data);
	}
	instance_done(ret);
	return false;
}

static bool take_lock(struct instance *instance)
{
	char        *file = xasprintf("%s/supervisor.pid", instance->data);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool         done = false;

	instance->lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (instance->lock < 0)
		complain_errno("%s", file);
	else if (fcntl(instance->lock, F_SETLK, &lock) != 0) {
		lock.l_type = F_WRLCK;
		fcntl(instance->lock, F_GETLK, &lock);
		complain("%s is in use by process %ld; `boardwalk stop --data %s` ends it",
		         instance->data, (long)lock.l_pid, instance->data);
	} else if (ftruncate(instance->lock, 0) != 0 ||
	           dprintf(instance->lock, "%ld %s\n", (long)getpid(), instance->run) < 0)
		complain_errno("%s", file);
	else
		done = true;
	free(file);
	return done;
}

/* A folder of the data or run folder and who it belongs to. */
struct folder {
	const char *base, *name, *user, *group; /* user, group NULL: ours */
	mode_t      mode;
};

static bool make_folders(const struct instance *instance, const struct folder *folders, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct folder *f = &folders[i];
		uid_t                uid = geteuid(), other;
		gid_t                gid = getegid();
		char                *path;
		bool                 done;

		if (f->user != NULL && !instance_user(instance, f->user, &uid, &gid))
			return false;
		if (f->group != NULL && !instance_user(instance, f->group, &other, &gid))
			return false;
		path = xasprintf("%s/%s", f->base, f->name);
		done = make_folder(path, f->mode, uid, gid);
		free(path);
		if (!done)
			return false;
	}
	return true;
}

/* Below the run folder a process's sockets are reachable for those it answers. */
static bool make_all_folders(const struct instance *instance)
{
	const struct cli_settings *s = instance->settings;
	const struct folder        folders[] = {
		       { instance->data, "keys", NULL, NULL, 0711 },
		       { instance->data, "spool", s->gateway_user, NULL, 0700 },
		       { instance->data, "bundles", NULL, NULL, 0755 },
		       { instance->run, "pg", s->user, NULL, 0711 },
		       { instance->run, "auth", s->auth_user, s->gateway_user, 0750 },
		       { instance->run, "repo", s->repo_user, s->gateway_user, 0750 },
		       { instance->run, "gateway", NULL, NULL, 0711 },
	};

	return make_folders(instance, folders, sizeof(folders) / sizeof(*folders));
}

static bool make_run(struct instance *instance)
{
	mode_t mode = instance->separated ? 0711 : 0700;

	instance->run = run_path(instance->settings, instance->data);
	if (strlen(instance->run) + SOCKET_TAIL > SOCKET_PATH)
		return complain("%s: too long for sockets, at most %zu octets", instance->run,
		                SOCKET_PATH - SOCKET_TAIL);
	return make_parents(instance->run) &&
	       make_folder(instance->run, mode, geteuid(), getegid());
}

bool instance_make(struct instance *ret, const struct cli_settings *settings)
{
	char *real;
	bool  done;

	instance_init(ret, settings);
	ret->data = data_path(settings);
	done = find_database(ret) && make_parents(ret->data) &&
	       make_folder(ret->data, ret->separated ? 0755 : 0700, geteuid(), getegid());
	real = done ? realpath(ret->data, NULL) : NULL;
	if (done && real == NULL)
		done = complain_errno("%s", ret->data);
	if (done) {
		free(ret->data);
		ret->data = real;
		done = (!ret->separated || is_reachable(ret->data)) && make_run(ret) &&
		       take_lock(ret) && make_all_folders(ret);
	}
	if (done && ret->private_cluster)
		set_private_conninfo(ret);
	else if (done)
		done = secret_variable("AUTH_DATABASE_URL", &ret->auth_conninfo) &&
		       secret_variable("REPO_DATABASE_URL", &ret->repo_conninfo) &&
		       ((ret->auth_conninfo != NULL && ret->repo_conninfo != NULL) ||
		        complain("with DATABASE_URL, auth and repo need AUTH_DATABASE_URL and "
		                 "REPO_DATABASE_URL (or ..._FILE): their own roles' connections"));
	if (!done)
		instance_done(ret);
	return done;
}

/* Sockets stay behind when their process has been killed. Whatever is not ours stays, and so do the
 * folders it is in. */
void instance_clear_run(const struct instance *instance)
{
	static const struct {
		const char *folder, *socket;
	} parts[] = { { "auth", "auth.sock" },
		      { "repo", "repo.sock" },
		      { "gateway", "control.sock" },
		      { "pg", NULL } };
	char path[SOCKET_PATH + 1];

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].socket != NULL) {
			snprintf(path, sizeof(path), "%s/%s/%s", instance->run, parts[i].folder,
			         parts[i].socket);
			unlink(path);
		}
		snprintf(path, sizeof(path), "%s/%s", instance->run, parts[i].folder);
		rmdir(path);
	}
	rmdir(instance->run);
}

void instance_done(struct instance *instance)
{
	if (instance->lock >= 0)
		close(instance->lock);
	instance->lock = -1;
	free(instance->data);
	free(instance->run);
	free(instance->owner_conninfo);
	free(instance->auth_conninfo);
	free(instance->repo_conninfo);
	instance->data = instance->run = NULL;
	instance->owner_conninfo = instance->auth_conninfo = instance->repo_conninfo = NULL;
}
