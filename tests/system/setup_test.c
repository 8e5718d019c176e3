/* Setting up: folders, users, locks, the private cluster, and what must not happen to anything else on
 * the machine. Needs no more than the base system; as root the users of the processes must exist. */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"

static const char *const processes[] = { "postgres", "auth", "repo", "gateway" };
#define N_PROCESSES (sizeof(processes) / sizeof(*processes))

static int get_status(unsigned port, const char *path, const char *credentials)
{
	struct http_response r;

	http_ask_once(port, "GET", path, credentials, &r);
	http_response_done(&r);
	return r.status;
}

/* The last line that `boardwalk ...` wrote; heap. */
static char *last_line(char *output)
{
	size_t n = strlen(output);
	char  *line;

	while (n > 0 && output[n - 1] == '\n')
		output[--n] = '\0';
	line = strrchr(output, '\n');
	return line != NULL ? line + 1 : output;
}

/* ---- one folder, one instance ---- */

Test(setup, a_second_start_on_a_folder_is_refused_and_harms_nothing)
{
	struct test_instance i, second;
	char                *output;
	const char          *up[] = { "up", "--port", "1", NULL };

	test_instance_start(&i, NULL);
	second = i;
	cr_assert_eq(test_instance_cli(&second, NULL, &output, up), 1);
	cr_assert_not_null(strstr(output, "is in use by process"), "%s", output);
	free(output);
	cr_assert_eq(get_status(i.port, "/test/auth", i.credentials), 200);
	test_instance_stop(&i);
}

Test(setup, two_instances_run_side_by_side)
{
	struct test_instance         a, b;
	struct test_instance_options fresh = { .fresh = true };

	test_instance_start(&a, &fresh);
	test_instance_start(&b, &fresh);
	test_instance_repoinit(&a, "create path /content/dam/only-here\n");
	cr_assert_str_neq(a.password, b.password);
	cr_assert_eq(get_status(a.port, "/test/auth", a.credentials), 200);
	cr_assert_eq(get_status(b.port, "/test/auth", b.credentials), 200);
	cr_assert_eq(get_status(b.port, "/test/auth", a.credentials), 401);
	cr_assert_eq(test_instance_end(&a), 0);
	cr_assert_eq(get_status(b.port, "/test/auth", b.credentials), 200);
	test_instance_stop(&a);
	test_instance_stop(&b);
}

Test(setup, a_data_folder_with_a_path_of_120_characters_works)
{
	struct test_instance         i;
	char                         data[128];
	struct test_instance_options options = { .data = data };

	/* root is "/tmp/boardwalk-system-XXXXXX": what is missing to 120 comes behind it. */
	memset(data, 'x', sizeof(data));
	data[40] = '/';
	data[120 - (int)sizeof("/tmp/boardwalk-system-XXXXXX")] = '\0';
	test_instance_start(&i, &options);
	cr_assert_eq(strlen(i.data), 120, "%s", i.data);
	cr_assert_eq(get_status(i.port, "/test/auth", i.credentials), 200);
	test_instance_stop(&i);
}

/* How many processes have this text in their command line or environment's folder. */
static unsigned count_processes(const char *text)
{
	DIR           *proc = opendir("/proc");
	struct dirent *entry;
	unsigned       n = 0;

	while ((entry = readdir(proc)) != NULL) {
		char    path[300], line[4096];
		ssize_t size;
		int     fd;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		size = fd >= 0 ? read(fd, line, sizeof(line)) : 0;
		if (fd >= 0)
			close(fd);
		n += size > 0 && memmem(line, (size_t)size, text, strlen(text)) != NULL;
	}
	closedir(proc);
	return n;
}

Test(setup, a_detached_start_returns_when_it_is_ready_or_says_that_it_failed)
{
	struct test_instance i;
	char                 port[16], *output;
	const char          *up[] = { "up", "--detach", "--port", port, NULL };
	struct sockaddr_in   at = { .sin_family = AF_INET,
		                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int                  taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	test_instance_prepare(&i, NULL);
	snprintf(port, sizeof(port), "%u", i.port);
	cr_assert_eq(test_instance_cli(&i, NULL, &output, up), 0, "%s", output);
	cr_assert_not_null(strstr(output, "\nready http://127.0.0.1:"), "%s", output);
	free(output);
	cr_assert_eq(get_status(i.port + 1, "/health/ready", NULL), 200);
	cr_assert_eq(test_instance_cli(&i, NULL, NULL, (const char *[]){ "status", NULL }), 0);
	cr_assert_eq(test_instance_cli(&i, NULL, NULL, (const char *[]){ "stop", NULL }), 0);

	at.sin_port = htons((unsigned short)i.port);
	cr_assert_eq(bind(taken, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(taken, 1), 0);
	cr_assert_eq(test_instance_cli(&i, NULL, &output, up), 1, "%s", output);
	cr_assert_not_null(strstr(output, "it did not start"), "%s", output);
	free(output);
	close(taken);
	cr_assert_eq(count_processes(i.root), 0);
	test_instance_stop(&i);
}

/* ---- nobody outlives the supervisor ---- */

static bool all_gone(const char *text, unsigned limit_ms)
{
	unsigned long long limit = test_now_ms() + limit_ms;

	while (count_processes(text) > 0 && test_now_ms() < limit)
		usleep(20000);
	return count_processes(text) == 0;
}

Test(setup, a_killed_supervisor_leaves_no_process_behind)
{
	struct test_instance i;

	test_instance_start(&i, NULL);
	cr_assert_geq(count_processes(i.root), 5);
	cr_assert_eq(kill(i.supervisor, SIGKILL), 0);
	waitpid(i.supervisor, NULL, 0);
	i.supervisor = 0;
	cr_assert(all_gone(i.root, 5000), "%u are left", count_processes(i.root));

	cr_assert(test_instance_up(&i, NULL), "no start on what a kill left");
	cr_assert_eq(get_status(i.port, "/test/auth", i.credentials), 200);
	test_instance_stop(&i);
}

Test(setup, stop_ends_every_process_in_time)
{
	struct test_instance i;
	const char          *stop[] = { "stop", NULL }, *status[] = { "status", NULL };
	char                *output;

	test_instance_start(&i, NULL);
	cr_assert_eq(test_instance_cli(&i, NULL, NULL, stop), 0);
	waitpid(i.supervisor, NULL, 0);
	i.supervisor = 0;
	cr_assert_eq(count_processes(i.root), 0);
	cr_assert_eq(test_instance_cli(&i, NULL, &output, status), 1);
	cr_assert_not_null(strstr(output, "nothing runs on"), "%s", output);
	free(output);
	cr_assert(!test_instance_logged(&i, "does not end and is killed"));
	test_instance_stop(&i);
}

/* ---- who is who ---- */

/* A line of /proc/PID/status, without its name; heap. */
static char *proc_field(pid_t pid, const char *name)
{
	char  path[64], line[256], *value = NULL;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	in = fopen(path, "re");
	while (in != NULL && value == NULL && fgets(line, sizeof(line), in) != NULL)
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
			value = strdup(line + strlen(name) + 1 +
			               strspn(line + strlen(name) + 1, " \t"));
			value[strcspn(value, "\n")] = '\0';
		}
	if (in != NULL)
		fclose(in);
	return value;
}

static long proc_number(pid_t pid, const char *name)
{
	char *value = proc_field(pid, name);
	long  number = value != NULL ? strtol(value, NULL, 10) : -1;

	free(value);
	return number;
}

static bool has_no_core(pid_t pid)
{
	char  path[64], line[256];
	bool  none = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	in = fopen(path, "re");
	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
		if (strncmp(line, "Max core file size", 18) == 0)
			none = strtoul(line + 18, NULL, 10) == 0 &&
			       strstr(line, "unlimited") == NULL;
	if (in != NULL)
		fclose(in);
	return none;
}

/* The gateway's parent loads no bundle and answers nobody; its workers do. */
static pid_t first_child(pid_t pid)
{
	char  path[64];
	long  child = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	in = fopen(path, "re");
	if (in != NULL) {
		if (fscanf(in, "%ld", &child) != 1)
			child = 0;
		fclose(in);
	}
	return (pid_t)child;
}

Test(setup, each_process_has_its_own_user_and_is_confined)
{
	static const char *const users[] = { "boardwalk", "boardwalk-auth", "boardwalk-repo",
		                             "boardwalk-gateway" };
	struct test_instance     i;

	test_instance_start(&i, NULL);
	for (size_t k = 0; k < N_PROCESSES; k++) {
		pid_t                pid = test_instance_pid(&i, processes[k]);
		const struct passwd *pw = getpwnam(users[k]);

		if (geteuid() == 0) {
			cr_assert_not_null(pw, "%s", users[k]);
			cr_assert_eq(proc_number(pid, "Uid"), (long)pw->pw_uid, "%s", processes[k]);
			cr_assert_eq(proc_number(pid, "Gid"), (long)pw->pw_gid, "%s", processes[k]);
		}
		if (k == 0)
			continue; /* PostgreSQL confines itself as it likes */
		if (strcmp(processes[k], "gateway") == 0)
			pid = first_child(pid);
		cr_assert_eq(proc_number(pid, "NoNewPrivs"), 1, "%s", processes[k]);
		cr_assert_eq(proc_number(pid, "Seccomp"), 2, "%s", processes[k]);
		cr_assert(has_no_core(pid), "%s", processes[k]);
	}
	test_instance_stop(&i);
}

static mode_t mode_of(const struct test_instance *i, const char *name, uid_t *ret_uid)
{
	char        path[512];
	struct stat st = { 0 };

	snprintf(path, sizeof(path), "%s/%s", i->data, name);
	cr_assert_eq(stat(path, &st), 0, "%s", path);
	*ret_uid = st.st_uid;
	return st.st_mode & 07777;
}

Test(setup, secrets_are_for_those_who_need_them)
{
	struct test_instance_options fresh = { .fresh = true };
	struct test_instance         i;
	char                         before[64];
	uid_t                        uid;

	test_instance_start(&i, &fresh);
	cr_assert_eq(mode_of(&i, "admin-password", &uid), 0600);
	cr_assert_eq(uid, geteuid());
	cr_assert_eq(mode_of(&i, "postgresql", &uid), 0700);
	if (geteuid() == 0) {
		cr_assert_eq(mode_of(&i, "keys/handle.key", &uid), 0440);
		cr_assert_eq(uid, getpwnam("boardwalk-auth")->pw_uid);
	}
	strcpy(before, i.password);
	cr_assert_eq(test_instance_end(&i), 0);
	cr_assert(test_instance_up(&i, NULL));
	cr_assert_str_eq(i.password, before, "the password changed with the second start");
	test_instance_stop(&i);
}

/* ---- the database ---- */

/* PostgreSQL's answer to a start-up message for that role: 'R' and 0 lets it in, 'E' refuses. In a
 * process of its own, as that user. */
static char ask_postgres(const char *socket_path, const char *role, const char *user)
{
	char               message[256] = { 0 }, answer[9] = { 0 };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t             n = 8;
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct passwd     *pw = getpwnam(user);

	if (pw == NULL || setgroups(0, NULL) != 0 || setgid(pw->pw_gid) != 0 ||
	    setuid(pw->pw_uid) != 0)
		return '?';
	strcpy(to.sun_path, socket_path);
	message[5] = 3; /* protocol 3.0 */
	n += (size_t)sprintf(message + n, "user") + 1;
	n += (size_t)sprintf(message + n, "%s", role) + 1;
	n += (size_t)sprintf(message + n, "database") + 1;
	n += (size_t)sprintf(message + n, "boardwalk") + 2;
	message[3] = (char)n;
	message[4] = 0;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		return 'c';
	if (send(fd, message, n, MSG_NOSIGNAL) != (ssize_t)n ||
	    recv(fd, answer, 9, MSG_WAITALL) != 9)
		return '?';
	close(fd);
	return answer[0];
}

/* Where this instance's server listens, from its own command line: ... -k FOLDER ... */
static void find_socket(const struct test_instance *i, char *ret, size_t size)
{
	char    path[64], line[4096] = { 0 };
	ssize_t n;
	int     fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", test_instance_pid(i, "postgres"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	ret[0] = '\0';
	for (const char *word = line; word < line + n; word += strlen(word) + 1)
		if (strcmp(word, "-k") == 0)
			snprintf(ret, size, "%s/.s.PGSQL.5432", word + 3);
	cr_assert_str_neq(ret, "");
}

static char ask_as(const char *socket_path, const char *role, const char *user)
{
	int   status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(ask_postgres(socket_path, role, user));
	waitpid(pid, &status, 0);
	return (char)WEXITSTATUS(status);
}

Test(setup, the_database_lets_in_each_user_as_its_own_role_and_the_gateways_never)
{
	static const char *const users[] = { "boardwalk", "boardwalk-auth", "boardwalk-repo",
		                             "boardwalk-gateway", "nobody" };
	static const char *const roles[] = { "boardwalk",
		                             "boardwalk_auth",
		                             "boardwalk_repo",
		                             "boardwalk-gateway",
		                             "boardwalk_gateway",
		                             "postgres",
		                             "root",
		                             "pg_read_all_data",
		                             "nobody" };
	struct test_instance     i;
	char                     socket_path[108];

	if (geteuid() != 0)
		cr_skip("without root there is one user only");
	test_instance_start(&i, NULL);
	find_socket(&i, socket_path, sizeof(socket_path));
	for (size_t u = 0; u < sizeof(users) / sizeof(*users); u++)
		for (size_t r = 0; r < sizeof(roles) / sizeof(*roles); r++) {
			char answer = ask_as(socket_path, roles[r], users[u]);

			cr_assert_eq(answer, u == r && u < 3 ? 'R' : 'E', "user %s as role %s: %c",
			             users[u], roles[r], answer);
		}
	test_instance_stop(&i);
}

/* A text that changes if a file of the folder does: names, sizes, times of modification; heap. */
static char *fingerprint(const char *folder)
{
	char  command[256], *text = calloc(1, 1 << 20);
	FILE *in;

	snprintf(command, sizeof(command),
	         "find %s -printf '%%p %%s %%T@ %%u %%m\\n' 2>/dev/null | sort", folder);
	in = popen(command, "re");
	if (fread(text, 1, (1 << 20) - 1, in) == 0 && ferror(in))
		cr_assert_fail("%s", folder);
	pclose(in);
	return text;
}

Test(setup, the_clusters_of_debian_are_left_alone)
{
	struct test_instance_options fresh = { .fresh = true };
	static const char *const     folders[] = { "/etc/postgresql", "/var/lib/postgresql",
		                                   "/etc/postgresql-common" };
	char                        *before[3], *after;
	struct test_instance         i;

	for (size_t k = 0; k < 3; k++)
		before[k] = fingerprint(folders[k]);
	test_instance_start(&i, &fresh);
	test_instance_stop(&i);
	for (size_t k = 0; k < 3; k++) {
		after = fingerprint(folders[k]);
		cr_assert_str_eq(after, before[k], "%s is not as it was", folders[k]);
		free(after);
		free(before[k]);
	}
}

/* ---- what is refused ---- */

/* The start fails, and the log or the command's own words say why. */
static void check_refused(const struct test_instance_options *options, const char *reason)
{
	struct test_instance i;

	test_instance_prepare(&i, options);
	cr_assert(!test_instance_up(&i, options), "it started in spite of: %s", reason);
	waitpid(i.supervisor, NULL, 0);
	i.supervisor = 0;
	cr_assert(test_instance_logged(&i, reason), "the log does not say: %s", reason);
	cr_assert_eq(count_processes(i.root), 0);
	test_instance_stop(&i);
}

Test(setup, wrong_configuration_stops_the_start_with_file_and_line)
{
	static const struct {
		const char *config, *reason;
	} rows[] = {
		{ "boardwalk:\n  listen: 127.0.0.1:1\n  lissten: x\n", "boardwalk.yaml:3:" },
		{ "gateway:\n  wrokers: 1\n", "boardwalk.yaml:2:" },
		{ "auth:\n  argon2_ops: many\n", "boardwalk.yaml:2:" },
		{ "nobody:\n  x: 1\n", "boardwalk.yaml:1:" },
		{ "boardwalk: [\n", "boardwalk.yaml:" },
		{ "boardwalk:\n  repoinit: [/nowhere.repoinit]\n",
		  "/nowhere.repoinit: No such file" },
	};

	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		struct test_instance_options options = { .config = rows[k].config,
			                                 .without_demo = true };

		check_refused(&options, rows[k].reason);
	}
}

Test(setup, a_cluster_of_another_major_version_is_refused_by_name)
{
	struct test_instance i;
	char                 file[512];
	FILE                *out;

	test_instance_start(&i, NULL);
	cr_assert_eq(test_instance_end(&i), 0);
	snprintf(file, sizeof(file), "%s/postgresql/PG_VERSION", i.data);
	out = fopen(file, "we");
	cr_assert_not_null(out);
	fputs("9\n", out);
	fclose(out);
	cr_assert(!test_instance_up(&i, NULL));
	waitpid(i.supervisor, NULL, 0);
	i.supervisor = 0;
	cr_assert(test_instance_logged(&i, "boardwalk backup"));
	test_instance_stop(&i);
}

/* The example in conf/ is what the programs print, and each of them accepts it. */
Test(setup, the_example_of_the_configuration_is_current_and_accepted)
{
	struct test_instance i;
	char                 command[512];

	test_instance_prepare(&i, NULL);
	snprintf(command, sizeof(command),
	         "%s/bin/boardwalk conf | diff - " BOARDWALK_SOURCE "/conf/boardwalk.yaml >&2",
	         i.root);
	cr_assert_eq(system(command), 0, "boardwalk conf >conf/boardwalk.yaml makes it current");
	snprintf(command, sizeof(command),
	         "%s/bin/boardwalk conf >%s/all.yaml && %s/bin/boardwalk status --config "
	         "%s/all.yaml 2>&1 |"
	         " grep -q 'nothing runs'",
	         i.root, i.root, i.root, i.root);
	cr_assert_eq(system(command), 0, "boardwalk does not accept it");
	for (size_t k = 1; k < N_PROCESSES; k++) {
		snprintf(command, sizeof(command),
		         "%s/bin/boardwalk-%s --config %s/all.yaml --check", i.root, processes[k],
		         i.root);
		cr_assert_eq(system(command), 0, "%s does not accept it", processes[k]);
	}
	test_instance_stop(&i);
}

Test(setup, wrong_commands_are_answered_with_usage_and_code_2)
{
	static const char *const commands[][4] = {
		{ "frobnicate", NULL },         { "up", "--frobnicate", NULL },
		{ "up", "operand", NULL },      { "repoinit", NULL },
		{ "user", "add", NULL },        { "user", "frobnicate", "x", NULL },
		{ "user", "add", "a:b", NULL },
	};
	struct test_instance i;
	char                *output;

	test_instance_prepare(&i, NULL);
	for (size_t k = 0; k < sizeof(commands) / sizeof(*commands); k++) {
		cr_assert_eq(test_instance_cli(&i, NULL, &output, commands[k]), 2, "%s %s",
		             commands[k][0], commands[k][1]);
		cr_assert_neq(output[0], '\0');
		free(output);
	}
	test_instance_stop(&i);
}

/* ---- scripts ---- */

Test(setup, repoinit_does_all_or_nothing_and_says_where_it_failed)
{
	static const struct {
		const char *script, *reason;
	} rows[] = {
		{ "create path /content/dam/x\nset ACL on /none\n allow jcr:read for "
		  "everyone\nend\n",
		  ":2:12: " },
		{ "create path /content/dam/x\nset ACL on /content\n allow jcr:reed for "
		  "everyone\nend\n",
		  ":3:8: " },
		{ "create path /content/dam/x\nset ACL on /content\n allow jcr:read for "
		  "noone\nend\n",
		  ":3:21: " },
		{ "create path /content/dam/x\nset properties on /none\n set a to b\nend\n",
		  ":2:19: " },
		{ "create path /content/dam/x\ncreate path (no:such) /y\n", ":2:14: " },
		{ "create path /content/dam/x\ncreate user servlettest\n", ":2:13: " },
		{ "create path /content/dam/x\nset ACL on /content\n allow jcr:read nodetypes "
		  "nt:file "
		  "for everyone\nend\n",
		  ":3:17: 'nodetypes' is not supported" },
		{ "create path /content/dam/x\ncreate path (nt:file) /content/dam/y\n",
		  ":2:1: \"/content/dam/y\" (nt:file): child \"jcr:content\" is missing" },
		{ "create path /content/dam/x\nset principal ACL for servlettest\n deny jcr:read "
		  "on /content\nend\n",
		  ":3:2: a list of a service user's own only allows" },
	};
	const char          *repoinit[] = { "repoinit", "-", NULL };
	struct test_instance i;
	struct http_response r;
	char                *output;

	test_instance_start(&i, NULL);
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		cr_assert_eq(test_instance_cli(&i, rows[k].script, &output, repoinit), 1, "row %zu",
		             k);
		cr_assert_not_null(strstr(output, rows[k].reason), "row %zu: %s", k, output);
		free(output);
	}
	http_ask_once(i.port, "GET", "/test/auth", i.credentials, &r);
	cr_assert_str_eq(r.body, "Hello admin the dam count is 5");
	http_response_done(&r);
	test_instance_stop(&i);
}

Test(setup, repoinit_a_second_time_changes_nothing)
{
	static const char script[] =
		"create path (nt:unstructured) /content/again with properties\n"
		"  set title to \"a title\"\n  set many{Long[]} to 1,2\n  default d{Double} to "
		"1.5\n"
		"  set when{Date} to \"2026-11-30T10:00:00+01:00\"\n  set b{Boolean} to true\nend\n"
		"create service user again\ncreate user someone with password \"a secret\"\n"
		"set ACL on /content/again\n  remove * for again\n  allow jcr:read,rep:write for "
		"again\n"
		"  deny jcr:removeNode for again\nend\n";
	const char          *repoinit[] = { "repoinit", "-", NULL };
	struct test_instance i;
	char                *output;

	test_instance_start(&i, NULL);
	cr_assert_eq(test_instance_cli(&i, script, &output, repoinit), 0, "%s", output);
	cr_assert_str_eq(last_line(output), "standard input: 9 changes");
	cr_assert_null(strstr(output, "a secret"), "%s", output);
	free(output);
	cr_assert_eq(get_status(i.port, "/test/auth", "someone:a secret"), 500,
	             "no right to /content/dam");
	cr_assert_eq(test_instance_cli(&i, script, &output, repoinit), 0, "%s", output);
	cr_assert_str_eq(last_line(output), "standard input: nothing to change");
	free(output);
	test_instance_stop(&i);
}

/* ---- an ordinary user ---- */

Test(setup, an_ordinary_user_runs_everything_as_himself_and_is_told_so)
{
	struct test_instance         i;
	struct test_instance_options options = { .ordinary = true };

	test_instance_start(&i, &options);
	cr_assert(test_instance_logged(&i, "all processes run as one user"));
	for (size_t k = 0; k < N_PROCESSES; k++)
		cr_assert_eq(proc_number(test_instance_pid(&i, processes[k]), "Uid"),
		             proc_number(i.supervisor, "Uid"), "%s", processes[k]);
	cr_assert_eq(get_status(i.port, "/test/auth", i.credentials), 200);
	test_instance_stop(&i);
}
