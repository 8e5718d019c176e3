/* acl.c - the entries by path, and the one function that evaluates them.
 *
 *    scope /            entries: +everyone jcr:read
 *      ^ above
 *    scope /content     entries: -everyone jcr:read, +staff jcr:read
 *      ^ above
 *    scope /content/a   entries: +alice rep:write
 *
 * Evaluation: first the entries whose principal is a user of the set, from the deepest scope up to
 * the root, then those of its groups, again from the deepest; on one node the later entry first.
 * An entry whose restrictions do not hold is passed over. Each bit is decided by the first entry that
 * mentions it. What nobody mentions is denied. The entries of own lists, which only allow, are walked
 * the same way by those whom nothing else counts for.
 * Owns: scopes, entries, remembered decisions. Runs in: repo's loop. Fails with: nothing.
 * Tests: tests/unit/repo/acl_test.c, tests/conformance/acl.rows. */
#include "acl.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>

#define N_DECISIONS   16384u /* direct-mapped, 384 KiB */
#define DECISION_BITS 14

struct acl_scope {
	const struct acl_scope *above;
	struct acl_scope       *next; /* in the bucket */
	uint64_t                number;
	uint32_t                first, n; /* its entries */
	struct acl             *acl;
	uint32_t                path_n;
	bool restricted[2]; /* an entry of it or above: of nodes' lists, of own ones */
	char path[];
};

struct decision {
	uint64_t scope, who; /* numbers; a scope's is never used again */
	uint64_t allowed;
};

struct acl {
	struct acl_scope   **buckets; /* by path */
	size_t               n_buckets, n_scopes;
	struct acl_entry    *entries;
	struct bw_str       *names; /* of the entries' principals, in arena */
	size_t               n_entries, cap_entries;
	struct arena         arena; /* restrictions */
	struct privileges   *privileges;
	uint64_t            *own; /* principals whose own lists count, ascending */
	size_t               n_own, cap_own;
	enum acl_composition composition;
	struct acl_scope   **loading; /* in the order of loading */
	size_t               cap_loading;
	int64_t              generation;
	uint64_t             loads, last_number;
	uint8_t              hash_key[crypto_shorthash_KEYBYTES];
	struct decision      decisions[N_DECISIONS];
};

_Static_assert(1u << DECISION_BITS == N_DECISIONS, "the index of a decision");

/* ---- scopes ---- */

struct acl *acl_new(void)
{
	struct acl *acl = xcalloc(1, sizeof(*acl));

	crypto_shorthash_keygen(acl->hash_key);
	arena_init(&acl->arena);
	acl->privileges = privileges_new();
	acl->generation = -1;
	acl->loads = 1;
	return acl;
}

void acl_compose(struct acl *acl, enum acl_composition how)
{
	acl->composition = how;
	acl->loads++;
	memset(acl->decisions, 0, sizeof(acl->decisions));
}

static void free_scopes(struct acl *acl)
{
	for (size_t i = 0; i < acl->n_buckets; i++) {
		struct acl_scope *s = acl->buckets[i], *next;

		for (; s != NULL; s = next) {
			next = s->next;
			free(s);
		}
	}
	free(acl->buckets);
	acl->buckets = NULL;
	acl->n_buckets = acl->n_scopes = 0;
}

void acl_free(struct acl *acl)
{
	if (acl == NULL)
		return;
	free_scopes(acl);
	free(acl->entries);
	free(acl->names);
	free(acl->loading);
	free(acl->own);
	privileges_free(acl->privileges);
	arena_done(&acl->arena);
	free(acl);
}

static size_t bucket_of(const struct acl *acl, struct bw_str path)
{
	uint64_t hash;

	crypto_shorthash((uint8_t *)&hash, (const uint8_t *)path.p, path.n, acl->hash_key);
	return hash & (acl->n_buckets - 1);
}

static struct acl_scope *find(const struct acl *acl, struct bw_str path)
{
	struct acl_scope *s = acl->n_buckets > 0 ? acl->buckets[bucket_of(acl, path)] : NULL;

	while (s != NULL && (s->path_n != path.n || memcmp(s->path, path.p, path.n) != 0))
		s = s->next;
	return s;
}

/* The path above, whose root is "/"; false at the root. */
static bool go_up(struct bw_str *path)
{
	const char *slash = path->n > 1 ? memrchr(path->p, '/', path->n) : NULL;

	if (slash == NULL)
		return false;
	path->n = slash == path->p ? 1 : (size_t)(slash - path->p);
	return true;
}

const struct acl_scope *acl_scope_of(const struct acl *acl, struct bw_str path)
{
	const struct acl_scope *s;

	do {
		s = find(acl, path);
	} while (s == NULL && go_up(&path));
	return s;
}

const struct acl_scope *acl_scope_at(const struct acl *acl, struct bw_str path)
{
	return find(acl, path);
}

const struct acl_scope *acl_scope_of_child(const struct acl *acl, const struct acl_scope *parent,
                                           struct bw_str path)
{
	const struct acl_scope *s = find(acl, path);

	return s != NULL ? s : parent;
}

bool acl_list_entry(const struct acl_scope *scope, unsigned *i, const struct acl_entry **ret,
                    struct bw_str *ret_principal)
{
	while (*i < scope->n) {
		uint32_t at = scope->first + (*i)++;

		*ret = &scope->acl->entries[at];
		*ret_principal = scope->acl->names[at];
		if (!(*ret)->own)
			return true;
	}
	return false;
}

/* ---- loading ---- */

void acl_load_begin(struct acl *acl)
{
	free_scopes(acl);
	acl->n_entries = acl->n_own = 0;
	privileges_forget(acl->privileges);
	arena_done(&acl->arena);
	arena_init(&acl->arena);
}

struct arena *acl_arena(struct acl *acl)
{
	return &acl->arena;
}

struct privileges *acl_privileges(struct acl *acl)
{
	return acl->privileges;
}

void acl_load_own(struct acl *acl, uint64_t principal)
{
	if (acl->n_own == acl->cap_own) {
		acl->cap_own = acl->cap_own > 0 ? 2 * acl->cap_own : 64;
		acl->own = xrealloc(acl->own, acl->cap_own * sizeof(*acl->own));
	}
	acl->own[acl->n_own++] = principal;
}

static struct acl_scope *add_scope(struct acl *acl, struct bw_str path)
{
	struct acl_scope *s = xmalloc(sizeof(*s) + path.n);

	*s = (struct acl_scope){
		.number = ++acl->last_number,
		.first = (uint32_t)acl->n_entries,
		.acl = acl,
		.path_n = (uint32_t)path.n,
	};
	memcpy(s->path, path.p, path.n);
	if (acl->n_scopes == acl->cap_loading) {
		acl->cap_loading = acl->cap_loading > 0 ? 2 * acl->cap_loading : 64;
		acl->loading =
			xrealloc(acl->loading, acl->cap_loading * sizeof(struct acl_scope *));
	}
	acl->loading[acl->n_scopes++] = s;
	return s;
}

void acl_load_add(struct acl *acl, struct bw_str path, const struct acl_entry *entry)
{
	struct acl_scope *s = acl->n_scopes > 0 ? acl->loading[acl->n_scopes - 1] : NULL;

	if (path.n == 0 && entry->restriction != NULL)
		return; /* no restriction ever holds where there is no item */
	if (s == NULL || s->path_n != path.n || memcmp(s->path, path.p, path.n) != 0)
		s = add_scope(acl, path);
	if (acl->n_entries == acl->cap_entries) {
		acl->cap_entries = acl->cap_entries > 0 ? 2 * acl->cap_entries : 256;
		acl->entries = xrealloc(acl->entries, acl->cap_entries * sizeof(*acl->entries));
		acl->names = xrealloc(acl->names, acl->cap_entries * sizeof(*acl->names));
	}
	acl->names[acl->n_entries] = BW_ABSENT;
	acl->entries[acl->n_entries++] = *entry;
	s->restricted[entry->own] |= entry->restriction != NULL;
	s->n++;
}

void acl_load_name(struct acl *acl, struct bw_str principal)
{
	if (acl->n_entries > 0)
		acl->names[acl->n_entries - 1] =
			(struct bw_str){ arena_dup(&acl->arena, principal.p, principal.n),
			                 principal.n };
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void acl_load_end(struct acl *acl, int64_t generation)
{
	acl->n_buckets = 64;
	while (acl->n_buckets < 2 * acl->n_scopes)
		acl->n_buckets *= 2;
	acl->buckets = xcalloc(acl->n_buckets, sizeof(struct acl_scope *));
	for (size_t i = 0; i < acl->n_scopes; i++) {
		struct acl_scope *s = acl->loading[i];
		size_t            b = bucket_of(acl, (struct bw_str){ s->path, s->path_n });

		s->next = acl->buckets[b];
		acl->buckets[b] = s;
	}
	/* What is above comes first in the order of paths. */
	for (size_t i = 0; i < acl->n_scopes; i++) {
		struct acl_scope *s = acl->loading[i];
		struct bw_str     path = { s->path, s->path_n };

		s->above = go_up(&path) ? acl_scope_of(acl, path) : NULL;
		for (unsigned own = 0; own < 2; own++)
			s->restricted[own] |= s->above != NULL && s->above->restricted[own];
	}
	if (acl->n_own > 0)
		qsort(acl->own, acl->n_own, sizeof(*acl->own), by_number);
	acl->generation = generation;
	acl->loads++;
}

int64_t acl_generation(const struct acl *acl)
{
	return acl->generation;
}

uint64_t acl_loads(const struct acl *acl)
{
	return acl->loads;
}

/* ---- evaluation ---- */

struct verdict {
	uint64_t allowed, denied;
};

/* Of both classes, in one walk: what users' entries decide stands, whatever those of groups say. */
struct walk {
	const struct principals *who;
	const struct acl_item   *item;
	bool                     own; /* looks at own lists, else at those of nodes */
	struct verdict class[2];      /* users, groups */
};

static void apply(struct verdict *v, const struct acl_entry *e)
{
	if (e->allow)
		v->allowed |= e->privileges & ~v->denied;
	else
		v->denied |= e->privileges & ~v->allowed;
}

static struct bw_str path_of(const struct acl_scope *scope)
{
	return (struct bw_str){ scope->path, scope->path_n };
}

/* Nearly every set has a group: everyone. */
bool acl_uses_own(const struct acl *acl, const struct principals *who)
{
	if (who->has_groups || who->n == 0)
		return false;
	for (unsigned i = 0; i < who->n; i++) {
		uint64_t id = who->ids[i] >> 1;

		if (acl->n_own == 0 ||
		    bsearch(&id, acl->own, acl->n_own, sizeof(id), by_number) == NULL)
			return false;
	}
	return true;
}

/* A node's list, from its end. */
static void walk_list(struct walk *w, const struct acl_scope *scope, struct bw_str node)
{
	const struct acl_entry *first = &scope->acl->entries[scope->first];

	for (const struct acl_entry *e = first + scope->n; e-- > first;) {
		bool group;

		if (e->own == w->own && principals_has(w->who, e->principal, &group) &&
		    (e->restriction == NULL || restriction_holds(e->restriction, node, w->item)))
			apply(&w->class[group], e);
	}
}

static bool is_decided(const struct walk *w)
{
	return (w->class[0].allowed | w->class[0].denied) == ACL_ALL;
}

static uint64_t outcome(const struct walk *w)
{
	return w->class[0].allowed | (w->class[1].allowed & ~w->class[0].denied);
}

bool acl_is_restricted(const struct acl_scope *scope, const struct principals *who)
{
	if (scope == NULL || !(scope->restricted[0] || scope->restricted[1]))
		return false;
	if (!acl_uses_own(scope->acl, who))
		return scope->restricted[0];
	return scope->restricted[1] || scope->acl->composition != ACL_ALONE;
}

/* By own lists or by those of nodes. */
static uint64_t walk_up(const struct acl_scope *scope, const struct principals *who,
                        const struct acl_item *item, bool own)
{
	struct walk w = { .who = who, .item = item, .own = own };

	for (; scope != NULL && !is_decided(&w); scope = scope->above)
		walk_list(&w, scope, path_of(scope));
	return outcome(&w);
}

static uint64_t compose(const struct acl *acl, uint64_t own, uint64_t nodes)
{
	return acl->composition == ACL_AND ? own & nodes : own | nodes;
}

uint64_t acl_evaluate(const struct acl_scope *scope, const struct principals *who,
                      const struct acl_item *item)
{
	bool     own;
	uint64_t allowed;

	if (who->admin)
		return ACL_ALL;
	if (scope == NULL)
		return 0;
	own = acl_uses_own(scope->acl, who);
	allowed = walk_up(scope, who, item, own);
	if (!own || scope->acl->composition == ACL_ALONE)
		return allowed;
	return compose(scope->acl, allowed, walk_up(scope, who, item, false));
}

uint64_t acl_evaluate_levels(const struct acl *acl, const struct acl_level *levels, unsigned n,
                             const struct principals *who, const struct acl_item *item)
{
	struct walk w = { .who = who, .item = item };
	bool        own = acl_uses_own(acl, who);
	uint64_t    allowed = 0;

	if (who->admin)
		return ACL_ALL;
	if (own)
		allowed = walk_up(acl_scope_of(acl, item->path), who, item, true);
	if (own && acl->composition == ACL_ALONE)
		return allowed;
	for (unsigned i = 0; i < n && !is_decided(&w); i++)
		if (levels[i].scope != NULL)
			walk_list(&w, levels[i].scope, levels[i].node);
	return own ? compose(acl, allowed, outcome(&w)) : outcome(&w);
}

uint64_t acl_allowed(struct acl *acl, const struct acl_scope *scope, const struct principals *who)
{
	struct decision *d;

	if (who->admin)
		return ACL_ALL;
	if (scope == NULL)
		return 0;
	d = &acl->decisions[(scope->number * 0x9e3779b97f4a7c15u ^
	                     who->number * 0xbf58476d1ce4e5b9u) >>
	                    (64 - DECISION_BITS)];
	if (d->scope != scope->number || d->who != who->number)
		*d = (struct decision){ scope->number, who->number,
			                acl_evaluate(scope, who, NULL) };
	return d->allowed;
}

/* Entries with restrictions hold for some properties and not for others; all others make no difference
 * between the properties of a node. */
static bool hides_some(const struct acl *acl, const struct acl_scope *scope,
                       const struct principals *who)
{
	struct acl_item item = { .path = path_of(scope) };
	bool            group, own = acl_uses_own(acl, who);
	bool            both = own && acl->composition != ACL_ALONE;

	for (uint32_t i = 0; i < scope->n; i++) {
		const struct acl_entry *e = &acl->entries[scope->first + i];

		if ((both || e->own == own) && e->restriction != NULL &&
		    (e->privileges & ACL_READ) && principals_has(who, e->principal, &group))
			return true;
	}
	return (acl_evaluate(scope, who, &item) & ACL_READ) == ACL_READ_NODES;
}

unsigned acl_hiding(const struct acl *acl, const struct principals *who, struct bw_str *ret,
                    unsigned max)
{
	unsigned n = 0;

	if (who->admin)
		return 0;
	for (size_t i = 0; i < acl->n_buckets; i++) {
		for (const struct acl_scope *s = acl->buckets[i]; s != NULL && n <= max;
		     s = s->next) {
			if (s->path_n == 0 || !hides_some(acl, s, who))
				continue;
			if (n < max)
				ret[n] = path_of(s);
			n++;
		}
	}
	return n;
}
