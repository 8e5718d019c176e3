/* files.c - a bundle with embedded files and one resource service. */
#include <boardwalk/boardwalk.h>

static int start(struct bw_bundle *self)
{
	return bw_register_object(self, "test.Files", &boardwalk_embedded, NULL,
	                          BW_P_STRING(BW_RESOURCE_PATTERN, "/files/*"),
	                          BW_P_STRING(BW_RESOURCE_PREFIX, "/www"));
}

BW_BUNDLE_EMBEDDED("test.files", "1.0.0", start, NULL);
