/* Under test: servlets/users/target.c: what a path of the user manager asks for. */
#include <criterion/criterion.h>
#include "servlets/users/target.c"

#define NOTHING (enum target_verb)99

Test(users, target_parse)
{
	static const struct {
		const char      *path;
		enum target_verb verb;
		bool             is_group;
		const char      *name;
	} rows[] = {
		{ "/user.create.html", TARGET_CREATE, false, NULL },
		{ "/user.create.json", TARGET_CREATE, false, NULL },
		{ "/group.create.html", TARGET_CREATE, true, NULL },
		{ "/user/ada.update.html", TARGET_UPDATE, false, "ada" },
		{ "/user/ada.lovelace.update.html", TARGET_UPDATE, false, "ada.lovelace" },
		{ "/user/ada.changePassword.html", TARGET_PASSWORD, false, "ada" },
		{ "/user/ada.delete.html", TARGET_DELETE, false, "ada" },
		{ "/group/staff.update.html", TARGET_UPDATE, true, "staff" },
		{ "/group/staff.delete.html", TARGET_DELETE, true, "staff" },
		{ "/user/ada.json", TARGET_READ, false, "ada" },
		{ "/user/ada.tidy.json", TARGET_READ, false, "ada" },
		{ "/user/ada.1.json", TARGET_READ, false, "ada" },
		{ "/user/ada.tidy.1.json", TARGET_READ, false, "ada" },
		{ "/user/ada.-1.json", TARGET_READ, false, "ada" },
		{ "/user/ada b.json", TARGET_READ, false, "ada b" },
		{ "/group/staff.json", TARGET_READ, true, "staff" },
		{ "/user.json", TARGET_LIST, false, NULL },
		{ "/user.tidy.1.json", TARGET_LIST, false, NULL },
		{ "/group.tidy.1.json", TARGET_LIST, true, NULL },
		{ "", NOTHING, false, NULL },
		{ "/", NOTHING, false, NULL },
		{ "/user", NOTHING, false, NULL },
		{ "/user.html", NOTHING, false, NULL },
		{ "/user/ada", NOTHING, false, NULL },
		{ "/user/ada.html", NOTHING, false, NULL },
		{ "/user/.json", NOTHING, false, NULL },
		{ "/user/a/b.json", NOTHING, false, NULL },
		{ "/user/ada.create.html", NOTHING, false, NULL },
		{ "/user.update.html", NOTHING, false, NULL },
		{ "/user.delete.html", NOTHING, false, NULL },
		{ "/users.json", NOTHING, false, NULL },
		{ "/useradmin.create.html", NOTHING, false, NULL },
		{ "/group/staff.changePassword.html", NOTHING, false, NULL },
		{ "/other/ada.json", NOTHING, false, NULL },
		{ "user/ada.json", NOTHING, false, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct target t = { .verb = NOTHING };
		bool          found = target_parse(bw_str(rows[i].path), &t);

		cr_assert_eq(found, rows[i].verb != NOTHING, "%s", rows[i].path);
		cr_assert_eq(t.verb, rows[i].verb, "%s", rows[i].path);
		cr_assert(!found || t.is_group == rows[i].is_group, "%s", rows[i].path);
		cr_assert(!found ||
		                  (rows[i].name == NULL ? t.name.p == NULL
		                                        : bw_str_eq(t.name, bw_str(rows[i].name))),
		          "%s", rows[i].path);
	}
}
