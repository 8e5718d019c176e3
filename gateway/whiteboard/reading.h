/* reading.h - what the whiteboard reads out of one service's properties: which kinds it is a candidate
 * for, and every value checked and parsed (OSGi chapter 140.4 to 140.7).
 *
 * A service can be several things at once. It is read in each role that its interfaces give it, and
 * what comes of that are records of their own, with the same service id.
 *
 * A reading never changes but for its ranking, and is shared by everything that was made from it; a
 * relevant change of properties makes a new one (a change of anything else keeps the old). */
#pragma once
#include "pattern.h"
#include "registry.h"

#include <boardwalk/whiteboard.h>
#include <bundle/bundles.h>

struct binding;

enum reading_kind {
	READING_CONTEXT = 1,
	READING_SERVLET = 2, /* has patterns or a name */
	READING_FILTER = 4,
	READING_ERROR_PAGE = 8, /* a servlet with codes or error names */
	READING_RESOURCE = 16,  /* any service that maps patterns to files */
	READING_LISTENER = 32,
	READING_PREPROCESSOR = 64,
};

enum reading_role {
	ROLE_CONTEXT,
	ROLE_SERVLET, /* and error page */
	ROLE_FILTER,
	ROLE_PREPROCESSOR,
	ROLE_LISTENER,
	ROLE_RESOURCE,
	READING_ROLES
};

/* OSGi's failure codes, as far as they are raised (whiteboard.h of the API). */
enum failure_code {
	FAILURE_NONE = 0,
	FAILURE_NO_CONTEXT = BW_FAILURE_NO_CONTEXT,
	FAILURE_CONTEXT = BW_FAILURE_CONTEXT,
	FAILURE_SHADOWED = BW_FAILURE_SHADOWED,
	FAILURE_INIT = BW_FAILURE_INIT,
	FAILURE_NOT_GETTABLE = BW_FAILURE_NOT_GETTABLE,
	FAILURE_VALIDATION = BW_FAILURE_VALIDATION,
	FAILURE_DEFAULT_DENIED = BW_FAILURE_DEFAULT_DENIED,
	FAILURE_LOCATION_DENIED = BW_FAILURE_LOCATION_DENIED,
};

struct init_param {
	struct bw_str name, value;
};

struct filter_regex {
	const char *text;
	void       *code; /* pcre2_code */
};

/* multipart.* of a servlet; all zero if it does not take multipart bodies. */
struct reading_upload {
	bool          enabled;
	int32_t       threshold;                                       /* octets */
	int64_t       max_file_size, max_request_size, max_file_count; /* -1: unlimited */
	struct bw_str location; /* as registered; absent: the default folder */
};

#define READING_CODE_MIN 400
#define READING_CODE_MAX 599

struct reading {
	unsigned           refs;
	struct bw_service *service; /* referenced; NULL: the built-in context */
	struct bw_bundle  *bundle;
	enum reading_role  role;
	const void        *type; /* the table of its interface; NULL: it has none, or is built in */
	int64_t            id;   /* negative: built in */
	int32_t            ranking;
	unsigned           kinds;   /* enum reading_kind, what it is a candidate for */
	unsigned           invalid; /* those of kinds that failed validation */

	struct bw_prop    *props; /* copies of what is relevant, to tell a relevant change */
	size_t             n_props;
	struct init_param *params;
	size_t             n_params;

	struct ldap_filter *select; /* NULL: the context named default */
	struct bw_str       name;   /* of the context, servlet or filter; never absent if valid */
	bool                named;  /* the name was given, so it can be looked up */
	char               *made_name; /* heap; the name, if it was not given */
	char               *note;      /* heap; "bundle:name", for the watchdog */
	struct bw_str       path;      /* of a context: "/" or "/x" */
	struct pattern     *patterns;  /* each once, in the order given */
	size_t              n_patterns;
	struct bw_str       resource_prefix;

	struct filter_regex *regexes;
	size_t               n_regexes;
	struct bw_str       *servlet_names; /* a filter's targets */
	size_t               n_servlet_names;
	unsigned             dispatchers; /* 1 << enum bw_dispatcher */
	unsigned             listens;     /* enum listens: the interfaces of a listener */

	uint16_t      *codes; /* 400..599, each once */
	size_t         n_codes;
	bool           all_4xx, all_5xx;
	bool           async; /* asyncSupported of a servlet or filter */
	struct bw_str *error_names;
	size_t         n_error_names;

	struct reading_upload upload;

	/* What exists because of it, not referenced; also what only an older snapshot holds. */
	struct binding    *bindings;
	struct bw_context *context;
	bool               not_gettable; /* a context whose factory gave NULL */
	bool               retired;      /* out of date: nothing new is bound to it (binding.c) */
	struct reading    *next_retired;
	bool staged; /* of a generation that is not published: it is told of nothing yet (stage.c) */
};

/* Reads a service in one role; NULL if it is no candidate for that, or its target is not this whiteboard. */
struct reading *reading_new(struct bw_service *s, enum reading_role role);
/* parse.c: do the interfaces of s, or for a resource its properties, give it that role? */
bool reading_has_role(const struct bw_service *s, enum reading_role role);
/* parse.c: fills type, kinds, invalid and the values from the props that were copied. kinds stays 0 if it is
 * no candidate, or its target is not this whiteboard. */
void reading_parse(struct reading *r);
/* The built-in context: "default" at "/", worse than any service. */
struct reading *reading_new_default(void);
/* The server's own context, which no service can choose: what preprocessors are in. */
struct reading *reading_new_server(void);
struct reading *reading_ref(struct reading *r);
void            reading_unref(struct reading *r);
/* Would reading s anew give the same, apart from the ranking? */
bool reading_is_current(const struct reading *r, const struct bw_service *s);
/* Ranking order: better first. */
int reading_compare(const struct reading *a, const struct reading *b);
/* Does a client's selection take this context? */
bool reading_selects(const struct reading *client, const struct reading *context);
/* Does one of the filter's targets match? path: context-relative, "/" at the root; name: the
 * servlet's, absent if it has none. A regex that runs into its limits counts as a match: the filter
 * may be there for protection. */
bool reading_filters(const struct reading *filter, struct bw_str path, struct bw_str name);
/* Only by the servlet's name. */
bool reading_filters_name(const struct reading *filter, struct bw_str name);

/* What its successor knows it by, too: the name, if one was given, else the bundle's; a made one has
 * a number that only this worker has given. Good as long as the reading. */
static inline const char *reading_name_for_crashes(const struct reading *r)
{
	return r->named ? r->name.p : r->bundle ? r->bundle->name : "boardwalk";
}
