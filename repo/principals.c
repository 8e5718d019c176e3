/* principals.c - the table of principal sets.
 *
 * A set is looked up by the octets of a handle, whose MAC says that auth wrote them: nobody else
 * chooses what is hashed here. Sets that no open handle uses stay until there are SPARE of them.
 * Owns: the sets. Runs in: repo's loop. Fails with: nothing. Tests:
 * tests/unit/repo/handles_test.c. */
#include "principals.h"
#include <base/fatal.h>
#include <stdlib.h>

#define N_BUCKETS 4096u
#define SPARE     8192u

struct principals_table {
	struct principals *buckets[N_BUCKETS];
	uint64_t           last_number;
	unsigned           n, sweep_at;
};

struct principals_table *principals_table_new(void)
{
	struct principals_table *t = xcalloc(1, sizeof(*t));

	t->sweep_at = SPARE;
	return t;
}

/* Frees the sets nobody uses; all: complains if there are others. */
static void sweep(struct principals_table *t, bool all)
{
	for (unsigned i = 0; i < N_BUCKETS; i++) {
		struct principals **at = &t->buckets[i], *p;

		while ((p = *at) != NULL) {
			if (p->refs > 0) {
				if (all)
					fatalx("a principal set is still referenced");
				at = &p->next;
				continue;
			}
			*at = p->next;
			free(p);
			t->n--;
		}
	}
}

void principals_table_free(struct principals_table *t)
{
	if (t == NULL)
		return;
	sweep(t, true);
	free(t);
}

unsigned principals_table_count(const struct principals_table *t)
{
	return t->n;
}

/* Independent of the order of the ids, which is auth's business. */
static uint64_t hash_of(const struct handle *h)
{
	uint64_t sum = h->kind == HANDLE_ADMIN;

	for (unsigned i = 0; i < h->n_principals; i++) {
		bool     group;
		uint64_t id = handle_principal(h, i, &group);
		uint64_t x = (id << 1 | group) * 0x9e3779b97f4a7c15u;

		sum += x ^ x >> 29;
	}
	return sum * 0xbf58476d1ce4e5b9u;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The first place whose value is not below. */
static unsigned find(const struct principals *p, uint64_t value)
{
	unsigned low = 0, high = p->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (p->ids[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool matches(const struct principals *p, const struct handle *h)
{
	if (p->n != h->n_principals || p->admin != (h->kind == HANDLE_ADMIN))
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		bool     group;
		uint64_t value = handle_principal(h, i, &group) << 1;
		unsigned place = find(p, value |= group);

		if (place == p->n || p->ids[place] != value)
			return false;
	}
	return true;
}

static struct principals *add(struct principals_table *t, const struct handle *h, uint64_t hash)
{
	struct principals *p = xmalloc(sizeof(*p) + h->n_principals * sizeof(p->ids[0]));

	if (t->n >= t->sweep_at) {
		sweep(t, false);
		t->sweep_at = t->n + SPARE; /* if most are in use, do not look at them each time */
	}
	*p = (struct principals){
		.number = ++t->last_number,
		.hash = hash,
		.next = t->buckets[hash >> 52],
		.admin = h->kind == HANDLE_ADMIN,
		.n = h->n_principals,
	};
	for (unsigned i = 0; i < p->n; i++) {
		bool group;

		p->ids[i] = handle_principal(h, i, &group) << 1;
		p->ids[i] |= group;
		p->has_groups |= group;
	}
	qsort(p->ids, p->n, sizeof(p->ids[0]), compare);
	t->buckets[hash >> 52] = p;
	t->n++;
	return p;
}

struct principals *principals_ref_of(struct principals_table *t, const struct handle *h)
{
	uint64_t           hash = hash_of(h);
	struct principals *p = t->buckets[hash >> 52];

	while (p != NULL && (p->hash != hash || !matches(p, h)))
		p = p->next;
	return principals_ref(p != NULL ? p : add(t, h, hash));
}

bool principals_has(const struct principals *p, uint64_t id, bool *ret_group)
{
	unsigned place = find(p, id << 1);

	if (place == p->n || p->ids[place] >> 1 != id)
		return false;
	*ret_group = p->ids[place] & 1;
	return true;
}

uint64_t principals_user(const struct principals *p)
{
	for (unsigned i = 0; i < p->n; i++)
		if (!(p->ids[i] & 1))
			return p->ids[i] >> 1;
	return 0;
}
