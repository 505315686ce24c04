#include "analysis/activity/losses.h"

#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "base/minmax.h"
#include "model/native_frames.h"

static bool is_damaged(const struct ws_damage *damage)
{
    return damage->lost_frames || damage->lost_bytes || damage->torn_bytes || damage->no_footer;
}

static void losses_print_damage(const struct ws_process *process, struct ws_page *page)
{
    const struct ws_damage *damage = &process->damage;
    const char *imported = ws_process_meta(process, "import_damage");
    char number[WS_FORMAT_SIZE];
    if (imported)
        ws_page_fact(page, "imported", "the file it was imported from is %s", imported);
    if (damage->no_footer && ws_process_meta(process, "import"))
        ws_page_fact(page, "no end", "the file was cut; everything before is here");
    else if (damage->no_footer)
        ws_page_fact(
            page, "no end",
            "the recording was not finished: the program ended by a signal, by exec, by a system call of its own "
            "or by _exit on a busy machine, or the file was cut; up to the last 0.25 s are missing");
    const char *collector = ws_process_meta(process, "collector_ended");
    if (collector)
        ws_page_fact(page, "collector", "%s", collector);
    if (damage->lost_frames)
        ws_page_fact(page, "damaged", "%s block%s of rows could not be read",
                     ws_format_count(number, damage->lost_frames), damage->lost_frames == 1 ? "" : "s");
    if (damage->lost_bytes)
        ws_page_fact(page, "damaged", "%s of the file are not readable", ws_format_bytes(number, damage->lost_bytes));
    if (damage->torn_bytes)
        ws_page_fact(page, "cut", "the last %s of the file are an unfinished block",
                     ws_format_bytes(number, damage->torn_bytes));
}

/* Reports that the program ended by _exit or quick_exit, or that it was killed. In each of these cases, the shim
 * could not wait for operations that still ran. */
static void print_end(const struct ws_process *process, struct ws_page *page)
{
    const char *end = ws_process_meta(process, "end");
    if (end && !strcmp(end, "without exit"))
        ws_page_fact(page, "end",
                     "the program ended by _exit or quick_exit; operations that still ran then have no times");
    if (end && !strcmp(end, "killed"))
        ws_page_fact(
            page, "end",
            "the program was killed, or ended by a system call of its own; its last records were saved from its "
            "memory%s",
            ws_process_meta(process, "not_salvaged") ? ", but not those of all threads" : "");
}

/* Reports the number of launches that were delayed while hardware counters were read. */
static void print_counted(const struct ws_process *process, struct ws_page *page)
{
    char number[WS_FORMAT_SIZE];
    size_t count = ws_sparse_count(&process->ops.counted);
    if (count)
        ws_page_text(page,
                     "%s launch%s delayed while hardware counters were read: times, gaps and steps there are "
                     "longer than without recording.",
                     ws_format_count(number, count), count == 1 ? " was" : "es were");
}

/* Warns if the program used a single hardware queue. With one queue, an event that the shim records waits for all
 * earlier work of every stream. */
static void print_one_queue(const struct ws_process *process, struct ws_page *page)
{
    const char *queues = ws_process_meta(process, "queues");
    if (queues && !strcmp(queues, "1"))
        ws_page_text(page,
                     "CUDA_DEVICE_MAX_CONNECTIONS was 1: timing events may have delayed other streams and reduced "
                     "their overlap; --backend host records no events.");
}

static void print_unnamed(const struct ws_process *process, struct ws_page *page)
{
    char text[512];
    if (ws_native_lacks(&process->stacks, text, sizeof(text)))
        ws_page_text(page, "%s", text);
}

/* Reports CUDA graphs that were recorded without their kernels. Nsight Systems records a CUDA graph as one operation
 * by default. */
static void print_graphs(const struct ws_process *process, struct ws_page *page)
{
    char number[WS_FORMAT_SIZE];
    size_t count = 0;
    for (size_t i = 0; i < process->ops.count; i++)
        count += ws_process_shape(process, process->ops.shape[i])->row.kind == WS_OP_GRAPH;
    if (count && !strncmp(ws_process_meta(process, "import"), "Nsight", 6))
        ws_page_text(page,
                     "CUDA graph launches recorded as a whole, without their kernels: %s; nsys profile "
                     "--cuda-graph-trace=node records the kernels.",
                     ws_format_count(number, count));
}

/* Prints the possible errors of the times in the trace. */
static void print_doubts(const struct ws_report *report, const struct ws_process *process, struct ws_page *page)
{
    if (ws_process_meta(process, "import")) {
        print_graphs(process, page);
        ws_page_text(page, "Times were written by the other profiler, which states no error for them.");
        return;
    }
    for (uint32_t i = 0; i < process->track_count; i++) {
        const struct ws_track *track = ws_model_track(report->model, process->first_track + i);
        const struct ws_track_activity *activity =
            ws_report_result(report, &ws_analysis_activity, process->first_track + i);
        uint64_t times = activity->quality[WS_TIME_MEASURED] + activity->quality[WS_TIME_BOUNDED] +
                         activity->quality[WS_TIME_INFERRED];
        char title[128], bounded[WS_FORMAT_SIZE], inferred[WS_FORMAT_SIZE], least[WS_FORMAT_SIZE],
            longest[WS_FORMAT_SIZE], clock[WS_FORMAT_SIZE];
        if (!times)
            continue;
        int64_t most = ws_min(activity->busy_most, ws_activity_known(activity));
        ws_report_track_title(report, process->first_track + i, title, sizeof(title));
        ws_page_text(
            page, "%s: %s of the device times are inferred and %s only bounded; busy time is between %s and %s%s%s.",
            title, ws_format_share(inferred, (int64_t)activity->quality[WS_TIME_INFERRED], (int64_t)times),
            ws_format_share(bounded, (int64_t)activity->quality[WS_TIME_BOUNDED], (int64_t)times),
            ws_format_time(least, activity->busy_least), ws_format_time(longest, most),
            track->aligned ? ", and device times meet host times within " : "; host times are not comparable",
            track->aligned ? ws_format_time(clock, track->clock_error) : "");
    }
}

bool ws_losses_is_complete(const struct ws_process *process, const struct ws_process_losses *losses)
{
    return !losses->total && !losses->nameless && !process->odd_times && !is_damaged(&process->damage);
}

/* Reports the number of other processes with incomplete recordings. A report page that shows only one device of a job
 * must still mention these losses. */
static void print_others(const struct ws_report *report, size_t shown, struct ws_page *page)
{
    char number[WS_FORMAT_SIZE], lost[WS_FORMAT_SIZE];
    size_t count = report->model->processes.count, incomplete = 0, damaged = 0;
    uint64_t total = 0;
    if (page->all || report->analyses->device_shown(report) == WS_NOWHERE)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct ws_process *process = ws_model_process(report->model, i);
        const struct ws_process_losses *losses = ws_report_result(report, &ws_analysis_losses, i);
        if (i == shown || ws_losses_is_complete(process, losses))
            continue;
        incomplete++;
        damaged += is_damaged(&process->damage);
        total += losses->total + losses->nameless + process->odd_times;
    }
    if (incomplete)
        ws_page_text(page, "%s other process%s incomplete: %s lost, %zu without an end or damaged; --all shows each.",
                     ws_format_count(number, incomplete), incomplete == 1 ? " is" : "es are",
                     ws_format_count(lost, total), damaged);
}

void ws_losses_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_losses *result = memory;
    char number[WS_FORMAT_SIZE];
    for (uint32_t i = 0; i < WS_LOSS_COUNT; i++)
        if (result->count[i])
            ws_page_text(page, "%s %s%s", ws_format_count(number, result->count[i]), ws_loss_subject(i),
                         ws_loss_text(i));
    if (result->unknown)
        ws_page_text(page, "%s %s", ws_format_count(number, result->unknown), ws_loss_text(WS_LOSS_COUNT));
    if (result->nameless)
        ws_page_text(page, "%s operations whose description was lost", ws_format_count(number, result->nameless));
    if (process->odd_times)
        ws_page_text(page, "%s host times that cannot be true", ws_format_count(number, process->odd_times));
    if (process->devices_beyond)
        ws_page_text(page, "%s devices beyond the first %zu are shown together as one unknown device",
                     ws_format_count(number, process->devices_beyond), process->devices_most);
    losses_print_damage(process, page);
    print_end(process, page);
    if (ws_losses_is_complete(process, result))
        ws_page_text(page, "Nothing lost.");
    print_others(report, subject, page);
    print_doubts(report, process, page);
    print_unnamed(process, page);
    print_one_queue(process, page);
    print_counted(process, page);
}

int ws_losses_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_damage *damage = &process->damage;
    const char *collector = ws_process_meta(process, "collector_ended");
    const struct ws_process_losses *result = memory;
    json_t *list = json_array(), *damages = json_object();
    int status = json_object_set_new(object, "losses", list);
    for (uint32_t i = 0; i <= WS_LOSS_COUNT && !status; i++) {
        uint64_t count = i < WS_LOSS_COUNT ? result->count[i] : result->unknown;
        if (!count)
            continue;
        json_t *row = json_object();
        status |= json_object_set_new(row, "reason", json_string(ws_loss_text(i)));
        status |= ws_json_set(row, "count", (int64_t)count);
        status |= json_array_append_new(list, row);
    }
    status |= json_object_set_new(object, "damage", damages);
    status |= ws_json_set(damages, "lost_frames", (int64_t)damage->lost_frames);
    status |= ws_json_set(damages, "lost_bytes", (int64_t)damage->lost_bytes);
    status |= ws_json_set(damages, "torn_bytes", (int64_t)damage->torn_bytes);
    status |= json_object_set_new(damages, "no_footer", json_boolean(damage->no_footer));
    if (collector)
        status |= json_object_set_new(damages, "collector_ended", json_string(collector));
    status |= ws_json_set(object, "odd_times", (int64_t)ws_model_process(report->model, subject)->odd_times);
    status |= ws_json_set(object, "nameless_events", (int64_t)result->nameless);
    return status ? -ENOMEM : 0;
}
