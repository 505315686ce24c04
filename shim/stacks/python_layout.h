/* Where CPython keeps the data that a stack needs. The offsets for Python 3.8 to 3.12 come from the headers of
 * 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1. Python 3.13 and 3.14 publish their offsets in memory.
 * tests/end_to_end/stacks.py compares the shim's stacks with those that the installed interpreters report
 * themselves. */
#ifndef WALLSHIM_SHIM_STACKS_PYTHON_LAYOUT_H
#define WALLSHIM_SHIM_STACKS_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

enum {
    PYTHON_ABSENT = 0xffff, /* the value of a field's offset, if this Python version has no such field */
    PYTHON_OWNED_BY_C = 3,  /* a frame has no code if its owner field is at least this */
};

enum { PYTHON_CODE_FIELDS = 152 }; /* bytes read of a PyCodeObject; they include the needed fields in all versions */

/* Offsets of fields in the interpreter's structures, in bytes. */
struct python_layout {
    uint16_t version; /* 0x030b for 3.11 */
    /* In _PyRuntime: a pointer that is set when the interpreter shuts down. */
    uint16_t runtime_finalizing;
    /* PyThreadState. It points to the current frame, except in Python 3.11 and 3.12: there it points to a `cframe`,
     * which points to the current frame. */
    uint16_t thread_cframe, cframe_frame, thread_frame;
    /* A frame. Its current instruction is a pointer (frame_pointer), or an index into the code (frame_index) in units
     * of index_bytes. */
    uint16_t frame_code, frame_caller, frame_pointer, frame_index, index_bytes, frame_owner;
    /* PyCodeObject. */
    uint16_t code_file, code_name, code_first_line, code_lines, code_start;
    /* PyUnicodeObject: where the characters start in ASCII texts, and in other texts. */
    uint16_t text_ascii, text_other;
    enum ws_line_coding coding;
    uintptr_t code_tag; /* bits of a frame's pointer to its code object that are not part of the address */
};

/* Offsets that are the same in all Python versions, except in free-threaded builds. */
enum {
    PYTHON_TYPE = 8,       /* offset, in any object, of the pointer to the object's type */
    PYTHON_TYPE_NAME = 24, /* offset, in a type, of the pointer to the type's name */
    PYTHON_TYPE_FREE = 48, /* offset, in a type, of the function that frees an object */
    PYTHON_TEXT_LENGTH = 16,
    PYTHON_TEXT_STATE = 32,
    PYTHON_BYTES_SIZE = 16,
    PYTHON_BYTES_DATA = 32,
};

/* Fills in the layout of an interpreter. version: as in struct python_layout. runtime: the address of its
 * `_PyRuntime`. Returns NULL on success. Else returns a text for why the interpreter is not supported, such as
 * "without GIL"; "" if its version is not supported at all. */
const char *python_layout(uint32_t version, const void *runtime, struct python_layout *layout);

#endif
