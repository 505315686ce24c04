#include "symbols/demangle.h"

#ifdef WS_HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
    char *text;
    size_t used, capacity;
    jmp_buf full;
};

/* libiberty calls this function for each piece of its output. When the output is too long, a longjmp stops
 * libiberty, which offers no other way to stop. A few characters can expand to gigabytes, because each substitution
 * in a mangled name can refer to the previous substitution twice. The longjmp leaks nothing, because all of
 * libiberty's memory here is on the stack. */
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

bool ws_demangle_function(char *text, size_t capacity, const char *name)
{
    struct output output = { .text = text, .capacity = capacity };
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || setjmp(output.full))
        return false;
    /* Rust's older mangled names are also valid C++ names. Only the Rust demangler removes the hash at their end, so
     * try it first. */
    return (rust_demangle_callback(name, DMGL_NO_OPTS, demangle_put, &output) ||
            cplus_demangle_v3_callback(name, DMGL_ANSI, demangle_put, &output)) &&
           text[0];
}
#else
bool ws_demangle(char *text, size_t capacity, const char *name)
{
    (void)text;
    (void)capacity;
    (void)name;
    return false;
}

bool ws_demangle_function(char *text, size_t capacity, const char *name)
{
    return ws_demangle(text, capacity, name);
}
#endif
