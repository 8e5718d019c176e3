/* requirements.c - the table of authentication requirements: for which part of the URL space
 * credentials are needed.
 *
 *    "+/a" or "/a"       needed at /a, below it, and for every rendering of it (/a.html)
 *    "-/a/b"             not needed there; the longest path decides
 *    "+//h:8080/a"       the same on one host; "+https://h/a": and by one scheme
 *
 * As Sling does it, rules for a scheme and host go before those for a host, and these before all others,
 * however long the paths are: so a short rule for a host may beat a long one for all. Where that would
 * open what the longer one closes, the longer one holds; and the operator is told to say it otherwise.
 *
 * Sources, the first that names a path deciding: the operator's settings; two built-in openings; the
 * property sling.auth.requirements of registered services, among which "needed" wins. What nothing
 * names is as gateway.anonymous says.
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
#include "request.h"
#include "security/handler.h"
#include "security/rule.h"
#include "security/security.h"
#include "settings.h"
#include "whiteboard/registry.h"

#define MAX_RULES 256u /* of one registration */

struct source {
	struct source *next;
	int64_t        service; /* its id */
	struct rule   *rules;   /* owned */
	size_t         n;
};

/* Rules of one length and site: where they are in the table. */
struct group {
	size_t length, first, n;
};

/* The groups of one scheme and host, of one host, or of all: where they are in the table. */
struct site {
	const struct origin *of; /* host absent: all */
	size_t               first, n;
};

static struct {
	struct rule
		*rules; /* by site, then longest first, then by octets; texts are the sources' */
	size_t   n;
	struct group *groups;
	size_t        n_groups;
	struct site  *sites; /* the most special ones first */
	size_t        n_sites;
} table;

static struct source    settings_source; /* and the built-in openings */
static struct source   *services;
static struct registry *registry;
static bool             anonymous, is_stale;

/* ---- the operator's rules ---- */

static void add_rule(struct source *s, const struct rule *rule)
{
	s->rules = xrealloc(s->rules, (s->n + 1) * sizeof(*s->rules));
	s->rules[s->n++] = *rule;
}

static bool is_same_place(const struct rule *a, const struct rule *b)
{
	return bw_str_eq(a->path, b->path) && rule_compare_sites(&a->site, &b->site) == 0;
}

static struct rule *find_rule(const struct source *s, const struct rule *rule)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_same_place(&s->rules[i], rule))
			return &s->rules[i];
	return NULL;
}

static void source_done(struct source *s)
{
	for (size_t i = 0; i < s->n; i++)
		rule_done(&s->rules[i]);
	free(s->rules);
	s->rules = NULL;
	s->n = 0;
}

/* A shorter rule for a host that would go before a longer and contrary one for more hosts: whoever wrote
 * both can hardly mean that. */
static bool is_beaten(const struct rule *wide, const struct rule *narrow)
{
	return wide->needed != narrow->needed && wide->path.n > narrow->path.n &&
	       rule_compare_sites(&wide->site, &narrow->site) != 0 &&
	       rule_site_has(&wide->site, &narrow->site) && rule_covers(narrow, wide->path);
}

static const char *problem_of(const struct source *s, const struct rule *rule)
{
	if (find_rule(s, rule) != NULL)
		return "the path has a rule already";
	for (size_t i = 0; i < s->n; i++)
		if (is_beaten(&s->rules[i], rule) || is_beaten(rule, &s->rules[i]))
			return "contradicts a rule for the same path of another host, the longer "
			       "of "
			       "which would not count";
	return NULL;
}

static void read_settings(const struct gateway_settings *settings)
{
	static const char *const openings[] = { "-/system/sling/login", "-/system/sling/logout" };
	struct rule              rule;

	for (size_t i = 0; i < settings->requirements.n; i++) {
		const char *text = settings->requirements.items[i];
		const char *problem = rule_parse(bw_str(text), &rule);

		if (problem == NULL && rule.text != NULL)
			problem = problem_of(&settings_source, &rule);
		if (problem != NULL)
			fatalx("gateway.requirements: \"%s\": %s", text, problem);
		if (rule.text == NULL)
			continue;
		rule.source = RULE_OF_SETTINGS;
		add_rule(&settings_source, &rule);
	}
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		rule_parse(bw_str(openings[i]), &rule);
		rule.source = RULE_BUILT_IN;
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
			rule_done(&s->rules[i]);
	}
	s->n = kept;
}

static const char *add_service_rule(struct source *s, struct bw_str text)
{
	struct rule  rule;
	struct rule *there;
	const char  *problem = rule_parse(text, &rule);

	if (problem != NULL || rule.text == NULL)
		return problem;
	rule.source = RULE_OF_SERVICE;
	there = find_rule(s, &rule);
	if (there == NULL) {
		add_rule(s, &rule);
		return NULL;
	}
	there->needed |= rule.needed;
	rule_done(&rule);
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

/* Of one place the rule that decides comes first. */
static int compare_rules(const void *left, const void *right)
{
	const struct rule *a = left, *b = right;
	int                diff = rule_compare_sites(&a->site, &b->site);

	if (diff != 0)
		return diff;
	if (a->path.n != b->path.n)
		return a->path.n > b->path.n ? -1 : 1;
	diff = memcmp(a->path.p, b->path.p, a->path.n);
	if (diff != 0)
		return diff;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return (int)b->needed - (int)a->needed;
}

static size_t put_rules(const struct source *s, size_t at)
{
	if (s->n > 0)
		memcpy(table.rules + at, s->rules, s->n * sizeof(*s->rules));
	return at + s->n;
}

/* A new site, and a new group, begin where the rules change theirs. */
static void make_groups(void)
{
	table.groups = xcalloc(table.n + 1, sizeof(*table.groups));
	table.sites = xcalloc(table.n + 1, sizeof(*table.sites));
	table.n_groups = table.n_sites = 0;
	for (size_t i = 0; i < table.n; i++) {
		const struct rule *rule = &table.rules[i];
		struct site       *site = &table.sites[table.n_sites > 0 ? table.n_sites - 1 : 0];

		if (site->of == NULL || rule_compare_sites(site->of, &rule->site) != 0) {
			site = &table.sites[table.n_sites++];
			*site = (struct site){ &rule->site, table.n_groups, 0 };
		}
		if (site->n > 0 && table.groups[table.n_groups - 1].length == rule->path.n) {
			table.groups[table.n_groups - 1].n++;
			continue;
		}
		table.groups[table.n_groups++] = (struct group){ rule->path.n, i, 1 };
		site->n++;
	}
}

static void drop_table(void)
{
	free(table.rules);
	free(table.groups);
	free(table.sites);
	memset(&table, 0, sizeof(table));
}

static void make_table(void)
{
	size_t n = settings_source.n, kept = 0;

	drop_table();
	for (const struct source *s = services; s != NULL; s = s->next)
		n += s->n;
	table.rules = xcalloc(n + 1, sizeof(*table.rules));
	n = put_rules(&settings_source, 0);
	for (const struct source *s = services; s != NULL; s = s->next)
		n = put_rules(s, n);
	qsort(table.rules, n, sizeof(*table.rules), compare_rules);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || !is_same_place(&table.rules[kept - 1], &table.rules[i]))
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
		int    diff = memcmp(path, table.rules[middle].path.p, g->length);

		if (diff == 0)
			return &table.rules[middle];
		if (diff < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* The longest one. */
static const struct rule *find_in_site(const struct site *site, struct bw_str path)
{
	for (size_t i = 0; i < site->n; i++) {
		const struct group *g = &table.groups[site->first + i];
		const struct rule  *rule;

		if (g->length > path.n ||
		    (g->length < path.n && path.p[g->length] != '/' && path.p[g->length] != '.'))
			continue;
		rule = find_in_group(g, path.p);
		if (rule != NULL)
			return rule;
	}
	return NULL;
}

bool security_is_required(const struct bw_req *req, struct bw_str path)
{
	const struct rule *decides = NULL;
	struct origin      own = { BW_ABSENT, BW_ABSENT, 0 };
	bool               has_site = false;

	if (is_stale)
		make_table();
	/* Without rules for a host there is one site, which has them all. */
	if (table.n_sites > 1)
		has_site = rule_site_of(req->scheme, req->host, &own);
	for (size_t i = 0; i < table.n_sites; i++) {
		const struct site *site = &table.sites[i];
		const struct rule *rule;

		if (site->of->host.p != NULL && (!has_site || !rule_site_has(site->of, &own)))
			continue;
		rule = find_in_site(site, path);
		if (rule == NULL)
			continue;
		if (decides == NULL)
			decides = rule;
		else if (rule->needed && rule->path.n > decides->path.n)
			return true;
	}
	return decides != NULL ? decides->needed : !anonymous;
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
