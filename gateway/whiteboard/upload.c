/* Multipart settings of a servlet: read from its properties, and held against the folder when it is
 * bound.
 *
 *    location absent, ""   the default folder: the context's attribute
 *                          jakarta.servlet.context.tempdir, else the server's own
 *    /somewhere            that folder, which must be there
 *    up                    <default>/up, made if it is not there
 *
 * Owns: the name of the default folder. Runs in: the worker's thread. Fails with: failure codes.
 * Logs: why a folder cannot be used. Tests: tests/conformance (N). */
#include "upload.h"

#include "props.h"

#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <fcntl.h>
#include <forms/multipart.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_THRESHOLD 10240
#define DEFAULT_COUNT     50

static char *default_folder;

void upload_init(const char *folder)
{
	free(default_folder);
	default_folder = folder && folder[0] ? xstrdup(folder) : NULL;
}

void upload_done(void)
{
	upload_init(NULL);
}

/* ---- properties ---- */

/* A number, or text that is one. False: the key is there with something else. */
static bool read_number(const struct reading *r, const char *name, int64_t max, int64_t *ret)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, name);
	char                 *end;
	long long             value;

	if (!p)
		return true;
	if (p->type == BW_PROP_INT) {
		value = p->u.i32;
	} else if (p->type == BW_PROP_LONG) {
		value = p->u.i64;
	} else if (p->type == BW_PROP_STRING) {
		errno = 0;
		value = strtoll(p->u.string, &end, 10);
		if (end == p->u.string || *end || errno != 0)
			return false;
	} else {
		return false;
	}
	*ret = value;
	return value <= max;
}

static bool is_enabled(const struct reading *r)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, BW_MULTIPART_ENABLED);

	if (p && p->type == BW_PROP_BOOL)
		return p->u.b;
	return p && p->type == BW_PROP_STRING && strcasecmp(p->u.string, "true") == 0;
}

static int64_t or_unlimited(int64_t limit)
{
	return limit > 0 ? limit : -1;
}

bool upload_read(struct reading *r)
{
	const struct bw_prop *location = props_find(r->props, r->n_props, BW_MULTIPART_LOCATION);
	int64_t               threshold = 0, file = -1, request = -1, count = DEFAULT_COUNT;

	if (!is_enabled(r))
		return true;
	if (!read_number(r, BW_MULTIPART_THRESHOLD, INT32_MAX, &threshold) ||
	    !read_number(r, BW_MULTIPART_MAX_FILE_SIZE, INT64_MAX, &file) ||
	    !read_number(r, BW_MULTIPART_MAX_REQUEST_SIZE, INT64_MAX, &request) ||
	    !read_number(r, BW_MULTIPART_MAX_FILE_COUNT, INT64_MAX, &count))
		return false;
	r->upload = (struct reading_upload){
		.enabled = true,
		.threshold = threshold > 0 ? (int32_t)threshold : DEFAULT_THRESHOLD,
		.max_file_size = or_unlimited(file),
		.max_request_size = or_unlimited(request),
		.max_file_count = or_unlimited(count),
	};
	if (location && location->type == BW_PROP_STRING && location->u.string[0])
		r->upload.location = bw_str(location->u.string);
	return true;
}

/* ---- the folder ---- */

/* Below means below. */
static bool climbs(const char *path)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
			return true;
	}
	return false;
}

static const char *default_of(const struct bw_context *c)
{
	const struct bw_value *v = attrs_find(&c->attrs, BW_ATTR_TEMPDIR);

	return v && v->type == BW_VALUE_STRING && !v->is_list ? v->u.string.p : default_folder;
}

/* The folder that r names, on the heap; NULL if there is none to be had. */
static char *folder_of(const struct reading *r, const struct bw_context *c)
{
	const char *location = r->upload.location.p, *above = default_of(c);
	char       *path;

	if (location && location[0] == '/')
		return xstrdup(location);
	if (!above)
		return NULL;
	if (!location)
		return xstrdup(above);
	if (climbs(location))
		return NULL;
	path = xasprintf("%s/%s", above, location);
	mkdir(path, 0700); /* what has become of it is seen below */
	return path;
}

/* NULL: files can be made there. Permissions are not all that decides, so one is made. */
static const char *why_unusable(const char *folder)
{
	int fd;

	if (!folder)
		return "there is no such folder below the default one";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return strerror(errno);
	close(fd);
	return NULL;
}

enum failure_code upload_bind(const struct reading *r, const struct bw_context *c,
                              struct upload **ret)
{
	char          *folder;
	const char    *why;
	struct upload *u;

	*ret = NULL;
	if (!r->upload.enabled)
		return FAILURE_NONE;
	folder = folder_of(r, c);
	why = why_unusable(folder);
	if (why) {
		log_warning(0, "%s is left out: multipart folder %s: %s", r->name.p,
		            folder                 ? folder
		            : r->upload.location.p ? r->upload.location.p
		                                   : "",
		            why);
		free(folder);
		return r->upload.location.p ? FAILURE_LOCATION_DENIED : FAILURE_DEFAULT_DENIED;
	}
	u = xmalloc(sizeof(*u));
	*u = (struct upload){ .max_file_size = r->upload.max_file_size,
		              .max_request_size = r->upload.max_request_size,
		              .max_file_count = r->upload.max_file_count,
		              .threshold = r->upload.threshold,
		              .location = folder };
	*ret = u;
	return FAILURE_NONE;
}

void upload_free(struct upload *u)
{
	if (!u)
		return;
	free((char *)(uintptr_t)u->location);
	free(u);
}
