/* odd.c - bundles that are to be refused, one for each macro they are compiled with, and a good one. */
#include <boardwalk/boardwalk.h>

#ifndef ODD_MAGIC
#define ODD_MAGIC BW_BUNDLE_MAGIC
#endif
#ifndef ODD_MAJOR
#define ODD_MAJOR BW_ABI_MAJOR
#endif
#ifndef ODD_MINOR
#define ODD_MINOR BW_ABI_MINOR
#endif
#ifndef ODD_SIZE
#define ODD_SIZE sizeof(struct bw_bundle_descriptor)
#endif
#ifndef ODD_NAME
#define ODD_NAME "odd.good"
#endif
#ifndef ODD_EMBEDDED
#define ODD_EMBEDDED NULL
#endif
#ifndef ODD_RESULT
#define ODD_RESULT BW_OK
#endif

const struct bw_host *bw_host;

static int hello(void *self, struct bw_req *req)
{
	(void)self;
	return bw_res_puts(req, "odd");
}

static const struct bw_servlet servlet = { .size = sizeof(servlet), .get = hello };

static const struct bw_embedded_file unsorted_files[] = { { "b", "", 0, 0 }, { "a", "", 0, 0 } };
__attribute__((unused)) static const struct bw_embedded unsorted = { 2, unsorted_files };

static int start(const struct bw_host *host, struct bw_bundle *self)
{
	int err;

	bw_host = host;
	err = bw_register_servlet(self, &servlet, NULL, BW_P_STRING(BW_SERVLET_PATTERN, "/odd"));
	return err != BW_OK ? err : ODD_RESULT;
}

#ifndef ODD_UNEXPORTED
__attribute__((visibility("default")))
#endif
extern const struct bw_bundle_descriptor boardwalk_bundle;

const struct bw_bundle_descriptor boardwalk_bundle = {
	.magic = ODD_MAGIC,
	.abi_major = ODD_MAJOR,
	.abi_minor = ODD_MINOR,
	.size = ODD_SIZE,
	.symbolic_name = ODD_NAME,
	.version = "1.0.0",
	.build = "test",
	.start = start,
	.embedded = ODD_EMBEDDED,
};
