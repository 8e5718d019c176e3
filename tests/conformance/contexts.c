/* What a thing can do with its context: words of do= that write what they get, - if there is nothing.
 *
 *   ctxParam(p)    an init parameter      ctxParamNames  the names of all
 *   setParam       tries to set one       addServlet     tries to add one; they note what comes of it
 *   serverInfo     the server's words     ctxName        name and path of the context
 *   mime(name)     the media type         realPath(p)    where p is in the file system
 *   file(path)     the file's content     files(path)    the path's children, a blank behind each
 *
 * Tests: C.rows. */
#include "contexts.h"

#include <stdio.h>

static int put(struct action *x, struct bw_str s)
{
	return s.p ? bw_res_write(x->req, s.p, s.n) : bw_res_puts(x->req, "-");
}

static struct bw_context *context_of(struct action *x)
{
	return bw_req_context(x->req);
}

static int do_param(struct action *x)
{
	return put(x, bw_context_param(context_of(x), x->a));
}

static int do_param_names(struct action *x)
{
	struct bw_str name;

	for (size_t i = 0; (name = bw_context_param_name(context_of(x), i)).p; i++)
		bw_res_printf(x->req, "%s ", name.p);
	return BW_OK;
}

static int note(int err)
{
	things_log(&things.calls, "%s",
	           err == BW_ESTATE         ? "state"
	           : err == BW_EUNSUPPORTED ? "unsupported"
	                                    : "other");
	return BW_OK;
}

static int do_set_param(struct action *x)
{
	return note(bw_context_set_param(context_of(x), "p", BW_STR("v")));
}

static int do_add_servlet(struct action *x)
{
	static const struct bw_servlet servlet = { .size = sizeof(servlet) };

	return note(bw_context_add_servlet(context_of(x), "added", &servlet, NULL));
}

static int do_server_info(struct action *x)
{
	return put(x, bw_context_get(context_of(x), BW_CONTEXT_FIELD_SERVER_INFO));
}

static int do_context_name(struct action *x)
{
	put(x, bw_context_get(context_of(x), BW_CONTEXT_FIELD_NAME));
	bw_res_puts(x->req, "@");
	return put(x, bw_context_get(context_of(x), BW_CONTEXT_FIELD_PATH));
}

static int do_mime(struct action *x)
{
	return put(x, bw_context_mime_type(context_of(x), x->thing->bundle, bw_str(x->a)));
}

static int do_real_path(struct action *x)
{
	char path[256];
	int  err = bw_context_get_real_path(context_of(x), x->thing->bundle, bw_str(x->a), path,
	                                    sizeof(path));

	return err == BW_OK ? bw_res_puts(x->req, path) : put(x, BW_ABSENT);
}

static int do_file(struct action *x)
{
	struct bw_file file;
	char           buf[64];
	size_t         n = 0;
	int err = bw_context_get_resource(context_of(x), x->thing->bundle, bw_str(x->a), &file);

	if (err == BW_ENOTFOUND)
		return put(x, BW_ABSENT);
	if (err != BW_OK)
		return err;
	err = bw_file_read(x->req, &file, 0, buf, sizeof(buf), &n);
	bw_file_close(&file);
	return err == BW_OK ? bw_res_write(x->req, buf, n) : err;
}

static void tell(void *req, struct bw_str path)
{
	bw_res_printf(req, "%s ", path.p);
}

static int do_files(struct action *x)
{
	int err = bw_context_get_resource_paths(context_of(x), x->thing->bundle, bw_str(x->a), tell,
	                                        x->req);

	return err == BW_ENOTFOUND ? put(x, BW_ABSENT) : err;
}

const struct word context_words[] = {
	{ "ctxParam", do_param },
	{ "ctxParamNames", do_param_names },
	{ "setParam", do_set_param },
	{ "addServlet", do_add_servlet },
	{ "ctxName", do_context_name },
	{ "serverInfo", do_server_info },
	{ "mime", do_mime },
	{ "realPath", do_real_path },
	{ "file", do_file },
	{ "files", do_files },
	{ NULL, NULL },
};

/* ---- the helper of a context with root= ---- */

#define MAX_PATH 256

/* False: longer than that. */
static bool below(const struct thing *t, struct bw_str path, char ret[MAX_PATH])
{
	return snprintf(ret, MAX_PATH, "%s%.*s", t->root, (int)path.n, path.p) < MAX_PATH;
}

int on_get_resource(void *self, struct bw_str path, struct bw_file *ret)
{
	const struct thing *t = thing_of(self);
	char                name[MAX_PATH];

	if (t->folder)
		return bw_file_open(t->folder, path, ret);
	if (!t->root)
		return BW_DECLINED;
	return below(t, path, name) ? bw_file_embedded(t->bundle, bw_str(name), ret) : BW_ENOTFOUND;
}

int on_get_resource_paths(void *self, struct bw_str path, bw_path_cb cb, void *arg)
{
	const struct thing *t = thing_of(self);
	char                name[MAX_PATH];

	if (!t->root)
		return BW_DECLINED;
	return below(t, path, name) ? bw_file_embedded_paths(t->bundle, bw_str(name), cb, arg)
	                            : BW_ENOTFOUND;
}

int on_get_real_path(void *self, struct bw_str path, char *buf, size_t n)
{
	const struct thing *t = thing_of(self);
	char                name[MAX_PATH];

	if (!t->root)
		return BW_DECLINED;
	if (!below(t, path, name) || strlen(name) >= n)
		return BW_ETOOBIG;
	strcpy(buf, name);
	return BW_OK;
}

struct bw_str on_get_mime_type(void *self, struct bw_str name)
{
	const struct thing *t = thing_of(self);

	return t->root && name.n > 2 && strcmp(name.p + name.n - 2, ".q") == 0 ? BW_STR("text/q")
	                                                                       : BW_ABSENT;
}
