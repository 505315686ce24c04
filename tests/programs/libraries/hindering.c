/* Libraries that hinder `wallshim attach` once a program has loaded them (../attachable.c). */
#if defined(OTHER_VERSION)
/* The shim of another version of wallshim. */
const unsigned wallshim_late_version = 999;
void wallshim_attach(void *block);
void wallshim_attach(void *block)
{
    (void)block;
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
