/* Python frames of a thread, read from the interpreter's memory. At a launch, the calling thread usually does not
 * hold the GIL. So the shim takes no lock of the interpreter, and calls only one of its functions:
 * PyGILState_GetThisThreadState. The thread is in C code during the call, so its Python frames do not change.
 *
 * The shim trusts no data of the interpreter. Pointers must be aligned and plausible, and objects must have the
 * expected types. The first stacks are read through the kernel (process_vm_readv), which returns an error for
 * addresses that are not mapped. If a calling thread's frames do not have the expected layout, no more Python stacks
 * are recorded in this process.
 *
 * The interpreter reuses the addresses of code objects, so an address alone does not identify a function. An address
 * together with the generation does. The generation is a number that grows whenever a code object is freed. To count,
 * the shim replaces the function that frees code objects (tp_dealloc of their type) by a function that increments the
 * generation and calls the original one. While the generation is the same, an address in a thread's frames always
 * belongs to the same code object:
 *
 *  - A code object is not freed while a frame of the thread refers to it.
 *  - A new object can get the address only after the old one was freed. A thread with the new object in its frames
 *    has synchronized, by some lock, with the thread that freed the old one. So the thread with the new object
 *    sees the higher generation. */
#ifndef WALLSHIM_SHIM_STACKS_PYTHON_H
#define WALLSHIM_SHIM_STACKS_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/stacks/python_code.h"

enum { PYTHON_DEEPEST = 64 }; /* most frames that are recorded of one stack: the innermost ones */

struct python_frame {
    const char *code;  /* address of the function's code object (PyCodeObject) */
    uint32_t offset;   /* place of the current instruction, in bytes from the start of the code */
    uint64_t checksum; /* checksum of the code object's name, file and lines (python_checksum) */
};

/* Looks for a Python interpreter among the objects that were loaded at the program's start. Returns NULL if its
 * stacks can be read, "" if there is no interpreter, else the reason why its stacks cannot be read. Takes no lock. */
const char *python_find(void);

/* Was an interpreter found, and did all of its data that was read so far have the expected layout? */
bool python_is_read(void);

/* Returns the interpreter's state of the calling thread (PyThreadState); NULL: the thread has none. */
const void *python_thread(void);

/* Identifies a stack without reading its code objects. A small structure, so that it is returned in registers. */
struct python_key {
    uint64_t hash;  /* of the frames and the generation; 0: the frames cannot be identified by a hash now */
    uint64_t depth; /* number of frames in the hash */
};

/* Returns the key of the calling thread's frames. Equal hashes mean equal stacks. If the hash is 0, the caller must
 * read the frames themselves. */
struct python_key python_key(const void *python_thread);

/* Reads the calling thread's frames, innermost first. Returns their number. */
unsigned python_frames_here(const void *python_thread, struct python_frame *frames);

/* Reads the frames of another thread, through the kernel. That thread may be running, so the frames may be wrong in
 * any way. Returns the number of frames; 0 if one could not be read or did not have the expected layout. */
unsigned python_frames_of(const void *python_thread, struct python_frame *frames);

/* Reads the name, file and lines of the frame's function from its code object. guarded: reads through the kernel.
 * Returns false if the code object cannot be read or does not have the expected layout. */
bool python_function_of(const struct python_frame *frame, bool guarded, struct python_function *function);

#endif
