/* origin.c - origins: read, compared, and looked up among the trusted ones.
 *
 * What a browser sends is read strictly: an authority that a lenient reader would find another host in
 * (user info, a backslash, a port that is no number) is either cut as RFC 3986 says or no origin at all.
 * An expression that runs into its limits does not match: it is there to let in.
 *
 * Owns: an origin_list its compiled expressions. Runs in: the worker's thread. Fails with: fatal in
 * origin_list_new. Logs: limits that were hit. Tests: tests/conformance/origin,
 * tests/fuzz/origin_parse.c. */
#include "security/origin.h"

#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MAX_TEXT    512u /* of scheme://host:port; longer ones are trusted by no expression */
#define MATCH_LIMIT 100000u
#define HEAP_KIB    1024u

/* ---- one origin ---- */

static bool is_alpha(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The octets of a scheme at the front of text (RFC 3986 3.1). */
static size_t scheme_length(struct bw_str text)
{
	size_t n = 0;

	while (n < text.n && (is_alpha(text.p[n]) ||
	                      (n > 0 && (is_digit(text.p[n]) || memchr("+-.", text.p[n], 3)))))
		n++;
	return n;
}

static bool same(struct bw_str a, struct bw_str b)
{
	return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

static unsigned default_port(struct bw_str scheme)
{
	return same(scheme, BW_STR("http")) ? 80 : same(scheme, BW_STR("https")) ? 443 : 0;
}

/* Digits alone, 0 to 65535; empty: as without. */
static bool parse_port(struct bw_str text, unsigned *ret)
{
	unsigned port = 0;

	if (text.n > 5)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!is_digit(text.p[i]))
			return false;
		port = port * 10 + (unsigned)(text.p[i] - '0');
	}
	if (text.n > 0)
		*ret = port;
	return port <= 65535;
}

/* A name, an IPv4 address or an IPv6 one in brackets. */
static bool is_host(struct bw_str host)
{
	bool   is_v6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	size_t end = host.n - is_v6;

	if (host.n == 0)
		return false;
	for (size_t i = is_v6; i < end; i++) {
		char c = host.p[i];

		if (!is_alpha(c) && !is_digit(c) && c != '.' &&
		    (is_v6 ? c != ':' : c != '-' && c != '_'))
			return false;
	}
	return true;
}

/* [user@]host[:port] */
static bool parse_authority(struct bw_str text, struct origin *ret)
{
	const char *at = memrchr(text.p, '@', text.n), *bracket, *colon;
	size_t      n;

	if (at != NULL)
		text = (struct bw_str){ at + 1, text.n - (size_t)(at + 1 - text.p) };
	bracket = memrchr(text.p, ']', text.n);
	n = bracket != NULL ? (size_t)(bracket + 1 - text.p) : 0;
	colon = memchr(text.p + n, ':', text.n - n);
	ret->host = (struct bw_str){ text.p, colon != NULL ? (size_t)(colon - text.p) : text.n };
	ret->port = default_port(ret->scheme);
	return is_host(ret->host) &&
	       (colon == NULL ||
	        parse_port((struct bw_str){ colon + 1, text.n - ret->host.n - 1 }, &ret->port));
}

bool origin_parse(struct bw_str text, struct origin *ret)
{
	size_t n = scheme_length(text), end;

	if (n == 0 || text.n < n + 4 || memcmp(text.p + n, "://", 3) != 0)
		return false;
	ret->scheme = (struct bw_str){ text.p, n };
	text = (struct bw_str){ text.p + n + 3, text.n - n - 3 };
	for (end = 0; end < text.n && strchr("/?#", text.p[end]) == NULL; end++)
		if ((unsigned char)text.p[end] <= ' ' || text.p[end] == '\\' ||
		    text.p[end] == '\x7f')
			return false;
	return end > 0 && parse_authority((struct bw_str){ text.p, end }, ret);
}

bool origin_of(struct bw_str scheme, struct bw_str host, struct origin *ret)
{
	ret->scheme = scheme;
	return host.n > 0 && parse_authority(host, ret);
}

bool origin_eq(const struct origin *a, const struct origin *b)
{
	return same(a->scheme, b->scheme) && same(a->host, b->host) && a->port == b->port;
}

/* ---- the trusted ones ---- */

struct origin_list {
	struct origin       *hosts; /* scheme absent: any; port 0: any */
	size_t               n_hosts;
	pcre2_code         **expressions;
	size_t               n_expressions;
	pcre2_match_data    *match;
	pcre2_match_context *limits;
};

static struct origin parse_trusted(const char *text)
{
	struct origin o = { BW_ABSENT, bw_str(text), 0 };

	if (strstr(text, "://") == NULL ? !is_host(o.host) : !origin_parse(bw_str(text), &o))
		fatalx("gateway.referrer_hosts: \"%s\" is neither a host nor scheme://host:port",
		       text);
	return o;
}

static pcre2_code *compile(const char *text)
{
	PCRE2_SIZE  offset;
	int         error;
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
	                      PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C, &error,
	                      &offset, NULL);
	PCRE2_UCHAR why[128];

	if (code == NULL) {
		pcre2_get_error_message(error, why, sizeof(why));
		fatalx("gateway.referrer_hosts_regexp: \"%s\", at %zu: %s", text, offset, why);
	}
	return code;
}

struct origin_list *origin_list_new(const struct conf_list *hosts,
                                    const struct conf_list *expressions)
{
	struct origin_list *list;

	if (hosts->n + expressions->n == 0)
		return NULL;
	list = xcalloc(1, sizeof(*list));
	list->hosts = xcalloc(hosts->n + 1, sizeof(*list->hosts));
	while (list->n_hosts < hosts->n) {
		list->hosts[list->n_hosts] = parse_trusted(hosts->items[list->n_hosts]);
		list->n_hosts++;
	}
	list->expressions = xcalloc(expressions->n + 1, sizeof(pcre2_code *));
	while (list->n_expressions < expressions->n) {
		list->expressions[list->n_expressions] =
			compile(expressions->items[list->n_expressions]);
		list->n_expressions++;
	}
	list->match = pcre2_match_data_create(1, NULL);
	list->limits = pcre2_match_context_create(NULL);
	if (list->match == NULL || list->limits == NULL)
		fatalx("out of memory");
	pcre2_set_match_limit(list->limits, MATCH_LIMIT);
	pcre2_set_heap_limit(list->limits, HEAP_KIB);
	return list;
}

static bool is_trusted(const struct origin *trusted, const struct origin *o)
{
	return (trusted->scheme.p == NULL || same(trusted->scheme, o->scheme)) &&
	       same(trusted->host, o->host) && (trusted->port == 0 || trusted->port == o->port);
}

static bool matches(const struct origin_list *list, const pcre2_code *code, const char *text,
                    size_t n)
{
	int rc = pcre2_match(code, (PCRE2_SPTR)text, n, 0, 0, list->match, list->limits);

	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		log_warning(0, "gateway.referrer_hosts_regexp: an expression gave up (%d)", rc);
	return rc >= 0;
}

bool origin_list_has(const struct origin_list *list, const struct origin *o)
{
	char text[MAX_TEXT], port[12] = "";
	int  n;

	if (list == NULL)
		return false;
	for (size_t i = 0; i < list->n_hosts; i++)
		if (is_trusted(&list->hosts[i], o))
			return true;
	if (o->port != 0)
		snprintf(port, sizeof(port), ":%u", o->port);
	n = snprintf(text, sizeof(text), "%.*s://%.*s%s", (int)o->scheme.n, o->scheme.p,
	             (int)o->host.n, o->host.p, port);
	for (size_t i = 0; n < (int)sizeof(text) && i < list->n_expressions; i++)
		if (matches(list, list->expressions[i], text, (size_t)n))
			return true;
	return false;
}

void origin_list_free(struct origin_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->n_expressions; i++)
		pcre2_code_free(list->expressions[i]);
	pcre2_match_data_free(list->match);
	pcre2_match_context_free(list->limits);
	free(list->expressions);
	free(list->hosts);
	free(list);
}
