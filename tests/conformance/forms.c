/* Words of a script about what a request brings:
 *
 *   params           writes all parameters: "p=2&p=1"
 *   param(p)         writes its values: "2,1", or "none"
 *   cookie(N)        writes its value, or "none"
 *   setCookie(N,v)   with the defaults
 *   parts            writes all parts: "f(x.txt,5)=hello;t=val;"
 *   sizes            "f(x.bin,100000);" if each has one octet as often as that
 *
 * An error ends the script and travels. Tests: tests/conformance/whiteboard/{K,M,N}.rows. */
#include "forms.h"

#include <stdlib.h>

static int write_text(struct action *x, struct bw_str s)
{
	return s.p ? bw_res_write(x->req, s.p, s.n) : bw_res_puts(x->req, "none");
}

static int do_params(struct action *x)
{
	const struct bw_pair *all;
	size_t                n;
	int                   err = bw_req_params(x->req, &all, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++)
		err = bw_res_printf(x->req, "%s%s=%s", i ? "&" : "", all[i].name.p, all[i].value.p);
	return err;
}

static int do_param(struct action *x)
{
	const struct bw_str *values;
	size_t               n;
	int                  err = bw_req_param_values(x->req, x->a, &values, &n);

	if (err == BW_OK && n == 0)
		return bw_res_puts(x->req, "none");
	for (size_t i = 0; err == BW_OK && i < n; i++)
		err = bw_res_printf(x->req, "%s%s", i ? "," : "", values[i].p);
	return err;
}

static int do_cookie(struct action *x)
{
	struct bw_str value;
	int           err = bw_req_cookie(x->req, x->a, &value);

	return err == BW_OK ? write_text(x, value) : err;
}

static int do_set_cookie(struct action *x)
{
	struct bw_cookie c = bw_cookie(x->a, bw_str(x->b));

	return bw_res_add_cookie(x->req, &c);
}

static int write_part(struct action *x, struct bw_part *part)
{
	struct bw_str file = bw_part_get(part, BW_PART_FILE_NAME);
	size_t        size = (size_t)bw_part_size(part), n = 0;
	char         *content = bw_req_alloc(x->req, size + 1);
	int           err;

	for (size_t at = 0; at < size; at += n)
		if ((err = bw_part_read(part, at, content + at, size - at, &n)) != BW_OK)
			return err;
	if ((err = bw_res_puts(x->req, bw_part_get(part, BW_PART_NAME).p)) != BW_OK)
		return err;
	if (file.p && (err = bw_res_printf(x->req, "(%s,%zu)", file.p, size)) != BW_OK)
		return err;
	if ((err = bw_res_puts(x->req, "=")) != BW_OK ||
	    (err = bw_res_write(x->req, content, size)) != BW_OK)
		return err;
	return bw_res_puts(x->req, ";");
}

static int do_parts(struct action *x)
{
	struct bw_part *const *parts;
	size_t                 n;
	int                    err = bw_req_parts(x->req, &parts, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++)
		err = write_part(x, parts[i]);
	return err;
}

/* In pieces, as a servlet would that does not know how large it is. */
static int write_size(struct action *x, struct bw_part *part)
{
	struct bw_str file = bw_part_get(part, BW_PART_FILE_NAME);
	char          piece[4000], first = 0;
	uint64_t      size = 0;
	size_t        n;
	int           err;

	for (;;) {
		err = bw_part_read(part, size, piece, sizeof(piece), &n);
		if (err != BW_OK || n == 0)
			break;
		first = size == 0 ? piece[0] : first;
		for (size_t i = 0; i < n; i++)
			if (piece[i] != first)
				return bw_req_fail(x->req, "rows.part", "another octet");
		size += n;
	}
	return err != BW_OK
	               ? err
	               : bw_res_printf(x->req, "%s(%s,%llu);", bw_part_get(part, BW_PART_NAME).p,
	                               file.p ? file.p : "-", (unsigned long long)size);
}

static int do_sizes(struct action *x)
{
	struct bw_part *const *parts;
	size_t                 n;
	int                    err = bw_req_parts(x->req, &parts, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++)
		err = write_size(x, parts[i]);
	return err;
}

const struct word form_words[] = {
	{ "params", do_params }, { "param", do_param },
	{ "cookie", do_cookie }, { "setCookie", do_set_cookie },
	{ "parts", do_parts },   { "sizes", do_sizes },
	{ NULL, NULL },
};
