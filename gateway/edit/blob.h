/* blob.h - binary values: the table of include/boardwalk/blob.h. */
#pragma once
#include <boardwalk/blob.h>

extern const struct bw_blobs resolver_blobs;
