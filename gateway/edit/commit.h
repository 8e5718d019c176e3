/* commit.h - what concerns all pending changes of a resolver, and its life. */
#pragma once
#include "edit.h"
#include <base/buf.h>

int           commit_all(struct bw_resolver *r);
int           commit_revert(struct bw_resolver *r);
int           commit_refresh(struct bw_resolver *r);
bool          commit_has_changes(const struct bw_resolver *r);
struct bw_str commit_error(const struct bw_resolver *r, struct bw_str *ret_path);
bool          commit_is_live(const struct bw_resolver *r);
int           commit_close(struct bw_resolver *r);
/* The list of RESOURCE_COMMIT, behind what is in out. There is at least one change. */
void commit_encode(const struct space *s, struct buf *out);
