/* Looking into loaded shared objects without the dynamic linker's functions.
 *
 * dlsym, dladdr and dlopen moved between libraries and versions of glibc, and we replace dlsym
 * ourselves; so the shim reads symbol tables as the linker left them in memory. */
#ifndef WALLSHIM_SHIM_HOOK_ELF_LOOKUP_H
#define WALLSHIM_SHIM_HOOK_ELF_LOOKUP_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

enum { ELF_RELOCATION_KINDS = 2 }; /* of data, and of calls */

struct elf_object {
    uintptr_t base;      /* what addresses in the file are relative to */
    uintptr_t low, high; /* the memory it covers */
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

/* The object that holds the address, in any namespace. Neither this nor the functions about places take a lock that a
 * forked child may find held. */
bool elf_find_by_address(const void *address, struct elf_object *object);

/* Visits every object of our namespace, until visit returns false. */
void elf_each(bool (*visit)(const struct elf_object *object, void *data), void *data);

/* Call it in a forked child: from then on no lock is waited for that a thread of the parent may hold. */
void elf_after_fork(void);

/* Where an object stands in the linker's search order: in front of ours, is ours, or behind it. */
enum elf_place { ELF_BEFORE, ELF_OURS, ELF_BEHIND };
enum elf_place elf_place_of(const void *address);

/* Visits every object in the linker's search order. Stops where visit returns false: that must happen before objects
 * that may be unloaded meanwhile. */
void elf_each_placed(bool (*visit)(const struct elf_object *object, enum elf_place place, void *data), void *data);

/* Does the name of its file begin with prefix, as "libcuda.so"? */
bool elf_is_named(const struct elf_object *object, const char *prefix);

/* Was the object linked with a library whose name begins with prefix? */
bool elf_needs(const struct elf_object *object, const char *prefix);

/* Does it define symbols of this version? */
bool elf_defines_version(const struct elf_object *object, const char *version);

/* The address of a defined function or object, its default version where there are several; NULL if
 * there is none. */
void *elf_symbol(const struct elf_object *object, const char *name);

/* elf_symbol over the objects of libc and the linker, wherever this glibc keeps the name. Takes no lock and calls
 * nothing, so it works before any constructor has run. */
void *elf_libc_symbol(const char *name);

#endif
