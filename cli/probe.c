/* probe.c - the command `probe`, for health checks, and the last step of `up`.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor. Fails with: false.
 * Tests: tests/system/compose_test.c. */
#include "probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* "127.0.0.1:8081" or the path of a socket. 0 if it is neither. */
static socklen_t parse_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_un *un = (struct sockaddr_un *)ret;
	const char         *colon = strrchr(text, ':');
	char                host[64];

	memset(ret, 0, sizeof(*ret));
	if (text[0] == '/') {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", text);
		return sizeof(*un);
	}
	if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
		return 0;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
		return 0;
	if (in->sin_addr.s_addr == htonl(INADDR_ANY))
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(*in);
}

/* A connection; -1 if nobody listens there, or it is no address. */
static int open_connection(const char *text)
{
	const struct timeval    patience = { .tv_sec = 2 };
	struct sockaddr_storage address;
	socklen_t               size = parse_address(text, &address);
	int fd = size > 0 ? socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address, size) == 0)
		return fd;
	close(fd);
	return -1;
}

bool probe_ready(const char *address)
{
	static const char request[] = "GET /health/ready HTTP/1.0\r\n\r\n";
	static const char good[] = " 200 ";
	char              answer[64] = "";
	int               fd = open_connection(address);
	bool              ready;

	if (fd < 0)
		return false;
	ready = send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) ==
	                (ssize_t)sizeof(request) - 1 &&
	        recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL) > 12 &&
	        strncmp(answer + sizeof("HTTP/1.1") - 1, good, sizeof(good) - 1) == 0;
	close(fd);
	return ready;
}

/* auth and repo speak no HTTP: that somebody accepts on their socket is all that can be asked. */
int probe_main(struct cli *cli)
{
	const char *address = cli->operands[0];
	int         fd;

	if (address[0] != '/')
		return probe_ready(address) ? CLI_OK : CLI_FAILED;
	fd = open_connection(address);
	if (fd < 0)
		return CLI_FAILED;
	close(fd);
	return CLI_OK;
}
