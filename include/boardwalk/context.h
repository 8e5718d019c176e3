/* context.h - the context a servlet runs in: its name, parameters and attributes, and the files that
 * its helper finds. One for each registered context and worker, shared by all bundles in it.
 *
 * A struct bw_context is borrowed: from a request until it ends, from init until destroy. Files are
 * those of the calling bundle, which therefore says who it is: a helper made by a factory sees each
 * bundle's own, and so does the default, the files embedded in the bundle. */
#pragma once
#include <boardwalk/value.h>

enum bw_context_field {
	BW_CONTEXT_FIELD_NAME,
	BW_CONTEXT_FIELD_PATH,        /* "" for a context at / */
	BW_CONTEXT_FIELD_SERVER_INFO, /* Boardwalk/ and its version */
};

/* A file as a context helper gives it: octets in memory, or an open descriptor, which the server
 * reads as the client takes it. Give it back with bw_file_close, once. */
struct bw_file {
	const void *data; /* NULL: read from fd, or it is empty */
	int         fd;   /* a regular file, read from its start; -1: none. Owned by the struct */
	uint64_t    n;    /* octets */
	int64_t     modified_ms; /* since 1970; 0: unknown */
	/* Gives data back; NULL: it lives as long as the bundle does. */
	void (*release)(struct bw_file *file);
	void *arg; /* for release */
};

/* One file that is part of a bundle's shared object. */
struct bw_embedded_file {
	const char *name; /* "www/index.html" */
	const void *data;
	uint64_t    n;
	int64_t     modified_ms;
};

/* All of them, by name, ascending as strcmp sees it. boardwalk_embed() of CMake makes one from a
 * folder; BW_BUNDLE_EMBEDDED names it in the bundle's descriptor. */
struct bw_embedded {
	size_t                         n;
	const struct bw_embedded_file *files;
};

/* One child: "/www/a.txt", or "/www/d/" for a directory. path: borrowed for the call. */
typedef void (*bw_path_cb)(void *arg, struct bw_str path);
