/* What a context helper decides beside security. It may be shorter than our table, being built for
 * an earlier minor version, and may leave any call to the default.
 *
 * Owns: nothing. Runs in: a request's fiber or a bundle's start; calls bundle code.
 * Fails with: BW_ENOTFOUND, BW_EIO (a file without content), what the helper returns.
 * Tests: tests/unit/whiteboard/helper_test.c, tests/conformance (I). */
#include "helper.h"

#include <files.h>

/* The helper's own function, NULL if it has none. */
#define OWN(h, member) \
	((h)->type && (h)->type->size >= offsetof(struct bw_context_helper, member) + \
	                                         sizeof((h)->type->member) \
	         ? (h)->type->member \
	         : NULL)

struct bw_str helper_mime_type(const struct helper *h, struct bw_str name)
{
	struct bw_str (*own)(void *self, struct bw_str name) = OWN(h, get_mime_type);
	struct bw_str type = own ? own(h->self, name) : BW_ABSENT;

	return type.p ? type : mime_of(name);
}

int helper_resource(const struct helper *h, const struct bw_bundle *b, struct bw_str path,
                    struct bw_file *ret)
{
	int (*own)(void *self, struct bw_str path, struct bw_file *ret) = OWN(h, get_resource);
	struct bw_file file = { .fd = -1 };
	int            err = own ? own(h->self, path, &file) : BW_DECLINED;

	if (err == BW_DECLINED)
		err = embedded_find(b, path, &file);
	if (err == BW_OK && !file.data && file.fd < 0 && file.n > 0) {
		file_close(&file);
		err = BW_EIO;
	}
	if (err == BW_OK)
		*ret = file;
	return err;
}

int helper_real_path(const struct helper *h, struct bw_str path, char *buf, size_t n)
{
	int (*own)(void *self, struct bw_str path, char *buf, size_t n) = OWN(h, get_real_path);
	int err = own ? own(h->self, path, buf, n) : BW_DECLINED;

	return err == BW_DECLINED ? BW_ENOTFOUND : err;
}

int helper_resource_paths(const struct helper *h, const struct bw_bundle *b, struct bw_str path,
                          bw_path_cb tell, void *arg)
{
	int (*own)(void *self, struct bw_str path, bw_path_cb tell, void *arg) =
		OWN(h, get_resource_paths);
	int err = own ? own(h->self, path, tell, arg) : BW_DECLINED;

	return err == BW_DECLINED ? embedded_paths(b, path, tell, arg) : err;
}
