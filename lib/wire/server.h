/* server.h - the answering side's sockets: accepts connections of permitted users, gives each a
 * channel, runs them on a libev loop. Used by auth and repo, so that both answer alike. Ignores
 * SIGPIPE in the process. At most WIRE_SERVER_MAX_CONNS connections; more wait in the backlog. */
#pragma once
#include <ev.h>
#include <sys/types.h>
#include <wire/chan.h>

#define WIRE_SERVER_MAX_CONNS 1024u

struct wire_server;

/* One connected gateway worker. */
struct wire_conn {
	struct wire_chan   *chan;
	struct wire_server *server;
	/* Repo: drawn at accept and said in HELLO. Auth: learned from the peer's. */
	uint8_t  channel[16];
	bool     greeted; /* the peer's HELLO has come */
	uint64_t id;      /* 1, 2, ... since start, for the log */
	void    *user;    /* the owner's */
};

struct wire_server_ops {
	/* Greeted. channel: 16 octets, also where the peer said it (auth). Returns BW_OK, or an error:
	 * the connection is closed with that reason and on_close does not run. (Not by
	 * wire_chan_close from here.) */
	int (*on_open)(struct wire_conn *c, struct bw_str channel);
	/* A parsed request whose row permits it. m is borrowed for the call, its bytes until on_batch
	 * returns, but a password in it is wiped after the call. Answer now or later with wire_answer
	 * / wire_fail, exactly once unless the row is one-way. */
	void (*on_message)(struct wire_conn *c, const struct wire_question *q,
	                   struct wire_message *m);
	/* All messages of one read have been handed over, and the connection is still open. NULL: not
	 * wanted. */
	void (*on_batch)(struct wire_conn *c);
	/* Gone, after a successful on_open; log the reason. Questions not answered yet must not be
	 * answered any more: c is freed after this. (Who never got that far is logged by the server.) */
	void (*on_close)(struct wire_conn *c, const char *reason);
	size_t conn_size; /* 0, or size of a struct that begins with struct wire_conn */
};

/* permit: the message ids this process answers (its permit table), 0-terminated. draw_channel:
 * repo. uid: the only peer user besides ourselves that is let in; (uid_t)-1: nobody else. */
struct wire_server *wire_server_new(struct ev_loop *loop, int listener, enum wire_peer self,
                                    const enum wire_id *permit, bool draw_channel, uid_t uid,
                                    const struct wire_server_ops *ops, void *owner);
void               *wire_server_owner(const struct wire_server *s);
/* Stops accepting, sends what the sockets take at once and closes every connection. The listener
 * stays the caller's. */
void wire_server_free(struct wire_server *s);
/* Output of all connections leaves at the end of each loop turn by itself (ev_prepare). */
