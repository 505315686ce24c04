#include "shim/timing/ticks.h"

#include <string.h>

#include "shim/state/live.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The number of comparisons (of counter and clock) that are kept. They are at least 10 ms apart, so they span ten
 * seconds or more. */
enum { COMPARISONS = 1024 };
static const int64_t COMPARISON_GAP_NS = 10000000;

struct comparison {
    uint64_t ticks;
    int64_t ns;
};

_Atomic bool ticks_are_ns;
_Atomic uint64_t ticks_a_second = 1000000000, ticks_in_1024_ns = 1024;
static struct comparison comparisons[COMPARISONS];
static uint64_t comparison_count;
static double ns_per_tick;

static bool counter_is_steady(void)
{
#if defined(__x86_64__)
    /* The bit for an invariant TSC: CPUID leaf 0x80000007, EDX bit 8 (Intel and AMD manuals). */
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8;
#else
    return true;
#endif
}

/* Compares counter and clock a few times, and returns the comparison with the least time between its two readings of
 * the counter. */
static struct comparison compare_once(void)
{
    struct comparison best = { 0 };
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        uint64_t before = ws_clock_ticks();
        int64_t ns = ws_clock_ns();
        uint64_t after = ws_clock_ticks();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct comparison){ before + narrowest / 2, ns };
        }
    }
    return best;
}

static void rate_from(struct comparison a, struct comparison b)
{
    if (b.ticks > a.ticks && b.ns > a.ns)
        ns_per_tick = (double)(b.ns - a.ns) / (double)(b.ticks - a.ticks);
}

/* Writes the oldest and the latest comparison into the live memory (shared memory that remains if the program is
 * killed). After a kill, another process needs the two comparisons to complete the trace. */
static void say_compared(void)
{
    uint64_t oldest = comparison_count > COMPARISONS ? comparison_count - COMPARISONS : 0;
    struct comparison a = comparisons[oldest % COMPARISONS], b = comparisons[(comparison_count - 1) % COMPARISONS];
    live_compared(false, &(struct ws_live_clock){ { a.ticks, b.ticks }, { a.ns, b.ns } });
}

void ticks_choose(void)
{
    ticks_are_ns = !counter_is_steady();
}

void ticks_init(void)
{
    if (ticks_are_ns) {
        live_compared(true, &(struct ws_live_clock){ 0 });
        return;
    }
    struct comparison first = compare_once();
    /* Comparisons that are a millisecond apart give the counter's rate to some 50 ppm. Later comparisons
     * (ticks_compare) make the rate more exact. */
    int64_t until = first.ns + 1000000;
    while (ws_clock_ns() < until)
        ;
    struct comparison second = compare_once();
    rate_from(first, second);
    /* If this thread was moved to a processor whose counter differs, the measured rate may be nonsense. In that case
     * the two approximate rates keep their initial values. */
    if (ns_per_tick > 1e-3 && ns_per_tick < 1e3) {
        atomic_store_explicit(&ticks_a_second, (uint64_t)(1e9 / ns_per_tick), memory_order_relaxed);
        atomic_store_explicit(&ticks_in_1024_ns, (uint64_t)(1024 / ns_per_tick + 0.5), memory_order_relaxed);
    }
    comparisons[0] = first;
    comparisons[1] = second;
    comparison_count = 2;
    say_compared();
}

void ticks_compare(void)
{
    if (ticks_are_ns)
        return;
    struct comparison now = compare_once();
    /* The new comparison replaces the latest stored comparison, if the latest is too close in time to the stored
     * comparison before it. */
    struct comparison before = comparisons[(comparison_count - 2) % COMPARISONS];
    struct comparison last = comparisons[(comparison_count - 1) % COMPARISONS];
    if (last.ns - before.ns < COMPARISON_GAP_NS)
        comparison_count--;
    comparisons[comparison_count++ % COMPARISONS] = now;
    uint64_t oldest = comparison_count > COMPARISONS ? comparison_count - COMPARISONS : 0;
    rate_from(comparisons[oldest % COMPARISONS], now);
    say_compared();
}

int64_t ticks_to_ns(uint64_t ticks)
{
    if (ticks_are_ns)
        return (int64_t)ticks;
    uint64_t oldest = comparison_count > COMPARISONS ? comparison_count - COMPARISONS : 0;
    uint64_t low = oldest, high = comparison_count - 1;
    struct comparison last = comparisons[high % COMPARISONS];
    struct comparison first = comparisons[oldest % COMPARISONS];
    if (ticks >= last.ticks)
        return last.ns + (int64_t)((double)(ticks - last.ticks) * ns_per_tick);
    if (ticks <= first.ticks)
        return first.ns - (int64_t)((double)(first.ticks - ticks) * ns_per_tick);
    /* Nearly all ticks to be converted lie between the last few comparisons, so the search starts at the latest
     * comparison. */
    for (uint64_t step = 1; step < high - low; step *= 2) {
        if (comparisons[(high - step) % COMPARISONS].ticks <= ticks) {
            low = high - step;
            break;
        }
        high -= step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (comparisons[middle % COMPARISONS].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    struct comparison a = comparisons[low % COMPARISONS], b = comparisons[high % COMPARISONS];
    return a.ns + (int64_t)((double)(ticks - a.ticks) * (double)(b.ns - a.ns) / (double)(b.ticks - a.ticks));
}
