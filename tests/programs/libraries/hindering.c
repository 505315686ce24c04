/* Libraries that hinder `wallshim attach` once a program has loaded them (../attachable.c). */
#if defined(OTHER_VERSION)
/* The shim of another version of wallshim. */
const unsigned wallshim_late_version = 999;
void wallshim_attach(void *block);
void wallshim_attach(void *block)
{
    (void)block;
}
#elif defined(OUTSIDE)
/* A shim that asks for a patch of something that is no code. */
#include <time.h>

#include "wire/late.h"

void wallshim_attach(struct ws_late_block *block);
void wallshim_attach(struct ws_late_block *block)
{
    static char no_code[16];
    static struct ws_late_patch patch;
    patch = (struct ws_late_patch){ .begin = (uint64_t)(uintptr_t)no_code,
                                    .end = (uint64_t)(uintptr_t)no_code + WS_LATE_JUMP };
    block->patches = (uint64_t)(uintptr_t)&patch;
    block->patch_count = 1;
    atomic_store(&block->state, WS_LATE_PREPARED);
    nanosleep(&(struct timespec){ 1, 0 }, NULL);
}
#elif defined(EMPTY)
/* A library with the file name of the C library, but without its functions. */
extern char room[64 << 20];
char room[64 << 20]; /* so large that it lies below all other libraries, and is found first */
#else
#include <unistd.h>

/* While it waits, its thread holds the loader's lock. */
static void __attribute__((constructor)) wait_in_loader(void)
{
    char byte;
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        _exit(1);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}
#endif
