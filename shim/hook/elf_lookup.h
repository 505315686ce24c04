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

enum { ELF_RELOCATION_KINDS = 2 }; /* the relocations of data (DT_RELA) and of calls (DT_JMPREL) */

struct elf_object {
    uintptr_t base;      /* load address: added to the addresses in the file */
    uintptr_t low, high; /* begin and end of the memory that the object covers */
    const char *path;    /* the object's file, as a text in the dynamic linker's memory */
    const char *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions;      /* the version of each symbol, or NULL */
    const ElfW(Verdef) * definitions; /* definitions of symbol versions, or NULL */
    const uint32_t *gnu_hash;         /* hash table of the symbols in GNU's format (DT_GNU_HASH), or NULL */
    const uint32_t *sysv_hash;        /* hash table of the symbols in the older format (DT_HASH), or NULL */
    const ElfW(Dyn) * dynamic;
    const ElfW(Rela) * relocations[ELF_RELOCATION_KINDS];
    size_t relocation_count[ELF_RELOCATION_KINDS];
};

/* Finds the object whose file name (without folder) begins with prefix, such as "libcuda.so". Returns false if there
 * is none. */
bool elf_find_by_name(const char *prefix, struct elf_object *object);

/* Finds the object that contains the address, in any namespace of the linker. With glibc before 2.35, it finds only
 * objects of the shim's own namespace, except in forked children. Returns false if there is none. In a forked child,
 * elf_find_by_address, elf_place_of and elf_each_placed take no lock that may stay locked there for ever. */
bool elf_find_by_address(const void *address, struct elf_object *object);

/* A loaded module: its address range, and the linker's description of the module. */
struct elf_module {
    uintptr_t low, high;
    const struct link_map *map;
};

/* Finds the module that contains the address, in any namespace of the linker. Takes no lock at all. Returns false if
 * no module contains the address, or if this version of glibc has no function that finds modules without a lock. */
bool elf_module_at(const void *address, struct elf_module *module);

/* Visits every object of the shim's own linker namespace, until visit returns false. */
void elf_each(bool (*visit)(const struct elf_object *object, void *data), void *data);

/* Called in a forked child. From then on, no function of this file takes a lock that may stay locked for ever because
 * a thread of the parent held it at the fork. */
void elf_after_fork(void);

/* The place of an object in the linker's search order: before the shim, the shim itself (ELF_OURS), or behind the
 * shim. */
enum elf_place { ELF_BEFORE, ELF_OURS, ELF_BEHIND };
enum elf_place elf_place_of(const void *address);

/* Visits objects in the linker's search order, until visit returns false. Objects that were loaded at program start
 * come first, and are never unloaded. visit must return false at the last of these objects or earlier, because
 * another thread may unload the objects after them during the search. */
void elf_each_placed(bool (*visit)(const struct elf_object *object, enum elf_place place, void *data), void *data);

/* Does the object's file name (without folder) begin with prefix, such as "libcuda.so"? */
bool elf_is_named(const struct elf_object *object, const char *prefix);

/* Was the object linked with a library whose name begins with prefix? */
bool elf_needs(const struct elf_object *object, const char *prefix);

/* Does the object define symbols of this version? */
bool elf_defines_version(const struct elf_object *object, const char *version);

/* The address of a function or variable that the object defines; NULL if the object does not define the symbol. If
 * the symbol has several versions, this is the address of the default version. */
void *elf_symbol(const struct elf_object *object, const char *name);

/* Like elf_symbol. *size: the symbol's size in bytes, from the symbol table; 0 if there is no such symbol. */
void *elf_sized_symbol(const struct elf_object *object, const char *name, size_t *size);

/* Looks for the name in libc, libdl, libpthread and the dynamic linker, because glibc's version decides which of them
 * defines the name. Takes no lock, and calls no function of libc except getauxval. So it works before any constructor
 * has run. */
void *elf_libc_symbol(const char *name);

#endif
