/* resource.h - resource services: files under patterns (OSGi 140.6). */
#pragma once
#include <boardwalk/servlet.h>

/* Serves a resource; its self is the struct snapshot_servlet that stands for it. */
extern const struct bw_servlet resource_servlet;
