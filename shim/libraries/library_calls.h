/* The functions that the wrappers of cublas.c and cudnn.c share. They record library calls that compute GEMMs,
 * convolutions and the like.
 *
 * In the trace, such a library call is a range of the thread's time that encloses the call's launches. The label of a
 * call is its name and its inputs. A label is made at the first call with these inputs. Later calls find the label in
 * the thread's caches. */
#ifndef WALLSHIM_SHIM_LIBRARIES_LIBRARY_CALLS_H
#define WALLSHIM_SHIM_LIBRARIES_LIBRARY_CALLS_H

#include "shim/calls/ops.h"

/* Programs are linked against the symbols of one version of a library. A process may have two versions loaded, each
 * with its own handles. So the shim has a wrapper for each version of the library, and each wrapper calls only its
 * own version. */
#define EXPORTED_AS(wrapper, symbol, version)                   \
    __asm__(".symver wrap_" #wrapper ", " #symbol "@" version); \
    __attribute__((visibility("default")))

/* The real function that a wrapper calls; NULL: there is none. bound: the symbol version of the wrapper; "WALLSHIM"
 * for the wrapper that dlsym returns. */
void *library_real(enum ws_function_id id, const char *bound);

/* The text's id in the dictionary `label`; 0: there is no room for it, or a lock was not free in time. Takes the
 * registry's lock. */
uint32_t library_label(const char *text);

/* Is this call made inside another cuBLAS or cuDNN call of the thread? Compare call_is_nested (calls/ops.h). */
HOT bool library_call_is_nested(struct shim_thread *thread)
{
    return __builtin_expect(thread->in_library != 0, 0) &&
           frame_makes(thread, thread->in_library, (uintptr_t)__builtin_dwarf_cfa(), __builtin_return_address(0));
}

/* Returns the calling thread's state if the program itself made the call and the call is to be recorded. Returns NULL
 * if the wrapper is only to pass the call on to the library. frame: the marker of frame_begin (calls/frames.h). */
HOT struct shim_thread *library_call_begins(uintptr_t *frame)
{
    if (!(shim_phase() & SHIM_RECORDING))
        return NULL;
    struct shim_thread *thread = thread_self.thread ? thread_self.thread : thread_get();
    if (!thread || call_is_nested(thread) || library_call_is_nested(thread))
        return NULL;
    frame_begin(thread, &thread->in_library, frame);
    return thread;
}

/* Called with the call's label before the real function. Kernels that the call launches get the label's inputs as a
 * part of their shapes. */
HOT void library_call_labelled(struct shim_thread *thread, const struct call_label *label)
{
    thread->library_inputs = label ? label->inputs : 0;
    thread->inputs_stamp = thread->library_inputs * 0x9e3779b1u;
}

/* Records the call. If it is not known what the call computes (`label` is NULL or has no inputs), the call is not
 * recorded. */
HOT void library_call_ended(struct shim_thread *thread, const struct call_label *label, uint64_t begin, uint64_t end)
{
    uintptr_t word;
    thread->in_library = 0;
    thread->library_inputs = thread->inputs_stamp = 0;
    if (!label || !label->inputs)
        return;
    /* marks the thread as inside a wrapped call: until the commit, calls of signal handlers write no record */
    frame_begin(thread, &thread->within, &word);
    struct ws_ring_range *record = ws_ring_reserve_one(&thread->ring);
    if (!record) {
        thread->within = 0;
        return;
    }
    record->header = (struct ws_ring_header){
        .kind = WS_RING_RANGE, .slots = 1, .detail = WS_RANGE_OPERATOR, .shape = label->inputs
    };
    record->name = label->name;
    record->ticks_begin = begin;
    record->ticks_end = end;
    ws_ring_commit(&thread->ring, 1);
    thread->within = 0;
}

#endif
