/* Mangled names of C++ functions as their authors wrote them. The driver names kernels in the mangled form. */
#ifndef WALLSHIM_ANALYSIS_DEMANGLE_H
#define WALLSHIM_ANALYSIS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the name with its return type, template arguments and parameters, as c++filt does. False, and text is
 * undefined, where the name is not mangled, is more than about a thousand characters long (the limit of libiberty,
 * which keeps its recursion within the stack), would not fit, or this was built without libiberty. */
bool ws_demangle(char *text, size_t capacity, const char *name);

#endif
