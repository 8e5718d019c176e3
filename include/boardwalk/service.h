/* service.h - the service registry: how anything becomes visible to the whiteboard.
 *
 * A bundle never calls "add a servlet". It registers an object under an interface name with a map
 * of properties, and the whiteboard wires what it sees, at once and for as long as the registration
 * stands. Property names are those of the OSGi HTTP Whiteboard (osgi.http.whiteboard.*) and of
 * Apache Sling (sling.servlet.*). Read servlet.h for the objects, whiteboard.h for the rules. */
#pragma once
#include <boardwalk/types.h>

/* Interface names (OSGi compendium chapter 140, Jakarta Servlet). */
#define BW_SERVLET        "jakarta.servlet.Servlet"
#define BW_FILTER         "jakarta.servlet.Filter"
#define BW_CONTEXT_HELPER "org.osgi.service.servlet.context.ServletContextHelper"
#define BW_PREPROCESSOR   "org.osgi.service.servlet.whiteboard.Preprocessor"

/* Property names that are spelled often. Any other name is given as text. */
#define BW_CONTEXT_NAME       "osgi.http.whiteboard.context.name"
#define BW_CONTEXT_PATH       "osgi.http.whiteboard.context.path"
#define BW_CONTEXT_SELECT     "osgi.http.whiteboard.context.select"
#define BW_WHITEBOARD_TARGET  "osgi.http.whiteboard.target"
#define BW_SERVLET_NAME       "osgi.http.whiteboard.servlet.name"
#define BW_SERVLET_PATTERN    "osgi.http.whiteboard.servlet.pattern"
#define BW_SERVLET_ERROR_PAGE "osgi.http.whiteboard.servlet.errorPage"
#define BW_SERVLET_ASYNC      "osgi.http.whiteboard.servlet.asyncSupported"
#define BW_FILTER_NAME        "osgi.http.whiteboard.filter.name"
#define BW_FILTER_PATTERN     "osgi.http.whiteboard.filter.pattern"
#define BW_FILTER_REGEX       "osgi.http.whiteboard.filter.regex"
#define BW_FILTER_SERVLET     "osgi.http.whiteboard.filter.servlet"
#define BW_FILTER_DISPATCHER  "osgi.http.whiteboard.filter.dispatcher"
#define BW_FILTER_ASYNC       "osgi.http.whiteboard.filter.asyncSupported"
#define BW_RESOURCE_PATTERN   "osgi.http.whiteboard.resource.pattern"
#define BW_RESOURCE_PREFIX    "osgi.http.whiteboard.resource.prefix"
#define BW_SERVICE_RANKING    "service.ranking"
#define BW_SLING_PATHS        "sling.servlet.paths"
#define BW_SLING_TYPES        "sling.servlet.resourceTypes"
#define BW_SLING_METHODS      "sling.servlet.methods"
#define BW_SLING_SELECTORS    "sling.servlet.selectors"
#define BW_SLING_EXTENSIONS   "sling.servlet.extensions"
#define BW_SLING_SUPER_TYPE   "sling.servlet.resourceSuperType"
#define BW_AUTH_REQUIREMENTS  "sling.auth.requirements"

enum bw_prop_type { BW_PROP_STRING = 1, BW_PROP_STRINGS, BW_PROP_INT, BW_PROP_LONG, BW_PROP_BOOL };

/* One property. Build it with the macros below; everything is copied at registration. */
struct bw_prop {
	const char       *name;
	enum bw_prop_type type;
	union {
		const char        *string;
		const char *const *strings; /* NULL-terminated */
		int32_t            i32;     /* the only type service.ranking counts in */
		int64_t            i64;
		bool               b;
	} u;
};

/* clang-format off */
#define BW_P_STRING(name, value) { name, BW_PROP_STRING, { .string = (value) } }
#define BW_P_STRINGS(name, ...) \
	{ name, BW_PROP_STRINGS, { .strings = (const char *const[]){ __VA_ARGS__, NULL } } }
#define BW_P_INT(name, value)  { name, BW_PROP_INT, { .i32 = (value) } }
#define BW_P_LONG(name, value) { name, BW_PROP_LONG, { .i64 = (value) } }
#define BW_P_BOOL(name, value) { name, BW_PROP_BOOL, { .b = (value) } }
/* clang-format on */

/* An interface, and the table of functions through which the object is that. */
struct bw_interface {
	const char *name; /* BW_SERVLET ... */
	const void *type; /* struct bw_servlet, bw_filter, bw_context_helper, bw_listener; static */
};

/* Where the object comes from. A factory is the normal form: the whiteboard asks for a fresh object
 * per binding, so that a re-binding never has to drain the old one first. A singleton is the same
 * object for everybody. */
struct bw_service_object {
	const void *
		type; /* the table, as in struct bw_interface; bw_register_as does not look at it */
	void   *self; /* singleton: handed to every call; factory: handed to make and free */
	/* Factory: makes one object, or NULL ("not gettable"). NULL here means singleton. */
	void *(*make)(void *self, struct bw_bundle *for_bundle);
	void (*release)(void *self, void *object);
};
