/* files.h - files as context helpers give them (struct bw_file): opened below a root that they
 * cannot leave, read without standing in the loop's way, closed. */
#pragma once
#include <boardwalk/bundle.h>

/* The regular file at path below the folder root. BW_ENOTFOUND: there is none that may be read, or the way
 * to it has an empty, "." or ".." segment or a symbolic link; BW_EBUSY: no descriptor or memory;
 * BW_EIO. */
int file_open(const char *root, struct bw_str path, struct bw_file *ret);
/* Copies up to n octets from offset; *ret_n is 0 at the end. Waits for the disk if req is not NULL, and
 * blocks if it is. BW_EIO, BW_EBUSY, BW_EGONE, BW_ETIME. */
int file_read(struct bw_req *req, const struct bw_file *file, uint64_t offset, void *buf, size_t n,
              size_t *ret_n);
/* May be called twice. */
void file_close(struct bw_file *file);
