/* cli/descriptor.c: what a bundle says of itself is read without loading it, and a file that lies about
 * its own insides leads nowhere. The bundles are those of tests/support/bundles. */
#include <base/fatal.h>
#include <cli.h>
#include <criterion/criterion.h>
#include <descriptor.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

static char *read_bundle(const char *name, size_t *ret_n)
{
	char *file = xasprintf("%s/%s.so", BUNDLES, name),
	     *image = read_file(file, 16 << 20, ret_n);

	cr_assert_not_null(image, "%s", file);
	free(file);
	return image;
}

Test(descriptor, of_every_odd_bundle)
{
	static const struct {
		const char *bundle, *reason; /* NULL: it is good */
	} rows[] = {
		{ "good", NULL },
		{ "fails", NULL },
		{ "magic", "has no bundle descriptor" },
		{ "short", "has no bundle descriptor" },
		{ "major", "is built for another major version of the ABI" },
		{ "minor", "is built for a newer minor version of the ABI" },
		{ "name", "has no valid symbolic name" },
		{ "unexported", "exports no boardwalk_bundle" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct descriptor d;
		size_t            n;
		char             *image = read_bundle(rows[i].bundle, &n);
		const char       *reason = descriptor_read(image, n, &d);

		if (rows[i].reason != NULL)
			cr_expect(reason != NULL && strcmp(reason, rows[i].reason) == 0, "%s: %s",
			          rows[i].bundle, reason);
		else {
			cr_assert_null(reason, "%s: %s", rows[i].bundle, reason);
			cr_expect(strncmp(d.name, "odd.", 4) == 0 &&
			                  strcmp(d.version, "1.0.0") == 0,
			          "%s: %s %s", rows[i].bundle, d.name, d.version);
		}
		free(image);
	}
}

Test(descriptor, what_is_no_shared_object)
{
	static const char *const texts[] = { "", "x", "\177ELF", "#!/bin/sh\nexit 0\n" };
	struct descriptor        d;
	size_t                   n;
	char                    *image = read_bundle("good", &n);
	Elf64_Ehdr               head;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		cr_expect_str_eq(descriptor_read(texts[i], strlen(texts[i]), &d),
		                 "is no shared object");
	memcpy(&head, image, sizeof(head));
	head.e_machine = EM_S390;
	memcpy(image, &head, sizeof(head));
	cr_expect_str_eq(descriptor_read(image, n, &d), "is built for another kind of machine");
	free(image);
}

/* Each copy is as long as what is read, so that the sanitizer sees one octet too many. */
Test(descriptor, of_a_file_that_was_cut_or_changed_is_read_within_its_bounds)
{
	struct descriptor d;
	size_t            n;
	char             *image = read_bundle("good", &n);
	unsigned          refused = 0;

	for (size_t cut = 0; cut < n; cut += 37) {
		char *part = xmalloc(cut + 1);

		memcpy(part, image, cut);
		part = xrealloc(part, cut > 0 ? cut : 1);
		refused += descriptor_read(part, cut, &d) != NULL;
		free(part);
	}
	cr_expect_gt(refused, 0);
	for (size_t at = 0; at < n; at++) {
		char kept = image[at];

		image[at] = (char)~kept;
		if (descriptor_read(image, n, &d) == NULL)
			cr_assert_gt(strlen(d.name) + strlen(d.version), 0);
		image[at] = kept;
	}
	free(image);
}

/* Files made by hand: pointers by relocation, in their place, and with the shorter descriptor. */
Test(descriptor, of_the_fuzz_targets_good_inputs)
{
	static const char *const names[] = { "good", "packed_relocations", "minor_zero" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char             *file = xasprintf("%s/%s", CORPUS, names[i]);
		struct descriptor d;
		size_t            n;
		char             *image = read_file(file, 1 << 20, &n);
		const char       *reason = descriptor_read(image, n, &d);

		cr_assert_null(reason, "%s: %s", names[i], reason);
		cr_expect_str_eq(d.name, "acme.hello");
		cr_expect_str_eq(d.version, "1.0.0");
		free(image);
		free(file);
	}
}
