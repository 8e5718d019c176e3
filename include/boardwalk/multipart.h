/* multipart.h - the parts of a multipart/form-data body (RFC 7578): files and fields. The calls are in
 * form.h.
 *
 * A servlet that takes them says so with the property osgi.http.whiteboard.servlet.multipart.enabled;
 * its fellows .maxFileSize, .maxRequestSize, .maxFileCount and .fileSizeThreshold limit them, and
 * .location names the folder for what is not kept in memory. Whatever lies there has no name, and is
 * gone with the request. */
#pragma once
#include <boardwalk/types.h>

struct bw_part; /* lives as long as the request */

enum bw_part_field {
	BW_PART_NAME,         /* of the form's field; never absent */
	BW_PART_FILE_NAME,    /* as sent, path and all: do not open it. Absent: a field, no file */
	BW_PART_CONTENT_TYPE, /* what the client believes; absent if it said nothing */
};
