#include "shim/timing/durations.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/chunks.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/minmax.h"
#include "base/root.h"
#include "record/record.h"
#include "shim/objects/shapes.h"
#include "shim/state/registry.h"

enum {
    SAMPLES_MEANT = 16, /* number of samples that a mean covers (samples_meant) */
    SAMPLES_MEANT_VARYING = 256,
    TREND_MEANT = 16, /* number of samples that `trend` covers */
    FAR_KEPT = 200,   /* a sample (measured launch) far from the mean is remembered for this many further samples */
    SAMPLES_MOST = 60000,
    /* After this many successive samples far from the mean on the same side, the duration has changed. */
    APART_MOST = 2,
    FIRST_SAMPLES = 4,  /* a kernel begins with the spread of all kernels, which weighs like this many samples */
    CHANGE_KEPT = 512,  /* after this many samples without a change, no further change is expected */
    SAMPLES_ENOUGH = 8, /* a kernel with so many samples needs no further ones in a hurry */
    ALL_MEANT = 64,     /* number of samples that the means in all_kernels cover */
};
/* Assumed duration ± error of a kernel before any sample, ns. */
static const double UNKNOWN_NS = 5000, UNKNOWN_BY = 50000;
static const double FAR_OFF = 4; /* standard deviations: a sample that deviates more is far from the mean */
static const double FIRST_SPREAD = 0.05 * 0.05; /* spread before any sample, relative to the duration's square */
/* The variance that is added for a further change of a kernel's duration, relative to the square of its largest
 * change. With this value the error in the trace is about as large as that change. */
static const double CHANGE_SHARE = 0.15;
/* At each further change of a duration, the square of the largest change so far is multiplied by this, so that old
 * changes count less. */
static const double CHANGE_KEEPS = 0.9;
/* A kernel's launches vary if their spread is more than this many times the variance of a measurement (noise). */
static const double VARIES = 4;
/* The largest deviation that counts in `trend`, in standard deviations. A larger deviation counts as this one. */
static const double MOST_DEVIATION = 1.5;
/* The variance that is added to a mean which lags behind a changing duration, relative to a sample's variance. */
static const double LAG_SHARE = 0.5;
/* A sample far from the mean sets `doubt` (struct duration). Each later sample near the mean multiplies `doubt` by
 * this. */
static const double DOUBT_KEPT = 0.8;
/* If the mean product of successive samples' deviations (`trend`) is at least this, the duration is changing. */
static const double TREND = 0.75;
static const double MOST_SPREAD = 4, SAME = 0.3;
/* ns; a kernel's first launching call may be long, because it loads code. At most this much of the first call's time
 * counts as the usual time of the kernel's calls. */
static const double FIRST_CALL_NS = 5000;
/* Number of calls that the usual time of a kernel's calls covers. It follows short calls soon and long calls slowly.
 * While several threads hinder each other in the driver, most calls are long. They may return long after the launch
 * has reached the device, so their time must not become the usual one. */
static const double CALLS_MEANT = 16, LONG_CALLS_MEANT = 256;
static const double CALL_SLACK_NS = 1000; /* a call is long if it takes this much more than the usual time */
static const double EXACT_SHARE = 0.02, EXACT_NS = 50;
/* The smallest spread (ns²) of kernels that are measured by their ends alone. */
static const double WIDE = 5000.0 * 5000;
static const double STEADY = 0.1 * 0.1; /* largest spread of a steady kernel, relative to the duration's square */

/* Statistics of all kernels together, for kernels that were sampled seldom or never. */
static struct {
    double mean, var; /* mean and variance of the kernels' durations */
    double spread;    /* variance from launch to launch of the same kernel, relative to the duration's square */
    double within;    /* variance from launch to launch of the same kernel, ns² */
    uint32_t samples, repeated;
} all_kernels = { .spread = FIRST_SPREAD };

/* A "work" is a kernel with its grid and block, a graph, or copies and memsets of one shape and size class. Number 0
 * stands for all works for which there was no memory. */
static struct ws_chunks durations = { .row_size = sizeof(struct duration) }; /* index: number of the work */
static struct ws_chunks works = { .row_size = sizeof(uint32_t) }; /* number of each shape's work; index: shape id */
static struct ws_map work_ids; /* a work's key (hash of a shape without its stream) → number of the work */
static uint32_t work_count;
static struct duration shared;

static uint64_t work_key(uint32_t shape, uint64_t bytes)
{
    struct ws_shape row = *(const struct ws_shape *)registry_row(&registry.shape, shape);
    row.id = row.stream = 0;
    row.grid_x += shape_size_class(bytes); /* copies have no grid */
    return ws_hash_key(&row, sizeof(row));
}

static uint32_t work_of(uint32_t shape, uint64_t bytes)
{
    uint64_t *id = ws_map_put(&work_ids, work_key(shape, bytes));
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
        *work = work_of(shape, 0);
    struct duration *duration = work && *work ? ws_chunks_make(&durations, *work) : NULL;
    return duration ? duration : &shared;
}

struct duration *duration_of_other(uint32_t shape, uint64_t bytes)
{
    static struct duration shared_other = { .other = true };
    uint32_t work = work_of(shape, bytes);
    struct duration *duration = work ? ws_chunks_make(&durations, work) : NULL;
    if (duration)
        duration->other = true;
    return duration ? duration : &shared_other;
}

/* The spread to assume before a kernel has enough samples of its own. In some programs launches of one kernel differ
 * as much as different kernels do. In such programs the variance from launch to launch in ns² (`within`) is a better
 * guess than the variance relative to the duration's square (`spread`). */
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

/* Is the sample far from the mean? Also counts the successive samples that are far from the mean on the same side. */
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

void duration_doubt(struct duration *duration, double by)
{
    duration->doubt = (float)ws_square(by);
}

void duration_as_expected(struct duration *duration)
{
    duration->doubt = duration->step = 0;
}

void duration_changed(struct duration *duration, double by)
{
    bool same_side = (by > 0) == (duration->step > 0);
    duration->step = (float)(by + (same_side ? (double)duration->step : 0));
    if (duration->changed)
        duration->change = (float)ws_max(ws_square((double)duration->step), CHANGE_KEEPS * (double)duration->change);
    duration->var += (float)ws_square(by);
    duration->doubt = 0;
    duration->changed = true;
    duration->since_change = 0;
}

/* The number of samples that the mean and the spread cover. The number is usually small, because durations may
 * change. It is large if launches differ much more than the error of their measurement. But if successive samples lie
 * on the same side of the mean, the duration is changing, and the number is small. */
static uint32_t samples_meant(const struct duration *duration, double noise)
{
    bool varies = (double)duration->spread > VARIES * noise && (double)duration->trend < TREND;
    return varies ? SAMPLES_MEANT_VARYING : SAMPLES_MEANT;
}

static void learn_trend(struct duration *duration, double deviation)
{
    double usual = ws_clamp(deviation, -MOST_DEVIATION, MOST_DEVIATION);
    duration->trend += (float)((usual * (double)duration->deviation - (double)duration->trend) / TREND_MEANT);
    duration->deviation = (float)usual;
}

/* Called if the kernel's duration has changed: learns the duration anew from the latest sample. */
static void learn_anew(struct duration *duration, double ns, double noise)
{
    double off = ns - (double)duration->mean, spread = (double)duration->spread;
    begin(duration, ns, noise);
    duration->spread = (float)ws_max((double)duration->spread, spread);
    duration_changed(duration, off);
    duration->var = (float)(noise + (double)duration->spread);
}

/* Handles a sample far from the mean. A single far sample does not change the mean, because something may have
 * disturbed the launch. Several far samples in succession show that the duration has changed. If exact samples are
 * far from the mean again and again, launches of this kernel really differ so much. Returns true if the mean and the
 * spread are to be updated by this sample as by any other. */
static bool learn_from_far(struct duration *duration, double ns, double noise, enum sample kind)
{
    if (duration->far_lately && kind == SAMPLE_EXACT) {
        duration->far_lately = FAR_KEPT;
        return true;
    }
    if (duration->apart >= APART_MOST || duration->apart <= -APART_MOST)
        learn_anew(duration, ns, noise);
    else
        duration_doubt(duration, ns - (double)duration->mean);
    return false;
}

/* Handles a sample near the mean. was_apart: the previous sample was far from the mean. */
static void learn_from_near(struct duration *duration, bool was_apart, enum sample kind)
{
    if (was_apart && kind == SAMPLE_EXACT)
        duration->far_lately = FAR_KEPT;
    /* After a sample far from the mean, further samples may be far from it, too. So a part of `doubt` stays. */
    double doubt = duration->far_lately ? DOUBT_KEPT * (double)duration->doubt : 0;
    duration_as_expected(duration);
    duration->doubt = (float)doubt;
}

void duration_sample(struct duration *duration, double ns, double noise, enum sample kind)
{
    ns = ws_max(ns, 0.0);
    bool settled = duration->samples >= 4, was_apart = duration->apart;
    if (!settled && kind == SAMPLE_ROUGH)
        return;
    if (kind != SAMPLE_ROUGH && !duration->other)
        learn_of_all(ns);
    if (!duration->samples) {
        begin(duration, ns, noise);
        return;
    }
    double off = ns - (double)duration->mean;
    double all = (double)duration->var + (double)duration->spread + noise;
    duration->far_lately -= duration->far_lately > 0;
    if (settled && is_apart(duration, off, all)) {
        if (!learn_from_far(duration, ns, noise, kind))
            return;
    } else {
        learn_from_near(duration, was_apart, kind);
    }
    if (kind == SAMPLE_ROUGH)
        return;
    /* The spread is learned before the mean, because it needs the mean as it was before this sample. */
    learn_trend(duration, off / ws_root(all));
    uint32_t meant = samples_meant(duration, noise);
    double share = weight(FIRST_SAMPLES + duration->samples, meant);
    double seen = ws_max(ws_square(off) - noise, 0.0);
    if (!duration->other)
        learn_spread_of_all(seen, (double)duration->mean);
    if ((double)duration->trend >= TREND) { /* the duration is changing, and the mean lags behind it */
        duration->var += (float)(LAG_SHARE * all);
        all *= 1 + LAG_SHARE;
    }
    seen = ws_max(seen - (double)duration->var, 0.0);
    duration->spread += (float)(share * (seen - (double)duration->spread));
    double gain = (double)duration->var / all;
    duration->mean += (float)(gain * off);
    duration->samples = (uint16_t)ws_min(duration->samples + 1, SAMPLES_MOST);
    /* The mean of n samples has at least this variance. duration->var may be smaller: if the first samples were alike
     * by chance, the spread was estimated too small, and so was duration->var. */
    double least = ((double)duration->spread + noise) / ws_min((uint32_t)duration->samples, meant);
    duration->var = (float)ws_max((double)duration->var * (1 - gain), least);
    if (duration->changed && ++duration->since_change > CHANGE_KEPT) {
        duration->changed = false;
        duration->change = 0;
    }
}

enum { WANTED_BITS = 2, NOTES = 4096 };
/* index: low bits of a work's key; value: bits 32 to 61 of the key, and enum samples_wanted in the lowest bits. The
 * value is the last note about any of the works that share the index. */
static _Atomic uint32_t notes[NOTES];

static uint32_t note_of(uint64_t key, enum samples_wanted wanted)
{
    return (uint32_t)(key >> 32) << WANTED_BITS | wanted;
}

/* Is the mean duration known to EXACT_SHARE of the mean, or to EXACT_NS? It is not after a sample far from the mean,
 * which further samples must confirm or not. */
static bool is_exact(const struct duration *duration)
{
    double unsure = (double)duration->var + CHANGE_SHARE * (double)duration->doubt;
    return unsure <= ws_square(ws_max(EXACT_SHARE * (double)duration->mean, EXACT_NS));
}

bool duration_varies_widely(const struct duration *duration)
{
    return (double)duration->spread > WIDE;
}

bool duration_needs_no_begin(const struct duration *duration, double begin_var, double late)
{
    return duration->samples >= SAMPLES_ENOUGH && duration_varies_widely(duration) &&
           (double)duration->spread > VARIES * begin_var && late < (double)duration->mean;
}

void duration_want_more(uint32_t shape)
{
    const struct duration *duration = duration_of(shape);
    enum samples_wanted wanted = WANT_FEW_SAMPLES;
    if (duration->samples < SAMPLES_ENOUGH && !duration->changed)
        return;
    if (duration->samples < SAMPLES_ENOUGH) /* it is learned anew */
        wanted = WANT_MANY_SAMPLES;
    else if (!is_exact(duration)) /* not even if it seems steady: the first samples may be alike by chance */
        wanted = duration_varies_widely(duration) && !duration_is_steady(duration) ? WANT_ENDS : WANT_MANY_SAMPLES;
    uint64_t key = work_key(shape, 0);
    atomic_store_explicit(&notes[key % NOTES], note_of(key, wanted), memory_order_relaxed);
}

enum samples_wanted duration_wanted(uint32_t shape)
{
    uint64_t key = work_key(shape, 0);
    uint32_t wanted = atomic_load_explicit(&notes[key % NOTES], memory_order_relaxed) ^ note_of(key, 0);
    return wanted <= WANT_ENDS ? (enum samples_wanted)wanted : WANT_FIRST_SAMPLES;
}

/* index: a hash of the key (learned_key); value: the key that was learned last at this index */
static _Atomic uint32_t learned[4096];

static uint32_t learned_key(uint32_t shape, uint32_t size_class)
{
    return shape << 8 | size_class;
}

static _Atomic uint32_t *learned_place(uint32_t key)
{
    return &learned[key * 0x9e3779b1u >> 20];
}

void duration_sample_other(uint32_t shape, uint64_t bytes, double ns, double noise, enum sample kind)
{
    uint32_t key = learned_key(shape, shape_size_class(bytes));
    duration_sample(duration_of_other(shape, bytes), ns, noise, kind);
    atomic_store_explicit(learned_place(key), key, memory_order_relaxed);
}

bool duration_is_known(uint32_t shape, uint32_t size_class)
{
    uint32_t key = learned_key(shape, size_class);
    return atomic_load_explicit(learned_place(key), memory_order_relaxed) == key;
}

double duration_call_excess(struct duration *duration, double took)
{
    double usual = duration->call > 0 ? (double)duration->call : ws_min(took, FIRST_CALL_NS);
    double meant = took > usual ? LONG_CALLS_MEANT : CALLS_MEANT;
    duration->call = (float)(usual + (ws_min(took, 2 * usual) - usual) / meant);
    return took > usual + CALL_SLACK_NS ? took - usual : 0;
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

double duration_var(const struct duration *duration)
{
    double variance;
    guess(duration, &variance);
    return duration->samples ? (double)duration->var : variance;
}

double duration_unsure(const struct duration *duration)
{
    double changed = (double)ws_max(duration->change, duration->doubt);
    return duration_var(duration) + (duration->samples ? changed * CHANGE_SHARE : 0);
}
