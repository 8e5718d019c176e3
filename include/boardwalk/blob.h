/* blob.h - binary values: octets of a property, up to 1 GiB, written and read in pieces.
 *
 * Such a value is never in memory as a whole, in no process. What a property holds is a short text,
 * BW_VALUE_BINARY, that stands for the octets (JCR 2.0 section 3.6.1.2, javax.jcr.Binary):
 *
 *    err = bw_blob_create(r, &out);
 *    while (err == BW_OK && (n = bw_req_read(...)) > 0)
 *            err = bw_blob_write(out, piece, n);
 *    if (err == BW_OK)
 *            err = bw_blob_finish(out, &value);
 *    if (err == BW_OK)
 *            err = bw_resolver_set(r, path, "jcr:data", &value);
 *    ...and bw_resolver_commit.
 *
 *    err = bw_blob_open(res, "jcr:data", 0, &in);
 *    for (at = 0; err == BW_OK && at < bw_blob_length(in); at += n) {
 *            err = bw_blob_read(in, at, piece, sizeof(piece), &n);
 *            ...
 *    }
 *
 * Octets that are written are kept for an hour without a property that holds them. Equal content is
 * stored once. Each piece is checked against its hash as it is read. A value that takes longer than a
 * resolver handle lives, a minute, goes on with the credentials of the request; the resolver itself does
 * not. So what may take that long is set through a clone of it (bw_resolver_clone), made when the value is
 * finished, for otherwise that is BW_EEXPIRED. Writers and readers live as long as the request, and need
 * not be closed. */
#pragma once
#include <boardwalk/bundle.h>

struct bw_blob_writer;
struct bw_blob_reader;

/* The functions below, as a table of its own. */
struct bw_blobs {
	size_t size;
	int (*create)(struct bw_resolver *r, struct bw_blob_writer **ret);
	int (*write)(struct bw_blob_writer *w, const void *p, size_t n);
	int (*finish)(struct bw_blob_writer *w, struct bw_value *ret);
	int (*open)(struct bw_resource *res, const char *name, size_t index,
	            struct bw_blob_reader **ret);
	uint64_t (*length)(const struct bw_blob_reader *reader);
	int (*read)(struct bw_blob_reader *reader, uint64_t offset, void *p, size_t n,
	            size_t *ret_n);
};

/* A value to be written by whom the resolver acts for. BW_ESTATE: the resolver is closed. */
static inline int bw_blob_create(struct bw_resolver *r, struct bw_blob_writer **ret_writer)
{
	return bw_host->blobs->create(r, ret_writer);
}

/* The next n octets, copied. BW_ECONTENTSIZE: more than 1 GiB; BW_EBUSY: too many values are on the way,
 * or 64 of this user are not finished. After a failure the writer only fails. (waits) */
static inline int bw_blob_write(struct bw_blob_writer *writer, const void *p, size_t n)
{
	return bw_host->blobs->write(writer, p, n);
}

/* There are no more. *ret_value: for bw_resolver_set and bw_resolver_create through a resolver of the same
 * user, in this request, more than once if wanted. (waits) */
static inline int bw_blob_finish(struct bw_blob_writer *writer, struct bw_value *ret_value)
{
	return bw_host->blobs->finish(writer, ret_value);
}

/* Value number index of a Binary property, as the resource shows it. BW_ENOTFOUND: there is none;
 * BW_EINVAL: it is of another type; BW_ESTATE: it is pending, and is read after bw_resolver_commit. */
static inline int bw_blob_open(struct bw_resource *res, const char *name, size_t index,
                               struct bw_blob_reader **ret_reader)
{
	return bw_host->blobs->open(res, name, index, ret_reader);
}

/* Octets in all. */
static inline uint64_t bw_blob_length(const struct bw_blob_reader *reader)
{
	return bw_host->blobs->length(reader);
}

/* At least one and at most n octets from offset on, 0 only at the end or for n 0. BW_ECONFLICT: the
 * property has another value by now; BW_ENOTFOUND: it may not be read any more, or is gone; BW_EIO: the
 * octets are damaged, which repo logs. (waits) */
static inline int bw_blob_read(struct bw_blob_reader *reader, uint64_t offset, void *p, size_t n,
                               size_t *ret_n)
{
	return bw_host->blobs->read(reader, offset, p, n, ret_n);
}
