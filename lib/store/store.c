/* store.c - state.json: reading it without trust in it, replacing it as a whole.
 *
 *   { "next": 8,
 *     "bundles": [ { "name": "acme.hello", "version": "1.0.0", "generation": 7, "state": "started",
 *                    "sha256": "..." } ],
 *     "seeds": { "acme.hello": "..." } }
 *
 * Owns: struct store. Runs in: the operator's commands, which write; the gateway's parent, which
 * reads. Fails with: false and a reason. Tests: tests/unit/store/store_test.c. */
#include "store.h"

#include <base/fatal.h>
#include <base/symbolic.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (16 << 20) /* octets of state.json, or of a footprint */

char *store_file(const char *folder, const char *name, uint64_t generation)
{
	return xasprintf("%s/%s.%" PRIu64 ".so", folder, name, generation);
}

static bool fail(char *err, size_t err_size, const char *folder, const char *what)
{
	snprintf(err, err_size, "%s/state.json: %s", folder, what);
	return false;
}

/* ---- the list -------------------------------------------------------------------------------- */

struct store_bundle *store_find(const struct store *s, const char *name)
{
	for (size_t i = 0; i < s->n_bundles; i++)
		if (strcmp(s->bundles[i].name, name) == 0)
			return &s->bundles[i];
	return NULL;
}

struct store_bundle *store_add(struct store *s, const char *name)
{
	struct store_bundle *b;

	s->bundles = xrealloc(s->bundles, (s->n_bundles + 1) * sizeof(*s->bundles));
	b = &s->bundles[s->n_bundles++];
	*b = (struct store_bundle){ .name = xstrdup(name), .version = xstrdup("") };
	return b;
}

void store_remove(struct store *s, struct store_bundle *b)
{
	size_t i = (size_t)(b - s->bundles);

	free(b->name);
	free(b->version);
	memmove(b, b + 1, (s->n_bundles - i - 1) * sizeof(*b));
	s->n_bundles--;
}

struct store_bundle *store_to_end(struct store *s, struct store_bundle *b)
{
	struct store_bundle moved = *b;
	size_t              i = (size_t)(b - s->bundles);

	memmove(b, b + 1, (s->n_bundles - i - 1) * sizeof(*b));
	s->bundles[s->n_bundles - 1] = moved;
	return &s->bundles[s->n_bundles - 1];
}

static struct store_seed *find_seed(const struct store *s, const char *name)
{
	for (size_t i = 0; i < s->n_seeds; i++)
		if (strcmp(s->seeds[i].name, name) == 0)
			return &s->seeds[i];
	return NULL;
}

const char *store_seed(const struct store *s, const char *name)
{
	const struct store_seed *seed = find_seed(s, name);

	return seed != NULL ? seed->sha256 : NULL;
}

void store_set_seed(struct store *s, const char *name, const char *sha256)
{
	struct store_seed *seed = find_seed(s, name);

	if (seed == NULL) {
		s->seeds = xrealloc(s->seeds, (s->n_seeds + 1) * sizeof(*s->seeds));
		seed = &s->seeds[s->n_seeds++];
		seed->name = xstrdup(name);
	}
	snprintf(seed->sha256, sizeof(seed->sha256), "%s", sha256);
}

void store_done(struct store *s)
{
	for (size_t i = 0; i < s->n_bundles; i++) {
		free(s->bundles[i].name);
		free(s->bundles[i].version);
	}
	for (size_t i = 0; i < s->n_seeds; i++)
		free(s->seeds[i].name);
	free(s->bundles);
	free(s->seeds);
	*s = (struct store){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_sha256(const char *text)
{
	return strlen(text) == STORE_SHA256 && strspn(text, "0123456789abcdef") == STORE_SHA256;
}

static bool take_bundle(struct store *s, json_t *item)
{
	const char          *name, *version, *state, *sha256;
	json_int_t           generation;
	struct store_bundle *b;

	if (json_unpack(item, "{s:s, s:s, s:I, s:s, s:s !}", "name", &name, "version", &version,
	                "generation", &generation, "state", &state, "sha256", &sha256) != 0)
		return false;
	if (!symbolic_name_ok(name) || store_find(s, name) != NULL || !is_sha256(sha256) ||
	    generation < 1 || (uint64_t)generation >= s->next ||
	    (strcmp(state, "started") != 0 && strcmp(state, "stopped") != 0))
		return false;
	b = store_add(s, name);
	free(b->version);
	b->version = xstrdup(version);
	b->generation = (uint64_t)generation;
	b->stopped = strcmp(state, "stopped") == 0;
	strcpy(b->sha256, sha256);
	return true;
}

static bool take_state(struct store *s, json_t *root)
{
	json_t     *bundles, *seeds, *item;
	json_int_t  next;
	const char *name;
	size_t      i;

	if (json_unpack(root, "{s:I, s:o, s:o !}", "next", &next, "bundles", &bundles, "seeds",
	                &seeds) != 0 ||
	    next < 1 || !json_is_array(bundles) || !json_is_object(seeds))
		return false;
	s->next = (uint64_t)next;
	json_array_foreach (bundles, i, item)
		if (!take_bundle(s, item))
			return false;
	json_object_foreach (seeds, name, item) {
		if (!symbolic_name_ok(name) || !json_is_string(item) ||
		    !is_sha256(json_string_value(item)))
			return false;
		store_set_seed(s, name, json_string_value(item));
	}
	return true;
}

/* A file's text with a NUL behind it, owned; NULL with errno. */
static char *read_text(const char *folder, const char *name, size_t *ret_n)
{
	char       *file = xasprintf("%s/%s", folder, name), *text = NULL;
	int         fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	free(file);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_FILE) {
		errno = EFBIG;
	} else {
		ssize_t n;

		text = xmalloc((size_t)st.st_size + 1);
		n = read(fd, text, (size_t)st.st_size);
		if (n != st.st_size) {
			errno = EIO;
			free(text);
			text = NULL;
		} else {
			text[n] = '\0';
			*ret_n = (size_t)n;
		}
	}
	close(fd);
	return text;
}

bool store_read(const char *folder, struct store *ret, char *err, size_t err_size)
{
	size_t       n = 0;
	char        *text = read_text(folder, "state.json", &n);
	json_t      *root;
	json_error_t error;
	bool         good;

	*ret = (struct store){ .next = 1 };
	if (text == NULL)
		return errno == ENOENT || fail(err, err_size, folder, strerror(errno));
	root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	free(text);
	if (root == NULL)
		return fail(err, err_size, folder, error.text);
	good = take_state(ret, root);
	json_decref(root);
	if (good)
		return true;
	store_done(ret);
	ret->next = 1;
	return fail(err, err_size, folder, "not what this version writes");
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *state_of(const struct store *s)
{
	json_t *bundles = json_array(), *seeds = json_object();

	for (size_t i = 0; i < s->n_bundles; i++) {
		const struct store_bundle *b = &s->bundles[i];

		json_array_append_new(
			bundles,
			json_pack("{s:s, s:s, s:I, s:s, s:s}", "name", b->name, "version",
		                  b->version, "generation", (json_int_t)b->generation, "state",
		                  b->stopped ? "stopped" : "started", "sha256", b->sha256));
	}
	for (size_t i = 0; i < s->n_seeds; i++)
		json_object_set_new(seeds, s->seeds[i].name, json_string(s->seeds[i].sha256));
	return json_pack("{s:I, s:o, s:o}", "next", (json_int_t)s->next, "bundles", bundles,
	                 "seeds", seeds);
}

/* A file that is as it was, or new, whatever happens meanwhile. */
static bool replace(int folder, const char *name, const char *text, size_t n, bool durable)
{
	char *fresh = xasprintf("%s.new", name);
	int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	bool done;

	done = fd >= 0 && write(fd, text, n) == (ssize_t)n && fchmod(fd, 0644) == 0 &&
	       (!durable || fsync(fd) == 0) && renameat(folder, fresh, folder, name) == 0 &&
	       (!durable || fsync(folder) == 0);
	if (fd >= 0)
		close(fd);
	free(fresh);
	return done;
}

bool store_write(const char *folder, const struct store *s, bool durable, char *err,
                 size_t err_size)
{
	json_t *root = state_of(s);
	char   *text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
	int     fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool    done;

	json_decref(root);
	if (text == NULL)
		fatalx("out of memory");
	done = fd >= 0 && replace(fd, "state.json", text, strlen(text), durable);
	if (!done)
		fail(err, err_size, folder, strerror(errno));
	free(text);
	if (fd >= 0)
		close(fd);
	return done;
}

/* ---- footprints ------------------------------------------------------------------------------- */

#define SETTINGS "settings.json"

/* Replaces a file unless it is like that. */
static bool keep(const char *folder, const char *file, const char *text, size_t n)
{
	size_t n_old;
	char  *old = read_text(folder, file, &n_old);
	bool   done = old != NULL && n_old == n && memcmp(old, text, n) == 0;
	int    fd;

	free(old);
	if (done)
		return true;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	done = fd >= 0 && replace(fd, file, text, n, false);
	if (fd >= 0)
		close(fd);
	return done;
}

char *store_footprint(const char *folder, const char *name)
{
	char  *file = xasprintf("%s.footprint", name);
	size_t n;
	char  *text = read_text(folder, file, &n);

	free(file);
	return text;
}

bool store_set_footprint(const char *folder, const char *name, const char *text, size_t n)
{
	char *file = xasprintf("%s.footprint", name);
	bool  done = keep(folder, file, text, n);

	free(file);
	return done;
}

char *store_remembered(const char *folder)
{
	size_t n;

	return read_text(folder, SETTINGS, &n);
}

bool store_set_remembered(const char *folder, const char *text, size_t n)
{
	return keep(folder, SETTINGS, text, n);
}
