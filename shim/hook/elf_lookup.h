/* Looking into loaded shared objects without the dynamic linker's functions.
 *
 * dlsym, dladdr and dlopen have moved between glibc's libraries and symbol versions, and the shim itself
 * replaces dlsym. So the shim reads symbol tables as the linker has them in memory. */
#ifndef WALLSHIM_SHIM_HOOK_ELF_LOOKUP_H
#define WALLSHIM_SHIM_HOOK_ELF_LOOKUP_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

enum { ELF_RELOCATION_KINDS = 2 }; /* of data, and of calls */

struct elf_object {
    uintptr_t base;      /* to be added to addresses in the file */
    uintptr_t low, high; /* the memory that the object covers */
    const char *path;    /* the linker's own copy */
    const char *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions;      /* or NULL */
    const ElfW(Verdef) * definitions; /* of versions, or NULL */
    const uint32_t *gnu_hash;         /* or NULL */
    const uint32_t *sysv_hash;        /* or NULL */
    const ElfW(Dyn) * dynamic;
    const ElfW(Rela) * relocations[ELF_RELOCATION_KINDS];
    size_t relocation_count[ELF_RELOCATION_KINDS];
};

/* The object whose file name (without folder) begins with prefix, as "libcuda.so". */
bool elf_find_by_name(const char *prefix, struct elf_object *object);

/* The object that contains the address, in any namespace. This function, elf_place_of and elf_each_placed take no
 * lock that might be held for ever in a forked child. */
bool elf_find_by_address(const void *address, struct elf_object *object);

/* Visits every object of our namespace, until visit returns false. */
void elf_each(bool (*visit)(const struct elf_object *object, void *data), void *data);

/* Called in a forked child: from then on no lock is taken that a thread of the parent may have held. */
void elf_after_fork(void);

/* Where an object stands in the linker's search order: in front of the shim, the shim itself, or behind it. */
enum elf_place { ELF_BEFORE, ELF_OURS, ELF_BEHIND };
enum elf_place elf_place_of(const void *address);

/* Visits objects in the linker's search order, until visit returns false. It must do so before it comes to objects
 * that may be unloaded meanwhile. */
void elf_each_placed(bool (*visit)(const struct elf_object *object, enum elf_place place, void *data), void *data);

/* Does the object's file name begin with prefix, as "libcuda.so"? */
bool elf_is_named(const struct elf_object *object, const char *prefix);

/* Was the object linked with a library whose name begins with prefix? */
bool elf_needs(const struct elf_object *object, const char *prefix);

/* Does the object define symbols of this version? */
bool elf_defines_version(const struct elf_object *object, const char *version);

/* The address of a function or variable that the object defines; NULL if it does not. Of several versions, the
 * default one. */
void *elf_symbol(const struct elf_object *object, const char *name);

/* Looks the name up in all libraries of glibc, as it may be in any of them. Takes no lock and calls no function of
 * libc, so it works before any constructor has run. */
void *elf_libc_symbol(const char *name);

#endif
