/* Chains: pointwise, norm, softmax and reduction kernels in a row on one stream, that one kernel could do.
 *
 * Whatever else runs on the stream ends a chain, and so do the end of a step and a pause of more than a
 * millisecond; memsets and fills pass. Kernels that a compiler has fused already (triton_*, nvFuser's, XLA's) end one
 * too: it has decided. Chains of the same kernels in the same order are one pattern, and all figures are of patterns.
 *
 * What is moved again: between two kernels of a chain the first writes what the second reads, so that n kernels over
 * N elements of s bytes move 2·n·N·s bytes where one would move 2·N·s: the difference is the waste. What a reduction
 * passes on is little, and left out. Where at least half of the occurrences of a pattern are known, they speak for
 * all.
 *
 * What is won in the kernels: where it is known what they move, each is shorter by its part of the waste at the
 * bandwidth that it has reached itself; where all are TensorIterator's and their arrays known, by the arrays that
 * remain; else the one is taken to last as long as the longest of them. And with them go the launches of all but one,
 * and the time between the kernels. All of it is at most: what is needed elsewhere must still be written.
 *
 * How sure it is that they work on the same data is said of each pattern, see enum ws_chain_proof. Where parameters
 * are known and two neighbours, with all before and after them, have no address in common, the chain is two.
 */
#ifndef WALLSHIM_ANALYSIS_CHAINS_H
#define WALLSHIM_ANALYSIS_CHAINS_H

#include <stdint.h>

#include "analysis/registry.h"
#include "base/vector.h"

enum {
    WS_CHAIN_MOST = 32,           /* kernels of a chain; a longer run is several */
    WS_CHAIN_ADVISED_PERCENT = 2, /* of the device's time, from which on to fuse it is advised: as TraceLens has it */
};

enum ws_chain_proof {
    WS_CHAIN_ADJACENT,     /* by names and neighbourhood alone */
    WS_CHAIN_SHARES,       /* one has an address among its parameters that one after it has too */
    WS_CHAIN_WRITES_READS, /* one writes where one after it reads: both are TensorIterator's, whose output is first */
    WS_CHAIN_PROOF_COUNT
};

enum ws_bytes_source {
    WS_BYTES_ARGUMENTS, /* elements and addresses are among the parameters */
    WS_BYTES_SHAPE,     /* what its operator was given, by the roofline */
    WS_BYTES_LAUNCH,    /* elements from the grid, as TensorIterator chooses it */
    WS_BYTES_TIME,      /* at most what the memory can move in the time */
    WS_BYTES_ALLOCATED, /* that would be more than fits into the memory that was alive at most */
    WS_BYTES_UNKNOWN,
    WS_BYTES_KNOWN = WS_BYTES_TIME /* sources before it tell of each kernel; those from it on, at most */
};

/* What a source knows of a kernel of a pattern, over its occurrences. */
struct ws_chain_bytes {
    uint64_t moved, moved_known; /* by the kernel; occurrences where it is known */
    uint64_t again, again_known; /* written for the next to read again, and read */
};

/* One kernel of a pattern, over all its occurrences, and what lies between it and the next. */
struct ws_chain_kernel {
    uint32_t name;                               /* index into ws_model.names */
    int64_t total;                               /* time in it */
    int64_t steady;                              /* of that, in steady steps */
    int64_t gap;                                 /* from its end to the next one's begin */
    int64_t steady_gap;                          /* of that, in steady steps */
    struct ws_chain_bytes bytes[WS_BYTES_KNOWN]; /* by source; from arguments, of the examined occurrences */

    /* Of the examined occurrences: */
    uint32_t shared;  /* it, or one before it, has an address in common with one after it */
    uint32_t ordered; /* which is written, then read */
};

struct ws_chain {
    uint32_t first, length;               /* kernels: places in ws_track_chains.kernels */
    uint64_t count;                       /* occurrences */
    uint64_t steady;                      /* of them, in steady steps */
    uint32_t examined;                    /* of them, those whose buffers were compared */
    uint32_t modelled;                    /* of those examined: the arrays tell what one kernel would take */
    double modelled_time, modelled_fused; /* in those: of the kernels, and of the one */
    uint32_t example;                     /* operation: the first one's first kernel */

    int64_t total, gap;                /* time in the kernels and between them */
    int64_t longest;                   /* of the kernels */
    int64_t fused;                     /* time of the one kernel that would do */
    int64_t saving;                    /* total - fused */
    int64_t steady_saving;             /* the same in steady steps */
    int64_t steady_gap;                /* between the kernels in steady steps */
    uint64_t bytes;                    /* moved again */
    uint64_t moved;                    /* by all kernels as they are; 0: not known */
    enum ws_bytes_source bytes_source; /* of both */
    enum ws_chain_proof proof;
};

struct ws_track_chains {
    struct ws_vector chains;  /* struct ws_chain, most to win first: in steady steps, then at all, gaps with it */
    struct ws_vector kernels; /* struct ws_chain_kernel, those of a chain together */
    size_t steps;             /* steady ones; 0: there are none */
    uint64_t left_out;        /* occurrences of patterns beyond the number kept */
    uint64_t graphs;          /* launches of graphs measured as a whole: what is in a row inside is not known */
};

extern const struct ws_analysis ws_analysis_chains;

const char *ws_chain_proof_name(enum ws_chain_proof proof);    /* in JSON */
const char *ws_bytes_source_name(enum ws_bytes_source source); /* in JSON */

/* All patterns together: of a steady step, or of the recording where there are none. */
struct ws_chains_sum {
    size_t chains;         /* patterns that there is something to win with */
    int64_t kernels, gaps; /* ns to win in kernels and between them */
    double waste;          /* bytes moved again, where they are known and not only bounded */
};

struct ws_chains_sum ws_chains_sum(const struct ws_track_chains *result);

/* How a report shows them: chains_report.c. */
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
