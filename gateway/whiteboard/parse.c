/* From the properties of a reading to its values: what the whiteboard makes of each key, and what makes a
 * service invalid (OSGi 140.2 to 140.7). A value of another type than its key's counts as absent.
 *
 * Runs in: the worker's thread. Fails with: nothing; what is wrong is marked in the reading. Logs: a
 * target that is no filter. Tests: tests/conformance (C, D, F, G). */
#include "filter.h"
#include "listener.h"
#include "props.h"
#include "reading.h"
#include "runtime.h"
#include "upload.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/symbolic.h>
#include <stdlib.h>
#include <strings.h>

/* ---- values ---- */

/* A string property, absent also if it is of another type or empty. */
static struct bw_str get_string(const struct reading *r, const char *name)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, name);

	if (!p || p->type != BW_PROP_STRING || !p->u.string[0])
		return BW_ABSENT;
	return bw_str(p->u.string);
}

/* String+: the items as a heap array. False: the key is there with a value of another type. */
static bool get_strings(const struct reading *r, const char *name, struct bw_str **ret,
                        size_t *ret_n)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, name);
	size_t                n = 0;

	*ret = NULL;
	*ret_n = 0;
	if (!p)
		return true;
	if (p->type == BW_PROP_STRING) {
		*ret = xcalloc(1, sizeof(**ret));
		(*ret)[(*ret_n)++] = bw_str(p->u.string);
		return true;
	}
	if (p->type != BW_PROP_STRINGS)
		return false;
	while (p->u.strings[n])
		n++;
	if (n > 0)
		*ret = xcalloc(n, sizeof(**ret));
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = bw_str(p->u.strings[i]);
	*ret_n = n;
	return true;
}

/* A bool, or "true" in any letter case; false for everything else. */
static bool get_bool(const struct reading *r, const char *name)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, name);

	if (!p)
		return false;
	return p->type == BW_PROP_BOOL
	               ? p->u.b
	               : p->type == BW_PROP_STRING && strcasecmp(p->u.string, "true") == 0;
}

/* Is the key there at all? An empty list counts as absent. */
static bool has(const struct reading *r, const char *name)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, name);

	return p && !(p->type == BW_PROP_STRINGS && !p->u.strings[0]);
}

/* "/", or what could be an exact pattern, of path characters only (RFC 3986 3.3, decoded). */
static bool is_context_path(struct bw_str s)
{
	struct pattern p;

	for (size_t i = 0; i < s.n; i++)
		if (strchr(" %\"<>[]^`{|}", s.p[i]) || !s.p[i])
			return false;
	return pattern_parse(s, &p) && (p.kind == PATTERN_EXACT || p.kind == PATTERN_DEFAULT);
}

/* Each once, in the order given, as a heap array. What cannot be read makes kind invalid. */
static void read_patterns(struct reading *r, const char *name, unsigned kind, struct pattern **ret,
                          size_t *ret_n)
{
	struct bw_str *texts;
	size_t         n;

	get_strings(r, name, &texts, &n);
	if (n > 0)
		*ret = xcalloc(n, sizeof(**ret));
	for (size_t i = 0; i < n; i++) {
		struct pattern p;
		bool           twice = false;

		if (!pattern_parse(texts[i], &p)) {
			r->invalid |= kind;
			continue;
		}
		for (size_t k = 0; k < *ret_n; k++)
			twice |= bw_str_eq((*ret)[k].text, p.text);
		if (!twice)
			(*ret)[(*ret_n)++] = p;
	}
	free(texts);
}

/* context.select; a bare context name stands for a filter on it. */
static void read_select(struct reading *r)
{
	struct bw_str text = get_string(r, BW_CONTEXT_SELECT);
	char         *named;

	if (!text.p)
		return;
	if (text.p[0] != '(' && symbolic_ok(text.p, text.n)) {
		named = xasprintf("(%s=%s)", BW_CONTEXT_NAME, text.p);
		r->select = ldap_parse(named, NULL, 0);
		free(named);
	} else {
		r->select = ldap_parse(text.p, NULL, 0);
	}
	if (!r->select)
		r->invalid |= r->kinds & ~(unsigned)(READING_CONTEXT | READING_PREPROCESSOR);
}

static void read_params(struct reading *r, const char *prefix)
{
	size_t n = strlen(prefix);

	r->params = xcalloc(r->n_props + 1, sizeof(*r->params));
	for (size_t i = 0; i < r->n_props; i++) {
		const struct bw_prop *p = &r->props[i];

		if (p->type == BW_PROP_STRING && strncmp(p->name, prefix, n) == 0)
			r->params[r->n_params++] =
				(struct init_param){ bw_str(p->name + n), bw_str(p->u.string) };
	}
}

static const char *bundle_name(const struct reading *r)
{
	return r->bundle ? r->bundle->name : "boardwalk";
}

static void make_name(struct reading *r)
{
	r->made_name = xasprintf("%s/%lld", bundle_name(r), (long long)r->id);
	r->name = bw_str(r->made_name);
}

/* A name that was given, or one made from the bundle and the service id. */
static void read_name(struct reading *r, const char *name)
{
	r->name = get_string(r, name);
	r->named = r->name.p != NULL;
	if (!r->named)
		make_name(r);
}

/* For people: the bundle and the name, or what there is instead. */
static void make_note(struct reading *r)
{
	if (r->named)
		r->note = xasprintf("%s:%s", bundle_name(r), r->name.p);
	else
		r->note = xasprintf("%s %s", bundle_name(r),
		                    r->n_patterns ? r->patterns[0].text.p : "");
}

/* ---- the kinds ---- */

static void read_context(struct reading *r)
{
	r->kinds = READING_CONTEXT;
	r->name = get_string(r, BW_CONTEXT_NAME);
	r->path = get_string(r, BW_CONTEXT_PATH);
	r->named = true;
	if (!r->name.p || !symbolic_ok(r->name.p, r->name.n) || !r->path.p ||
	    !is_context_path(r->path))
		r->invalid = r->kinds;
	read_params(r, BW_CONTEXT_INIT);
	r->note = xasprintf("%s:context %s", bundle_name(r), r->name.p ? r->name.p : "");
}

/* One value of servlet.errorPage: a code, a class of codes, or an error name. */
static bool read_error_page(struct reading *r, struct bw_str v)
{
	bool digit = v.n == 3 && v.p[0] >= '0' && v.p[0] <= '9';

	if (digit && (v.p[0] == '4' || v.p[0] == '5') && strcasecmp(v.p + 1, "xx") == 0) {
		*(v.p[0] == '4' ? &r->all_4xx : &r->all_5xx) = true;
		return true;
	}
	if (v.n > 0 && strspn(v.p, "0123456789") == v.n) {
		long code = v.n == 3 ? strtol(v.p, NULL, 10) : 0;

		if (code < READING_CODE_MIN || code > READING_CODE_MAX)
			return false;
		for (size_t i = 0; i < r->n_codes; i++)
			if (r->codes[i] == code)
				return true;
		r->codes[r->n_codes++] = (uint16_t)code;
		return true;
	}
	/* Lower-case dotted name whose first character is a letter. */
	if (v.n == 0 || v.p[0] < 'a' || v.p[0] > 'z')
		return false;
	for (size_t i = 0; i < v.n; i++) {
		char c = v.p[i];

		if (c == '.' ? i + 1 == v.n || v.p[i + 1] == '.'
		             : !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
		                 c == '-'))
			return false;
	}
	r->error_names[r->n_error_names++] = v;
	return true;
}

static void read_error_pages(struct reading *r)
{
	struct bw_str *values;
	size_t         n;

	get_strings(r, BW_SERVLET_ERROR_PAGE, &values, &n);
	r->codes = xcalloc(n + 1, sizeof(*r->codes));
	r->error_names = xcalloc(n + 1, sizeof(*r->error_names));
	for (size_t i = 0; i < n; i++)
		if (!read_error_page(r, values[i]))
			r->invalid |= r->kinds;
	free(values);
}

static void read_servlet(struct reading *r)
{
	if (has(r, BW_SERVLET_PATTERN) || has(r, BW_SERVLET_NAME))
		r->kinds |= READING_SERVLET;
	if (has(r, BW_SERVLET_ERROR_PAGE))
		r->kinds |= READING_ERROR_PAGE;
	if (!r->kinds)
		return;
	read_name(r, BW_SERVLET_NAME);
	read_params(r, BW_SERVLET_INIT);
	read_patterns(r, BW_SERVLET_PATTERN, r->kinds, &r->patterns, &r->n_patterns);
	make_note(r);
	read_error_pages(r);
	r->async = get_bool(r, BW_SERVLET_ASYNC);
	if (!upload_read(r))
		r->invalid |= r->kinds;
	if (!r->named && r->n_patterns + r->n_codes + r->n_error_names == 0 && !r->all_4xx &&
	    !r->all_5xx)
		r->invalid = r->kinds; /* what made it a candidate is of the wrong type */
}

static void read_filter(struct reading *r)
{
	struct bw_str *values;
	size_t         n;

	if (!has(r, BW_FILTER_PATTERN) && !has(r, BW_FILTER_REGEX) && !has(r, BW_FILTER_SERVLET))
		return;
	r->kinds = READING_FILTER;
	read_name(r, BW_FILTER_NAME);
	read_params(r, BW_FILTER_INIT);
	read_patterns(r, BW_FILTER_PATTERN, READING_FILTER, &r->patterns, &r->n_patterns);
	make_note(r);
	r->async = get_bool(r, BW_FILTER_ASYNC);
	get_strings(r, BW_FILTER_SERVLET, &r->servlet_names, &r->n_servlet_names);
	get_strings(r, BW_FILTER_REGEX, &values, &n);
	if (!filter_compile(r, values, n))
		r->invalid = r->kinds;
	free(values);
	get_strings(r, BW_FILTER_DISPATCHER, &values, &n);
	if (!filter_dispatchers(values, n, &r->dispatchers))
		r->invalid = r->kinds;
	free(values);
	if (r->n_patterns + r->n_regexes + r->n_servlet_names == 0)
		r->invalid = r->kinds;
}

/* The property switches a listener on or off, as a boolean or as its word; all else is a mistake. */
static void read_listener(struct reading *r)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, BW_LISTENER);
	bool                  word = p && p->type == BW_PROP_STRING;

	r->listens = listener_interfaces(r->service);
	if (!has(r, BW_LISTENER))
		return;
	if ((p->type == BW_PROP_BOOL && !p->u.b) || (word && strcasecmp(p->u.string, "false") == 0))
		return;
	r->kinds = READING_LISTENER;
	make_name(r);
	r->note = xasprintf("%s listener", bundle_name(r));
	if (p->type != BW_PROP_BOOL && !(word && strcasecmp(p->u.string, "true") == 0))
		r->invalid = r->kinds;
}

static void read_preprocessor(struct reading *r)
{
	r->kinds = READING_PREPROCESSOR;
	make_name(r);
	r->note = xasprintf("%s preprocessor", bundle_name(r));
	read_params(r, BW_PREPROCESSOR_INIT);
}

/* Files under patterns, whatever interface the service is registered under. A slash at the end of the
 * prefix would be doubled by the path info, so it is refused but for "/" itself. */
static void read_resource(struct reading *r)
{
	if (!has(r, BW_RESOURCE_PATTERN) || !has(r, BW_RESOURCE_PREFIX))
		return;
	r->kinds = READING_RESOURCE;
	r->resource_prefix = get_string(r, BW_RESOURCE_PREFIX);
	read_patterns(r, BW_RESOURCE_PATTERN, READING_RESOURCE, &r->patterns, &r->n_patterns);
	if (!r->resource_prefix.p || r->n_patterns == 0 ||
	    (r->resource_prefix.n > 1 && r->resource_prefix.p[r->resource_prefix.n - 1] == '/'))
		r->invalid = r->kinds;
	r->note = xasprintf("%s:resource %s", bundle_name(r),
	                    r->resource_prefix.p ? r->resource_prefix.p : "");
}

/* ---- the roles ---- */

enum table { TABLE_NONE, TABLE_CONTEXT_HELPER, TABLE_SERVLET, TABLE_FILTER, TABLE_LISTENER };

static const struct {
	const char *interface; /* NULL: any of the listeners', or none at all */
	enum table  table;
	size_t      least; /* of the table: it was as long in minor version 0, and only grows */
	void (*read)(struct reading *r);
} roles[READING_ROLES] = {
	[ROLE_CONTEXT] = { BW_CONTEXT_HELPER, TABLE_CONTEXT_HELPER,
	                   offsetof(struct bw_context_helper, get_mime_type), read_context },
	[ROLE_SERVLET] = { BW_SERVLET, TABLE_SERVLET, offsetof(struct bw_servlet, last_modified),
	                   read_servlet },
	[ROLE_FILTER] = { BW_FILTER, TABLE_FILTER, sizeof(struct bw_filter), read_filter },
	[ROLE_PREPROCESSOR] = { BW_PREPROCESSOR, TABLE_FILTER, sizeof(struct bw_filter),
	                        read_preprocessor },
	[ROLE_LISTENER] = { NULL, TABLE_LISTENER, sizeof(struct bw_listener), read_listener },
	[ROLE_RESOURCE] = { NULL, TABLE_NONE, 0, read_resource },
};

/* NULL: it has none for that role. */
static const void *table_of(const struct bw_service *s, enum reading_role role)
{
	if (role == ROLE_LISTENER)
		return listener_table(s);
	return roles[role].interface ? service_type(s, roles[role].interface) : NULL;
}

bool reading_has_role(const struct bw_service *s, enum reading_role role)
{
	if (role == ROLE_RESOURCE)
		return service_prop(s, BW_RESOURCE_PATTERN) && service_prop(s, BW_RESOURCE_PREFIX);
	return table_of(s, role) != NULL;
}

/* Long enough, and not given for what is another kind of table: such a one cannot be both. */
static bool is_usable(const struct reading *r)
{
	const size_t *size = r->type; /* every table begins with its size */

	for (enum reading_role other = 0; r->type && other < READING_ROLES; other++)
		if (roles[other].table != roles[r->role].table &&
		    table_of(r->service, other) == r->type)
			return false;
	if (r->role == ROLE_LISTENER && !listener_has_one_table(r->service))
		return false;
	return !r->type || *size >= roles[r->role].least;
}

/* ---- is it for us at all ---- */

/* Of several roles it is one that speaks for the service. */
static bool is_first_role(const struct reading *r)
{
	enum reading_role role = 0;

	while (role < r->role && !reading_has_role(r->service, role))
		role++;
	return role == r->role;
}

static bool is_for_us(const struct reading *r)
{
	struct bw_str       target = get_string(r, BW_WHITEBOARD_TARGET);
	struct ldap_filter *f;
	char                reason[128];
	bool                ours;

	if (!target.p)
		return true;
	f = ldap_parse(target.p, reason, sizeof(reason));
	if (!f && is_first_role(r))
		log_warning(0, "service %lld is ignored: its whiteboard target is no filter: %s",
		            (long long)r->id, reason);
	ours = f && ldap_match(f, runtime_lookup, NULL);
	ldap_free(f);
	return ours;
}

void reading_parse(struct reading *r)
{
	if (!is_for_us(r))
		return;
	r->type = table_of(r->service, r->role);
	roles[r->role].read(r);
	if (!is_usable(r))
		r->invalid = r->kinds;
	if (r->kinds & ~(unsigned)(READING_CONTEXT | READING_PREPROCESSOR))
		read_select(r);
}
