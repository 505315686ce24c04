/* Chains: pointwise, norm, softmax and reduction kernels in a row on one stream, which one fused kernel could
 * replace.
 *
 * Any other operation on the stream ends a chain, except memsets and fills. The end of a step also ends a chain, and
 * so does a pause of more than a millisecond. Kernels that a compiler has already fused (triton_*, nvFuser's, XLA's)
 * end a chain too, because the compiler decided against more fusion. The kernels of a norm, rotary embedding or
 * optimizer that gets its own advice (named_patterns.h) form a chain by themselves. So the kernels before and after
 * such a chain can get advice as well. Chains of the same kernels in the same order are occurrences of one pattern.
 * Figures are summed over the occurrences of a pattern.
 *
 * The waste: each kernel of a chain writes data that the next kernel reads. n kernels over N elements of s bytes move
 * (read and write) 2·n·N·s bytes. One fused kernel would move 2·N·s bytes. The difference is called the waste. The
 * output of a reduction is small and is not part of the waste. If the bytes are known for at least half of a
 * pattern's occurrences, their mean is used for all occurrences.
 *
 * The saving is the time of the kernels minus the time of the fused kernel, which is found in one of three ways. If
 * all kernels are PyTorch's TensorIterator kernels with known arrays, the fused kernel's time follows from the arrays
 * that it must still read and write. If only the bytes that the kernels read and write are known, each kernel saves
 * the time that it needs for its part of the waste, at the bandwidth that this kernel reached. If these bytes are not
 * known, the fused kernel is assumed to take as long as the longest kernel. The launches of all kernels except one,
 * and the time between the kernels, are saved as well. The saving is an upper limit, because the fused kernel must
 * still write the data that other kernels need.
 *
 * enum ws_chain_proof tells how certain it is that the kernels of a pattern work on the same data. A chain is split
 * between two kernels if the kernels' parameters are known, and no address occurs both in a kernel before this place
 * and in a kernel after it. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_CHAINS_H
#define WALLSHIM_ANALYSIS_ROOFLINE_CHAINS_H

#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

enum {
    WS_CHAIN_MOST = 32, /* a chain has at most this many kernels; a longer run of kernels is several chains */
    WS_CHAIN_ADVISED_PERCENT =
        2, /* percent: patterns with a smaller share of the device's time get no advice (source: TraceLens) */
};

enum ws_chain_proof {
    WS_CHAIN_ADJACENT, /* only names and order suggest that the kernels share data */
    WS_CHAIN_SHARES,   /* a kernel and a later kernel have an address in common */
    /* a kernel writes an array that a later kernel reads. Known only for kernels of PyTorch's TensorIterator, because
     * their first array is always the output */
    WS_CHAIN_WRITES_READS,
    WS_CHAIN_PROOF_COUNT
};

enum ws_bytes_source {
    WS_BYTES_ARGUMENTS, /* from the kernels' parameters: numbers of elements, and addresses */
    /* from the sizes of the inputs of the framework's operator that launched the kernel (roofline.h) */
    WS_BYTES_SHAPE,
    /* from the number of elements, which follows from the grid by the rule of PyTorch's TensorIterator */
    WS_BYTES_LAUNCH,
    WS_BYTES_TIME, /* upper limit: the bytes that the memory can move in the time that fusion saves */
    /* upper limit: the bytes moved if each array were as large as all allocated memory. Used if this limit is lower
     * than that of WS_BYTES_TIME */
    WS_BYTES_ALLOCATED,
    WS_BYTES_UNKNOWN,
    /* sources below this value give bytes per kernel; sources from this value on do not */
    WS_BYTES_KNOWN = WS_BYTES_TIME
};

/* The bytes that one source gives for a kernel of a pattern, summed over the pattern's occurrences. */
struct ws_chain_bytes {
    /* moved: bytes that the kernel reads and writes; moved_known: number of occurrences in which these bytes are
     * known */
    uint64_t moved, moved_known;
    /* again: bytes that the kernel writes and the next kernel reads; again_known: number of occurrences in which
     * these bytes are known */
    uint64_t again, again_known;
};

/* One kernel of a pattern over all occurrences, and the time until the pattern's next kernel. Times are in ns. */
struct ws_chain_kernel {
    uint32_t name;      /* index into ws_model.names */
    int64_t total;      /* ns: sum of the kernel's durations */
    int64_t steady;     /* part of `total` in steady steps */
    int64_t gap;        /* sum of the times from the end of this kernel to the start of the next */
    int64_t steady_gap; /* part of `gap` in steady steps */
    /* by source; the entry WS_BYTES_ARGUMENTS covers only the examined occurrences */
    struct ws_chain_bytes bytes[WS_BYTES_KNOWN];

    /* `shared` and `ordered` are numbers of examined occurrences. "The boundary" is the place between this kernel and
     * the next one of the pattern. */
    /* occurrences in which an address occurs in a kernel before the boundary and in a kernel after it */
    uint32_t shared;
    /* occurrences in which an array is written by a kernel before the boundary and read by a kernel after it */
    uint32_t ordered;
};

struct ws_chain {
    uint32_t first, length; /* index in ws_track_chains.kernels of the pattern's first kernel; number of kernels */
    uint64_t count;         /* number of occurrences of the pattern */
    uint64_t steady;        /* number of occurrences in steady steps */
    /* number of occurrences that are a norm, rotary embedding or optimizer with its own advice (named_patterns.h) */
    uint64_t named;
    /* number of occurrences for which the addresses in the kernels' parameters were compared */
    uint32_t examined;
    /* number of examined occurrences in which the time of a fused kernel follows from the kernels' arrays */
    uint32_t modelled;
    /* ns that the kernels of the `modelled` occurrences took; ns that fused kernels would take for these
     * occurrences */
    double modelled_time, modelled_fused;
    /* index in ws_process.ops of the first kernel of the first occurrence; for a part of a chain that was split: of
     * the first kernel of the whole chain */
    uint32_t example;

    int64_t total, gap;    /* ns in the kernels; ns between the kernels; sums over all occurrences */
    int64_t longest;       /* ns in the pattern's longest kernel; sum over all occurrences */
    int64_t fused;         /* ns that fused kernels would take; sum over all occurrences */
    int64_t saving;        /* ns that fused kernels would save in the kernels: total - fused */
    int64_t steady_saving; /* ns of `saving` in steady steps */
    int64_t steady_gap;    /* ns of `gap` in steady steps */
    uint64_t bytes;        /* bytes that a kernel writes and the next kernel reads; sum over all occurrences */
    /* bytes that all kernels read and write; sum over all occurrences; 0: not known */
    uint64_t moved;
    enum ws_bytes_source bytes_source; /* source of `bytes` and `moved` */
    enum ws_chain_proof proof;
};

struct ws_track_chains {
    /* struct ws_chain, largest first: sorted by `saving` plus `gap` in steady steps, then by `saving` plus `gap` in
     * the whole recording */
    struct ws_vector chains;
    struct ws_vector kernels; /* struct ws_chain_kernel; the kernels of a chain are adjacent */
    size_t steps;             /* number of steady steps */
    uint64_t left_out;        /* number of occurrences of patterns beyond MOST_CHAINS (chains.c) */
    /* number of launches of CUDA graphs that were timed as a whole, so that chains in them cannot be found */
    uint64_t graphs;
};

extern const struct ws_analysis ws_analysis_chains;

/* Sums over all patterns: per steady step, or for the whole recording if there are no steady steps. */
struct ws_chains_sum {
    size_t chains;         /* number of patterns for which fusion saves time */
    int64_t kernels, gaps; /* ns that fusion would save in the kernels; ns between the kernels */
    /* bytes that fusion would save, without the patterns for which only an upper limit is known */
    double waste;
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
