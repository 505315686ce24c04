#include "analysis/roofline/chain_figures.h"

#include <stdlib.h>

#include "base/minmax.h"

/* Returns the number of occurrences of the pattern (`chain`) for which this source (enum ws_bytes_source) can give
 * bytes. The parameters of kernels were read only for the examined occurrences. */
static uint64_t asked(const struct ws_chain *chain, int source)
{
    return source == WS_BYTES_ARGUMENTS ? chain->examined : chain->count;
}

/* Returns sum / known, the mean over the occurrences in which a number of bytes is known. Returns -1 if this number
 * is known in less than half of all `occurrences`. */
static double chain_figures_mean_of(uint64_t sum, uint64_t known, uint64_t occurrences)
{
    return known && 2 * known >= occurrences ? (double)sum / (double)known : -1;
}

/* Returns the ns that a kernel spends on its part of the waste (the memory traffic between kernels that fusion would
 * save; chains.h), at the bandwidth that the kernel reached. The kernel has two parts in the waste: it reads the
 * previous kernel's output, and it writes the next kernel's input. */
static double time_of_waste(const struct ws_chain_bytes *bytes, double again_before, double again_behind,
                            int64_t time)
{
    double moved = (double)bytes->moved / (double)bytes->moved_known, waste = (again_before + again_behind) / 2;
    return (double)time * (waste < moved ? waste / moved : 1);
}

struct chain_time {
    double all, steady;
};

/* Reads a pattern's bytes from one source (enum ws_bytes_source). Fills again[i] with the mean number of bytes that
 * kernel i writes and the next kernel reads; the write and the read both count. Returns false if the source lacks
 * these bytes for some kernel. */
static bool find_bytes_from(const struct ws_chain_kernel *kernels, struct ws_chain *chain, int source,
                            double again[WS_CHAIN_MOST])
{
    const double most = 1e18, count = (double)chain->count;
    uint64_t occurrences = asked(chain, source);
    double all_again = 0, all_moved = 0;
    bool moved_known = true;
    for (uint32_t i = 0; i < chain->length; i++) {
        const struct ws_chain_bytes *bytes = &kernels[i].bytes[source];
        bool is_last = i + 1 == chain->length;
        double moved = chain_figures_mean_of(bytes->moved, bytes->moved_known, occurrences);
        again[i] = is_last ? 0 : chain_figures_mean_of(bytes->again, bytes->again_known, occurrences);
        if (again[i] < 0)
            return false;
        all_again += again[i];
        all_moved += moved;
        moved_known = moved_known && moved > 0;
    }
    if (!(all_moved < most / count) || !(all_again < most / count))
        return false;
    chain->bytes_source = (enum ws_bytes_source)source;
    chain->bytes = (uint64_t)(all_again * count);
    chain->moved = moved_known && all_moved > all_again ? (uint64_t)(all_moved * count) : 0;
    return true;
}

/* Reads a pattern's bytes from the best source that gives the bytes passed between the pattern's kernels. Returns the
 * ns that the kernels spend on the waste (chains.h). Returns 0 if this source does not give all bytes that the
 * kernels move. */
static struct chain_time find_bytes(const struct ws_track_chains *result, struct ws_chain *chain)
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    struct chain_time time = { 0 };
    double again[WS_CHAIN_MOST];
    int source = 0;
    chain->bytes_source = WS_BYTES_UNKNOWN;
    while (source < WS_BYTES_KNOWN && !find_bytes_from(kernels, chain, source, again))
        source++;
    for (uint32_t i = 0; i < chain->length && chain->moved; i++) {
        const struct ws_chain_bytes *bytes = &kernels[i].bytes[source];
        time.all += time_of_waste(bytes, i ? again[i - 1] : 0, again[i], kernels[i].total);
        time.steady += time_of_waste(bytes, i ? again[i - 1] : 0, again[i], kernels[i].steady);
    }
    return time;
}

/* If no source gives a pattern's bytes, sets an upper limit: the bytes that the memory can move in the saved time.
 * The size of the largest possible array may give a smaller upper limit, because each kernel except the last writes
 * one array, and the next kernel reads this array once. */
static void bound_bytes(struct ws_chain *chain, double bytes_per_ns, uint64_t array_most)
{
    double in_time = bytes_per_ns * (double)chain->saving;
    double in_memory = 2.0 * (double)array_most * (chain->length - 1) * (double)chain->count;
    if (chain->bytes_source != WS_BYTES_UNKNOWN || !(in_time > 0) || in_time >= 1e18)
        return;
    bool fits = !array_most || in_time <= in_memory;
    chain->bytes_source = fits ? WS_BYTES_TIME : WS_BYTES_ALLOCATED;
    chain->bytes = (uint64_t)(fits ? in_time : in_memory);
}

static void conclude(const struct ws_track_chains *result, struct ws_chain *chain, double bytes_per_ns,
                     uint64_t array_most)
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    int64_t steady = 0, steady_longest = 0;
    chain->proof = chain->examined ? WS_CHAIN_WRITES_READS : WS_CHAIN_ADJACENT;
    for (uint32_t i = 0; i < chain->length; i++) {
        chain->total = ws_sum(chain->total, kernels[i].total);
        chain->gap = ws_sum(chain->gap, kernels[i].gap);
        chain->steady_gap = ws_sum(chain->steady_gap, kernels[i].steady_gap);
        steady = ws_sum(steady, kernels[i].steady);
        if (kernels[i].total > chain->longest)
            chain->longest = kernels[i].total;
        if (kernels[i].steady > steady_longest)
            steady_longest = kernels[i].steady;
        if (i + 1 < chain->length && kernels[i].ordered < chain->examined)
            chain->proof = WS_CHAIN_SHARES;
    }
    struct chain_time waste = find_bytes(result, chain);
    chain->fused = chain->longest;
    int64_t steady_fused = steady_longest;
    bool modelled = chain->modelled && chain->modelled == chain->examined;
    if (modelled && chain->modelled_fused < chain->modelled_time && chain->total < WS_TIME_MOST) {
        double share = chain->modelled_fused / chain->modelled_time;
        chain->fused = (int64_t)((double)chain->total * share);
        steady_fused = (int64_t)((double)steady * share);
    } else if (waste.all > 0 && chain->total < WS_TIME_MOST) {
        chain->fused = chain->total - (int64_t)waste.all;
        steady_fused = steady - (int64_t)waste.steady;
    }
    chain->saving = ws_sum(chain->total, -chain->fused);
    chain->steady_saving = ws_sum(steady, -steady_fused);
    bound_bytes(chain, bytes_per_ns, array_most);
}

static int greatest_first(const void *a, const void *b)
{
    const struct ws_chain *x = a, *y = b;
    int64_t x_steady = ws_sum(x->steady_saving, x->steady_gap), y_steady = ws_sum(y->steady_saving, y->steady_gap);
    int64_t x_all = ws_sum(x->saving, x->gap), y_all = ws_sum(y->saving, y->gap);
    if (x_steady != y_steady)
        return x_steady < y_steady ? 1 : -1;
    if (x_all != y_all)
        return x_all < y_all ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

void ws_chains_conclude(struct ws_track_chains *result, double bytes_per_ns, uint64_t array_most)
{
    struct ws_chain *chains = result->chains.data;
    size_t kept = 0;
    for (size_t i = 0; i < result->chains.count; i++) {
        if (!chains[i].count)
            continue;
        conclude(result, &chains[i], bytes_per_ns, array_most);
        chains[kept++] = chains[i];
    }
    result->chains.count = kept;
    if (kept)
        qsort(chains, kept, sizeof(*chains), greatest_first);
}
