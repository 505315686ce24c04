#include "shim/timing/durations.h"

#include <stddef.h>

#include "base/chunks.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/minmax.h"
#include "base/root.h"
#include "record/record.h"
#include "shim/state/registry.h"

enum {
    SAMPLES_MEANT =
        16, /* the mean covers about this many samples; older samples count less, because durations may change */
    SAMPLES_MOST = 60000,
    APART_MOST = 2,    /* after this many successive samples far from the mean, the duration has changed */
    FIRST_SAMPLES = 4, /* the spread of all kernels counts as this many samples of the kernel itself */
    CHANGE_KEPT = 512, /* so many samples after a change of its duration, a kernel is not expected to change again */
    ALL_MEANT = 64,    /* as SAMPLES_MEANT, for all kernels together */
};
static const double UNKNOWN_NS = 5000, UNKNOWN_BY = 50000; /* duration ± error before there is any sample */
static const double FAR_OFF = 4;                           /* standard deviations */
static const double FIRST_SPREAD = 0.05 * 0.05; /* spread relative to the duration's square, before any sample */
static const float CHANGE_SHARE = 0.15f;        /* of a change's square: the stated error is then about the change */
static const double MOST_SPREAD = 4, SAME = 0.3;
static const double STEADY = 0.15 * 0.15; /* most spread of a steady kernel, relative to the duration's square */

/* Statistics of all kernels together, for kernels that were sampled seldom or never. */
static struct {
    double mean, var; /* mean and variance of the kernels' durations */
    double spread;    /* variance from launch to launch of the same kernel, relative to the duration's square */
    double within;    /* variance from launch to launch of the same kernel, ns² */
    uint32_t samples, repeated;
} all_kernels = { .spread = FIRST_SPREAD };

/* A "work" is a kernel with its grid and block. Number 0 stands for all works that found no room. */
static struct ws_chunks durations = { .row_size = sizeof(struct duration) }; /* by work */
static struct ws_chunks works = { .row_size = sizeof(uint32_t) };            /* by shape */
static struct ws_map work_ids; /* hash of a row without its stream → work */
static uint32_t work_count;
static struct duration shared;

static uint32_t work_of(uint32_t shape)
{
    struct ws_shape row = *(const struct ws_shape *)registry_row(&registry.shape, shape);
    row.id = row.stream = 0;
    uint64_t *id = ws_map_put(&work_ids, ws_hash_key(&row, sizeof(row)));
    if (!id)
        return 0;
    if (!*id)
        *id = ++work_count;
    return (uint32_t)*id;
}

struct duration *duration_of(uint32_t shape)
{
    uint32_t *work = ws_chunks_make(&works, shape);
    if (work && !*work)
        *work = work_of(shape);
    struct duration *duration = work && *work ? ws_chunks_make(&durations, *work) : NULL;
    return duration ? duration : &shared;
}

/* The spread to assume before a kernel has enough samples of its own. In some programs launches of one kernel differ
 * as much as different kernels do. In such a program, the absolute spread of all kernels is the better guess. */
static double likely_spread(double ns)
{
    double spread = all_kernels.spread * ws_square(ns);
    return all_kernels.within > SAME * all_kernels.var ? ws_max(spread, all_kernels.within) : spread;
}

static void begin(struct duration *duration, double ns, double noise)
{
    duration->mean = (float)ns;
    duration->spread = (float)likely_spread(ns);
    duration->var = (float)(noise + (double)duration->spread);
    duration->samples = 1;
    duration->apart = 0;
}

/* The weight of the next sample in a mean over about `meant` samples, in which older samples count less and less. */
static double weight(uint32_t before, uint32_t meant)
{
    return 1.0 / (double)(ws_min(before, meant) + 1);
}

static void learn_of_all(double ns)
{
    double share = weight(all_kernels.samples++, ALL_MEANT), off = ns - all_kernels.mean;
    all_kernels.mean += share * off;
    all_kernels.var += share * (ws_square(off) * (1 - share) - all_kernels.var);
}

static void learn_spread_of_all(double seen, double mean)
{
    double relative = ws_min(seen / ws_max(ws_square(mean), 1.0), MOST_SPREAD);
    double share = weight(FIRST_SAMPLES + all_kernels.repeated++, ALL_MEANT);
    all_kernels.spread += share * (relative - all_kernels.spread);
    all_kernels.within += share * (seen - all_kernels.within);
}

/* Is the sample far from the mean? Also counts such samples in succession. A single such sample is ignored. After
 * several, the duration is learned anew from the last of them. */
static bool is_apart(struct duration *duration, double off, double all)
{
    if (ws_square(off) <= ws_square(FAR_OFF) * all) {
        duration->apart = 0;
        return false;
    }
    bool same_side = (off > 0) == (duration->apart > 0);
    duration->apart = (int16_t)((same_side ? duration->apart : 0) + (off > 0 ? 1 : -1));
    return true;
}

void duration_changed(struct duration *duration, double by)
{
    if (duration->changed)
        duration->change = (float)ws_square(by);
    duration->changed = true;
    duration->since_change = 0;
}

void duration_sample(struct duration *duration, double ns, double noise)
{
    ns = ws_max(ns, 0.0);
    learn_of_all(ns);
    if (!duration->samples) {
        begin(duration, ns, noise);
        return;
    }
    double off = ns - (double)duration->mean;
    double all = (double)duration->var + (double)duration->spread + noise;
    bool settled = duration->samples >= 4;
    if (settled && is_apart(duration, off, all)) {
        if (duration->apart < APART_MOST && duration->apart > -APART_MOST)
            return;
        begin(duration, ns, noise);
        duration_changed(duration, off);
        duration->spread = (float)ws_max((double)duration->spread,
                                         ws_square(off) / SAMPLES_MEANT); /* the duration may change again */
        return;
    }
    /* The spread is learned first: it needs the mean as it was before this sample. */
    double share = weight(FIRST_SAMPLES + duration->samples, SAMPLES_MEANT);
    double seen = ws_max(ws_square(off) - noise, 0.0);
    learn_spread_of_all(seen, (double)duration->mean);
    seen = ws_max(seen - (double)duration->var, 0.0);
    duration->spread += (float)(share * (seen - (double)duration->spread));
    double gain = (double)duration->var / all;
    duration->mean += (float)(gain * off);
    double least = ((double)duration->spread + noise) / SAMPLES_MEANT;
    duration->var = (float)ws_max((double)duration->var * (1 - gain), least);
    duration->samples = (uint16_t)ws_min(duration->samples + 1, SAMPLES_MOST);
    if (duration->changed && ++duration->since_change > CHANGE_KEPT) {
        duration->changed = false;
        duration->change = 0;
    }
}

bool duration_is_steady(const struct duration *duration)
{
    return (double)duration->spread <= STEADY * ws_square((double)duration->mean);
}

void duration_at_most(struct duration *duration, double ns)
{
    if (!duration->samples && ns > 0 && (duration->most <= 0 || ns < (double)duration->most))
        duration->most = (float)ns;
}

/* The duration of a kernel that was never sampled: the mean of all kernels, limited by this kernel's upper bound. */
static double guess(const struct duration *duration, double *variance)
{
    double most = (double)duration->most;
    double ns = all_kernels.samples ? all_kernels.mean : UNKNOWN_NS;
    *variance = all_kernels.samples > 1 ? all_kernels.var + ws_square(ns) / 4 : ws_square(UNKNOWN_BY);
    if (most > 0 && ns + ws_root(*variance) > most) {
        ns = most / 2;
        *variance = ws_square(most) / 12;
    }
    return ns;
}

double duration_expected(const struct duration *duration)
{
    double variance;
    return duration->samples ? (double)duration->mean : guess(duration, &variance);
}

double duration_unsure(const struct duration *duration)
{
    double variance;
    guess(duration, &variance);
    return duration->samples ? (double)(duration->var + duration->change * CHANGE_SHARE) : variance;
}
