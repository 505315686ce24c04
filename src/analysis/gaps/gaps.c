#include "analysis/gaps/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/gap_report.h"
#include "analysis/gaps/gap_waits.h"
#include "analysis/gaps/savings.h"

static size_t decade_of(int64_t length)
{
    size_t decade = 0;
    for (int64_t limit = 1000; decade + 1 < WS_GAP_DECADES && length >= limit; limit *= 10)
        decade++;
    return decade;
}

static void gaps_swap(struct ws_long_gap *a, struct ws_long_gap *b)
{
    struct ws_long_gap saved = *a;
    *a = *b;
    *b = saved;
}

/* Restores the heap after its top changed. The shortest of the longest gaps is at the top. */
static void sift_down(struct ws_long_gap *heap, size_t count)
{
    for (size_t at = 0;;) {
        size_t smallest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (heap[child].length < heap[smallest].length)
                smallest = child;
        if (smallest == at)
            return;
        gaps_swap(&heap[at], &heap[smallest]);
        at = smallest;
    }
}

/* Adds a gap to the heap of the longest gaps. If the heap already has WS_GAPS_LARGEST gaps, replaces its shortest
 * gap. The caller must then have checked that the new gap is longer than this shortest gap. */
static void keep_longest(struct ws_track_gaps *result, const struct ws_long_gap *gap)
{
    struct ws_long_gap *heap = result->largest;
    if (result->largest_count < WS_GAPS_LARGEST) {
        size_t at = result->largest_count++;
        heap[at] = *gap;
        for (; at && heap[at].length < heap[(at - 1) / 2].length; at = (at - 1) / 2)
            gaps_swap(&heap[at], &heap[(at - 1) / 2]);
    } else {
        heap[0] = *gap;
        sift_down(heap, WS_GAPS_LARGEST);
    }
}

static int gaps_longest_first(const void *a, const void *b)
{
    const struct ws_long_gap *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? 1 : -1;
    return (x->gap.begin > y->gap.begin) - (x->gap.begin < y->gap.begin);
}

static int gaps_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    struct ws_track_gaps *result = memory;
    struct ws_gap_run run = { 0 };
    result->largest = malloc(WS_GAPS_LARGEST * sizeof(*result->largest));
    if (!result->largest)
        return -ENOMEM;
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&walk, &gap);) {
        int64_t length = ws_gap_length(&gap);
        struct ws_gap_decade *decade = &result->histogram[decade_of(length)];
        decade->count++;
        decade->total += length;
        if (result->largest_count == WS_GAPS_LARGEST && length <= result->largest[0].length)
            continue;
        ws_gap_run_reach(causes, &run, &gap);
        keep_longest(result, &(struct ws_long_gap){ gap, length, run.line });
    }
    result->count = activity->gaps.count;
    result->total = activity->idle;
    qsort(result->largest, result->largest_count, sizeof(*result->largest), gaps_longest_first);
    return 0;
}

static void gaps_finish(void *memory)
{
    struct ws_track_gaps *result = memory;
    free(result->largest);
}

const struct ws_analysis ws_analysis_gaps = {
    .name = "gaps",
    .title = "Gaps",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_gaps),
    .needs = { &ws_analysis_activity, &ws_analysis_causes },
    .run = gaps_run,
    .finish = gaps_finish,
    .text = ws_gaps_text,
    .json = ws_gaps_json,
};
