/* requirements.c - the table of authentication requirements: for which part of the URL space
 * credentials are needed.
 *
 *    "+/a" or "/a"   needed at /a, below it, and for every rendering of it (/a.html)
 *    "-/a/b"         not needed there; the longest path decides
 *
 * Sources, the first that names a path deciding: the operator's settings; two built-in openings; the
 * property sling.auth.requirements of registered services, among which "needed" wins. What nothing
 * names is as gateway.anonymous says. Rules for a single host (//host/path) are not supported.
 *
 * A rule that cannot be, or a path named twice by one source, stops the start if the operator wrote
 * it. In a registration it costs that registration its openings, and is logged; what it closes stays
 * closed, so that a mistake never opens anything.
 *
 * Owns: the rules of each source, and the table made of them: immutable, made anew at the first
 * question after a change. Runs in: the worker's thread; a question allocates nothing otherwise.
 * Fails with: fatal at start. Tests: tests/unit/engine/requirements_test.c,
 * tests/conformance/security/requirements.rows. */
#include <base/conf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <inttypes.h>
#include <stdlib.h>
#include "security/handler.h"
#include "security/security.h"
#include "settings.h"
#include "whiteboard/registry.h"

#define MAX_RULES 256u /* of one registration */

enum origin { SETTINGS, BUILT_IN, SERVICE };

struct rule {
	const char *path; /* without a slash at its end; "" stands for "/" */
	size_t      n;
	bool        needed;
	enum origin origin;
};

struct source {
	struct source *next;
	int64_t        service; /* its id */
	struct rule   *rules;   /* paths on the heap */
	size_t         n;
};

/* Rules of one length: where they are in the table. */
struct group {
	size_t length, first, n;
};

static struct {
	struct rule  *rules; /* longest first, then by octets; paths borrow the sources */
	size_t        n;
	struct group *groups; /* longest first */
	size_t        n_groups;
} table;

static struct source    settings_source; /* and the built-in openings */
static struct source   *services;
static struct registry *registry;
static bool             anonymous, is_stale;

/* ---- reading a rule ---- */

/* Why text (sign and blanks are off) cannot be the path of a rule, or NULL. It is compared with
 * canonical paths, so whatever is not canonical would silently match nothing. */
static const char *path_problem(struct bw_str path)
{
	size_t start = 1;

	if (path.p[0] != '/' ? memmem(path.p, path.n, "://", 3) != NULL
	                     : path.n > 1 && path.p[1] == '/')
		return "rules for a single host are not supported, give the path alone";
	if (path.p[0] != '/')
		return "is no absolute path";
	for (size_t i = 0; i < path.n; i++)
		if ((unsigned char)path.p[i] < ' ' || strchr("?#;\\\x7f", path.p[i]) != NULL)
			return "has a character that no canonical path has";
	for (size_t i = 1; i <= path.n; i++) {
		struct bw_str segment = { path.p + start, i - start };

		if (i < path.n && path.p[i] != '/')
			continue;
		if (bw_str_eq(segment, BW_STR(".")) || bw_str_eq(segment, BW_STR("..")) ||
		    (segment.n == 0 && i < path.n))
			return "has an empty or dot segment";
		start = i + 1;
	}
	return NULL;
}

static struct bw_str trim(struct bw_str s)
{
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct bw_str){ s.p + 1, s.n - 1 };
	return s;
}

/* NULL: *ret is filled, or left with path NULL for an empty element. Else the problem. */
static const char *parse_rule(struct bw_str text, struct rule *ret)
{
	const char *problem;
	bool        needed = true;

	text = trim(text);
	ret->path = NULL;
	if (text.n == 0)
		return NULL;
	if (text.p[0] == '+' || text.p[0] == '-') {
		needed = text.p[0] == '+';
		text = (struct bw_str){ text.p + 1, text.n - 1 };
	}
	if (text.n == 0)
		return "has no path";
	problem = path_problem(text);
	if (problem != NULL)
		return problem;
	while (text.n > 0 && text.p[text.n - 1] == '/')
		text.n--;
	if (text.n == 0)
		return "the rule for / is gateway.anonymous";
	ret->path = xstrndup(text.p, text.n);
	ret->n = text.n;
	ret->needed = needed;
	return NULL;
}

static void add_rule(struct source *s, const struct rule *rule)
{
	s->rules = xrealloc(s->rules, (s->n + 1) * sizeof(*s->rules));
	s->rules[s->n++] = *rule;
}

static struct rule *find_rule(const struct source *s, const struct rule *rule)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->rules[i].n == rule->n && memcmp(s->rules[i].path, rule->path, rule->n) == 0)
			return &s->rules[i];
	return NULL;
}

static void source_done(struct source *s)
{
	for (size_t i = 0; i < s->n; i++)
		free((char *)s->rules[i].path);
	free(s->rules);
	s->rules = NULL;
	s->n = 0;
}

/* ---- the operator's rules ---- */

static void read_settings(const struct gateway_settings *settings)
{
	static const char *const openings[] = { "-/system/sling/login", "-/system/sling/logout" };
	struct rule              rule;

	for (size_t i = 0; i < settings->requirements.n; i++) {
		const char *text = settings->requirements.items[i];
		const char *problem = parse_rule(bw_str(text), &rule);

		if (problem == NULL && rule.path != NULL &&
		    find_rule(&settings_source, &rule) != NULL)
			problem = "the path has a rule already";
		if (problem != NULL)
			fatalx("gateway.requirements: \"%s\": %s", text, problem);
		rule.origin = SETTINGS;
		if (rule.path != NULL)
			add_rule(&settings_source, &rule);
	}
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		parse_rule(bw_str(openings[i]), &rule);
		rule.origin = BUILT_IN;
		add_rule(&settings_source, &rule);
	}
}

/* ---- the rules of registrations ---- */

/* After a problem nothing of the registration opens anything. */
static void keep_closings(struct source *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->rules[i].needed)
			s->rules[kept++] = s->rules[i];
		else
			free((char *)s->rules[i].path);
	}
	s->n = kept;
}

static const char *add_service_rule(struct source *s, struct bw_str text)
{
	struct rule  rule;
	struct rule *there;
	const char  *problem = parse_rule(text, &rule);

	if (problem != NULL || rule.path == NULL)
		return problem;
	rule.origin = SERVICE;
	there = find_rule(s, &rule);
	if (there == NULL) {
		add_rule(s, &rule);
		return NULL;
	}
	there->needed |= rule.needed;
	free((char *)rule.path);
	return "the path has a rule already";
}

static struct source *source_new(const struct bw_service *service)
{
	struct bw_str  texts[MAX_RULES];
	size_t         n = service_strings(service, BW_AUTH_REQUIREMENTS, texts, MAX_RULES);
	struct source *s = xcalloc(1, sizeof(*s));
	bool           is_good = true;

	s->service = service_id(service);
	if (n == MAX_RULES) {
		log_error(0, "service %" PRId64 ": 256 authentication requirements or more",
		          s->service);
		is_good = false;
	}
	for (size_t i = 0; i < n; i++) {
		const char *problem = add_service_rule(s, texts[i]);

		if (problem == NULL)
			continue;
		log_error(0,
		          "service %" PRId64
		          ": authentication requirement \"%.*s\": %s; its openings"
		          " are ignored",
		          s->service, (int)texts[i].n, texts[i].p, problem);
		is_good = false;
	}
	if (!is_good)
		keep_closings(s);
	return s;
}

static void forget_service(int64_t id)
{
	struct source **at = &services, *s;

	while (*at != NULL && (*at)->service != id)
		at = &(*at)->next;
	s = *at;
	if (s == NULL)
		return;
	*at = s->next;
	source_done(s);
	free(s);
	is_stale = true;
}

static void on_event(void *arg, enum registry_event event, struct bw_service *service)
{
	struct source *s;

	(void)arg;
	if (event != REGISTRY_REGISTERED)
		forget_service(service_id(service));
	if (event == REGISTRY_UNREGISTERING || service_prop(service, BW_AUTH_REQUIREMENTS) == NULL)
		return;
	s = source_new(service);
	s->next = services;
	services = s;
	is_stale = true;
}

/* ---- the table ---- */

/* Longest first, then by octets; of one path the rule that decides comes first. */
static int compare_rules(const void *left, const void *right)
{
	const struct rule *a = left, *b = right;
	int                diff;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	diff = memcmp(a->path, b->path, a->n);
	if (diff != 0)
		return diff;
	if (a->origin != b->origin)
		return a->origin < b->origin ? -1 : 1;
	return (int)b->needed - (int)a->needed;
}

static bool is_same_path(const struct rule *a, const struct rule *b)
{
	return a->n == b->n && memcmp(a->path, b->path, a->n) == 0;
}

static size_t put_rules(const struct source *s, size_t at)
{
	if (s->n > 0)
		memcpy(table.rules + at, s->rules, s->n * sizeof(*s->rules));
	return at + s->n;
}

static void make_groups(void)
{
	table.groups = xcalloc(table.n > 0 ? table.n : 1, sizeof(*table.groups));
	table.n_groups = 0;
	for (size_t i = 0; i < table.n; i++) {
		struct group *last = &table.groups[table.n_groups > 0 ? table.n_groups - 1 : 0];

		if (table.n_groups > 0 && last->length == table.rules[i].n)
			last->n++;
		else
			table.groups[table.n_groups++] = (struct group){ table.rules[i].n, i, 1 };
	}
}

static void drop_table(void)
{
	free(table.rules);
	free(table.groups);
	memset(&table, 0, sizeof(table));
}

static void make_table(void)
{
	size_t n = settings_source.n, kept = 0;

	drop_table();
	for (const struct source *s = services; s != NULL; s = s->next)
		n += s->n;
	table.rules = xcalloc(n > 0 ? n : 1, sizeof(*table.rules));
	n = put_rules(&settings_source, 0);
	for (const struct source *s = services; s != NULL; s = s->next)
		n = put_rules(s, n);
	qsort(table.rules, n, sizeof(*table.rules), compare_rules);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || !is_same_path(&table.rules[kept - 1], &table.rules[i]))
			table.rules[kept++] = table.rules[i];
	table.n = kept;
	make_groups();
	is_stale = false;
}

static const struct rule *find_in_group(const struct group *g, const char *path)
{
	size_t low = g->first, high = g->first + g->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int    diff = memcmp(path, table.rules[middle].path, g->length);

		if (diff == 0)
			return &table.rules[middle];
		if (diff < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool security_is_required(const struct bw_req *req, struct bw_str path)
{
	(void)req; /* rules for one host would look at it */
	if (is_stale)
		make_table();
	for (size_t i = 0; i < table.n_groups; i++) {
		const struct group *g = &table.groups[i];
		const struct rule  *rule;

		/* A rule covers its path, and what goes on from there with a slash or a dot. */
		if (g->length > path.n ||
		    (g->length < path.n && path.p[g->length] != '/' && path.p[g->length] != '.'))
			continue;
		rule = find_in_group(g, path.p);
		if (rule != NULL)
			return rule->needed;
	}
	return !anonymous;
}

/* ---- life ---- */

void requirements_init(struct registry *r, const struct gateway_settings *settings)
{
	registry = r;
	anonymous = settings->anonymous;
	read_settings(settings);
	is_stale = true;
	registry_listen(r, on_event, NULL);
}

void requirements_done(void)
{
	registry_unlisten(registry, on_event, NULL);
	drop_table();
	while (services != NULL)
		forget_service(services->service);
	source_done(&settings_source);
}
