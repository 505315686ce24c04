#include "analysis/kernels/demangle.h"

#ifdef WS_HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
    char *text;
    size_t used, capacity;
    jmp_buf full;
};

/* Stops libiberty when the output is too long: a few characters can expand to gigabytes, because each
 * substitution can name the previous one twice. A longjmp is the only way to stop libiberty. The longjmp leaks
 * nothing, as all of libiberty's memory here is on the stack. */
static void demangle_put(const char *piece, size_t length, void *user)
{
    struct output *output = user;
    if (length >= output->capacity - output->used)
        longjmp(output->full, 1);
    memcpy(output->text + output->used, piece, length);
    output->used += length;
    output->text[output->used] = 0;
}

bool ws_demangle(char *text, size_t capacity, const char *name)
{
    struct output output = { .text = text, .capacity = capacity };
    if (name[0] != '_' || name[1] != 'Z' || setjmp(output.full))
        return false;
    return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, demangle_put, &output) && text[0];
}
#else
bool ws_demangle(char *text, size_t capacity, const char *name)
{
    (void)text;
    (void)capacity;
    (void)name;
    return false;
}
#endif
