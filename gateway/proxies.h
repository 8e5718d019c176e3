/* proxies.h - peers that are believed when they say for whom they ask. Everybody else's X-Forwarded-*
 * counts for nothing. */
#pragma once
#include <base/conf.h>
#include <boardwalk/types.h>

struct proxies;

/* list: addresses, networks in CIDR form ("10.0.0.0/8", "fd00::/8"), or "unix" for all who come over a
 * Unix socket. NULL with a reason in err: an element is none of these. Owned: proxies_free. */
struct proxies *proxies_new(const struct conf_list *list, char *err, size_t err_size);
void            proxies_free(struct proxies *p); /* NULL is fine */

/* address: as text, or "unix". NULL believes nobody. */
bool proxies_trust(const struct proxies *p, struct bw_str address);
/* The client among the addresses of one X-Forwarded-For field, to which each proxy adds its peer at the
 * end: the last that is no trusted proxy. Borrows the field. Absent with *ret_all: all are trusted, and the
 * field before this one goes on. Absent without: the next one is no address, and what stands before it
 * cannot be believed. */
struct bw_str proxies_client(const struct proxies *p, struct bw_str forwarded, bool *ret_all);

/* "http" or "https" if that is what the last element says, else absent. */
struct bw_str proxies_scheme(struct bw_str forwarded);
/* The last element, if it can be a host with or without a port; else absent. */
struct bw_str proxies_host(struct bw_str forwarded);
