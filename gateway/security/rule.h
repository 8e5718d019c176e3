/* rule.h - one authentication requirement: where, and whether credentials are needed there. Private to
 * gateway/security. */
#pragma once
#include "security/origin.h"

enum rule_source { RULE_OF_SETTINGS, RULE_BUILT_IN, RULE_OF_SERVICE };

struct rule {
	char            *text; /* the memory of the rest */
	struct origin    site; /* scheme absent: any; host absent: any; port 0: the usual one */
	struct bw_str    path; /* without a slash at its end; empty: all of the site */
	bool             needed;
	enum rule_source source;
};

/* Reads "[+|-]PATH", "[+|-]scheme://host[:port][PATH]" or "[+|-]//host[:port][PATH]", as Sling's
 * sling.auth.requirements. NULL: *ret is filled, and owned: rule_done; its text is NULL for an empty
 * element. Else why it cannot be. */
const char *rule_parse(struct bw_str text, struct rule *ret);
/* The same without a sign, and "/" is all of the site: the path of an authentication handler. */
const char *rule_parse_place(struct bw_str text, struct rule *ret);
void        rule_done(struct rule *rule);
/* The usual port is 80 or 443, whatever the scheme. */
unsigned rule_port(unsigned port);
/* Is whatever is at b at a as well? */
bool rule_site_has(const struct origin *a, const struct origin *b);
/* The site of a request; false: its Host is none that a rule could name. */
bool rule_site_of(struct bw_str scheme, struct bw_str host, struct origin *ret);
/* The most special ones first: a scheme and host, a host, none; 0: the same. */
int rule_compare_sites(const struct origin *a, const struct origin *b);
/* A rule covers its path, and what goes on from there with a slash or a dot. */
bool rule_covers(const struct rule *rule, struct bw_str path);
