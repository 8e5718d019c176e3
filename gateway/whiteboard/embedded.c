/* The files that are part of a bundle's shared object: a sorted table in its descriptor.
 *
 *   a.txt          children of "/":    "/a.txt", "/d/"
 *   d/x.txt        children of "/d":   "/d/x.txt", "/d/y/"
 *   d/y/z.txt
 *
 * Owns: nothing; names and octets are the bundle's. Runs in: anywhere. Fails with: BW_ENOTFOUND.
 * Tests: tests/unit/whiteboard/helper_test.c. */
#include "helper.h"

#include <base/fatal.h>
#include <stdlib.h>

static const struct bw_embedded *table_of(const struct bw_bundle *b)
{
	static const struct bw_embedded    none = { 0, NULL };
	const struct bw_bundle_descriptor *d = b ? b->descriptor : NULL;

	/* A bundle of minor version 0 ends before this member. */
	if (!d || d->size < offsetof(struct bw_bundle_descriptor, embedded) + sizeof(d->embedded) ||
	    !d->embedded)
		return &none;
	return d->embedded;
}

bool embedded_is_sorted(const struct bw_embedded *e)
{
	for (size_t i = 0; e && i < e->n; i++)
		if (!e->files[i].name ||
		    (i > 0 && strcmp(e->files[i - 1].name, e->files[i].name) >= 0))
			return false;
	return true;
}

static struct bw_str without_slash(struct bw_str path)
{
	bool slash = path.n > 0 && path.p[0] == '/';

	return (struct bw_str){ path.p + slash, path.n - slash };
}

/* As strcmp of the name and the octets of s. */
static int compare(const char *name, struct bw_str s)
{
	size_t n = strlen(name);
	int    order = memcmp(name, s.p, n < s.n ? n : s.n);

	return order != 0 ? order : (n > s.n) - (n < s.n);
}

/* The first file that is not before s. */
static size_t lower_bound(const struct bw_embedded *e, struct bw_str s)
{
	size_t from = 0, to = e->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(e->files[middle].name, s) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

int embedded_find(const struct bw_bundle *b, struct bw_str path, struct bw_file *ret)
{
	const struct bw_embedded      *e = table_of(b);
	const struct bw_embedded_file *f;
	size_t                         i;

	path = without_slash(path);
	i = path.n > 0 ? lower_bound(e, path) : e->n;
	if (i == e->n || compare(e->files[i].name, path) != 0)
		return BW_ENOTFOUND;
	f = &e->files[i];
	*ret = (struct bw_file){
		.data = f->data, .fd = -1, .n = f->n, .modified_ms = f->modified_ms
	};
	return BW_OK;
}

/* The directory's name as files begin with it: "d/", "" for the whole. Heap. */
static char *directory_of(struct bw_str path, size_t *ret_n)
{
	bool  slash = false;
	char *text;

	path = without_slash(path);
	slash = path.n > 0 && path.p[path.n - 1] != '/';
	text = xmalloc(path.n + 2);
	if (path.n > 0)
		memcpy(text, path.p, path.n);
	text[path.n] = '/';
	*ret_n = path.n + slash;
	text[*ret_n] = '\0';
	return text;
}

int embedded_paths(const struct bw_bundle *b, struct bw_str path, bw_path_cb tell, void *arg)
{
	const struct bw_embedded *e = table_of(b);
	struct bw_str             last = BW_ABSENT; /* a directory that was told */
	int                       err = BW_ENOTFOUND;
	size_t                    n;
	char                     *directory = directory_of(path, &n);

	for (size_t i = lower_bound(e, (struct bw_str){ directory, n });
	     i < e->n && strncmp(e->files[i].name, directory, n) == 0; i++) {
		const char   *name = e->files[i].name, *slash = strchr(name + n, '/');
		struct bw_str child = { name, slash ? (size_t)(slash - name) + 1 : strlen(name) };
		char         *text;

		if (slash && bw_str_eq(child, last))
			continue;
		last = slash ? child : BW_ABSENT;
		text = xasprintf("/%.*s", (int)child.n, child.p);
		tell(arg, (struct bw_str){ text, child.n + 1 });
		free(text);
		err = BW_OK;
	}
	free(directory);
	return err;
}
