/* watch.h - bundles that want to know when the whiteboard's state has changed (runtime.h of the API). */
#pragma once
#include "registry.h"

void watch_init(struct registry *r);
void watch_done(struct registry *r);
/* A snapshot was published: whoever watches is told of its number soon. */
void watch_changed(void);
