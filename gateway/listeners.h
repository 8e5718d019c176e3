/* listeners.h - the sockets that the parent opens once and its workers and their successors share. */
#pragma once
#include <stdint.h>

struct gateway_settings;

struct listeners {
	int     *public_fds; /* one per worker: the kernel spreads connections over them */
	uint32_t n;
	int      management_fd; /* shared by all; -1: none */
	int      control_fd;    /* the parent's own; -1: none. Taken by it */
};

/* Fatal if an address is none or taken. */
void listeners_open(struct listeners *l, const struct gateway_settings *s, uint32_t n);
void listeners_close(struct listeners *l);
