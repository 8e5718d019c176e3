/* fake_repo.h - repo at link time, for tests of what the gateway does with it: a tree in memory that is
 * read, and changed by commits, in one process and at once. It knows no permissions and no node types;
 * of conflicts it knows those that the gateway has to bring about: another base value, and a node that
 * is not there. */
#pragma once
#include <boardwalk/types.h>

/* Whatever is asked is answered with this; BW_OK: properly. */
extern int      fake_repo_error;
extern unsigned fake_repo_questions, fake_repo_commits;
/* The octets and the changes of the last commit. */
extern size_t   fake_repo_octets;
extern unsigned fake_repo_changes;

/* An empty root. */
void fake_repo_begin(void);
void fake_repo_end(void);
