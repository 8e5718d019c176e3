/* unix_socket.h - the sockets between the processes of a node. All descriptors are non-blocking and
 * close-on-exec. Errors: -1 with errno. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Binds path and listens. A stale socket file (nobody listens) is replaced; a live one is
 * EADDRINUSE. mode: permissions of the socket file. ENAMETOOLONG beyond 107 octets. */
int unix_listen(const char *path, mode_t mode, int backlog);
/* Starts to connect; a unix stream connects at once or fails. */
int unix_connect(const char *path);
/* The next connection, or -1 with EAGAIN. ret_uid (may be NULL): the peer's user by SO_PEERCRED. */
int unix_accept(int listener, uid_t *ret_uid);
