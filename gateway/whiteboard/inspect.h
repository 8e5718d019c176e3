/* inspect.h - looking inside (OSGi 140.9): the whiteboard's records, and who would answer what.
 *
 * Both are written from one snapshot, the current one, and refer to nothing afterwards. Records and
 * fields have OSGi's names (RuntimeDTO, ServletDTO ...); a failed one has the name of its code,
 * too, and each that comes from a service the bundle's name, and that it is a stand-in if it is. */
#pragma once
#include <base/buf.h>
#include <boardwalk/types.h>

struct bw_servlet;
struct json_out;

/* Everything: RuntimeDTO. */
void inspect_whiteboard(struct buf *json);
/* put adds members to it, of what is no whiteboard's; one caller. */
void inspect_on_whiteboard(void (*put)(struct json_out *j));
/* Who would answer that method and target (as in a request line), what would run, and why each
 * other candidate would not: RequestInfoDTO and more. BW_EINVAL: the target is none; the object
 * says 400. */
int inspect_route(const char *method, const char *target, struct buf *json);
/* Of a servlet that is a way of its own (the engine): adds members to the open object of a route
 * that leads to it, and returns the status if that is known, else 0. type NULL: no more. */
void inspect_on_route(const struct bw_servlet *type,
                      int (*explain)(struct json_out *j, struct bw_str path));
