/* watch.c - `bundle watch DIR`: installs or updates whatever is renamed into a folder.
 *
 * The folder is watched before it is looked through, so nothing falls between both. A file counts when it
 * has its name, or when it has been written to the end: a half-written one is no news. A file that is
 * there as it was (by its digest) is none either, so a restart changes nothing.
 *
 * Owns: the inotify descriptor. Runs in: the command, until SIGTERM or SIGINT. Fails with: false if the
 * folder cannot be watched; what is wrong with one file is a line on stderr.
 * Tests: tests/system/bundle_test.c. */
#include <base/fatal.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bundle.h"
#include "change.h"

static bool is_bundle_name(const char *name)
{
	size_t n = strlen(name);

	return n > 3 && name[0] != '.' && strcmp(name + n - 3, ".so") == 0;
}

enum known {
	ABSENT,
	SAME,
	OTHER
}; /* the store has nothing of that name, these octets, or others */

static enum known compare(const struct instance *instance, const struct bundle_file *file)
{
	char                      *folder = xasprintf("%s/bundles", instance->data);
	struct store               store;
	const struct store_bundle *b;
	char                       err[512];
	enum known                 ret = ABSENT;

	if (!store_read(folder, &store, err, sizeof(err)))
		complain("%s", err);
	b = store_find(&store, file->name);
	if (b != NULL)
		ret = strcmp(b->sha256, file->sha256) == 0 ? SAME : OTHER;
	store_done(&store);
	free(folder);
	return ret;
}

static void take(const struct instance *instance, const char *folder, const char *name)
{
	char              *path = xasprintf("%s/%s", folder, name);
	struct bundle_file file;

	if (bundle_file_read(&file, path))
		switch (compare(instance, &file)) {
		case ABSENT:
			change_run(instance, CHANGE_INSTALL, file.name, &file);
			break;
		case OTHER:
			change_run(instance, CHANGE_UPDATE, file.name, &file);
			break;
		case SAME:
			break;
		}
	bundle_file_done(&file);
	free(path);
}

static void take_all(const struct instance *instance, const char *folder)
{
	struct dirent **names;
	int             n = scandir(folder, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (is_bundle_name(names[i]->d_name))
			take(instance, folder, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* True: go on. */
static bool on_news(const struct instance *instance, const char *folder, int fd)
{
	_Alignas(struct inotify_event) char buf[16384];
	ssize_t                             n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN || complain_errno("%s", folder);
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const struct inotify_event *)(buf + at);

		if (e->mask & IN_Q_OVERFLOW)
			take_all(instance, folder);
		else if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED))
			return complain("%s: it is not there any more", folder);
		else if (e->len > 0 && is_bundle_name(e->name))
			take(instance, folder, e->name);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	return true;
}

static bool watch(const struct instance *instance, const char *folder, int fd, int signals)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
		                { .fd = fd, .events = POLLIN } };

	take_all(instance, folder);
	printf("watching %s\n", folder);
	fflush(stdout);
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return complain_errno("%s", folder);
		if (fds[0].revents != 0)
			return true;
		if (fds[1].revents != 0 && !on_news(instance, folder, fd))
			return false;
	}
}

bool bundle_watch(struct cli *cli, const struct instance *instance)
{
	const char *folder = cli->operands[1];
	int         fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), signals;
	sigset_t    set;
	bool        done;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0 || signals < 0 ||
	    inotify_add_watch(fd, folder,
	                      IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF |
	                              IN_ONLYDIR) < 0)
		done = complain_errno("%s", folder);
	else
		done = watch(instance, folder, fd, signals);
	if (signals >= 0)
		close(signals);
	if (fd >= 0)
		close(fd);
	return done;
}
