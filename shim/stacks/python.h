/* Python frames of a thread, read from the interpreter's memory. No lock of the interpreter is taken, and but for
 * PyGILState_GetThisThreadState none of its functions is called: at a launch the calling thread usually does not hold
 * the GIL. The thread is in C then, so its frames stand still.
 *
 * Nothing that is read is trusted. Pointers must be aligned and plausible, and objects must have the expected types.
 * The first walks read through the kernel, which refuses addresses that are not mapped. After the first surprise no
 * more stacks are taken in this process. */
#ifndef WALLSHIM_SHIM_STACKS_PYTHON_H
#define WALLSHIM_SHIM_STACKS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

enum {
    PYTHON_DEEPEST = 64,       /* frames that are kept, innermost first */
    PYTHON_LINES_MOST = 32000, /* bytes of a table of lines; a larger one is left out */
};

struct python_frame {
    const char *code; /* PyCodeObject */
    uint32_t offset;  /* of the instruction: bytes from the code's first one */
    /* Of what the code object says of itself. Interpreters use the addresses of code objects again, so the address
     * alone does not identify a function. */
    uint64_t checksum;
};

/* A function as the dictionary needs it. */
struct python_function {
    uint32_t first_line;
    enum ws_line_coding coding;
    char name[512], file[2048]; /* UTF-8, zero-terminated; cut if they are longer */
    const char *lines;          /* the interpreter's own memory, or a copy until the next call */
    size_t lines_size;
};

/* Looks for an interpreter that was loaded with the program. Returns NULL if there is one that is understood,
 * otherwise the reason why not; "" if there is none. Takes no lock. */
const char *python_find(void);

/* Can stacks be taken? */
bool python_is_read(void);

/* The interpreter's state of the calling thread; NULL: it has none. */
const void *python_thread(void);

/* Reads the calling thread's frames, innermost first. Returns their number. */
unsigned python_frames_here(const void *python_thread, struct python_frame *frames);

/* Reads the frames of another thread, through the kernel. The thread may be running, so what is returned may be wrong
 * in any way. Returns the number of frames; 0 if something did not fit. */
unsigned python_frames_of(const void *python_thread, struct python_frame *frames);

/* Reads what a code object says of itself. guarded: through the kernel. Returns false if something does not fit. */
bool python_function(const struct python_frame *frame, bool guarded, struct python_function *function);

#endif
