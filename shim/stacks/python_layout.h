/* Where CPython keeps what a stack needs. The offsets were taken from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7,
 * 3.12.1 and 3.13.0. tests/end_to_end/stacks.py compares stacks with what every interpreter of the machine says. */
#ifndef WALLSHIM_SHIM_STACKS_PYTHON_LAYOUT_H
#define WALLSHIM_SHIM_STACKS_PYTHON_LAYOUT_H

#include <stdint.h>

#include "record/record.h"

enum { PYTHON_ABSENT = 0xffff }; /* the version has no such field */

/* Offsets in bytes. */
struct python_layout {
    uint16_t version; /* 0x030b for 3.11 */
    /* PyThreadState. Its frame may lie in a structure between: 3.11 and 3.12 have `cframe`. */
    uint16_t thread_cframe, cframe_frame, thread_frame;
    /* The frame. The instruction is a pointer, or an index into the code (`frame_index`) in units of index_bytes. */
    uint16_t frame_code, frame_caller, frame_pointer, frame_index, index_bytes, frame_owner;
    /* PyCodeObject. */
    uint16_t code_file, code_name, code_first_line, code_lines, code_start;
    /* PyUnicodeObject: where the characters begin, for ASCII texts and for others. */
    uint16_t text_ascii, text_other;
    enum ws_line_coding coding;
};

/* Fields that are at the same place in all versions. */
enum {
    PYTHON_TYPE = 8,
    PYTHON_TEXT_LENGTH = 16,
    PYTHON_TEXT_HASH = 24,
    PYTHON_TEXT_STATE = 32,
    PYTHON_BYTES_SIZE = 16,
    PYTHON_BYTES_DATA = 32,
    PYTHON_OWNED_BY_C = 3, /* frame_owner: the frame has no code */
};

/* version: as above. Returns NULL if the version is not known. */
const struct python_layout *python_layout(uint32_t version);

#endif
