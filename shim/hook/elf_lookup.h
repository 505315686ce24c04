/* Looks up symbols in loaded shared objects, without dlsym and dladdr.
 *
 * dlsym, dladdr and dlopen have moved between glibc's libraries and symbol versions, and the shim itself replaces
 * dlsym. So the shim itself reads the symbol tables in memory. */
#ifndef WALLSHIM_SHIM_HOOK_ELF_LOOKUP_H
#define WALLSHIM_SHIM_HOOK_ELF_LOOKUP_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

enum { ELF_RELOCATION_KINDS = 2 }; /* DT_RELA (data) and DT_JMPREL (calls) */

struct elf_object {
    uintptr_t base;      /* load address: added to the addresses in the file */
    uintptr_t low, high; /* the memory that the object covers */
    const char *path;    /* the linker's own copy */
    const char *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions;      /* or NULL */
    const ElfW(Verdef) * definitions; /* of symbol versions, or NULL */
    const uint32_t *gnu_hash;         /* or NULL */
    const uint32_t *sysv_hash;        /* or NULL */
    const ElfW(Dyn) * dynamic;
    const ElfW(Rela) * relocations[ELF_RELOCATION_KINDS];
    size_t relocation_count[ELF_RELOCATION_KINDS];
};

/* Finds the object whose file name (without folder) begins with prefix, such as "libcuda.so". False: there is
 * none. */
bool elf_find_by_name(const char *prefix, struct elf_object *object);

/* Finds the object that contains the address, in any namespace. False: there is none. elf_find_by_address,
 * elf_place_of and elf_each_placed take no lock that may stay locked for ever in a forked child. */
bool elf_find_by_address(const void *address, struct elf_object *object);

/* Visits every object of our namespace, until visit returns false. */
void elf_each(bool (*visit)(const struct elf_object *object, void *data), void *data);

/* Called in a forked child. Afterwards, no function here takes a lock that a thread of the parent may have held at
 * the fork. */
void elf_after_fork(void);

/* The place of an object in the linker's search order: before the shim, the shim itself, or behind the shim. */
enum elf_place { ELF_BEFORE, ELF_OURS, ELF_BEHIND };
enum elf_place elf_place_of(const void *address);

/* Visits objects in the linker's search order, until visit returns false. visit must end the search before the first
 * object that may be unloaded meanwhile. */
void elf_each_placed(bool (*visit)(const struct elf_object *object, enum elf_place place, void *data), void *data);

/* Does the object's file name (without folder) begin with prefix, such as "libcuda.so"? */
bool elf_is_named(const struct elf_object *object, const char *prefix);

/* Was the object linked with a library whose name begins with prefix? */
bool elf_needs(const struct elf_object *object, const char *prefix);

/* Does the object define symbols of this version? */
bool elf_defines_version(const struct elf_object *object, const char *version);

/* The address of a function or variable that the object defines; NULL if the object does not define it. If the symbol
 * has several versions, this is the address of the default version. */
void *elf_symbol(const struct elf_object *object, const char *name);

/* Looks for the name in all libraries of glibc, because glibc's version decides which library defines the name. Takes
 * no lock and calls no function of libc, so it works before any constructor has run. */
void *elf_libc_symbol(const char *name);

#endif
