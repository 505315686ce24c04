/* A program's own libzstd.so.1: it has the real library's name, but only a function that the real library does not
 * have. */
#include <unistd.h>

int own_zstd(void);

__attribute__((constructor)) static void loaded(void)
{
    static const char line[] = "the program's own libzstd.so.1 is loaded\n";
    if (write(STDOUT_FILENO, line, sizeof(line) - 1) < 0)
        _exit(91);
}

int own_zstd(void)
{
    return 42;
}
