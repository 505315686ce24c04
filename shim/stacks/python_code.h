/* Reads the name, file and line table of a function from its code object (PyCodeObject). */
#ifndef WALLSHIM_SHIM_STACKS_PYTHON_CODE_H
#define WALLSHIM_SHIM_STACKS_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/stacks/python_layout.h"

enum {
    PYTHON_NAME_MOST = 512, /* most bytes of a function name, including the final zero */
    PYTHON_FILE_MOST = 2048,
    PYTHON_LINES_MOST = 32000, /* most bytes of a line table; a larger table is left out */
};

/* A function's name, file and lines, as a row of the dictionary `code` needs them. */
struct python_function {
    uint32_t first_line;
    enum ws_line_coding coding;
    char name[PYTHON_NAME_MOST], file[PYTHON_FILE_MOST]; /* UTF-8, zero-terminated; longer texts are cut */
    /* The function's line table, in the interpreter's memory. If python_function was called with `guarded`, this is a
     * copy instead, which the next guarded call overwrites. */
    const char *lines;
    size_t lines_size;
};

/* How to read code objects of the interpreter in this process. */
struct python_types {
    const struct python_layout *layout;
    const void *code, *text, *bytes; /* addresses of PyCode_Type, PyUnicode_Type, PyBytes_Type */
};

/* Computes a checksum of the name, file and lines that python_function returns for this code object. Two code objects
 * with the same checksum look the same in a report. Returns false if the object cannot be read, or is not a code
 * object. */
bool python_checksum(const struct python_types *types, const char *code, bool guarded, uint64_t *checksum);

/* Reads a code object. guarded: reads through the kernel, so that a wrong address causes no fault. Returns false if
 * the object cannot be read or does not have the expected layout. If guarded, also returns false if the object's
 * checksum is no longer `checksum`. */
bool python_function(const struct python_types *types, const char *code, uint64_t checksum, bool guarded,
                     struct python_function *function);

#endif
