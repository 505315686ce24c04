/* Chains: pointwise, norm, softmax and reduction kernels in a row on one stream, which one fused kernel could
 * replace.
 *
 * Any other operation on the stream ends a chain, except memsets and fills. The end of a step and a pause of more
 * than a millisecond end a chain, too. Kernels that a compiler has already fused (triton_*, nvFuser's, XLA's) end a
 * chain too, because the compiler decided against more fusion. Chains of the same kernels in the same order are
 * occurrences of one pattern. All figures are per pattern.
 *
 * The waste: each kernel of a chain writes data that the next kernel reads. n kernels over N elements of s bytes move
 * 2·n·N·s bytes, and one fused kernel would move 2·N·s. The difference is the waste. The output of a reduction is
 * small and does not count. If the bytes of at least half of a pattern's occurrences are known, their mean is taken
 * for all occurrences.
 *
 * The saving is the time of the kernels minus the time of the fused kernel. If all kernels are PyTorch's
 * TensorIterator kernels with known arrays, the fused kernel's time follows from the arrays that it must still read
 * and write. Else, if the bytes that the kernels move are known, each kernel saves the time of its part of the waste,
 * at the bandwidth that this kernel reached. Else the fused kernel is assumed to take as long as the longest kernel.
 * The launches of all kernels but one and the time between the kernels are saved as well. The saving is an upper
 * limit, because the fused kernel must still write the data that other kernels need.
 *
 * enum ws_chain_proof tells how certain it is that the kernels of a pattern work on the same data. If the parameters
 * are known and no address occurs on both sides of a boundary between two kernels, the chain is split at this
 * boundary.
 */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_CHAINS_H
#define WALLSHIM_ANALYSIS_ROOFLINE_CHAINS_H

#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

enum {
    WS_CHAIN_MOST = 32, /* most kernels of a chain; a longer run is several chains */
    WS_CHAIN_ADVISED_PERCENT =
        2, /* patterns below this share of the device's time get no advice (source: TraceLens) */
};

enum ws_chain_proof {
    WS_CHAIN_ADJACENT,     /* only names and order suggest that the kernels share data */
    WS_CHAIN_SHARES,       /* a kernel and a later one have an address in common */
    WS_CHAIN_WRITES_READS, /* a kernel writes an array that a later one reads; known only for TensorIterator kernels,
                              whose first array is the output */
    WS_CHAIN_PROOF_COUNT
};

enum ws_bytes_source {
    WS_BYTES_ARGUMENTS, /* the kernels' parameters: numbers of elements, and addresses */
    WS_BYTES_SHAPE,     /* the inputs of the kernel's operator, from the roofline */
    WS_BYTES_LAUNCH,    /* the number of elements is derived from the grid, by the rule of PyTorch's TensorIterator */
    WS_BYTES_TIME,      /* upper limit: the bytes that the memory can move in the time that fusion saves */
    WS_BYTES_ALLOCATED, /* upper limit: each array as large as all allocated memory, if this limit is lower than
                           WS_BYTES_TIME */
    WS_BYTES_UNKNOWN,
    WS_BYTES_KNOWN = WS_BYTES_TIME /* earlier sources give figures per kernel, later sources upper limits */
};

/* The bytes that one source gives for a kernel of a pattern, summed over occurrences. */
struct ws_chain_bytes {
    uint64_t moved, moved_known; /* bytes moved by the kernel; number of occurrences for which they are known */
    uint64_t again, again_known; /* bytes that the kernel writes and the next kernel reads; number of occurrences for
                                    which they are known */
};

/* One kernel of a pattern over all occurrences, and the time until the next one. Times are in ns. */
struct ws_chain_kernel {
    uint32_t name;                               /* index into ws_model.names */
    int64_t total;                               /* time in the kernel */
    int64_t steady;                              /* part of `total` in steady steps */
    int64_t gap;                                 /* from its end to the begin of the next kernel */
    int64_t steady_gap;                          /* part of `gap` in steady steps */
    struct ws_chain_bytes bytes[WS_BYTES_KNOWN]; /* by source; WS_BYTES_ARGUMENTS is for the examined occurrences */

    /* Numbers of examined occurrences with this property: */
    uint32_t shared;  /* an address occurs in this or an earlier kernel, and in a later kernel */
    uint32_t ordered; /* such an address is first written, then read */
};

struct ws_chain {
    uint32_t first, length;               /* first kernel (index in ws_track_chains.kernels); number of kernels */
    uint64_t count;                       /* occurrences */
    uint64_t steady;                      /* occurrences in steady steps */
    uint32_t examined;                    /* occurrences whose buffers were compared */
    uint32_t modelled;                    /* examined occurrences whose arrays give the time of a fused kernel */
    double modelled_time, modelled_fused; /* ns in `modelled` occurrences: sum of all kernels; sum of fused kernels */
    uint32_t example;                     /* index of the first kernel of the first occurrence */

    int64_t total, gap;                /* ns in the kernels and between them */
    int64_t longest;                   /* time of the longest kernel */
    int64_t fused;                     /* time of the fused kernel */
    int64_t saving;                    /* total - fused */
    int64_t steady_saving;             /* saving in steady steps */
    int64_t steady_gap;                /* time between the kernels in steady steps */
    uint64_t bytes;                    /* bytes that are written and read again */
    uint64_t moved;                    /* bytes moved by all kernels; 0: not known */
    enum ws_bytes_source bytes_source; /* source of `bytes` and `moved` */
    enum ws_chain_proof proof;
};

struct ws_track_chains {
    struct ws_vector chains;  /* struct ws_chain; largest saving plus gaps first (steady steps, then all work) */
    struct ws_vector kernels; /* struct ws_chain_kernel; the kernels of a chain are adjacent */
    size_t steps;             /* number of steady steps; 0: none */
    uint64_t left_out;        /* occurrences of patterns beyond the maximum number */
    uint64_t graphs;          /* graph launches measured as a whole; chains inside these graphs are not known */
};

extern const struct ws_analysis ws_analysis_chains;

/* Sums over all patterns: per steady step, or for the recording if there are no steps. */
struct ws_chains_sum {
    size_t chains;         /* patterns with a saving */
    int64_t kernels, gaps; /* ns saved in kernels and between them */
    double waste;          /* bytes that fusion would save; patterns that have only an upper limit do not count */
};

struct ws_chains_sum ws_chains_sum(const struct ws_track_chains *result);

/* defined in chains_report.c */
void ws_chains_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_chains_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
int ws_chains_advise(const struct ws_report *report, size_t subject, const void *result, struct ws_advice_list *list);

static inline bool ws_chain_bytes_are_bound(const struct ws_chain *chain)
{
    return chain->bytes_source == WS_BYTES_TIME || chain->bytes_source == WS_BYTES_ALLOCATED;
}

static inline const struct ws_chain_kernel *ws_chain_kernels(const struct ws_track_chains *result,
                                                             const struct ws_chain *chain)
{
    return (const struct ws_chain_kernel *)result->kernels.data + chain->first;
}

#endif
