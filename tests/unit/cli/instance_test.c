/* cli/instance.c: the lock, the folders and the connection strings. Includes the file, to reach the
 * functions that work on strings. */
#include "cli/instance.c"

#include <criterion/criterion.h>
#include <sys/wait.h>

static char root[64];

static void make_root(void)
{
	strcpy(root, "/tmp/boardwalk-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0755), 0);
	unsetenv("DATABASE_URL");
}

static void remove_root(void)
{
	char *command = xasprintf("rm -rf %s", root);

	cr_assert_eq(system(command), 0);
	free(command);
}

/* Settings of an instance below root; the users are ours, so that it works for anybody. */
static struct cli_settings settings_below_root(void)
{
	static char data[80], run[80];

	snprintf(data, sizeof(data), "%s/a/data", root);
	snprintf(run, sizeof(run), "%s/run", root);
	return (struct cli_settings){ .data = data,
		                      .run = run,
		                      .user = (char *)"nobody",
		                      .gateway_user = (char *)"nobody",
		                      .auth_user = (char *)"nobody",
		                      .repo_user = (char *)"nobody" };
}

/* In another process, since a process can always take its own record lock again. */
static int try_in_child(bool (*make)(struct instance *, const struct cli_settings *),
                        const struct cli_settings *settings)
{
	int   status;
	pid_t pid = fork();

	if (pid == 0) {
		struct instance other;
		bool            done = make(&other, settings);

		_exit(!done ? 1 : other.supervisor == getppid() ? 2 : 0);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

Test(instance, is_locked_by_one_process_and_found_by_others, .init = make_root, .fini = remove_root)
{
	struct cli_settings settings = settings_below_root();
	struct instance     instance;

	cr_assert_eq(try_in_child(instance_find, &settings), 1, "nothing runs yet");
	cr_assert(instance_make(&instance, &settings));
	cr_assert_eq(try_in_child(instance_make, &settings), 1, "a second one got the lock");
	cr_assert_eq(try_in_child(instance_find, &settings), 2, "the holder was not found");
	instance_done(&instance);
	cr_assert_eq(try_in_child(instance_find, &settings), 1, "it runs no longer");
	cr_assert_eq(try_in_child(instance_make, &settings), 0, "the lock outlived its holder");
}

Test(instance, refuses_folders_it_cannot_use, .init = make_root, .fini = remove_root)
{
	struct cli_settings settings = settings_below_root();
	struct instance     instance;
	char                long_run[160], link[80], closed[80];

	memset(long_run, 'x', sizeof(long_run) - 1);
	memcpy(long_run, root, strlen(root));
	long_run[strlen(root)] = '/';
	long_run[120] = '\0';
	settings.run = long_run;
	cr_assert(!instance_make(&instance, &settings), "sockets with a path of 137 octets");

	settings = settings_below_root();
	snprintf(link, sizeof(link), "%s/link", root);
	cr_assert_eq(symlink("/tmp", link), 0);
	settings.run = link;
	cr_assert(!instance_make(&instance, &settings),
	          "a run folder that somebody else laid as a link");

	settings = settings_below_root();
	settings.data = (char *)"/dev/null";
	cr_assert(!instance_make(&instance, &settings));

	if (geteuid() == 0) { /* only then are there other users who must get in */
		settings = settings_below_root();
		snprintf(closed, sizeof(closed), "%s/closed/data", root);
		settings.data = closed;
		closed[strlen(closed) - 5] = '\0';
		cr_assert_eq(mkdir(closed, 0700), 0);
		closed[strlen(closed)] = '/';
		cr_assert(!instance_make(&instance, &settings), "the users cannot walk there");
	}
}

Test(instance, the_foreign_server_needs_a_connection_for_each, .init = make_root,
     .fini = remove_root)
{
	struct cli_settings settings = settings_below_root();
	struct instance     instance;
	char               *file = xasprintf("%s/secret", root);
	int                 fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(write(fd, "postgresql://repo\n", 18), 18);
	close(fd);
	setenv("DATABASE_URL", "postgresql://owner", 1);
	setenv("AUTH_DATABASE_URL", "postgresql://auth", 1);
	cr_assert(!instance_make(&instance, &settings), "repo has none");
	setenv("REPO_DATABASE_URL_FILE", file, 1);
	cr_assert(instance_make(&instance, &settings));
	cr_assert(!instance.private_cluster);
	cr_assert_str_eq(instance.owner_conninfo, "postgresql://owner");
	cr_assert_str_eq(instance.auth_conninfo, "postgresql://auth");
	cr_assert_str_eq(instance.repo_conninfo, "postgresql://repo");
	instance_done(&instance);
	setenv("REPO_DATABASE_URL_FILE", "/nowhere", 1);
	cr_assert(!instance_make(&instance, &settings));
	free(file);
}

Test(instance, run_folders_differ_with_the_data_folder_and_are_short)
{
	struct cli_settings none = { .run = (char *)"" };
	char                deep[512], *a, *b, *again;

	memset(deep, 'd', sizeof(deep) - 1);
	deep[0] = '/';
	deep[sizeof(deep) - 1] = '\0';
	a = run_path(&none, deep);
	again = run_path(&none, deep);
	deep[300] = 'e';
	b = run_path(&none, deep);
	cr_assert_str_eq(a, again);
	cr_assert_str_neq(a, b);
	cr_assert_leq(strlen(a) + SOCKET_TAIL, SOCKET_PATH);
	free(a);
	free(again);
	free(b);
}

Test(instance, values_of_a_connection_string_cannot_break_out)
{
	char *text = quoted("/tmp/a b'c\\d");

	cr_assert_str_eq(text, "'/tmp/a b\\'c\\\\d'");
	free(text);
}
