#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/memory/memory.h"

static const struct {
    const char *name, *label;
} pools[WS_MEMORY_POOL_COUNT] = {
    [WS_MEMORY_DEVICE] = { "device", "device" },
    [WS_MEMORY_PINNED] = { "pinned", "pinned host" },
    [WS_MEMORY_FRAMEWORK] = { "framework", "framework" },
};

static double memory_per_step(const struct ws_track_memory *result, uint64_t count)
{
    return (double)count / (double)result->steps;
}

/* Prints the row of one memory pool. Times are printed relative to `begin`, as in the other sections of the report on
 * this device. */
static void print_pool(const struct ws_track_memory *result, int pool, int64_t begin, struct ws_table *table)
{
    const struct ws_memory_use *use = &result->pools[pool];
    ws_table_cell(table, "%s", pools[pool].label);
    if (use->peak || (use->all.takes && !use->unsized)) {
        ws_table_bytes(table, use->peak);
        ws_table_time(table, use->peak_time - begin);
        ws_table_bytes(table, use->end);
    } else {
        for (int i = 0; i < 3; i++)
            ws_table_cell(table, "?");
    }
    ws_table_count(table, use->all.takes);
    ws_table_count(table, use->all.gives);
    if (pool == WS_MEMORY_FRAMEWORK) /* the trace has no durations of allocations by the framework */
        ws_table_cell(table, "–");
    else
        ws_table_time(table, use->all.time);
}

static void print_churn(const struct ws_track_memory *result, struct ws_page *page)
{
    char time[WS_FORMAT_SIZE], waited[WS_FORMAT_SIZE];
    for (int pool = 0; pool < WS_MEMORY_FRAMEWORK; pool++) {
        const struct ws_memory_calls *steady = &result->pools[pool].steady;
        if (steady->takes + steady->gives < (result->steps + 19) / 20 || !result->steps)
            continue; /* fewer than 0.05 calls per step */
        ws_page_text(
            page,
            "! In a steady step %s memory is allocated %.1f times and freed %.1f times, which takes %s of host time.",
            pools[pool].label, memory_per_step(result, steady->takes), memory_per_step(result, steady->gives),
            ws_format_time(time, steady->time / (int64_t)result->steps));
        if (steady->waits)
            ws_page_text(page,
                         "%.1f of these calls a step wait until the device has done all its work: %s. Keep the "
                         "memory, or allocate it from a pool (cudaMallocAsync, a caching allocator).",
                         memory_per_step(result, steady->waits),
                         ws_format_time(waited, steady->wait_time / (int64_t)result->steps));
    }
}

static bool is_of_kineto(const struct ws_process *process)
{
    const char *import = ws_process_meta(process, "import");
    return import && !strncmp(import, "Kineto", 6);
}

/* Returns advice on how to record allocations, for traces of Nsight Systems, which records allocations only with an
 * option. Returns "" for all other traces. */
static const char *how_to_know(const struct ws_process *process)
{
    const char *import = ws_process_meta(process, "import");
    return import && !strncmp(import, "Nsight", 6) ? "; nsys profile --cuda-memory-usage=true records it" : "";
}

static void memory_print_notes(const struct ws_process *process, const struct ws_track_memory *result,
                               struct ws_page *page)
{
    char bytes[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    uint64_t peak = result->pools[WS_MEMORY_DEVICE].peak, unmatched = 0, unsized = 0;
    if (peak && result->device_bytes)
        ws_page_text(page,
                     "%s%s of the device's %s were allocated at the peak, not counting memory allocated before the "
                     "recording or by other processes.",
                     (double)peak > (double)result->device_bytes * WS_MEMORY_FULL_PERCENT / 100 ? "! " : "",
                     ws_format_share(share, (int64_t)peak, (int64_t)result->device_bytes),
                     ws_format_bytes(whole, result->device_bytes));
    if (result->growth)
        ws_page_text(
            page,
            "! It grows from step to step: by %s a step over the last half of the steady steps, in %zu of them.",
            ws_format_bytes(bytes, (uint64_t)result->growth), result->grown_steps);
    for (int pool = 0; pool < WS_MEMORY_POOL_COUNT; pool++) {
        unmatched += result->pools[pool].unmatched;
        unsized += result->pools[pool].unsized;
    }
    if (unsized)
        ws_page_text(page, "The size of %s allocation%s is not known; these figures leave it out%s.",
                     ws_format_count(count, unsized), unsized == 1 ? "" : "s", how_to_know(process));
    if (unmatched)
        ws_page_text(page, "%s frees of memory whose allocation was not recorded.",
                     ws_format_count(count, unmatched));
}

void ws_memory_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "memory", true, false },
        { "peak", false, false },
        { "at", false, WS_NARROW_LEAVE_OUT },
        { "at end", false, false },
        { "allocated", false, false },
        { "freed", false, false },
        { "time in calls", false, WS_NARROW_LEAVE_OUT },
    };
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_memory *result = memory;
    struct ws_table table;
    int64_t begin =
        activity->busy ? ws_activity_origin(ws_model_track(report->model, subject), activity) : result->begin;
    bool any = false, has_peak = false;
    for (int pool = 0; pool < WS_MEMORY_POOL_COUNT; pool++) {
        any = any || ws_memory_is_used(&result->pools[pool]);
        has_peak = has_peak || (result->pools[pool].peak && activity->busy);
    }
    if (!any) {
        ws_page_text(page, is_of_kineto(process) ? "None in the trace: PyTorch's profiler records its allocator with "
                                                   "profile_memory=True."
                                                 : "No memory was allocated or freed while recording.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (int pool = 0; pool < WS_MEMORY_POOL_COUNT; pool++)
        if (ws_memory_is_used(&result->pools[pool]))
            print_pool(result, pool, begin, &table);
    ws_table_finish(&table);
    if (has_peak)
        ws_page_text(page, "\"at\" is from the begin of the device's first operation, as in Gaps.");
    print_churn(result, page);
    memory_print_notes(process, result, page);
}

static json_t *calls_json(const struct ws_memory_calls *calls)
{
    json_t *object = json_object();
    int status = ws_json_set(object, "allocations", (int64_t)calls->takes);
    status |= ws_json_set(object, "frees", (int64_t)calls->gives);
    status |= ws_json_set(object, "call_ns", calls->time);
    status |= ws_json_set(object, "waiting_frees", (int64_t)calls->waits);
    status |= ws_json_set(object, "waiting_ns", calls->wait_time);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

/* Makes a JSON list of the points of the timeline (most bytes alive in each slice of time) at which the value
 * changes. */
static json_t *timeline_json(const struct ws_track_memory *result, const struct ws_memory_use *use)
{
    json_t *list = json_array();
    int status = 0;
    for (size_t i = 0; i < WS_MEMORY_POINTS && use->peak && !status; i++) {
        if (i && use->most[i] == use->most[i - 1])
            continue;
        json_t *point = json_object();
        status |= ws_json_set(point, "begin_ns", result->begin + (int64_t)i * result->slice);
        status |= ws_json_set(point, "bytes", (int64_t)use->most[i]);
        status |= json_array_append_new(list, point);
    }
    if (!status)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *pool_json(const struct ws_track_memory *result, const struct ws_memory_use *use)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "all", calls_json(&use->all));
    status |= json_object_set_new(object, "steady", calls_json(&use->steady));
    status |= ws_json_set(object, "unsized", (int64_t)use->unsized);
    status |= ws_json_set(object, "unmatched", (int64_t)use->unmatched);
    status |= ws_json_set(object, "peak_bytes", (int64_t)use->peak);
    status |= ws_json_set(object, "peak_ns", use->peak_time);
    status |= ws_json_set(object, "end_bytes", (int64_t)use->end);
    status |= json_object_set_new(object, "timeline", timeline_json(result, use));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

int ws_memory_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_memory *result = memory;
    json_t *own = json_object();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "memory_use", own);
    for (int pool = 0; pool < WS_MEMORY_POOL_COUNT && !status; pool++)
        if (ws_memory_is_used(&result->pools[pool]))
            status = json_object_set_new(own, pools[pool].name, pool_json(result, &result->pools[pool]));
    if (result->device_bytes)
        status |= ws_json_set(own, "device_bytes", (int64_t)result->device_bytes);
    if (result->steps)
        status |= ws_json_set(own, "growth_bytes_per_step", result->growth);
    return status ? -ENOMEM : 0;
}
