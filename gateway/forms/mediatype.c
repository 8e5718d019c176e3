/* Values with parameters. Owns: nothing. Runs in: anywhere. Fails with: -1.
 * Tests: tests/unit/gateway/mediatype_test.c, tests/fuzz/multipart_scan.c. */
#include "mediatype.h"

#include "token.h"

#include <strings.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct bw_str trim(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	while (p < end && is_blank(end[-1]))
		end--;
	return (struct bw_str){ p, (size_t)(end - p) };
}

bool mediatype_is(struct bw_str field, const char *type)
{
	const char   *semicolon = field.n > 0 ? memchr(field.p, ';', field.n) : NULL;
	struct bw_str first;

	if (!field.p)
		return false;
	first = trim(field.p, semicolon ? semicolon : field.p + field.n);
	return first.n == strlen(type) && strncasecmp(first.p, type, first.n) == 0;
}

struct mediatype_params mediatype_params(struct bw_str field)
{
	const char *semicolon = field.n > 0 ? memchr(field.p, ';', field.n) : NULL;
	const char *end = field.p ? field.p + field.n : NULL;

	return (struct mediatype_params){ semicolon ? semicolon : end, end };
}

static void skip_blanks(struct mediatype_params *in)
{
	while (in->at < in->end && is_blank(*in->at))
		in->at++;
}

/* Behind the opening quote. */
static bool quoted(struct mediatype_params *in, struct arena *a, struct bw_str *ret)
{
	char *to = arena_alloc(a, (size_t)(in->end - in->at) + 1);

	*ret = (struct bw_str){ to, 0 };
	for (; in->at < in->end && *in->at != '"'; in->at++) {
		if (*in->at == '\\' && in->end - in->at > 1 &&
		    (in->at[1] == '"' || in->at[1] == '\\'))
			in->at++;
		*to++ = *in->at;
	}
	if (in->at == in->end)
		return false;
	in->at++;
	*to = '\0';
	ret->n = (size_t)(to - ret->p);
	return true;
}

/* A token, or what many send without the quotes it needs: no blank, no quote, no ';'. */
static bool bare(struct mediatype_params *in, struct arena *a, struct bw_str *ret)
{
	const char *from = in->at;

	while (in->at < in->end && *in->at != ';' && *in->at != '"' && !is_blank(*in->at))
		in->at++;
	*ret = (struct bw_str){ arena_dup(a, from, (size_t)(in->at - from)),
		                (size_t)(in->at - from) };
	return ret->n > 0;
}

int mediatype_next(struct mediatype_params *in, struct arena *a, struct bw_str *ret_name,
                   struct bw_str *ret_value)
{
	const char *from;

	/* Nothing between two semicolons is nothing. */
	while (skip_blanks(in), in->at < in->end && *in->at == ';')
		in->at++;
	if (in->at == in->end)
		return 0;
	from = in->at;
	while (in->at < in->end && token_lower[(unsigned char)*in->at])
		in->at++;
	*ret_name = (struct bw_str){ from, (size_t)(in->at - from) };
	if (ret_name->n == 0 || in->at == in->end || *in->at != '=')
		return -1;
	in->at++;
	if (in->at < in->end && *in->at == '"') {
		in->at++;
		if (!quoted(in, a, ret_value))
			return -1;
	} else if (!bare(in, a, ret_value)) {
		return -1;
	}
	skip_blanks(in);
	return in->at == in->end || *in->at == ';' ? 1 : -1;
}
