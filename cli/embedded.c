/* embedded.c - the assembler reads the files in, so that no build step has to quote them.
 *
 * A new migration is two rows here and a new SCHEMA_VERSION. Rows are only ever added at the end.
 * Owns, runs in, fails with: nothing. Tests: tests/system/setup_test.c. */
#include "embedded.h"

#include <base/schema_version.h>

#define EMBED(symbol, file) \
	__asm__(".pushsection .rodata\n" \
	        ".globl " #symbol "\n" #symbol ":\n" \
	        ".incbin \"" SOURCE_FOLDER "/" file "\"\n" \
	        ".globl " #symbol "_end\n" #symbol "_end:\n" \
	        ".byte 0\n" \
	        ".popsection\n"); \
	extern const char symbol[], symbol##_end[]

EMBED(migration_0001, "migrations/0001_auth.sql");
EMBED(migration_0002, "migrations/0002_repo.sql");
EMBED(migration_0003, "migrations/0003_session.sql");
EMBED(migration_0004, "migrations/0004_repoinit.sql");
EMBED(migration_0005, "migrations/0005_restriction.sql");
EMBED(migration_0006, "migrations/0006_journal.sql");
EMBED(migration_0007, "migrations/0007_lists.sql");
EMBED(migration_0008, "migrations/0008_node_type.sql");
EMBED(migration_0009, "migrations/0009_commit.sql");
EMBED(migration_0010, "migrations/0010_access.sql");
EMBED(migration_0011, "migrations/0011_search.sql");
EMBED(migration_0012, "migrations/0012_blob.sql");
EMBED(migration_0013, "migrations/0013_import.sql");
EMBED(migration_0014, "migrations/0014_version.sql");
EMBED(migration_0015, "migrations/0015_suggest.sql");
EMBED(migration_0016, "migrations/0016_login.sql");
EMBED(migration_0017, "migrations/0017_token.sql");
EMBED(migration_0018, "migrations/0018_versions.sql");
EMBED(migration_0019, "migrations/0019_statistics.sql");
EMBED(migration_0020, "migrations/0020_reference.sql");
EMBED(migration_0021, "migrations/0021_account.sql");
EMBED(migration_0022, "migrations/0022_query_index.sql");
EMBED(migration_0023, "migrations/0023_commit_cost.sql");
EMBED(base_repoinit, "conf/base.repoinit");

const struct embedded_file embedded_migrations[] = {
	{ "0001_auth.sql", migration_0001, migration_0001_end },
	{ "0002_repo.sql", migration_0002, migration_0002_end },
	{ "0003_session.sql", migration_0003, migration_0003_end },
	{ "0004_repoinit.sql", migration_0004, migration_0004_end },
	{ "0005_restriction.sql", migration_0005, migration_0005_end },
	{ "0006_journal.sql", migration_0006, migration_0006_end },
	{ "0007_lists.sql", migration_0007, migration_0007_end },
	{ "0008_node_type.sql", migration_0008, migration_0008_end },
	{ "0009_commit.sql", migration_0009, migration_0009_end },
	{ "0010_access.sql", migration_0010, migration_0010_end },
	{ "0011_search.sql", migration_0011, migration_0011_end },
	{ "0012_blob.sql", migration_0012, migration_0012_end },
	{ "0013_import.sql", migration_0013, migration_0013_end },
	{ "0014_version.sql", migration_0014, migration_0014_end },
	{ "0015_suggest.sql", migration_0015, migration_0015_end },
	{ "0016_login.sql", migration_0016, migration_0016_end },
	{ "0017_token.sql", migration_0017, migration_0017_end },
	{ "0018_versions.sql", migration_0018, migration_0018_end },
	{ "0019_statistics.sql", migration_0019, migration_0019_end },
	{ "0020_reference.sql", migration_0020, migration_0020_end },
	{ "0021_account.sql", migration_0021, migration_0021_end },
	{ "0022_query_index.sql", migration_0022, migration_0022_end },
	{ "0023_commit_cost.sql", migration_0023, migration_0023_end },
};
const size_t embedded_n_migrations = sizeof(embedded_migrations) / sizeof(*embedded_migrations);
_Static_assert(sizeof(embedded_migrations) / sizeof(*embedded_migrations) == SCHEMA_VERSION,
               "one migration per schema version");

const struct embedded_file embedded_base_repoinit = { "base.repoinit", base_repoinit,
	                                              base_repoinit_end };
