/* multipart.h - the parts of a multipart/form-data body (RFC 7578): files and fields. The calls are
 * in form.h.
 *
 * A servlet that takes them says so with the first of the properties below; the others limit
 * them, and name the folder for what is not kept in memory. Whatever lies there has no name, and
 * is gone with the request. */
#pragma once
#include <boardwalk/types.h>

#define BW_MULTIPART_ENABLED "osgi.http.whiteboard.servlet.multipart.enabled"
/* Octets of a part, of the whole body: unlimited, as is a limit of 0 or less. Parts: 50. */
#define BW_MULTIPART_MAX_FILE_SIZE    "osgi.http.whiteboard.servlet.multipart.maxFileSize"
#define BW_MULTIPART_MAX_REQUEST_SIZE "osgi.http.whiteboard.servlet.multipart.maxRequestSize"
#define BW_MULTIPART_MAX_FILE_COUNT   "osgi.http.whiteboard.servlet.multipart.maxFileCount"
/* A larger file goes to the folder: 10240 octets. */
#define BW_MULTIPART_THRESHOLD "osgi.http.whiteboard.servlet.multipart.fileSizeThreshold"
/* Absolute, or below the default: the context's attribute jakarta.servlet.context.tempdir, else the
 * setting gateway.spool. */
#define BW_MULTIPART_LOCATION "osgi.http.whiteboard.servlet.multipart.location"

struct bw_part; /* lives as long as the request */

enum bw_part_field {
	BW_PART_NAME,         /* of the form's field; never absent */
	BW_PART_FILE_NAME,    /* as sent, path and all: do not open it. Absent: a field, no file */
	BW_PART_CONTENT_TYPE, /* what the client believes; absent if it said nothing */
};
