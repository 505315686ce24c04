/* A program's own libzstd.so.1. It has the real library's name, but defines only one function, which the real library
 * lacks. */
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
