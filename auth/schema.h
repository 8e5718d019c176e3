/* schema.h - waits at start until the database has the schema this program was written for. */
#pragma once
#include <ev.h>

struct schema_wait;

/* on_ready(arg) runs once, later, when the newest applied migration is SCHEMA_VERSION; until then
 * it is asked again: PostgreSQL may be away, a migration may be under way. A newer one is fatal. */
struct schema_wait *schema_wait_new(struct ev_loop *loop, const char  *conninfo,
                                    void (*on_ready)(void *arg), void *arg);
/* Also from on_ready. NULL is fine. */
void schema_wait_free(struct schema_wait *s);
