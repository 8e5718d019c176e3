/* questions.h - the questions of rows about permissions: "read /a/b", "remove /a@p", "namespaces -". */
#pragma once
#include <repo/permit.h>

/* The words are listed in tests/conformance/acl.rows. Behind a question may stand the primary types of
 * nodes: "types: /a nt:folder, /a/b nt:file". A word that is nothing else is a privilege; "custom" is a
 * bit that no privilege has. What cannot be understood fails the test. */
bool question_allowed(struct acl *acl, const struct principals *who, const char *question);
