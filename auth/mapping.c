/* mapping.c - the service user mapping, as Sling's service user mapper reads it.
 *
 *     org.example.shop:orders=shop-writer        first '=' splits; a colon before it begins the
 *     `---- bundle --' `sub-' `-- user -'        subservice, one behind it belongs to the user
 *     org.example.shop=[shop-reader,shop-tax]    a list: names trimmed, empty and repeated ones dropped
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
	struct bw_str         bundle, subservice, user; /* subservice.n 0: none; all in text */
	char                 *text;
	struct mapping_target target; /* names and their octets are on the heap */
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

/* Lists are apart from users: a service may be mapped to one of each. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int                 c = x->target.is_list - y->target.is_list;

	if (c == 0)
		c = compare(x->bundle, y->bundle);
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

static void entry_done(struct entry *e)
{
	for (unsigned i = 0; i < e->target.n; i++)
		free((char *)e->target.names[i].p);
	free((struct bw_str *)e->target.names);
	free(e->text);
}

/* One more name in the form that accounts are looked up by; one that is there stays where it is. */
static bool add_name(struct entry *e, struct bw_str user)
{
	char          mem[CREDENTIAL_NAME + 1];
	struct bw_str name, *names = (struct bw_str *)e->target.names;

	if (credential_name(user, mem, &name) != BW_OK)
		return false;
	for (unsigned i = 0; i < e->target.n; i++)
		if (bw_str_eq(names[i], name))
			return true;
	names = xrealloc(names, (e->target.n + 1) * sizeof(*names));
	names[e->target.n++] = (struct bw_str){ xasprintf("%.*s", (int)name.n, name.p), name.n };
	e->target.names = names;
	return true;
}

static struct bw_str trim(struct bw_str s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct bw_str){ s.p + 1, s.n - 1 };
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* The names between the brackets of e->user. */
static bool add_names(struct entry *e)
{
	struct bw_str rest = { e->user.p + 1, e->user.n - 2 };

	while (rest.n > 0) {
		const char   *comma = memchr(rest.p, ',', rest.n);
		size_t        n = comma != NULL ? (size_t)(comma - rest.p) : rest.n;
		struct bw_str name = trim((struct bw_str){ rest.p, n });

		if (name.n > 0 && !add_name(e, name))
			return false;
		rest.p += n + (comma != NULL);
		rest.n -= n + (comma != NULL);
	}
	return true;
}

/* False: malformed, or a name is none. */
static bool read_entry(struct entry *e)
{
	if (!split(e))
		return false;
	e->target.is_list = e->user.p[0] == '[';
	if (!e->target.is_list)
		return add_name(e, e->user);
	return e->user.n >= 2 && e->user.p[e->user.n - 1] == ']' && add_names(e);
}

/* -1 for a list without principals or with too many; a malformed entry is left out. */
static int add(struct mapping *m, const char *text, char *err, size_t err_size)
{
	struct entry e = { .text = xstrdup(text) };

	if (!read_entry(&e)) {
		log_warning(0,
		            "auth.service_users: \"%s\" is left out: not "
		            "bundle[:subservice]=user or =[user,...]",
		            text);
		entry_done(&e);
		return 0;
	}
	if (e.target.n == 0 || e.target.n > MAPPING_MAX_NAMES) {
		snprintf(err, err_size, "auth.service_users: \"%s\": a list has 1 to %u principals",
		         text, MAPPING_MAX_NAMES);
		entry_done(&e);
		return -1;
	}
	m->entries[m->n++] = e;
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
		entry_done(&m->entries[i]);
	free(m);
}

static const struct mapping_target *find(const struct mapping *m, bool is_list,
                                         struct bw_str bundle, struct bw_str subservice)
{
	struct entry        wanted = { .bundle = bundle,
		                       .subservice = subservice,
		                       .target = { is_list, 0, NULL } };
	const struct entry *e = bsearch(&wanted, m->entries, m->n, sizeof(wanted), compare_entries);

	return e != NULL ? &e->target : NULL;
}

const struct mapping_target *mapping_find(const struct mapping *m, struct bw_str bundle,
                                          struct bw_str subservice)
{
	const struct mapping_target *t = NULL;

	for (int is_list = 1; is_list >= 0 && t == NULL; is_list--) {
		if (subservice.n > 0)
			t = find(m, is_list, bundle, subservice);
		if (t == NULL)
			t = find(m, is_list, bundle, BW_STR(""));
	}
	return t;
}
