/* amendment.c - reads the files that amend the mapping of service users.
 *
 *     amendment:
 *       ranking: 10
 *       service_users: ["org.example.shop:orders=shop-writer"]
 *
 * Owns: nothing. Runs in: start-up. Fails with: a line for the operator that names the file. Tests:
 * tests/unit/auth/mapping_test.c, tests/conformance/mapping. */
#include "amendment.h"
#include <base/fatal.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 1024u

#define KEY(name, type, field, initial, help) \
	{ \
		"amendment." name, type, offsetof(struct amendment, field), initial, 0, 0, help \
	}

static const struct conf_key keys[] = {
	KEY("ranking", CONF_STRING, ranking, "0", "higher ones go first; may be negative"),
	KEY("service_users", CONF_STRINGS, service_users, NULL, "as auth.service_users"),
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *const sections[] = { "amendment", NULL };

static bool is_amendment(const char *name)
{
	static const char ending[] = ".yaml";
	size_t            n = strlen(name), n_ending = sizeof(ending) - 1;

	return name[0] != '.' && n > n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static bool read_rank(const char *text, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 10);
	return end != text && *end == '\0' && errno == 0;
}

static int load_file(const char *folder, struct amendment *a, char *err, size_t err_size)
{
	char *path = xasprintf("%s/%s", folder, a->file);
	int   r = conf_load_part(keys, N_KEYS, sections, path, a, err, err_size);

	if (r == 0 && !read_rank(a->ranking, &a->rank)) {
		snprintf(err, err_size, "%s: amendment.ranking: expected a whole number", path);
		r = -1;
	}
	free(path);
	return r;
}

static int compare(const void *x, const void *y)
{
	const struct amendment *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank < b->rank ? 1 : -1;
	return strcmp(a->file, b->file);
}

static int load_folder(const char *folder, DIR *dir, struct amendments *as, char *err,
                       size_t err_size)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		if (!is_amendment(entry->d_name))
			continue;
		if (as->n == MAX_FILES) {
			snprintf(err, err_size, "%s: more than %u amendments", folder, MAX_FILES);
			return -1;
		}
		as->items = xrealloc(as->items, (as->n + 1) * sizeof(*as->items));
		as->items[as->n] = (struct amendment){ .file = xstrdup(entry->d_name) };
		if (load_file(folder, &as->items[as->n++], err, err_size) != 0)
			return -1;
	}
	return 0;
}

int amendments_load(const char *folder, struct amendments *ret, char *err, size_t err_size)
{
	DIR *dir;
	int  r;

	*ret = (struct amendments){ 0 };
	if (folder == NULL || *folder == '\0')
		return 0;
	dir = opendir(folder);
	if (dir == NULL) {
		snprintf(err, err_size, "auth.service_users_folder: %s: %s", folder,
		         strerror(errno));
		return -1;
	}
	r = load_folder(folder, dir, ret, err, err_size);
	closedir(dir);
	if (ret->n > 0)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare);
	return r;
}

void amendments_done(struct amendments *as)
{
	for (size_t i = 0; i < as->n; i++) {
		conf_done(keys, N_KEYS, &as->items[i]);
		free(as->items[i].file);
	}
	free(as->items);
	*as = (struct amendments){ 0 };
}
