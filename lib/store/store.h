/* store.h - the bundles that are installed: a folder that only the operator writes.
 *
 *   NAME.GENERATION.so   a bundle as it was given; a generation is used once, so that the dynamic
 *                        linker, which knows files by their names, never mistakes one for another
 *   NAME.footprint       what its workers said it registers, for as long as it does not run
 *   settings.json        the same of the bundles of the setting `gateway.bundles`, by file: whoever wrote
 *                        the store last has asked; the gateway reads it (bundle/remember.h)
 *   state.json           which files count, and how; replaced as a whole
 *   lock                 locked by whoever changes the folder
 *
 * What state.json says is what runs after the next start, so a change is made when it is replaced:
 * files that it does not name are leftovers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_SHA256 64u /* hexadecimal digits */

struct store_bundle {
	char    *name, *version; /* owned */
	uint64_t generation;
	bool     stopped;
	char     sha256[STORE_SHA256 + 1];
};

/* A file that an installation came with, as it was when it was last taken into the store. */
struct store_seed {
	char *name; /* owned */
	char  sha256[STORE_SHA256 + 1];
};

struct store {
	uint64_t             next; /* the generation that nobody has used yet */
	struct store_bundle *bundles;
	size_t               n_bundles; /* in the order in which they are started */
	struct store_seed   *seeds;
	size_t               n_seeds;
};

/* FOLDER/NAME.GENERATION.so; owned. */
char *store_file(const char *folder, const char *name, uint64_t generation);

/* A folder without state.json holds nothing. False with a reason in err; *ret is then empty. */
bool store_read(const char *folder, struct store *ret, char *err, size_t err_size);
/* Replaces state.json. durable: on the disk, with every file made in the folder before, when it
 * returns. False with a reason in err; the old one is then still there. */
bool store_write(const char *folder, const struct store *s, bool durable, char *err,
                 size_t err_size);
void store_done(struct store *s);
/* The footprint that was kept for a name; owned, NULL: none. */
char *store_footprint(const char *folder, const char *name);
/* Keeps it, unless it is what is there. A loss costs answers of 503 for what does not run, so it is not
 * worth a wait for the disk. False with errno. */
bool store_set_footprint(const char *folder, const char *name, const char *text, size_t n);

/* settings.json: owned, NULL: there is none; and its replacement, as above. */
char *store_remembered(const char *folder);
bool  store_set_remembered(const char *folder, const char *text, size_t n);

struct store_bundle *store_find(const struct store *s, const char *name); /* NULL: none */
/* A new one behind the others, with that name and nothing else. Borrowed until the next change. */
struct store_bundle *store_add(struct store *s, const char *name);
void                 store_remove(struct store *s, struct store_bundle *b);
/* It is started anew, behind the others. Borrowed until the next change. */
struct store_bundle *store_to_end(struct store *s, struct store_bundle *b);
/* The digest that a name's seed was last taken with; NULL: never. */
const char *store_seed(const struct store *s, const char *name);
void        store_set_seed(struct store *s, const char *name, const char *sha256);
