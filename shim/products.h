/* Calls of libraries that compute matrix products and the like: what the wrappers of cublas.c and cudnn.c share.
 *
 * Such a call becomes a range of the thread's time that holds the launches made for it. What it is and what it was
 * given are static about it, so they are put into words once, and found again in caches of the thread's. */
#ifndef WALLSHIM_SHIM_PRODUCTS_H
#define WALLSHIM_SHIM_PRODUCTS_H

#include "ops.h"

/* Programs are bound to the symbols of one version of a library, and may hold two, each with handles of its own:
 * every version has wrappers that go on to it alone. */
#define EXPORTED_AS(wrapper, symbol, version)                   \
    __asm__(".symver wrap_" #wrapper ", " #symbol "@" version); \
    __attribute__((visibility("default")))

/* Where such a wrapper goes on to: bound is the version that programs are bound to it by, "WALLSHIM" where they
 * looked the function up. NULL: there is none. */
void *product_real(enum ws_function_id id, const char *bound);

/* The text's dictionary id (family label), 0 where there is no room for it. Takes the registry's lock. */
uint32_t product_label(const char *text);

/* Is this a call that a library makes of itself, or of another? As call_is_nested. */
HOT bool product_is_nested(struct shim_thread *thread)
{
    return __builtin_expect(thread->in_product != 0, 0) &&
           frame_makes(thread, thread->in_product, (uintptr_t)__builtin_dwarf_cfa(), __builtin_return_address(0));
}

/* This thread, where the call is one that the program made and that is recorded; else NULL: it goes on as it came.
 * frame: see frames.h. */
HOT struct shim_thread *product_begins(uintptr_t *frame)
{
    if (!(shim_phase() & SHIM_RECORDING))
        return NULL;
    struct shim_thread *thread = thread_self.thread ? thread_self.thread : thread_get();
    if (!thread || call_is_nested(thread) || product_is_nested(thread))
        return NULL;
    frame_begin(thread, &thread->in_product, frame);
    return thread;
}

/* words: NULL where the call was not understood. */
HOT void product_ended(struct shim_thread *thread, const struct product_words *words, uint64_t begin, uint64_t end)
{
    uintptr_t word;
    thread->in_product = 0;
    if (!words || !words->inputs)
        return;
    frame_begin(thread, &thread->within, &word); /* from reserve to commit, nobody else writes into the ring */
    struct ws_ring_range *record = ws_ring_reserve_one(&thread->ring);
    if (!record) {
        thread->within = 0;
        return;
    }
    record->header = (struct ws_ring_header){ .kind = WS_RING_RANGE, .slots = 1, .shape = words->inputs };
    record->name = words->name;
    record->ticks_begin = begin;
    record->ticks_end = end;
    ws_ring_commit(&thread->ring, 1);
    thread->within = 0;
}

#endif
