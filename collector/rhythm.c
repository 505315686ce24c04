#include "collector/rhythm.h"

#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum {
    TOLERANCE = 8,      /* divisor: numbers of operations that differ by at most an eighth count as equal */
    FIRST_SHAPES = 128, /* entries of rhythm.beats at first */
    CHOICE_EVERY = 64,
    BUCKETS = 8 * 33, /* buckets by number of operations: eight for each power of two */
    FEWER = 4,        /* divisor: a bucket counts if it has at least a quarter as many shapes as the fullest bucket */
};

struct rhythm *rhythm_create(struct figures_memory *memory, double factor, int64_t longest_ns)
{
    struct rhythm *rhythm = figures_resize(memory, NULL, 0, sizeof(*rhythm));
    if (!rhythm)
        return NULL;
    memset(rhythm, 0, sizeof(*rhythm));
    rhythm->memory = memory;
    rhythm->factor = factor;
    rhythm->longest_ns = longest_ns;
    return rhythm;
}

void rhythm_destroy(struct rhythm *rhythm)
{
    if (!rhythm)
        return;
    rhythm->memory->used -= sizeof(*rhythm) + rhythm->shapes * sizeof(*rhythm->beats);
    free(rhythm->beats);
    free(rhythm);
}

/* --- steps -------------------------------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_of(const int64_t *times, size_t count)
{
    int64_t sorted[RHYTHM_TIMES];
    memcpy(sorted, times, count * sizeof(*times));
    qsort(sorted, count, sizeof(*sorted), by_length);
    return sorted[count / 2];
}

/* Adds a step that took `took_ns`. If it is slow, fills *step and returns true. */
static bool take_step(struct rhythm *rhythm, int64_t took_ns, struct rhythm_step *step)
{
    size_t count = ws_min(rhythm->steps, (uint64_t)RHYTHM_TIMES);
    bool slow = false;
    if (count >= RHYTHM_LEAST) {
        int64_t median = median_of(rhythm->times, count);
        double limit = rhythm->factor * (double)median;
        unsigned as_slow = 0;
        for (size_t i = 0; i < count; i++)
            as_slow += (double)rhythm->times[i] >= limit;
        slow = median >= RHYTHM_NS && (double)took_ns >= limit && as_slow <= RHYTHM_RARE;
        if (slow)
            *step = (struct rhythm_step){ took_ns, median };
    }
    rhythm->times[rhythm->steps++ % RHYTHM_TIMES] = took_ns;
    return slow;
}

bool rhythm_mark(struct rhythm *rhythm, int64_t took_ns, struct rhythm_step *step)
{
    if (!rhythm->marked)
        rhythm->steps = 0;
    rhythm->marked = true;
    return took_ns >= 0 && take_step(rhythm, took_ns, step);
}

/* --- the choice of a beat ----------------------------------------------------------------------- */

static bool is_even(const struct rhythm_beat *beat, uint64_t operations)
{
    uint64_t apart = operations > beat->usual ? operations - beat->usual : beat->usual - operations;
    return apart <= beat->usual / TOLERANCE;
}

static bool is_beat(const struct rhythm *rhythm, uint32_t shape)
{
    const struct rhythm_beat *beat = &rhythm->beats[shape];
    int64_t steady = beat->begin - beat->run_begin;
    return shape == rhythm->chosen || (beat->run >= RHYTHM_EVEN && steady >= RHYTHM_STEADY_NS &&
                                       steady / beat->run >= RHYTHM_NS && steady / beat->run <= rhythm->longest_ns);
}

/* Returns the bucket for intervals with this many operations. Nearly equal numbers share a bucket. */
static uint32_t bucket_of(uint32_t operations)
{
    uint32_t power = 31 - (uint32_t)__builtin_clz(operations | 1);
    uint32_t eighth = power >= 3 ? operations >> (power - 3) & 7 : operations << (3 - power) & 7;
    return 8 * power + eighth;
}

static void choose(struct rhythm *rhythm)
{
    uint32_t beats[BUCKETS] = { 0 }, one[BUCKETS] = { 0 }, most = 0, longest = 0;
    for (uint32_t shape = 1; shape < rhythm->shapes; shape++) {
        if (!is_beat(rhythm, shape))
            continue;
        uint32_t bucket = bucket_of(rhythm->beats[shape].usual);
        most = ws_max(++beats[bucket], most);
        if (!one[bucket] || shape == rhythm->chosen)
            one[bucket] = shape;
    }
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
        if (beats[bucket] && beats[bucket] * FEWER >= most)
            longest = bucket;
    rhythm->since_choice = 0;
    if (one[longest] == rhythm->chosen)
        return;
    rhythm->chosen = one[longest];
    rhythm->chosen_even = 0;
    rhythm->steps = 0;
}

/* --- launches ----------------------------------------------------------------------------------- */

/* Counts an operation in its lane (one thread's launches on one stream). Returns how many operations the lane had
 * before; UINT64_MAX: there are too many lanes. */
static uint64_t count_operation(struct rhythm *rhythm, const struct rhythm_launch *launch)
{
    for (size_t i = 0; launch->thread && i < RHYTHM_LANES; i++) {
        if (!rhythm->lanes[i].thread) {
            rhythm->lanes[i].thread = launch->thread;
            rhythm->lanes[i].stream = launch->stream;
        }
        if (rhythm->lanes[i].thread == launch->thread && rhythm->lanes[i].stream == launch->stream)
            return rhythm->lanes[i].operations++;
    }
    return UINT64_MAX;
}

static bool has_room(struct rhythm *rhythm, uint32_t shape)
{
    uint32_t shapes = ws_max(rhythm->shapes, (uint32_t)FIRST_SHAPES);
    if (!shape || shape < rhythm->shapes)
        return shape;
    while (shapes <= shape)
        shapes *= 2;
    size_t size = sizeof(*rhythm->beats);
    struct rhythm_beat *beats =
        shape < RHYTHM_SHAPES ? figures_resize(rhythm->memory, rhythm->beats, rhythm->shapes * size, shapes * size)
                              : NULL;
    if (!beats)
        return false;
    memset(beats + rhythm->shapes, 0, (shapes - rhythm->shapes) * size);
    rhythm->beats = beats;
    rhythm->shapes = shapes;
    return true;
}

static void begin_run(struct rhythm_beat *beat, const struct rhythm_launch *launch, uint64_t operations)
{
    beat->usual = (uint32_t)ws_min(operations, (uint64_t)UINT32_MAX);
    beat->run = beat->usual != 0;
    beat->run_begin = beat->run ? beat->begin : launch->begin;
}

/* Adds a launch to rhythm.beats. If about the usual number of operations lies between this launch and the previous
 * launch of its shape, returns the time between the two launches, in ns. Otherwise returns -1. */
static int64_t interval(struct rhythm *rhythm, const struct rhythm_launch *launch, uint64_t number)
{
    struct rhythm_beat *beat = &rhythm->beats[launch->shape];
    bool known = beat->thread == launch->thread && beat->on_device == launch->on_device;
    int64_t took = known ? launch->begin - beat->begin : -1;
    uint64_t operations = known ? number - beat->number : 0;
    bool even = took >= 0 && beat->run && is_even(beat, operations);
    if (even)
        beat->run = ws_min(beat->run + 1, (uint32_t)INT32_MAX);
    else if (launch->shape != rhythm->chosen || !beat->run)
        begin_run(beat, launch, operations);
    beat->thread = launch->thread;
    beat->on_device = launch->on_device;
    beat->number = number;
    beat->begin = launch->begin;
    return even ? took : -1;
}

bool rhythm_add(struct rhythm *rhythm, const struct rhythm_launch *launch, struct rhythm_step *step)
{
    uint64_t number = count_operation(rhythm, launch);
    if (rhythm->marked || number == UINT64_MAX || !has_room(rhythm, launch->shape))
        return false;
    bool is_chosen = launch->shape == rhythm->chosen;
    int64_t took = interval(rhythm, launch, number);
    if (++rhythm->since_choice >= CHOICE_EVERY + rhythm->shapes / 16)
        choose(rhythm);
    if (!is_chosen || rhythm->chosen != launch->shape)
        return false;
    if (took >= 0) {
        rhythm->chosen_even++;
        return take_step(rhythm, took, step);
    }
    /* The interval is not even: other work lies in it, such as a test of the model. Keep the chosen shape only if
     * many even intervals came before. */
    if (rhythm->chosen_even < RHYTHM_LEAST)
        rhythm->chosen = 0;
    rhythm->chosen_even = 0;
    return false;
}
