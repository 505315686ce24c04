/* The memory of another process: its mappings, and the symbols of its libraries. The process is not trusted, so this
 * code limits every size that it reads from the process. */
#ifndef WALLSHIM_ATTACH_MEMORY_H
#define WALLSHIM_ATTACH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read or write all `size` bytes. Return 0 or -errno. */
int ws_remote_read(int pid, uint64_t address, void *to, size_t size);
int ws_remote_write(int pid, uint64_t address, const void *from, size_t size);

/* Opens the memory of the program that the process runs now, for reading and writing. If the process executes another
 * program, which may have more rights, the descriptor does not reach that program's memory. Returns a descriptor, or
 * -errno. */
int ws_memory_open(int pid);

/* ws_memory_get reads, and ws_memory_put writes, all `size` bytes. ws_memory_put also writes where the process itself
 * cannot write. Both return 0; -ESRCH: the program is gone; or -errno. `memory` is from ws_memory_open. */
int ws_memory_get(int memory, uint64_t address, void *to, size_t size);
int ws_memory_put(int memory, uint64_t address, const void *from, size_t size);

struct ws_mapping {
    uint64_t begin, end, offset;
    bool execute;
    char path[512]; /* path of the mapped file, cut if it is too long; "" for memory without a file */
};

struct ws_mappings {
    struct ws_mapping *list;
    size_t count;
};

/* Reads the list of mappings, which ws_mappings_finish frees. Returns 0 or -errno. */
int ws_mappings_read(int pid, struct ws_mappings *mappings);
void ws_mappings_finish(struct ws_mappings *mappings);

/* Returns the mapping that contains the address, or NULL. */
const struct ws_mapping *ws_mapping_at(const struct ws_mappings *mappings, uint64_t address);

/* Returns the first mapping of a file whose name (without folder) begins with `prefix`, such as "libc.so"; NULL:
 * there is none. */
const struct ws_mapping *ws_mapping_named(const struct ws_mappings *mappings, const char *prefix);

/* Returns the name of the mapping's file, without its folder. */
const char *ws_mapping_file(const struct ws_mapping *mapping);

/* The symbols of a library that the process has loaded. Look-ups read only `copy`, not the process. */
struct ws_remote_library {
    uint64_t base;
    uint8_t *copy; /* copy of the library's first segment, which holds the tables of symbols */
    size_t size;
    uint64_t symbols, strings, hash; /* offsets of the tables in the copy */
    size_t symbol_count;
};

/* `first` is the library's first mapping. Returns 0; -ENOEXEC: the library's symbol tables are not as expected; or
 * -errno. */
int ws_remote_library_read(int pid, const struct ws_mapping *first, struct ws_remote_library *library);
void ws_remote_library_finish(struct ws_remote_library *library);

/* Returns the address of a function or variable that the library defines; 0: there is none. If the library defines
 * several versions of the name, returns the last version in the table of symbols. */
uint64_t ws_remote_symbol(const struct ws_remote_library *library, const char *name);

/* Finds the code around the functions `names`, a list that ends with NULL. The code begins where the symbol before
 * the first of these functions ends. It ends where the symbol after the last of these functions begins. So the code
 * includes functions without a symbol that were compiled together with `names`. Returns false if the library has
 * none of the functions. */
bool ws_remote_neighbourhood(const struct ws_remote_library *library, const char *const *names, uint64_t *begin,
                             uint64_t *end);

#endif
