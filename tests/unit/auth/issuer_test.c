/* Under test: auth/issuer.c, its settings. (What tokens may say: tests/conformance/token.) */
#include <auth/issuer.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SET \
	"{\"keys\":[{\"kty\":\"OKP\",\"kid\":\"%s\",\"alg\":\"EdDSA\",\"crv\":\"Ed25519\"," \
	"\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}"

static char folder[] = "/tmp/issuer-test.XXXXXX", err[256];

static void write_set(const char *name, mode_t mode)
{
	char  file[64];
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s", folder, name);
	f = fopen(file, "we");
	cr_assert_not_null(f);
	cr_assert_eq(fchmod(fileno(f), mode), 0);
	fprintf(f, SET, name);
	fclose(f);
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(folder));
	write_set("one", 0644);
	write_set("two", 0644);
	write_set("loose", 0664);
	cr_assert_eq(chdir(folder), 0);
}

static void tear_down(void)
{
	unlink("one");
	unlink("two");
	unlink("loose");
	rmdir(folder);
}

TestSuite(issuer, .init = set_up, .fini = tear_down);

static struct issuers *make(char *first, char *second)
{
	char            *items[] = { first, second };
	struct conf_list list = { items, second != NULL ? 2 : 1 };

	return issuers_new(&list, err, sizeof(err));
}

Test(issuer, settings_that_are_good)
{
	char            *none[1] = { NULL };
	struct conf_list empty = { none, 0 };
	struct issuers  *is = issuers_new(&empty, err, sizeof(err));

	cr_assert_not_null(is);
	issuers_free(is);
	is = make(
		(char[]){ "https://a.example audience=x keys=one" },
		(char[]){ "https://b.example audience=x keys=two user=name leeway=0 life=86400" });
	cr_assert_not_null(is, "%s", err);
	cr_assert_not(issuers_follow(is));
	write_set("one", 0664);
	cr_assert_not(issuers_follow(is), "others may write it");
	issuers_free(is);
	issuers_free(NULL);
}

Test(issuer, settings_that_are_not)
{
	static const struct {
		const char *item, *reason; /* is part of the message */
	} rows[] = {
		{ "", "is not ISSUER" },
		{ "https://a.example", "is not ISSUER" },
		{ "https://a.example audience=x", "is not ISSUER" },
		{ "https://a.example keys=one", "is not ISSUER" },
		{ "https://a.example audience= keys=one", "is not ISSUER" },
		{ "https://a.example audience=x keys=one user=", "is not ISSUER" },
		{ "https://a.example audience=x keys=one leeway=601", "'leeway=601'" },
		{ "https://a.example audience=x keys=one leeway=-1", "'leeway=-1'" },
		{ "https://a.example audience=x keys=one life=0", "'life=0'" },
		{ "https://a.example audience=x keys=one life=1h", "'life=1h'" },
		{ "https://a.example audience=x keys=one alg=none", "'alg=none'" },
		{ "https://a.example audience=x keys=nowhere", "No such file" },
		{ "https://a.example audience=x keys=.", "not a regular file" },
		{ "https://a.example audience=x keys=loose", "mode 0664" },
	};
	char item[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(item, rows[i].item);
		cr_assert_null(make(item, NULL), "row %zu", i);
		cr_assert(strstr(err, rows[i].reason) != NULL, "row %zu: %s", i, err);
	}
	cr_assert_null(make((char[]){ "https://a.example audience=x keys=one" },
	                    (char[]){ "https://b.example audience=x keys=one" }));
	cr_assert(strstr(err, "has the name of one of https://a.example") != NULL, "%s", err);
}
