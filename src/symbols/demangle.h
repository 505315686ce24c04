/* Demangles names of C++ and Rust functions. The driver gives kernels their mangled names. */
#ifndef WALLSHIM_SYMBOLS_DEMANGLE_H
#define WALLSHIM_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the name with its return type, template arguments and parameters, as c++filt does. Returns false and leaves
 * `text` undefined if the name is not mangled, if it has more than about a thousand characters, if the result does
 * not fit, or if wallshim was built without libiberty. The limit of a thousand is libiberty's own: it keeps the
 * recursion within the stack. */
bool ws_demangle(char *text, size_t capacity, const char *name);

/* Like ws_demangle, but also demangles names of Rust functions. Leaves out return type and parameters, for the lines
 * of a stack. */
bool ws_demangle_function(char *text, size_t capacity, const char *name);

#endif
