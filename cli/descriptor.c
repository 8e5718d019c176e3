/* descriptor.c - finds boardwalk_bundle in an ELF file and reads it there.
 *
 * Loading the file would run its constructors with the operator's rights. So the symbol is looked up in
 * the section of dynamic symbols, and the pointers in the constant are taken from the relocations that
 * the dynamic linker would apply to it (System V ABI, chapters 4 and 5): a relative one says the
 * address itself; with packed ones (DT_RELR) it stands in its place already.
 *
 * Owns: nothing. Runs in: the operator's commands. Fails with: a reason. Every offset is the file's own
 * word and is checked. Tests: tests/unit/cli/descriptor_test.c. */
#include "descriptor.h"

#include <base/symbolic.h>
#include <boardwalk/bundle.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE  EM_X86_64
#define RELATIVE R_X86_64_RELATIVE
#elif defined(__aarch64__)
#define MACHINE  EM_AARCH64
#define RELATIVE R_AARCH64_RELATIVE
#else
#error "which relocation is relative on this machine?"
#endif

#define MINIMUM offsetof(struct bw_bundle_descriptor, embedded) /* minor version 0 ends there */

struct image {
	const uint8_t *bytes;
	size_t         n;
	Elf64_Ehdr     head;
};

/* A part of the file; NULL if it is not all there. */
static const void *at(const struct image *i, uint64_t offset, uint64_t n)
{
	return offset <= i->n && n <= i->n - offset ? i->bytes + offset : NULL;
}

static bool get_section(const struct image *i, unsigned number, Elf64_Shdr *ret)
{
	const void *p = number < i->head.e_shnum
	                        ? at(i, i->head.e_shoff + number * sizeof(*ret), sizeof(*ret))
	                        : NULL;

	if (p != NULL)
		memcpy(ret, p, sizeof(*ret));
	return p != NULL;
}

/* What stands at an address of the loaded object, with all that is in the file behind it. */
static const uint8_t *at_address(const struct image *i, uint64_t address, size_t *ret_n)
{
	for (unsigned k = 0; k < i->head.e_phnum; k++) {
		const void *p = at(i, i->head.e_phoff + k * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
		Elf64_Phdr  part;

		if (p == NULL)
			return NULL;
		memcpy(&part, p, sizeof(part));
		if (part.p_type != PT_LOAD || address < part.p_vaddr ||
		    address - part.p_vaddr >= part.p_filesz)
			continue;
		*ret_n = part.p_filesz - (address - part.p_vaddr);
		return at(i, part.p_offset + (address - part.p_vaddr), *ret_n);
	}
	return NULL;
}

static const char *string_at(const struct image *i, uint64_t address)
{
	size_t         n = 0;
	const uint8_t *p = at_address(i, address, &n);

	return p != NULL && memchr(p, '\0', n) != NULL ? (const char *)p : NULL;
}

static bool is_named(const struct image *i, const Elf64_Shdr *names, uint32_t offset,
                     const char *name)
{
	size_t      n = strlen(name) + 1;
	const void *p = offset < names->sh_size && n <= names->sh_size - offset
	                        ? at(i, names->sh_offset + offset, n)
	                        : NULL;

	return p != NULL && memcmp(p, name, n) == 0;
}

static bool find_in(const struct image *i, const Elf64_Shdr *symbols, Elf64_Sym *ret)
{
	Elf64_Shdr names;

	if (!get_section(i, symbols->sh_link, &names))
		return false;
	for (uint64_t k = 0; k < symbols->sh_size / sizeof(*ret); k++) {
		const void *p = at(i, symbols->sh_offset + k * sizeof(*ret), sizeof(*ret));

		if (p == NULL)
			return false;
		memcpy(ret, p, sizeof(*ret));
		if (ret->st_shndx != SHN_UNDEF &&
		    is_named(i, &names, ret->st_name, "boardwalk_bundle"))
			return true;
	}
	return false;
}

static bool find_symbol(const struct image *i, Elf64_Sym *ret)
{
	Elf64_Shdr section;

	for (unsigned k = 0; get_section(i, k, &section); k++)
		if (section.sh_type == SHT_DYNSYM && find_in(i, &section, ret))
			return true;
	return false;
}

/* The word at address after relocation: value, unless a relative relocation says another. */
static uint64_t relocated(const struct image *i, uint64_t address, uint64_t value)
{
	Elf64_Shdr section;

	for (unsigned k = 0; get_section(i, k, &section); k++) {
		if (section.sh_type != SHT_RELA)
			continue;
		for (uint64_t r = 0; r < section.sh_size / sizeof(Elf64_Rela); r++) {
			const void *p = at(i, section.sh_offset + r * sizeof(Elf64_Rela),
			                   sizeof(Elf64_Rela));
			Elf64_Rela  rela;

			if (p == NULL)
				return value;
			memcpy(&rela, p, sizeof(rela));
			if (rela.r_offset == address && ELF64_R_TYPE(rela.r_info) == RELATIVE)
				return (uint64_t)rela.r_addend;
		}
	}
	return value;
}

static const char *string_of(const struct image *i, uint64_t descriptor, size_t field,
                             const char *in_place)
{
	uint64_t address = relocated(i, descriptor + field, (uint64_t)(uintptr_t)in_place);

	return address != 0 ? string_at(i, address) : NULL;
}

static const char *check_head(struct image *i)
{
	const void *p = at(i, 0, sizeof(i->head));

	if (p != NULL)
		memcpy(&i->head, p, sizeof(i->head));
	if (p == NULL || memcmp(i->head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    i->head.e_ident[EI_CLASS] != ELFCLASS64 || i->head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    i->head.e_type != ET_DYN || i->head.e_phentsize != sizeof(Elf64_Phdr) ||
	    i->head.e_shentsize != sizeof(Elf64_Shdr))
		return "is no shared object";
	if (i->head.e_machine != MACHINE)
		return "is built for another kind of machine";
	return NULL;
}

const char *descriptor_read(const void *image, size_t n, struct descriptor *ret)
{
	struct image                i = { .bytes = image, .n = n };
	struct bw_bundle_descriptor d;
	const char                 *reason = check_head(&i);
	const uint8_t              *p;
	Elf64_Sym                   symbol;
	size_t                      room = 0;

	if (reason != NULL)
		return reason;
	if (!find_symbol(&i, &symbol))
		return "exports no boardwalk_bundle";
	p = at_address(&i, symbol.st_value, &room);
	if (p == NULL || room < MINIMUM)
		return "has a descriptor that is not in the file";
	memcpy(&d, p, MINIMUM);
	if (d.magic != BW_BUNDLE_MAGIC || d.size < MINIMUM)
		return "has no bundle descriptor";
	if (d.abi_major != BW_ABI_MAJOR)
		return "is built for another major version of the ABI";
	if (d.abi_minor > BW_ABI_MINOR)
		return "is built for a newer minor version of the ABI";
	ret->name =
		string_of(&i, symbol.st_value, offsetof(struct bw_bundle_descriptor, symbolic_name),
	                  d.symbolic_name);
	ret->version = string_of(&i, symbol.st_value,
	                         offsetof(struct bw_bundle_descriptor, version), d.version);
	if (ret->name == NULL || !symbolic_name_ok(ret->name))
		return "has no valid symbolic name";
	if (ret->version == NULL || strlen(ret->version) > SYMBOLIC_NAME_MAX)
		return "has no version";
	return NULL;
}
