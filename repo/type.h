/* type.h - which resource types have a super type, and the chains that follow from it.
 *
 * A type is a string such as "demo/page"; the resource that stands for it lies at that path (':' is
 * written '/') below one of the search paths, or at it if it is absolute. The first such resource
 * that has a sling:resourceSuperType says the type's super type. */
#pragma once
#include <boardwalk/types.h>

#define TYPE_MAX_CHAIN 32u

struct type_graph;

/* search_path: n entries that begin and end with '/'; borrowed. */
struct type_graph *type_graph_new(char *const *search_path, size_t n);
void               type_graph_free(struct type_graph *g);
/* Replaces all links: begin, add..., end. */
void type_load_begin(struct type_graph *g);
void type_load_add(struct type_graph *g, struct bw_str path, struct bw_str super_type);
void type_load_end(struct type_graph *g);
/* Raised by each load, never 0: chains worked out under another number are void. */
uint64_t type_loads(const struct type_graph *g);

/* The super types that follow a resource's own type, nearest first, at most TYPE_MAX_CHAIN; returns
 * how many. own_super: the resource's own, before its type's; absent if it has none. Strings are
 * own_super or borrowed until the next load. *ret_cycle: the chain came back to a type it had,
 * which stands in it once more as its last. */
unsigned type_chain(const struct type_graph *g, struct bw_str type, struct bw_str own_super,
                    struct bw_str chain[TYPE_MAX_CHAIN], bool *ret_cycle);
/* All types that are `type` or have it in their chain, in every way to write them; and, same, the ways
 * to write `type` itself. Each is told to add, perhaps more than once; borrowed for the call. */
void type_at_or_below(const struct type_graph *g, struct bw_str                    type,
                      void (*add)(void *arg, struct bw_str name, bool same), void *arg);
/* Whether a change at this path may change what is executed: it lies below a search path. */
bool type_is_below_search_path(const struct type_graph *g, struct bw_str path);
