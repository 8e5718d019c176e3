/* Filter targets. Regular expressions are PCRE2 and must match the whole path; they run with limits,
 * and one that runs into them counts as a match, because the filter may be there for protection.
 *
 * Owns: one match block for all matching (a match never suspends). Runs in: the worker's thread.
 * Logs: limits that were hit. Tests: tests/unit/whiteboard/pattern_test.c, tests/conformance (F). */
#include "filter.h"

#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>
#include <strings.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
	REGEX_MATCH_LIMIT = 100000, /* steps; a path has at most 8 KiB */
	REGEX_HEAP_KIB = 1024,
};

static pcre2_match_data    *match_data;
static pcre2_match_context *match_limits;

static void prepare(void)
{
	if (match_data)
		return;
	match_data = pcre2_match_data_create(1, NULL);
	match_limits = pcre2_match_context_create(NULL);
	if (!match_data || !match_limits)
		fatalx("out of memory");
	pcre2_set_match_limit(match_limits, REGEX_MATCH_LIMIT);
	pcre2_set_heap_limit(match_limits, REGEX_HEAP_KIB);
}

bool filter_compile(struct reading *r, const struct bw_str *texts, size_t n)
{
	bool ok = true;

	if (n == 0)
		return true;
	prepare();
	r->regexes = xcalloc(n, sizeof(*r->regexes));
	for (size_t i = 0; i < n; i++) {
		PCRE2_SIZE  offset;
		int         error;
		pcre2_code *code = pcre2_compile((PCRE2_SPTR)texts[i].p, texts[i].n,
		                                 PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF |
		                                         PCRE2_NEVER_BACKSLASH_C,
		                                 &error, &offset, NULL);

		if (!code)
			ok = false;
		else
			r->regexes[r->n_regexes++] = (struct filter_regex){ texts[i].p, code };
	}
	return ok;
}

void filter_free(struct reading *r)
{
	for (size_t i = 0; i < r->n_regexes; i++)
		pcre2_code_free(r->regexes[i].code);
	free(r->regexes);
}

static const char *const dispatchers[] = { [BW_REQUEST] = "REQUEST",
	                                   [BW_FORWARD] = "FORWARD",
	                                   [BW_INCLUDE] = "INCLUDE",
	                                   [BW_ASYNC] = "ASYNC",
	                                   [BW_ERROR] = "ERROR" };

const char *filter_dispatcher_name(enum bw_dispatcher type)
{
	return dispatchers[type];
}

bool filter_dispatchers(const struct bw_str *words, size_t n, unsigned *ret)
{
	unsigned set = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned bit = 0;

		for (unsigned k = 0; k < sizeof(dispatchers) / sizeof(*dispatchers); k++)
			if (strcasecmp(words[i].p, dispatchers[k]) == 0)
				bit = 1u << k;
		if (!bit)
			return false;
		set |= bit;
	}
	*ret = n > 0 ? set : 1u << BW_REQUEST;
	return true;
}

static bool regex_takes(const struct reading *filter, const struct filter_regex *re,
                        struct bw_str path)
{
	int rc = pcre2_match(re->code, (PCRE2_SPTR)path.p, path.n, 0, 0, match_data, match_limits);

	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		log_warning(0, "filter %s runs: its regex gave up (%d): %s", filter->name.p, rc,
		            re->text);
	return rc != PCRE2_ERROR_NOMATCH;
}

bool reading_filters_name(const struct reading *filter, struct bw_str name)
{
	for (size_t i = 0; name.p && i < filter->n_servlet_names; i++)
		if (bw_str_eq(filter->servlet_names[i], name))
			return true;
	return false;
}

bool reading_filters(const struct reading *filter, struct bw_str path, struct bw_str name)
{
	for (size_t i = 0; i < filter->n_patterns; i++)
		if (pattern_filters(&filter->patterns[i], path))
			return true;
	if (reading_filters_name(filter, name))
		return true;
	for (size_t i = 0; i < filter->n_regexes; i++)
		if (regex_takes(filter, &filter->regexes[i], path))
			return true;
	return false;
}
