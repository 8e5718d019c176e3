/* cluster.c - a PostgreSQL server for this instance alone.
 *
 * It listens on a Unix socket in the run folder and nowhere else, runs as an ordinary user, and
 * trusts what the kernel says about the peer: pg_hba.conf has one line, pg_ident.conf says which
 * system user is which role. The gateway's user is not in it. Debian's own clusters are not
 * touched: only the server's programs are used.
 *
 * Owns: DATA/postgresql. Runs in: the supervisor, before its loop. Fails with: false after a line
 * on stderr. Tests: tests/system/setup_test.c. */
#include "cluster.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/sandbox.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTALLED "/usr/lib/postgresql/*/bin/postgres"

/* The major version of .../15/bin; 0 if the folder says none. */
static unsigned long folder_version(const char *bin)
{
	const char *end = strrchr(bin, '/');
	const char *start = end;

	while (start != NULL && start > bin && start[-1] != '/')
		start--;
	return start != NULL ? strtoul(start, NULL, 10) : 0;
}

/* The newest installed server, or the one of that version (0: any). Owned; NULL: there is none. */
static char *find_installed(unsigned long version)
{
	glob_t        found;
	char         *best = NULL;
	unsigned long best_version = 0;

	if (glob(INSTALLED, 0, NULL, &found) != 0)
		return NULL;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char         *bin = xstrndup(found.gl_pathv[i],
		                             strlen(found.gl_pathv[i]) - sizeof("/postgres") + 1);
		unsigned long here = folder_version(bin);

		if ((version != 0 && here != version) || here <= best_version) {
			free(bin);
			continue;
		}
		free(best);
		best = bin;
		best_version = here;
	}
	globfree(&found);
	return best;
}

/* What PG_VERSION of the cluster says; 0: there is no cluster. */
static unsigned long cluster_version(const char *folder)
{
	char         *file = xasprintf("%s/PG_VERSION", folder);
	FILE         *in = fopen(file, "re");
	unsigned long version = 0;

	if (in != NULL) {
		if (fscanf(in, "%lu", &version) != 1)
			version = 0;
		fclose(in);
	}
	free(file);
	return version;
}

/* The folder of initdb and postgres for this cluster. Owned; NULL after a line. */
static char *find_programs(const struct instance *instance, unsigned long version)
{
	char *bin, *newest;

	if (*instance->settings->postgresql != '\0')
		return xstrdup(instance->settings->postgresql);
	bin = find_installed(version);
	if (bin != NULL)
		return bin;
	newest = version != 0 ? find_installed(0) : NULL;
	if (newest != NULL)
		complain("%s/postgresql is of PostgreSQL %lu, installed is %lu: run `boardwalk "
		         "backup` where "
		         "%lu is installed and `boardwalk restore` here",
		         instance->data, version, folder_version(newest), version);
	else
		complain("there is no PostgreSQL server (%s): install postgresql-15, or set "
		         "DATABASE_URL",
		         INSTALLED);
	free(newest);
	return NULL;
}

/* Ends with its parent, as the owner; not as root, whom PostgreSQL refuses. */
static void become_owner(const struct instance *instance)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sandbox_become(instance->settings->user);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level == 0 ? 0 : remove(path);
}

/* In the child. What an interrupted one left behind goes first. What initdb prints is of interest
 * only when it fails, and then it is on stderr. */
__attribute__((noreturn)) static void run_initdb(const struct instance *instance, const char *bin,
                                                 const char *folder)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL };
	char                    *program = xasprintf("%s/initdb", bin);
	int                      null = open("/dev/null", O_RDWR | O_CLOEXEC);

	become_owner(instance);
	if (chdir("/") != 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		fatal("initdb");
	if (nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
		fatal("%s", folder);
	execle(program, program, "--pgdata", folder, "--username", "boardwalk", "--auth", "peer",
	       "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions", (char *)NULL,
	       environment);
	fatal("%s", program);
}

/* Made beside its place and renamed, so that an interrupted one is never taken for a cluster. */
static bool create_cluster(const struct instance *instance, const char *bin, const char *folder)
{
	char *fresh = xasprintf("%s.new", folder);
	uid_t uid;
	gid_t gid;
	pid_t pid = -1;
	int   status = -1;
	bool  done = false;

	if (!instance_user(instance, instance->settings->user, &uid, &gid))
		goto out;
	if ((mkdir(fresh, 0700) != 0 && errno != EEXIST) || lchown(fresh, uid, gid) != 0) {
		complain_errno("%s", fresh);
		goto out;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_initdb(instance, bin, fresh);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status != 0)
		complain("initdb failed (%s)", fresh);
	else if (rename(fresh, folder) != 0)
		complain_errno("%s", folder);
	else
		done = true;
out:
	free(fresh);
	return done;
}

/* Replaced as a whole: the server never reads half of it. */
static bool write_file(const struct instance *instance, const char *folder, const char *name,
                       const char *text)
{
	char *file = xasprintf("%s/%s", folder, name),
	     *fresh = xasprintf("%s/%s.new", folder, name);
	uid_t uid;
	gid_t gid;
	int   fd = -1;
	bool  done = instance_user(instance, instance->settings->user, &uid, &gid);

	if (done) {
		unlink(fresh);
		fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		done = fd >= 0 && fchown(fd, uid, gid) == 0 &&
		       write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fsync(fd) == 0 &&
		       rename(fresh, file) == 0;
		if (!done)
			complain_errno("%s", fresh);
	}
	if (fd >= 0)
		close(fd);
	free(fresh);
	free(file);
	return done;
}

/* system user -> role. Where all runs as one user, that one is everybody. */
static char *ident_map(const struct instance *instance)
{
	const struct cli_settings *s = instance->settings;
	const struct passwd       *own = getpwuid(geteuid());
	const char                *own_name = own != NULL ? own->pw_name : "?";
	const char                *names[3] = { s->user, s->auth_user, s->repo_user };

	for (size_t i = 0; i < 3 && !instance->separated; i++)
		names[i] = own_name;
	return xasprintf("# map\tsystem user\trole; written at each start\n"
	                 "boardwalk\t\"%s\"\tboardwalk\n"
	                 "boardwalk\t\"%s\"\tboardwalk_auth\n"
	                 "boardwalk\t\"%s\"\tboardwalk_repo\n",
	                 names[0], names[1], names[2]);
}

static bool write_access(const struct instance *instance, const char *folder)
{
	char *map = ident_map(instance);
	bool  done = write_file(instance, folder, "pg_hba.conf",
	                        "# Nobody else, and from nowhere else; written at each start.\n"
	                         "local all all peer map=boardwalk\n") &&
	            write_file(instance, folder, "pg_ident.conf", map);

	free(map);
	return done;
}

bool cluster_prepare(const struct instance *instance, char **ret_server)
{
	char         *folder = xasprintf("%s/postgresql", instance->data);
	unsigned long version = cluster_version(folder);
	char         *bin = find_programs(instance, version);
	bool          done = bin != NULL;

	if (done && version == 0) {
		log_info(0, "making a PostgreSQL cluster in %s", folder);
		done = create_cluster(instance, bin, folder);
	}
	if (done)
		done = write_access(instance, folder);
	if (done)
		*ret_server = xasprintf("%s/postgres", bin);
	free(bin);
	free(folder);
	return done;
}

char **cluster_arguments(const struct instance *instance, const char *server)
{
	char *const arguments[] = {
		xstrdup(server),
		xstrdup("-D"),
		xasprintf("%s/postgresql", instance->data),
		xstrdup("-k"),
		xasprintf("%s/pg", instance->run),
		xstrdup("-c"),
		xstrdup("listen_addresses="),
		xstrdup("-c"),
		xstrdup("fsync=on"),
		xstrdup("-c"),
		xstrdup("log_destination=stderr"),
		xstrdup("-c"),
		xstrdup("logging_collector=off"),
		xstrdup("-c"),
		xstrdup("log_checkpoints=off"),
		xstrdup("-c"),
		xstrdup("recovery_init_sync_method=syncfs"), /* one call, not one per file */
		NULL,
	};
	char **copy = xmalloc(sizeof(arguments));

	memcpy(copy, arguments, sizeof(arguments));
	return copy;
}
