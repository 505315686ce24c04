#include "shim/timing/durations.h"

#include <stddef.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/minmax.h"
#include "base/reserve.h"
#include "base/root.h"
#include "record/record.h"
#include "shim/state/registry.h"

enum {
    SAMPLES_MEANT = 16, /* older ones count less and less: durations may change */
    SAMPLES_MOST = 60000,
    APART_MOST = 2, /* so many in a row, and the duration has changed */
};
static const double UNKNOWN_NS = 3000;   /* before anything is known */
static const double FIRST_SPREAD = 0.05; /* of the duration, until there are some samples */
static const double FAR_OFF = 4;         /* standard deviations */

static struct duration *durations; /* by work, from 1 on; 0 is for those without room */
static uint32_t *works;            /* by shape: its work */
static struct ws_map work_ids;     /* hash of a row without its stream → work */
static uint32_t work_count;
static struct duration shared;

static double square(double value)
{
    return value * value;
}

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
    if (!durations) {
        works = ws_reserve((registry.shape.limit + 1) * sizeof(*works));
        durations = ws_reserve((registry.shape.limit + 1) * sizeof(*durations));
    }
    if (!works || !durations)
        return &shared;
    if (!works[shape])
        works[shape] = work_of(shape);
    return works[shape] ? &durations[works[shape]] : &shared;
}

static void begin(struct duration *duration, double ns, double noise)
{
    duration->mean = (float)ns;
    duration->spread = (float)square(FIRST_SPREAD * ns);
    duration->var = (float)(noise + (double)duration->spread);
    duration->samples = 1;
    duration->apart = 0;
}

/* Has the duration changed for good? One that is far off is not taken; of several in a row the last is all that is
 * known. */
static bool is_apart(struct duration *duration, double off, double all)
{
    if (square(off) <= square(FAR_OFF) * all) {
        duration->apart = 0;
        return false;
    }
    bool same_side = (off > 0) == (duration->apart > 0);
    duration->apart = (int16_t)((same_side ? duration->apart : 0) + (off > 0 ? 1 : -1));
    return true;
}

void duration_sample(struct duration *duration, double ns, double noise)
{
    ns = ws_max(ns, 0.0);
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
        duration->spread =
            (float)ws_max((double)duration->spread, square(off) / SAMPLES_MEANT); /* it may change again */
        return;
    }
    /* The spread first: what the mean is off by counts as well, until it is known. */
    double share = ws_max(1.0 / SAMPLES_MEANT, 1.0 / (duration->samples + 1.0));
    double seen = ws_max(square(off) - (double)duration->var - noise, 0.0);
    duration->spread += (float)(share * (seen - (double)duration->spread));
    double gain = (double)duration->var / all;
    duration->mean += (float)(gain * off);
    double least = ((double)duration->spread + noise) / SAMPLES_MEANT;
    duration->var = (float)ws_max((double)duration->var * (1 - gain), least);
    duration->samples = (uint16_t)ws_min(duration->samples + 1, SAMPLES_MOST);
}

void duration_at_most(struct duration *duration, double ns)
{
    if (!duration->samples && ns > 0 && (duration->most <= 0 || ns < (double)duration->most))
        duration->most = (float)ns;
}

double duration_expected(const struct duration *duration)
{
    return duration->samples ? (double)duration->mean : duration->most > 0 ? (double)duration->most / 2 : UNKNOWN_NS;
}

double duration_unsure(const struct duration *duration)
{
    return duration->samples ? (double)duration->var
                             : square(duration->most > 0 ? (double)duration->most / 4 : UNKNOWN_NS);
}
