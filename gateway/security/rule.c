/* rule.c - reads authentication requirements.
 *
 * What is read is compared with canonical paths and with hosts as requests name them, so whatever would
 * silently match nothing is refused: a path that is not canonical, user info, a port that is no number.
 *
 * Owns: nothing. Runs in: the worker's thread. Fails with: a reason in words.
 * Tests: tests/conformance/security/requirements.rows, tests/fuzz/rule_parse.c. */
#include "security/rule.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct bw_str from(struct bw_str s, size_t n)
{
	return (struct bw_str){ s.p + n, s.n - n };
}

static struct bw_str trim(struct bw_str s)
{
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = from(s, 1);
	return s;
}

/* Why path cannot be one that a request has, or NULL. */
static const char *path_problem(struct bw_str path)
{
	size_t start = 1;

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

/* Cuts "scheme://host:port" or "//host:port" off the front of *text. */
static const char *take_site(struct bw_str *text, struct origin *ret)
{
	const char   *mark = memmem(text->p, text->n, "://", 3);
	struct bw_str scheme = BW_ABSENT, host;
	size_t        n = 0;

	*ret = (struct origin){ BW_ABSENT, BW_ABSENT, 0 };
	if (text->n >= 2 && text->p[0] == '/' && text->p[1] == '/') {
		host = from(*text, 2);
	} else if (text->p[0] != '/' && mark != NULL) {
		scheme = (struct bw_str){ text->p, (size_t)(mark - text->p) };
		host = from(*text, scheme.n + 3);
	} else {
		return NULL;
	}
	while (n < host.n && host.p[n] != '/')
		n++;
	*text = from(host, n);
	host.n = n;
	if (n == 0 || memchr(host.p, '@', n) != NULL || !origin_of(scheme, host, ret) ||
	    (scheme.p != NULL && !bw_str_eq(scheme, BW_STR("http")) &&
	     !bw_str_eq(scheme, BW_STR("https"))))
		return "names no host that a request can have";
	ret->port = rule_port(ret->port);
	return NULL;
}

static const char *parse(struct bw_str text, struct rule *ret)
{
	const char *problem = take_site(&text, &ret->site);

	if (problem == NULL && text.n > 0)
		problem = path_problem(text);
	if (problem != NULL)
		return problem;
	while (text.n > 0 && text.p[text.n - 1] == '/')
		text.n--;
	ret->path = text;
	return NULL;
}

/* In a copy, which ret owns. */
static const char *parse_owned(struct bw_str text, struct rule *ret)
{
	const char *problem;

	if (text.n == 0)
		return "has no path";
	ret->text = xstrndup(text.p, text.n);
	problem = parse((struct bw_str){ ret->text, text.n }, ret);
	if (problem != NULL)
		rule_done(ret);
	return problem;
}

const char *rule_parse(struct bw_str text, struct rule *ret)
{
	const char *problem;

	*ret = (struct rule){ .needed = true };
	text = trim(text);
	if (text.n == 0)
		return NULL;
	if (text.p[0] == '+' || text.p[0] == '-') {
		ret->needed = text.p[0] == '+';
		text = from(text, 1);
	}
	problem = parse_owned(text, ret);
	if (problem == NULL && ret->path.n == 0 && ret->site.host.p == NULL) {
		rule_done(ret);
		problem = "the rule for / is gateway.anonymous";
	}
	return problem;
}

const char *rule_parse_place(struct bw_str text, struct rule *ret)
{
	*ret = (struct rule){ .text = NULL };
	return parse_owned(trim(text), ret);
}

void rule_done(struct rule *rule)
{
	free(rule->text);
	rule->text = NULL;
}

unsigned rule_port(unsigned port)
{
	return port == 80 || port == 443 ? 0 : port;
}

bool rule_covers(const struct rule *rule, struct bw_str path)
{
	size_t n = rule->path.n;

	return n <= path.n && (n == 0 || memcmp(rule->path.p, path.p, n) == 0) &&
	       (n == path.n || path.p[n] == '/' || path.p[n] == '.');
}

/* ---- sites ---- */

static int compare_text(struct bw_str a, struct bw_str b)
{
	if (a.n != b.n)
		return a.n > b.n ? -1 : 1;
	return a.n > 0 ? strncasecmp(a.p, b.p, a.n) : 0;
}

/* Of one kind the longer text first, as it happens. */
int rule_compare_sites(const struct origin *a, const struct origin *b)
{
	int diff = (b->scheme.p != NULL) - (a->scheme.p != NULL);

	if (diff == 0)
		diff = (b->host.p != NULL) - (a->host.p != NULL);
	if (diff == 0)
		diff = compare_text(a->host, b->host);
	if (diff == 0)
		diff = compare_text(a->scheme, b->scheme);
	return diff != 0 ? diff : (a->port > b->port) - (a->port < b->port);
}

bool rule_site_has(const struct origin *a, const struct origin *b)
{
	return a->host.p == NULL ||
	       (b->host.p != NULL && compare_text(a->host, b->host) == 0 && a->port == b->port &&
	        (a->scheme.p == NULL || compare_text(a->scheme, b->scheme) == 0));
}

bool rule_site_of(struct bw_str scheme, struct bw_str host, struct origin *ret)
{
	if (!origin_of(scheme, host, ret))
		return false;
	ret->port = rule_port(ret->port);
	return true;
}
