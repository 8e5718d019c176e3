/* ask.h - a request as a row writes it, read for whoever sends it: world.c into a struct,
 * gateway.c onto a connection. */
#pragma once
#include "world.h"

struct ask {
	const char    *method, *target;
	bool           http10;
	struct header *headers;
	size_t         n_headers;
	char          *body; /* NULL: none */
	size_t         n_body;
};

/* "[METHOD] target [HTTP/1.0] Name:value body="..." part=name:file:content": see README.md. Ends
 * the program with status 2 on one that cannot be read. */
struct ask ask_read(const char *text);
