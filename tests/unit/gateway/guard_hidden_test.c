/* gateway/http/probe.c: a gateway whose guard the dynamic linker cannot see refuses to start. Linked
 * with the guard compiled for hidden visibility, as a careless -fvisibility=hidden would do. */
#include "http/http.h"
#include "server.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

Test(guard_hidden, start_is_refused)
{
	struct gateway_settings s = test_server_settings();
	char                    text[4096];
	int                     p[2], status;
	size_t                  n = 0;
	ssize_t                 r;
	pid_t                   pid;

	cr_assert(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(p[1], STDERR_FILENO);
		http_init(&(struct http_config){ .settings = &s,
		                                 .shared = &shared_map(1)->worker[0],
		                                 .public_fd = -1,
		                                 .management_fd = -1 });
		_exit(0);
	}
	close(p[1]);
	while ((r = read(p[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	text[n] = 0;
	waitpid(pid, &status, 0);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %x: %s", status, text);
	cr_assert(strstr(text, "guard: not in force") != NULL, "%s", text);
	close(p[0]);
}
