/* mapping.h - which service user a bundle acts as: the entries bundle[:subservice]=user of the
 * setting auth.service_users. */
#pragma once
#include <base/conf.h>
#include <boardwalk/err.h>
#include <boardwalk/types.h>

struct mapping;

/* NULL with a reason in err: an entry maps to a list, or two map the same (bundle, subservice). An
 * entry that is malformed otherwise is left out with a warning; the others stay. */
struct mapping *mapping_new(const struct conf_list *entries, char *err, size_t err_size);
void            mapping_free(struct mapping *m); /* NULL is fine */
/* The user of (bundle, subservice), else of the bundle without a subservice; absent if there is
 * neither: there is no default. An empty subservice is none. Borrowed until mapping_free. */
struct bw_str mapping_find(const struct mapping *m, struct bw_str bundle, struct bw_str subservice);
