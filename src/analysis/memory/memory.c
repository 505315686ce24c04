#include "analysis/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "base/salted.h"

/* No device has more memory than this. Larger sizes in a trace are ignored, so that sums cannot overflow. */
static const uint64_t most_bytes = (uint64_t)1 << 60;

/* Whether memory use grows is judged only if there are at least this many steady steps (steps that are not warm-up or
 * otherwise unusual). */
enum { LEAST_STEPS = 8 };

/* What a memory function of the driver, the CUDA runtime or HIP does: it allocates (TAKES), opens memory of another
 * process (OPENS), frees (GIVES), or frees after a wait for the device (GIVES_WAITING). The first entry of `kinds`
 * whose `part` occurs in a function's name applies to the function. */
struct kind {
    const char *part;
    enum ws_memory_pool pool;
    enum { NOTHING, TAKES, OPENS, GIVES, GIVES_WAITING } way;
};

static const struct kind kinds[] = {
    { "[memory] alloc", WS_MEMORY_FRAMEWORK, TAKES },
    { "[memory] free", WS_MEMORY_FRAMEWORK, GIVES },
    { "Address", WS_MEMORY_DEVICE, NOTHING },
    { "MemPoolImportPointer", WS_MEMORY_DEVICE, OPENS }, /* another process allocated this memory */
    { "MemPool", WS_MEMORY_DEVICE, NOTHING },
    { "MapArray", WS_MEMORY_DEVICE, NOTHING },
    { "HostUnregister", WS_MEMORY_PINNED, GIVES },
    { "HostRegister", WS_MEMORY_PINNED, TAKES },
    { "FreeHost", WS_MEMORY_PINNED, GIVES_WAITING },
    { "HostFree", WS_MEMORY_PINNED, GIVES_WAITING },
    { "HostAlloc", WS_MEMORY_PINNED, TAKES },
    { "HostMalloc", WS_MEMORY_PINNED, TAKES },
    { "AllocHost", WS_MEMORY_PINNED, TAKES },
    { "MallocHost", WS_MEMORY_PINNED, TAKES },
    { "FreeAsync", WS_MEMORY_DEVICE, GIVES },
    { "Free", WS_MEMORY_DEVICE, GIVES_WAITING },
    { "MemUnmap", WS_MEMORY_DEVICE, GIVES },
    /* maps memory that cuMemCreate allocated; cuMemCreate itself is not counted, so this memory counts once */
    { "MemMap", WS_MEMORY_DEVICE, TAKES },
    { "MemAlloc", WS_MEMORY_DEVICE, TAKES },
    { "Malloc", WS_MEMORY_DEVICE, TAKES },
};

static const struct kind *memory_kind_of(const struct ws_driver_function *function)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && function->family == WS_CALL_MEMORY; i++)
        if (strstr(function->name.data, kinds[i].part))
            return kinds[i].way ? &kinds[i] : NULL;
    return NULL;
}

static bool is_taking(const struct kind *kind)
{
    return kind->way == TAKES || kind->way == OPENS;
}

/* A call that allocates or frees memory, and the time at which it takes effect: the call's end if it allocates, its
 * start if it frees. */
struct event {
    int64_t time;
    const struct kind *kind;
    const struct ws_call *call;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

/* Does the call belong to this device? It does if the call's context belongs to the device. If the context is not
 * known, the call belongs to the device if the process uses only one device. */
static bool is_of_track(const struct ws_process *process, const struct ws_track *track, const struct ws_call *call)
{
    const struct ws_context *context = call->context ? ws_entries_find(&process->contexts, call->context) : NULL;
    return context ? context->device == track->device : process->track_count == 1;
}

static int memory_gather(const struct ws_process *process, const struct ws_track *track, struct ws_vector *events)
{
    const struct ws_driver_function *functions = process->driver_functions.rows.data;
    const struct ws_call *calls = process->calls.data;
    const struct kind **known = calloc(process->driver_functions.rows.count + 1, sizeof(*known));
    int status = known ? 0 : -ENOMEM;
    for (size_t i = 0; i < process->driver_functions.rows.count && !status; i++)
        known[i] = memory_kind_of(&functions[i]);
    for (size_t i = 0; i < process->calls.count && !status; i++) {
        uint32_t place = ws_entries_place(&process->driver_functions, calls[i].function);
        const struct kind *kind = place != UINT32_MAX ? known[place] : NULL;
        if (!kind || calls[i].result || !is_of_track(process, track, &calls[i]))
            continue;
        struct event *event = ws_vector_push(events);
        if (event)
            *event = (struct event){ is_taking(kind) ? calls[i].host_end : calls[i].host_begin, kind, &calls[i] };
        else
            status = -ENOMEM;
    }
    free(known);
    if (events->count)
        qsort(events->data, events->count, sizeof(struct event), by_time);
    return status;
}

struct ledger {
    struct ws_track_memory *result;
    struct ws_map alive[WS_MEMORY_POOL_COUNT]; /* by pool: maps the address of allocated memory to its bytes */
    uint64_t bytes[WS_MEMORY_POOL_COUNT];      /* by pool: bytes allocated and not yet freed */
    size_t slice;                              /* index of the current slice of the timelines */
    bool imported;                             /* another profiler wrote the trace */
};

/* Fills the timelines of all pools up to `time` with ledger->bytes. These bytes have not changed since the previous
 * event (call that allocates or frees). */
static void fill_timelines(struct ledger *ledger, int64_t time)
{
    struct ws_track_memory *result = ledger->result;
    size_t slice = result->slice ? (size_t)((time - result->begin) / result->slice) : 0;
    for (size_t i = ledger->slice + 1; i <= slice && i < WS_MEMORY_POINTS; i++)
        for (int pool = 0; pool < WS_MEMORY_POOL_COUNT; pool++)
            result->pools[pool].most[i] = ledger->bytes[pool];
    if (slice > ledger->slice)
        ledger->slice = slice < WS_MEMORY_POINTS ? slice : WS_MEMORY_POINTS - 1;
}

static void memory_count(struct ws_memory_calls *calls, const struct event *event)
{
    int64_t length = event->call->host_end - event->call->host_begin;
    if (length < 0)
        length = 0;
    calls->takes += is_taking(event->kind);
    calls->gives += !is_taking(event->kind);
    calls->time = ws_sum(calls->time, length);
    if (event->kind->way == GIVES_WAITING) {
        calls->waits++;
        calls->wait_time = ws_sum(calls->wait_time, length);
    }
}

/* Is the event an allocation or free by a framework's allocator with a size but no address? Older traces hold only
 * the sizes of such events. */
static bool is_nameless(const struct event *event)
{
    return event->kind->pool == WS_MEMORY_FRAMEWORK && !event->call->address && event->call->bytes &&
           event->call->bytes <= most_bytes;
}

/* Is the size of the memory known? Other profilers may omit sizes, so in their traces a size of 0 means "not known".
 * wallshim always records the size. */
static bool is_sized(const struct ledger *ledger, const struct event *event)
{
    const struct ws_call *call = event->call;
    return call->address && call->bytes <= most_bytes && (call->bytes || !ledger->imported);
}

static int memory_take(struct ledger *ledger, const struct event *event)
{
    enum ws_memory_pool pool = event->kind->pool;
    struct ws_memory_use *use = &ledger->result->pools[pool];
    const struct ws_call *call = event->call;
    if (is_nameless(event) && ledger->bytes[pool] <= most_bytes) {
        ledger->bytes[pool] += call->bytes;
        return 0;
    }
    bool is_known = is_sized(ledger, event) && ledger->bytes[pool] <= most_bytes;
    use->unsized += !is_known;
    if (!call->address)
        return 0;
    uint64_t *bytes = ws_salted_put(&ledger->alive[pool], call->address);
    if (!bytes)
        return -ENOMEM;
    uint64_t taken = is_known && event->kind->way == TAKES ? call->bytes : 0;
    /* *bytes is the size of earlier memory at this address, whose free is missing in the trace, or 0 */
    ledger->bytes[pool] += taken - *bytes;
    *bytes = taken;
    return 0;
}

static void memory_give(struct ledger *ledger, const struct event *event)
{
    enum ws_memory_pool pool = event->kind->pool;
    uint64_t *bytes = event->call->address ? ws_salted_get(&ledger->alive[pool], event->call->address) : NULL;
    /* The call may free more bytes than ledger->bytes holds, because memory that was allocated before the recording
     * is not counted there. */
    if (is_nameless(event)) {
        uint64_t given = event->call->bytes, alive = ledger->bytes[pool];
        ledger->bytes[pool] -= ws_min(given, alive);
    } else if (bytes) {
        ledger->bytes[pool] -= *bytes;
        ws_salted_remove(&ledger->alive[pool], event->call->address);
    } else {
        ledger->result->pools[pool].unmatched += event->call->address != 0;
    }
}

static int apply(struct ledger *ledger, const struct event *event, bool steady)
{
    enum ws_memory_pool pool = event->kind->pool;
    struct ws_memory_use *use = &ledger->result->pools[pool];
    int status = 0;
    memory_count(&use->all, event);
    if (steady)
        memory_count(&use->steady, event);
    fill_timelines(ledger, event->time);
    if (is_taking(event->kind))
        status = memory_take(ledger, event);
    else
        memory_give(ledger, event);
    /* In an event of the framework's allocator, `object` may hold the total of the bytes that the allocator has
     * handed out. This total replaces the sum of the recorded allocations. */
    if (pool == WS_MEMORY_FRAMEWORK && event->call->object && event->call->object <= most_bytes)
        ledger->bytes[pool] = event->call->object;
    if (ledger->bytes[pool] > use->most[ledger->slice])
        use->most[ledger->slice] = ledger->bytes[pool];
    if (ledger->bytes[pool] > use->peak) {
        use->peak = ledger->bytes[pool];
        use->peak_time = event->time;
    }
    return status;
}

/* How many bytes are allocated and not yet freed at the end of each steady step (`ends`, in order of the steps). */
struct trend {
    const struct ws_track_steps *steps;
    size_t next; /* index of the first step that has not ended yet */
    uint64_t *ends;
    size_t count;
};

static void pass_steps(struct trend *trend, int64_t time, uint64_t bytes)
{
    const struct ws_step *steps = trend->steps->steps.data;
    for (; trend->next < trend->steps->steps.count && steps[trend->next].end <= time; trend->next++)
        if (ws_step_is_steady(&steps[trend->next]))
            trend->ends[trend->count++] = bytes;
}

/* Finds lasting growth of memory use. Growth is lasting if each half of the steady steps ends with more bytes
 * allocated than it began with, and at least half of the steps in the second half add bytes. */
static void find_growth(const struct trend *trend, struct ws_track_memory *result)
{
    size_t half = trend->count / 2, grown = 0;
    if (trend->count < LEAST_STEPS)
        return;
    size_t later = trend->count - 1 - half;
    for (size_t i = half + 1; i < trend->count; i++)
        grown += trend->ends[i] > trend->ends[i - 1];
    uint64_t first = trend->ends[0], middle = trend->ends[half], last = trend->ends[trend->count - 1];
    if (!later || middle <= first || last <= middle || 2 * grown < later)
        return;
    result->growth = (int64_t)((last - middle) / later);
    result->grown_steps = grown;
}

static int walk(const struct ws_vector *events, struct ledger *ledger, struct trend *trend)
{
    const struct event *list = events->data;
    enum ws_memory_pool shown = WS_MEMORY_DEVICE;
    size_t cursor = 0;
    int status = 0;
    for (size_t i = 0; i < events->count; i++)
        if (list[i].kind->pool == WS_MEMORY_FRAMEWORK)
            shown = WS_MEMORY_FRAMEWORK;
    for (size_t i = 0; i < events->count && !status; i++) {
        bool steady = ws_step_is_steady(ws_steps_next(trend->steps, &cursor, list[i].time));
        pass_steps(trend, list[i].time, ledger->bytes[shown]);
        status = apply(ledger, &list[i], steady);
    }
    pass_steps(trend, INT64_MAX, ledger->bytes[shown]);
    fill_timelines(ledger, ledger->result->begin + ledger->result->slice * WS_MEMORY_POINTS);
    return status;
}

static int memory_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_device *device = ws_track_device(report->model, track);
    struct ws_track_memory *result = memory;
    struct ws_vector events = WS_VECTOR(struct event);
    struct ledger ledger = { .result = result, .imported = ws_process_meta(process, "import") };
    struct trend trend = { .steps = ws_report_result(report, &ws_analysis_steps, subject) };
    result->device_bytes = device ? device->memory_bytes : 0;
    result->steps = trend.steps->kinds[WS_STEP_STEADY];
    trend.ends = calloc(result->steps + 1, sizeof(*trend.ends));
    int status = trend.ends ? memory_gather(process, track, &events) : -ENOMEM;
    if (!status && events.count) {
        const struct event *list = events.data;
        result->begin = list[0].time;
        result->slice = (list[events.count - 1].time - result->begin) / WS_MEMORY_POINTS + 1;
        status = walk(&events, &ledger, &trend);
    }
    for (int pool = 0; pool < WS_MEMORY_POOL_COUNT; pool++) {
        result->pools[pool].end = ledger.bytes[pool];
        ws_map_finish(&ledger.alive[pool]);
    }
    find_growth(&trend, result);
    free(trend.ends);
    ws_vector_finish(&events);
    return status;
}

/* Returns true if the recording may have lost calls that allocate memory. */
static bool misses_calls(const struct ws_process *process)
{
    const struct ws_loss *losses = process->losses.data;
    for (size_t i = 0; i < process->losses.count; i++) {
        if (!losses[i].count)
            continue;
        switch (losses[i].reason) {
        case WS_LOSS_POOL_DRY:
        case WS_LOSS_UNTIMED_AT_EXIT:
        case WS_LOSS_DRIVER_REFUSED:
        case WS_LOSS_CAPTURE_UNKNOWN:
        case WS_LOSS_DICTIONARY_FULL:
        case WS_LOSS_CHILD:
        case WS_LOSS_RANGE_OPEN:
        case WS_LOSS_SIMPLIFIED:
        case WS_LOSS_KERNELS:
        case WS_LOSS_LABELS:
        case WS_LOSS_COMMUNICATORS:
        case WS_LOSS_GRAPHS:
        case WS_LOSS_COUNTERS:
        case WS_LOSS_DEVICES:
        case WS_LOSS_THREADS:
        case WS_LOSS_TEXTS:
            break;
        default:
            return true;
        }
    }
    return process->damage.lost_frames || process->damage.lost_bytes;
}

uint64_t ws_memory_most(const struct ws_report *report, size_t subject)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_track_memory *result = ws_report_result(report, &ws_analysis_memory, subject);
    const struct ws_memory_use *device = &result->pools[WS_MEMORY_DEVICE], *pinned = &result->pools[WS_MEMORY_PINNED];
    bool all_seen = process->track_count == 1 && !ws_process_meta(process, "import") && !misses_calls(process) &&
                    !device->unsized && !device->unmatched && !pinned->unsized && !pinned->unmatched;
    return all_seen && device->peak ? device->peak + pinned->peak : 0;
}

const struct ws_analysis ws_analysis_memory = {
    .name = "memory",
    .title = "Memory",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_memory),
    .needs = { &ws_analysis_steps },
    .run = memory_run,
    .text = ws_memory_text,
    .json = ws_memory_json,
};
