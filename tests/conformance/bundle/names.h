/* names.h - which bundle has which name: the test's bundles are shared objects of their own, and rows.so
 * registers for all of them. One small library that all of them link to holds the table. */
#pragma once
struct bw_bundle;

/* bundle: NULL when it stops; whoever wants to know is told first, as its services are about to go. */
__attribute__((visibility("default"))) void names_put(const char *name, struct bw_bundle *bundle);
/* NULL: no such bundle. */
__attribute__((visibility("default"))) struct bw_bundle *names_get(const char *name);
__attribute__((visibility("default"))) void names_on_stop(void (*cb)(struct bw_bundle *bundle));
