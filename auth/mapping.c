/* mapping.c - the service user mapping, as Sling's service user mapper reads it.
 *
 *     org.example.shop:orders=shop-writer        first '=' splits; a colon before it begins the
 *     `---- bundle --' `sub-' `-- user -'        subservice, one behind it belongs to the user
 *     org.example.shop=[shop-reader,shop-tax]    a list: names trimmed, empty and repeated ones dropped
 *
 * The entries of the configuration come first, then those of each amendment; of two that map the same
 * service to the same kind of target the first holds, so an amendment cannot override the configuration.
 *
 * Owns: a sorted copy of the entries. Runs in: start-up, the loop (look-up).
 * Fails with: a line for the operator. Logs: entries it leaves out. Tests:
 * tests/unit/auth/mapping_test.c, tests/conformance/mapping. */
#include "mapping.h"
#include "amendment.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>

struct entry {
	struct bw_str         bundle, subservice, user; /* subservice.n 0: none; all in text */
	char                 *text;
	size_t                order;  /* the smaller one holds */
	struct mapping_target target; /* names and their octets are on the heap */
};

struct mapping {
	size_t        n, n_places;
	struct entry *entries;
	struct entry *places;       /* bundle and user, which is the place */
	struct entry  default_user; /* text NULL: none */
	bool          default_mapping;
	bool          lacks_validator;
};

static int compare(struct bw_str a, struct bw_str b)
{
	int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

/* Lists are apart from users: a service may be mapped to one of each. */
static int compare_keys(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int                 c = x->target.is_list - y->target.is_list;

	if (c == 0)
		c = compare(x->bundle, y->bundle);
	return c != 0 ? c : compare(x->subservice, y->subservice);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int                 c = compare_keys(x, y);

	return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
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

/* -1 for a list without principals or with too many; a malformed entry is left out. from: what the
 * log and err call the place it stands in. */
static int add(struct mapping *m, const char *text, const char *from, char *err, size_t err_size)
{
	struct entry e = { .text = xstrdup(text), .order = m->n };

	if (!read_entry(&e)) {
		log_warning(0,
		            "%s: \"%s\" is left out: not "
		            "bundle[:subservice]=user or =[user,...]",
		            from, text);
		entry_done(&e);
		return 0;
	}
	if (e.target.n == 0 || e.target.n > MAPPING_MAX_NAMES) {
		snprintf(err, err_size, "%s: \"%s\": a list has 1 to %u principals", from, text,
		         MAPPING_MAX_NAMES);
		entry_done(&e);
		return -1;
	}
	m->entries = xrealloc(m->entries, (m->n + 1) * sizeof(m->entries[0]));
	m->entries[m->n++] = e;
	return 0;
}

static int add_all(struct mapping *m, const struct conf_list *entries, const char *from, char *err,
                   size_t err_size)
{
	for (size_t i = 0; i < entries->n; i++)
		if (add(m, entries->items[i], from, err, err_size) != 0)
			return -1;
	return 0;
}

static int add_amendments(struct mapping *m, const char *folder, char *err, size_t err_size)
{
	struct amendments all;
	int               r = amendments_load(folder, &all, err, err_size);

	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = add_all(m, &all.items[i].service_users, all.items[i].file, err, err_size);
	amendments_done(&all);
	return r;
}

/* Leaves out what an earlier entry goes before. */
static void sort(struct mapping *m)
{
	size_t kept = 0;

	if (m->n > 0)
		qsort(m->entries, m->n, sizeof(m->entries[0]), compare_entries);
	for (size_t i = 0; i < m->n; i++) {
		if (kept > 0 && compare_keys(&m->entries[kept - 1], &m->entries[i]) == 0) {
			log_warning(0, "service users: \"%s\" is left out: \"%s\" goes before it",
			            m->entries[i].text, m->entries[kept - 1].text);
			entry_done(&m->entries[i]);
		} else {
			m->entries[kept++] = m->entries[i];
		}
	}
	m->n = kept;
}

/* ---- places, validators, defaults ---- */

static bool is_place(struct bw_str place)
{
	return bw_str_eq(place, MAPPING_PLACE_GATEWAY) ||
	       (place.n > 5 && memcmp(place.p, "host:", 5) == 0);
}

/* Unlike an entry, a place that cannot be read is not left out: the bundle would be the gateway's. */
static int add_place(struct mapping *m, const char *text, char *err, size_t err_size)
{
	struct entry e = { .text = xstrdup(text), .order = m->n_places };
	bool         good = split(&e) && e.subservice.n == 0 && is_place(e.user);

	for (size_t i = 0; good && i < m->n_places; i++)
		good = !bw_str_eq(m->places[i].bundle, e.bundle);
	if (!good) {
		snprintf(err, err_size,
		         "auth.service_places: \"%s\" is not the one bundle=gateway or "
		         "bundle=host:NAME for its bundle",
		         text);
		entry_done(&e);
		return -1;
	}
	m->places = xrealloc(m->places, (m->n_places + 1) * sizeof(m->places[0]));
	m->places[m->n_places++] = e;
	return 0;
}

static int add_places(struct mapping *m, const struct conf_list *places, char *err, size_t err_size)
{
	for (size_t i = 0; i < places->n; i++)
		if (add_place(m, places->items[i], err, err_size) != 0)
			return -1;
	if (m->n_places > 0)
		qsort(m->places, m->n_places, sizeof(m->places[0]), compare_keys);
	return 0;
}

/* An empty element names none. */
static void require_validators(struct mapping *m, const struct conf_list *ids)
{
	for (size_t i = 0; i < ids->n; i++) {
		if (*ids->items[i] == '\0' || strcmp(ids->items[i], "system-user") == 0)
			continue;
		log_warning(0, "no service user is accepted: there is no validator \"%s\"",
		            ids->items[i]);
		m->lacks_validator = true;
	}
}

static int set_default(struct mapping *m, const char *user, char *err, size_t err_size)
{
	if (user == NULL || *user == '\0')
		return 0;
	if (add_name(&m->default_user, bw_str(user)))
		return 0;
	snprintf(err, err_size, "auth.service_user_default: \"%s\" is no name of a user", user);
	return -1;
}

/* ---- all of it ---- */

struct mapping *mapping_new(const struct mapping_settings *settings, char *err, size_t err_size)
{
	struct mapping *m = xcalloc(1, sizeof(*m));

	m->default_mapping = settings->default_mapping;
	require_validators(m, settings->required_validators);
	if (add_all(m, settings->service_users, "auth.service_users", err, err_size) != 0 ||
	    add_amendments(m, settings->folder, err, err_size) != 0 ||
	    add_places(m, settings->service_places, err, err_size) != 0 ||
	    set_default(m, settings->default_user, err, err_size) != 0) {
		mapping_free(m);
		return NULL;
	}
	sort(m);
	return m;
}

void mapping_free(struct mapping *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->n; i++)
		entry_done(&m->entries[i]);
	for (size_t i = 0; i < m->n_places; i++)
		entry_done(&m->places[i]);
	entry_done(&m->default_user);
	free(m->entries);
	free(m->places);
	free(m);
}

/* ---- looking up ---- */

static const struct entry *search(const struct entry *entries, size_t n, bool is_list,
                                  struct bw_str bundle, struct bw_str subservice)
{
	struct entry wanted = { .bundle = bundle,
		                .subservice = subservice,
		                .target = { is_list, 0, NULL } };

	return n > 0 ? bsearch(&wanted, entries, n, sizeof(wanted), compare_keys) : NULL;
}

static const struct mapping_target *find(const struct mapping *m, struct bw_str bundle,
                                         struct bw_str subservice)
{
	const struct entry *e = NULL;

	for (int is_list = 1; is_list >= 0 && e == NULL; is_list--) {
		if (subservice.n > 0)
			e = search(m->entries, m->n, is_list, bundle, subservice);
		if (e == NULL)
			e = search(m->entries, m->n, is_list, bundle, BW_STR(""));
	}
	return e != NULL ? &e->target : NULL;
}

static bool is_of(const struct mapping *m, struct bw_str bundle, struct bw_str place)
{
	const struct entry *e = search(m->places, m->n_places, false, bundle, BW_STR(""));

	return bw_str_eq(e != NULL ? e->user : MAPPING_PLACE_GATEWAY, place);
}

static bool append(struct bw_str part, struct bw_str *name, char text[CREDENTIAL_NAME])
{
	if (part.n > CREDENTIAL_NAME - name->n)
		return false;
	memcpy(text + name->n, part.p, part.n);
	name->n += part.n;
	return true;
}

/* NULL: that would be no name. */
static const struct mapping_target *make_default(struct bw_str bundle, struct bw_str subservice,
                                                 struct mapping_made *made)
{
	char          text[CREDENTIAL_NAME];
	struct bw_str name = { text, 0 };

	if (!append(BW_STR("serviceuser--"), &name, text) || !append(bundle, &name, text) ||
	    (subservice.n > 0 &&
	     (!append(BW_STR("--"), &name, text) || !append(subservice, &name, text))) ||
	    credential_name(name, made->text, &name) != BW_OK)
		return NULL;
	memmove(made->text, name.p, name.n);
	made->name = (struct bw_str){ made->text, name.n };
	made->target = (struct mapping_target){ false, 1, &made->name };
	return &made->target;
}

const struct mapping_target *mapping_find(const struct mapping *m, struct bw_str place,
                                          struct bw_str bundle, struct bw_str subservice,
                                          struct mapping_made *made, const char **ret_why)
{
	const struct mapping_target *t;

	*ret_why = NULL;
	if (m->lacks_validator) {
		*ret_why = "validator_missing";
		return NULL;
	}
	if (!is_of(m, bundle, place)) {
		*ret_why = "another_place";
		return NULL;
	}
	t = find(m, bundle, subservice);
	if (t == NULL && m->default_user.target.n > 0)
		t = &m->default_user.target;
	else if (t == NULL && m->default_mapping && bundle.n > 0)
		t = make_default(bundle, subservice, made);
	if (t == NULL)
		*ret_why = "not_mapped";
	return t;
}
