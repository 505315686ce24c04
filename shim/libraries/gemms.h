/* Each thread's cache of the GEMMs that it computes with cuBLAS, and of their labels (the call's name and inputs). */
#ifndef WALLSHIM_SHIM_LIBRARIES_GEMMS_H
#define WALLSHIM_SHIM_LIBRARIES_GEMMS_H

#include "shim/calls/call.h"
#include "shim/objects/thread.h"

/* Fills an entry of the cache with this GEMM and its label. */
__attribute__((cold)) void gemm_fill(struct gemm_entry *entry, const struct gemm *gemm);

/* The first of the two places in the cache where the GEMM's entry may be. The hash may be weak, because a look-up
 * compares whole GEMMs. */
HOT struct gemm_entry *gemm_places(struct shim_thread *thread, const struct gemm *gemm)
{
    uint64_t hash = (gemm->m + gemm->function) * 0x9e3779b97f4a7c15u ^
                    (gemm->n + gemm->a_type) * 0xc2b2ae3d27d4eb4fu ^
                    (gemm->k + gemm->batch * 0x10001) * 0x165667b19e3779f9u;
    return &thread->gemms[(hash * 0x9e3779b1u) >> 54 << 1];
}
_Static_assert(GEMM_CACHE == 2 << (64 - 54), "the hash's highest bits");

/* Are the two GEMMs the same? Fields that are neighbours in memory are not compared one after the other, because GCC
 * would merge their comparisons (shape_is in calls/shape_cache.h tells the reason). */
HOT bool is_gemm(const struct gemm *a, const struct gemm *b)
{
    return a->m == b->m && a->a_type == b->a_type && a->n == b->n && a->compute == b->compute && a->k == b->k &&
           a->function == b->function && a->batch == b->batch && a->b_type == b->b_type && a->epilogue == b->epilogue;
}

HOT const struct call_label *gemm_find(struct shim_thread *thread, const struct gemm *gemm)
{
    struct gemm_entry *entry = gemm_places(thread, gemm);
    if (__builtin_expect(!is_gemm(&entry->gemm, gemm), 0)) {
        if (is_gemm(&entry[1].gemm, gemm))
            return &entry[1].label;
        entry[1] = entry[0];
        /* gemm_fill gets the address of a copy, so that the compiler can keep *gemm in registers */
        const struct gemm kept = *gemm;
        gemm_fill(entry, &kept);
    }
    return &entry->label;
}

/* Does the same as gemm_find, but is not inlined. */
const struct call_label *gemm_label(struct shim_thread *thread, const struct gemm *gemm);

#endif
