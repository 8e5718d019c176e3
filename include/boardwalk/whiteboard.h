/* whiteboard.h - what the whiteboard makes of a registration: the rules of OSGi chapter 140 in two screens.
 * Property names are in service.h, tables of functions in servlet.h and listener.h; a value of a wrong type
 * counts as absent, and where there is one string there may be a list.
 *
 * WHAT IS SEEN. A servlet with servlet.pattern, .name or .errorPage; a filter with filter.pattern, .regex or
 * .servlet; a context helper; a listener whose property listener is true; a preprocessor; and whatever has
 * resource.pattern and .prefix. Without those it is ignored; with them, and wrong, it is recorded as failed
 * (runtime.h) and disturbs nobody. whiteboard.target, an LDAP filter (RFC 4515) over the runtime's properties
 * (osgi.http.endpoint, org.osgi.service.http.port), keeps it from all whiteboards that it does not match.
 *
 * WHO GOES FIRST. Higher service.ranking (an int), then the older registration. It decides between equal
 * patterns, equal names, pages for one code, and is the order of filters, listeners and preprocessors.
 *
 * CONTEXTS have a name (letters, digits, '_', '-', tokens joined by dots) and a path ("/", "/x/y"). Of one
 * name the best is active. There is always one called "default" at "/", which any registration of that name
 * replaces. context.select chooses: an LDAP filter over the context's properties, or its name;
 * absent: default. What selects several is bound to each, with an init for each. A request is offered to the
 * contexts whose path begins it, whole segments, the longest first; the first in which a pattern matches
 * has it.
 *
 * PATTERNS, in the order in which they win:
 *   "/a/b"  this path; ""  the context's root itself
 *   "/a/" and a star   /a and all below it, the longest first; a slash and a star alone: everything
 *   "*.x"   the end of the last segment, the longest first
 *   "/"     what nobody else takes
 * They are matched against the path inside the context, decoded and canonical. Kind goes before ranking. Who
 * loses some patterns keeps the others; who loses all is not initialised, and is when it wins one. A pattern
 * that is none of these, or could never match (a slash at its end, an empty or dot segment, '?', '#', ';'),
 * makes the whole registration fail.
 *
 * FILTERS run if one of their targets matches: filter.pattern (a pattern, of the path; "/" is everything,
 * too), filter.regex (PCRE2, the whole path; possessive, atomic and \p differ from Java's), filter.servlet
 * (the name of the servlet). filter.dispatcher: REQUEST (if absent), FORWARD, INCLUDE, ASYNC, ERROR. They run
 * in ranking order, whatever target matched, and not at all where no servlet and no resource is.
 *
 * RESOURCES: resource.pattern and resource.prefix. The file asked for is the prefix and the path info: below
 * /files with the prefix "/www", /files/a.txt is /www/a.txt, which the context's helper finds.
 *
 * ERROR PAGES: servlet.errorPage has codes ("404"), "4xx" and "5xx", or error names ("acme.billing": its
 * children, too; "bw.error": all). An error that is returned is looked for by its name and the names above, the
 * nearest first, then by its cause's, then by its status; sendError by its status alone. The page is in the
 * context that served, sees the request as a GET with the dispatcher type ERROR, and the attributes below; the
 * helper's handle_security is not asked, so a page must not tell secrets. A page that fails is answered with
 * the built-in one and the first status.
 *
 * LIFE. init, before anything is visible and filters before servlets; then requests; destroy, after the last
 * request that still sees it. A changed property that the whiteboard looks at is destroy and init, a changed
 * ranking neither. An init that fails is not repeated, and the next one in order is tried. A request sees the
 * whiteboard as it was when it came, to its end. */
#pragma once
#include <boardwalk/bundle.h>

/* What begins so, and is a string, is an init parameter of the context, servlet, filter, preprocessor. */
#define BW_CONTEXT_INIT      "context.init."
#define BW_SERVLET_INIT      "servlet.init."
#define BW_FILTER_INIT       "filter.init."
#define BW_PREPROCESSOR_INIT "preprocessor.init."

/* Attributes that a context helper's handle_security sets: they become BW_REQ_REMOTE_USER and
 * BW_REQ_AUTH_TYPE; the third is for whoever knows what it holds. */
#define BW_ATTR_REMOTE_USER   "org.osgi.service.http.authentication.remote.user"
#define BW_ATTR_AUTH_TYPE     "org.osgi.service.http.authentication.type"
#define BW_ATTR_AUTHORIZATION "org.osgi.service.useradmin.authorization"

/* Attributes that an error page finds (Jakarta Servlet 10.9.1). All are text, the status its digits; they tell
 * of the client's request, whatever it was forwarded to. The last two are there for errors that were
 * returned: the text, and the name. */
#define BW_ATTR_ERROR_STATUS       "jakarta.servlet.error.status_code"
#define BW_ATTR_ERROR_MESSAGE      "jakarta.servlet.error.message"
#define BW_ATTR_ERROR_REQUEST_URI  "jakarta.servlet.error.request_uri"
#define BW_ATTR_ERROR_QUERY_STRING "jakarta.servlet.error.query_string"
#define BW_ATTR_ERROR_METHOD       "jakarta.servlet.error.method"
#define BW_ATTR_ERROR_SERVLET_NAME "jakarta.servlet.error.servlet_name"
#define BW_ATTR_ERROR_EXCEPTION    "jakarta.servlet.error.exception"
#define BW_ATTR_ERROR_TYPE         "jakarta.servlet.error.exception_type"

/* An attribute of a context: the folder for parts of requests, if servlets name none (multipart.h). */
#define BW_ATTR_TEMPDIR "jakarta.servlet.context.tempdir"

/* How a pattern takes a path (Jakarta Servlet 12.2; MappingMatch). */
enum bw_match {
	BW_MATCH_NONE, /* nothing is resolved yet: in a preprocessor */
	BW_MATCH_CONTEXT_ROOT,
	BW_MATCH_EXACT,
	BW_MATCH_PATH,
	BW_MATCH_EXTENSION,
	BW_MATCH_DEFAULT,
};

/* Of the pattern that took the request's current dispatch (BW_REQ_PATTERN). */
static inline enum bw_match bw_req_match(const struct bw_req *req)
{
	struct bw_str p = bw_host->req_get(req, BW_REQ_PATTERN);

	if (!p.p)
		return BW_MATCH_NONE;
	if (p.n == 0)
		return BW_MATCH_CONTEXT_ROOT;
	if (p.n == 1)
		return BW_MATCH_DEFAULT;
	if (p.p[0] == '*')
		return BW_MATCH_EXTENSION;
	return p.p[p.n - 1] == '*' ? BW_MATCH_PATH : BW_MATCH_EXACT;
}

/* Why something is not active: failureReason of the runtime's records (OSGi's DTOConstants). */
enum bw_failure {
	BW_FAILURE_UNKNOWN = 0,
	BW_FAILURE_NO_CONTEXT = 1,       /* context.select takes none that is there */
	BW_FAILURE_CONTEXT = 2,          /* its helper has nothing for this bundle */
	BW_FAILURE_SHADOWED = 3,         /* a better one has the pattern, code or name */
	BW_FAILURE_INIT = 4,             /* its init failed */
	BW_FAILURE_NOT_GETTABLE = 5,     /* its factory gave nothing */
	BW_FAILURE_VALIDATION = 6,       /* a property is missing or malformed */
	BW_FAILURE_DEFAULT_DENIED = 9,   /* the default folder for parts cannot be written */
	BW_FAILURE_LOCATION_DENIED = 11, /* multipart.location cannot be written */
};
