/* Lists the entries of a folder without opendir, which would use the program's malloc. */
#ifndef WALLSHIM_SHIM_DRAIN_FOLDER_H
#define WALLSHIM_SHIM_DRAIN_FOLDER_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls each(folder, name, data) for every entry of the open folder. */
static inline void folder_each(int folder, void (*each)(int folder, const char *name, void *data), void *data)
{
    struct entry {
        uint64_t inode, offset;
        uint16_t size;
        uint8_t type;
        char name[];
    };
    _Alignas(8) char entries[4096];
    long size;
    while ((size = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0)
        for (long at = 0; at < size; at += ((struct entry *)(entries + at))->size)
            each(folder, ((struct entry *)(entries + at))->name, data);
}

#endif
