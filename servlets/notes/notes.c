/* notes.c - a bundle that writes: notes as resources below /content/notes, each with a property text.
 *
 *   GET    /notes        name and text of each, a line each, in their order
 *   POST   /notes        name=..&text=.. makes one                          201, 409 if there is one
 *   GET    /notes/NAME   its text                                           200, 404
 *   POST   /notes/NAME   text=.. changes it, before=OTHER puts it there     204, 404
 *   DELETE /notes/NAME                                                      204, 404
 *
 * Everything is done as the user who asks: who may do what is the repository's business (notes.repoinit),
 * not this file's. Changes are pending until bw_resolver_commit, which makes all of them or none, and
 * bw_resolver_send_error answers what went wrong in the repository's own words. Read bottom to top. */
#include <boardwalk/boardwalk.h>

#define NOTES BW_STR("/content/notes")
#define TEXT  "text/plain;charset=utf-8"

/* The end of each change. */
static int commit(struct bw_req *req, struct bw_resolver *r, int status)
{
	int err = bw_resolver_commit(r);

	return err == BW_OK ? bw_res_status(req, status) : bw_resolver_send_error(req, r, err);
}

/* ---- one note ---- */

/* /content/notes/NAME for /notes/NAME. */
static struct bw_str path_of(struct bw_req *req)
{
	struct bw_str info = bw_req_get(req, BW_REQ_PATH_INFO);
	char         *path = bw_req_alloc(req, NOTES.n + info.n + 1);

	memcpy(path, NOTES.p, NOTES.n);
	memcpy(path + NOTES.n, info.p, info.n + 1);
	return (struct bw_str){ path, NOTES.n + info.n };
}

static int get_note(struct bw_req *req, struct bw_resolver *r)
{
	struct bw_resource *note;
	struct bw_str       text;
	int                 err = bw_resolver_get(r, path_of(req), &note);

	if (err == BW_OK)
		err = bw_resource_string(note, "text", &text);
	if (err != BW_OK)
		return bw_resolver_send_error(req, r, err);
	bw_res_content_type(req, TEXT);
	bw_res_write(req, text.p, text.n);
	return bw_res_puts(req, "\n");
}

static int change_note(struct bw_req *req, struct bw_resolver *r)
{
	struct bw_str       path = path_of(req), text, before;
	struct bw_str       name = { path.p + NOTES.n + 1, path.n - NOTES.n - 1 };
	struct bw_resource *note;
	int                 err;

	if ((err = bw_req_param(req, "text", &text)) != BW_OK ||
	    (err = bw_req_param(req, "before", &before)) != BW_OK)
		return err; /* the form cannot be read */
	err = bw_resolver_get(r, path, &note);
	if (err == BW_OK && text.p)
		err = bw_resolver_set_string(r, path, "text", text);
	if (err == BW_OK && before.p)
		err = bw_resolver_order_before(r, NOTES, name, before, NULL);
	return err == BW_OK ? commit(req, r, 204) : bw_resolver_send_error(req, r, err);
}

static int delete_note(struct bw_req *req, struct bw_resolver *r)
{
	struct bw_resource *note;
	int                 err = bw_resolver_get(r, path_of(req), &note);

	if (err == BW_OK)
		err = bw_resolver_delete(r, bw_resource_get(note, BW_RESOURCE_PATH));
	return err == BW_OK ? commit(req, r, 204) : bw_resolver_send_error(req, r, err);
}

/* ---- all of them ---- */

static int tell(struct bw_req *req, struct bw_resource *note)
{
	struct bw_str name = bw_resource_get(note, BW_RESOURCE_NAME), text = BW_STR("");
	int           err = bw_resource_string(note, "text", &text);

	if (err != BW_OK && err != BW_ENOTFOUND)
		return err;
	bw_res_write(req, name.p, name.n);
	bw_res_puts(req, "\t");
	bw_res_write(req, text.p, text.n);
	return bw_res_puts(req, "\n");
}

static int list_notes(struct bw_req *req, struct bw_resolver *r)
{
	struct bw_resource **page;
	struct bw_str        after = BW_ABSENT;
	size_t               n;
	bool                 more = true;
	int                  err = BW_OK;

	bw_res_content_type(req, TEXT);
	while (err == BW_OK && more) {
		err = bw_resolver_children(r, NOTES, after, 256, &page, &n, &more);
		for (size_t i = 0; err == BW_OK && i < n; i++)
			err = tell(req, page[i]);
		if (err == BW_OK && n > 0)
			after = bw_resource_get(page[n - 1], BW_RESOURCE_NAME);
	}
	return err == BW_OK ? BW_OK : bw_resolver_send_error(req, r, err);
}

static int create_note(struct bw_req *req, struct bw_resolver *r)
{
	struct bw_property  props[1] = { { .name = BW_STR("text") } };
	struct bw_resource *note;
	struct bw_str       name, text;
	int                 err;

	if ((err = bw_req_param(req, "name", &name)) != BW_OK ||
	    (err = bw_req_param(req, "text", &text)) != BW_OK)
		return err; /* the form cannot be read */
	if (!name.p || !text.p)
		return bw_res_send_error(req, 400, "a note has a name and a text");
	props[0].value = BW_V_STRING(text);
	err = bw_resolver_create(r, NOTES, name, props, 1, &note);
	return err == BW_OK ? commit(req, r, 201) : bw_resolver_send_error(req, r, err);
}

/* ---- the servlet ---- */

/* Whether it is about all notes: nothing is behind /notes, or a slash alone. */
static bool is_list(struct bw_req *req)
{
	return bw_req_get(req, BW_REQ_PATH_INFO).n < 2;
}

static int get(void *self, struct bw_req *req)
{
	struct bw_resolver *r;
	int                 err = bw_req_resolver(req, &r);

	(void)self;
	if (err != BW_OK)
		return err;
	return is_list(req) ? list_notes(req, r) : get_note(req, r);
}

static int post(void *self, struct bw_req *req)
{
	struct bw_resolver *r;
	int                 err = bw_req_resolver(req, &r);

	(void)self;
	if (err != BW_OK)
		return err;
	return is_list(req) ? create_note(req, r) : change_note(req, r);
}

static int delete (void *self, struct bw_req *req)
{
	struct bw_resolver *r;
	int                 err = bw_req_resolver(req, &r);

	(void)self;
	if (err != BW_OK)
		return err;
	if (is_list(req))
		return bw_res_send_error(req, 400, "notes are deleted one by one");
	return delete_note(req, r);
}

static const struct bw_servlet notes = {
	.size = sizeof(notes),
	.get = get,
	.post = post,
	.delete = delete,
	.info = "notes: an example that writes",
};

/* ---- the bundle ---- */

/* Who enters is authenticated: nothing opens these paths to anybody. */
static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };

static int start(struct bw_bundle *self)
{
	int err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "notes"),
	                              BW_P_STRING(BW_CONTEXT_PATH, "/notes"));

	if (err == BW_OK)
		err = bw_register_servlet(self, &notes, self,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "notes"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/*"));
	return err;
}

BW_BUNDLE("boardwalk.notes", "1.0.0", start, NULL);
