/* mapping.c - the service user mapping, as Sling's service user mapper reads it.
 *
 *     org.example.shop:orders=shop-writer        first '=' splits; a colon before it begins the
 *     `---- bundle --' `sub-' `-- user -'        subservice, one behind it belongs to the user
 *
 * Owns: a sorted copy of the entries. Runs in: start-up, the loop (look-up).
 * Fails with: a line for the operator. Logs: entries it leaves out. Tests:
 * tests/unit/auth/mapping_test.c. */
#include "mapping.h"
#include "credential.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>

struct entry {
	struct bw_str bundle, subservice, user; /* subservice.n 0: none; all in text */
	char         *text;
};

struct mapping {
	size_t       n;
	struct entry entries[];
};

static int compare(struct bw_str a, struct bw_str b)
{
	int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int                 c = compare(x->bundle, y->bundle);

	return c != 0 ? c : compare(x->subservice, y->subservice);
}

/* Cuts e->text into the entry's parts; false if one is empty or there is no '='. */
static bool split(struct entry *e)
{
	char *equals = strchr(e->text, '='), *colon;

	if (equals == NULL)
		return false;
	colon = memchr(e->text, ':', (size_t)(equals - e->text));
	e->user = bw_str(equals + 1);
	e->bundle =
		(struct bw_str){ e->text, (size_t)((colon != NULL ? colon : equals) - e->text) };
	e->subservice = BW_STR("");
	if (colon != NULL)
		e->subservice = (struct bw_str){ colon + 1, (size_t)(equals - colon - 1) };
	return e->bundle.n > 0 && e->user.n > 0 && (colon == NULL || e->subservice.n > 0);
}

/* The user's name in the form that accounts are looked up by. */
static bool normalise_user(struct entry *e)
{
	char          mem[CREDENTIAL_NAME + 1];
	struct bw_str name;
	size_t        before = (size_t)(e->user.p - e->text);

	if (credential_name(e->user, mem, &name) != BW_OK)
		return false;
	if (name.p == mem && !bw_str_eq(name, e->user)) {
		char *text = xasprintf("%.*s%s", (int)before, e->text, mem);

		free(e->text);
		e->text = text;
		split(e); /* only the user's octets changed */
	}
	return true;
}

/* -1 for a list; a malformed entry is left out. */
static int add(struct mapping *m, const char *text, char *err, size_t err_size)
{
	struct entry e = { .text = xstrdup(text) };
	bool         is_entry = split(&e);

	if (is_entry && e.user.p[0] == '[') {
		snprintf(err, err_size,
		         "auth.service_users: \"%s\": a list of principals is not "
		         "supported, name one service user",
		         text);
		free(e.text);
		return -1;
	}
	if (is_entry && normalise_user(&e)) {
		m->entries[m->n++] = e;
		return 0;
	}
	log_warning(0, "auth.service_users: \"%s\" is left out: not bundle[:subservice]=user",
	            text);
	free(e.text);
	return 0;
}

static int sort(struct mapping *m, char *err, size_t err_size)
{
	qsort(m->entries, m->n, sizeof(m->entries[0]), compare_entries);
	for (size_t i = 1; i < m->n; i++) {
		if (compare_entries(&m->entries[i - 1], &m->entries[i]) != 0)
			continue;
		snprintf(err, err_size,
		         "auth.service_users: \"%s\" and \"%s\" map the same service",
		         m->entries[i - 1].text, m->entries[i].text);
		return -1;
	}
	return 0;
}

struct mapping *mapping_new(const struct conf_list *entries, char *err, size_t err_size)
{
	struct mapping *m = xcalloc(1, sizeof(*m) + entries->n * sizeof(m->entries[0]));
	int             r = 0;

	for (size_t i = 0; r == 0 && i < entries->n; i++)
		r = add(m, entries->items[i], err, err_size);
	if (r != 0 || sort(m, err, err_size) != 0) {
		mapping_free(m);
		return NULL;
	}
	return m;
}

void mapping_free(struct mapping *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->entries[i].text);
	free(m);
}

static struct bw_str find(const struct mapping *m, struct bw_str bundle, struct bw_str subservice)
{
	struct entry        wanted = { .bundle = bundle, .subservice = subservice };
	const struct entry *e = bsearch(&wanted, m->entries, m->n, sizeof(wanted), compare_entries);

	return e != NULL ? e->user : BW_ABSENT;
}

struct bw_str mapping_find(const struct mapping *m, struct bw_str bundle, struct bw_str subservice)
{
	struct bw_str user = BW_ABSENT;

	if (subservice.n > 0)
		user = find(m, bundle, subservice);
	return user.p != NULL ? user : find(m, bundle, BW_STR(""));
}
