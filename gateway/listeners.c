/* listeners.c - the public sockets, the management socket and the operator's.
 *
 * One public socket per worker, bound to the same address with SO_REUSEPORT. They stay open in the
 * parent and in every worker as long as they live: closing one would reset the connections that wait in its
 * queue. So a dead worker's clients are served from the same socket, by the others until its successor is
 * up (control/porter.h).
 *
 * Owns: the descriptors, until listeners_close. Runs in: the parent, at start. Fails with: fatal.
 * Tests: tests/system. */
#include "listeners.h"

#include "settings.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096 /* the kernel caps it at net.core.somaxconn */

struct address {
	struct sockaddr_storage sa;
	socklen_t               len;
};

/* "127.0.0.1:8080", "[::1]:8080", "*:8080". setting: its name, for the message. */
static struct address parse_address(const char *setting, const char *text)
{
	struct addrinfo  hints = { .ai_socktype = SOCK_STREAM,
		                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	struct addrinfo *found;
	struct address   ret;
	char             host[128];
	const char      *colon = strrchr(text, ':');
	size_t           n = colon ? (size_t)(colon - text) : 0;

	/* getaddrinfo takes 70000 for 4464. */
	if (colon == NULL || n >= sizeof(host) || strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		fatalx("%s: \"%s\" is not ADDRESS:PORT", setting, text);
	memcpy(host, text, n);
	host[n] = 0;
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		memmove(host, host + 1, n - 2);
		host[n - 2] = 0;
	}
	if (getaddrinfo(strcmp(host, "*") == 0 || n == 0 ? NULL : host, colon + 1, &hints,
	                &found) != 0)
		fatalx("%s: \"%s\" is not ADDRESS:PORT", setting, text);
	memcpy(&ret.sa, found->ai_addr, found->ai_addrlen);
	ret.len = found->ai_addrlen;
	freeaddrinfo(found);
	return ret;
}

static int bind_to(const char *setting, const char *text, const struct address *a, int option)
{
	int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)) != 0 ||
	    bind(fd, (const struct sockaddr *)&a->sa, a->len) != 0 || listen(fd, BACKLOG) != 0)
		fatal("%s: %s", setting, text);
	return fd;
}

static void open_public(struct listeners *l, const char *text)
{
	struct address a = parse_address("gateway.listen", text);
	int            alone;

	/* With SO_REUSEPORT two gateways of one user would share the port without a word. So the
	 * address is taken once without it; a listener that is there already refuses that. */
	alone = bind_to("gateway.listen", text, &a, SO_REUSEADDR);
	if (getsockname(alone, (struct sockaddr *)&a.sa, &a.len) != 0) /* of port 0: which one */
		fatal("gateway.listen");
	close(alone);
	for (uint32_t i = 0; i < l->n; i++)
		l->public_fds[i] = bind_to("gateway.listen", text, &a, SO_REUSEPORT);
}

static int open_management(const char *text)
{
	struct address a;
	int            fd;

	if (text == NULL || text[0] == 0)
		return -1;
	if (strchr(text, '/') == NULL) {
		a = parse_address("gateway.management", text);
		return bind_to("gateway.management", text, &a, SO_REUSEADDR);
	}
	fd = unix_listen(text, 0660, BACKLOG);
	if (fd < 0)
		fatal("gateway.management: %s", text);
	return fd;
}

/* Everybody may connect; who may speak is decided by who the kernel says it is (control/control.c). */
static int open_control(const char *path)
{
	int fd;

	if (path == NULL || path[0] == 0)
		return -1;
	fd = unix_listen(path, 0666, 16);
	if (fd < 0)
		fatal("gateway.control_socket: %s", path);
	return fd;
}

void listeners_open(struct listeners *l, const struct gateway_settings *s, uint32_t n)
{
	l->n = n;
	l->public_fds = xcalloc(n, sizeof(int));
	open_public(l, s->listen);
	l->management_fd = open_management(s->management);
	l->control_fd = open_control(s->control_socket);
}

void listeners_close(struct listeners *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		close(l->public_fds[i]);
	free(l->public_fds);
	if (l->management_fd >= 0)
		close(l->management_fd);
}
