#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/memory/copies.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "model/source_code.h"

/* Per mille of the recording's duration. The report advises a cure (a way to reduce the exposed time of copies) only
 * if the exposed time of the cure's copies exceeds this share of the duration. */
enum { LEAST_ADVISED_PER_MILLE = 5 };

/* Divisor: stands for 1/20 of a step. The trace does not show how much less a program could copy. So the report
 * advises to copy less only if the other advised cures would leave more exposed time than 1/20 of a step. It advises
 * to copy less within a device only if the exposed time of these copies is more than 1/20 of a step. */
enum { WORTH_A_LOOK = 20 };

/* If one kind of copy takes at least this percentage of the exposed time, the report leaves out the word "mostly". */
enum { MOSTLY_PERCENT = 95 };

static const struct {
    const char *name, *what;
} cures[WS_CURE_COUNT] = {
    [WS_CURE_BATCH] = { "small_copies", "gather small copies into few: one buffer, one copy" },
    [WS_CURE_PIN] = { "pageable_copies", "copy from and to pinned memory, asynchronously: cudaMallocHost and "
                                         "cudaMemcpyAsync; in PyTorch "
                                         "pin_memory=True and non_blocking=True" },
    [WS_CURE_INSIDE] = { "device_copies",
                         "copy less within the device: write results where they are needed, use views, "
                         "avoid clone, contiguous and cat" },
    [WS_CURE_OVERLAP] = { "exposed_copies", "overlap copies with compute: use a stream of their own, and copy before "
                                            "the data is needed" },
};

/* Writes the direction and the kind of host memory of copies: "host to device, pageable". */
static void copies_describe(uint32_t from, uint32_t to, const char *mostly, char text[WS_COPIES_PHRASE])
{
    uint32_t host = ws_space_is_host(from) ? from : to;
    const char *kind = host == WS_SPACE_PAGEABLE ? ", pageable" : host == WS_SPACE_PINNED ? ", pinned" : "";
    if (!from || !to)
        *text = 0;
    else if (ws_space_is_host(from) != ws_space_is_host(to))
        snprintf(text, WS_COPIES_PHRASE, "%s%s%s", mostly,
                 ws_space_is_host(from) ? "host to device" : "device to host", kind);
    else
        snprintf(text, WS_COPIES_PHRASE, "%s%s", mostly,
                 ws_space_is_host(from)                         ? "within the host"
                 : from == WS_SPACE_PEER || to == WS_SPACE_PEER ? "between devices"
                                                                : "within the device");
}

const char *ws_copies_phrase(const struct ws_track_copies *copies, int64_t exposed, char text[WS_COPIES_PHRASE])
{
    const struct ws_copy_row *rows = copies->rows.data, *most = NULL;
    for (size_t i = 0; i < copies->rows.count; i++)
        if (!most || rows[i].steady > most->steady)
            most = &rows[i];
    *text = 0;
    int64_t time = most ? most->steady / (int64_t)(copies->steps ? copies->steps : 1) : 0;
    if (time > 0 && time >= exposed / 2)
        copies_describe(most->from, most->to, time < exposed / 100 * MOSTLY_PERCENT ? "mostly " : "", text);
    return text;
}

/* Prints notes on copies from or to pageable memory and on small copies. Leaves a note out if it concerns only a few
 * short copies. */
static void copies_print_notes(const struct ws_track_activity *activity, const struct ws_track_copies *result,
                               struct ws_page *page)
{
    const struct ws_copy_row *rows = result->rows.data;
    uint64_t pageable = 0, count = 0, small = 0;
    int64_t pageable_time = 0;
    char number[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], bytes[WS_FORMAT_SIZE],
        runs[WS_FORMAT_SIZE], many[WS_FORMAT_SIZE + 16];
    for (size_t i = 0; i < result->rows.count; i++) {
        count += rows[i].count;
        small += rows[i].small;
        if (ws_copy_is_pageable(rows[i].from, rows[i].to)) {
            pageable += rows[i].count;
            pageable_time += rows[i].total;
        }
    }
    snprintf(many, sizeof(many), "%s copies use", ws_format_count(number, pageable));
    if (pageable >= WS_STORM_LEAST || pageable_time > ws_activity_known(activity) / 1000)
        ws_page_text(page,
                     "! %s pageable host memory%s%s: they go through a staging buffer and block the "
                     "host. Allocate it pinned (cudaMallocHost, pin_memory=True) and copy asynchronously.",
                     pageable == 1 ? "One copy uses" : many, pageable_time ? ", for " : "",
                     pageable_time ? ws_format_time(time, pageable_time) : "");
    if (small >= WS_STORM_LEAST)
        ws_page_text(page, "%s of the copies are smaller than 64 KiB: their launch costs more than their bytes.",
                     ws_format_share(share, (int64_t)small, (int64_t)count));
    if (result->storms)
        ws_page_text(page, "%s of these small copies follow one another in %s runs of %d and more: %s in %s.",
                     ws_format_count(number, result->storm_copies), ws_format_count(runs, result->storms),
                     WS_STORM_LEAST, ws_format_bytes(bytes, result->storm_bytes),
                     ws_format_time(time, result->storm_time));
}

static void copies_rate_cell(struct ws_table *table, double rate)
{
    if (rate > 0)
        ws_table_cell(table, "%.*f", rate < 10 ? 2 : 1, rate);
    else
        ws_table_cell(table, "?");
}

void ws_copies_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "total", false, false },
        { "exposed", false, false },
        { "count", false, false },
        { "blocking", false, WS_NARROW_LEAVE_OUT },
        { "bytes", false, WS_NARROW_LEAVE_OUT },
        { "GB/s", false, false },
        { "best", false, WS_NARROW_LEAVE_OUT },
        { "kind", true, WS_NARROW_SHORTEN },
    };
    const struct ws_track_copies *result = memory;
    const struct ws_copy_row *rows = result->rows.data;
    struct ws_table table;
    if (!result->rows.count) {
        ws_page_text(page, "None.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->rows.count; i++) {
        if (rows[i].timed) {
            ws_table_time(&table, rows[i].total);
            ws_table_time(&table, rows[i].exposed);
        } else {
            ws_table_cell(&table, "?");
            ws_table_cell(&table, "?");
        }
        ws_table_count(&table, rows[i].count);
        ws_table_count(&table, rows[i].blocking);
        ws_table_bytes(&table, rows[i].bytes);
        copies_rate_cell(&table, ws_copy_rate(&rows[i]));
        copies_rate_cell(&table, ws_copy_best_rate(result, &rows[i]));
        ws_table_cell(&table, "%s", ws_model_name(report->model, rows[i].name)->text);
    }
    ws_table_finish(&table);
    ws_page_text(page,
                 "\"exposed\": time that neither compute nor communication hides; \"best\": rate of the fastest copy "
                 "from 1 MiB on, as far as it is sure, or, within the device, half of its memory bandwidth.");
    copies_print_notes(ws_report_result(report, &ws_analysis_activity, subject), result, page);
}

static json_t *copies_row_json(const struct ws_report *report, const struct ws_track_copies *result,
                               const struct ws_copy_row *row)
{
    double best = ws_copy_best_rate(result, row);
    json_t *object = json_object();
    int status = json_object_set_new(object, "name", ws_json_text(ws_model_name(report->model, row->name)->text));
    status |= json_object_set_new(object, "from", json_string(ws_space_name(row->from)));
    status |= json_object_set_new(object, "to", json_string(ws_space_name(row->to)));
    status |= ws_json_set(object, "count", (int64_t)row->count);
    status |= ws_json_set(object, "blocking", (int64_t)row->blocking);
    status |= ws_json_set(object, "small", (int64_t)row->small);
    status |= ws_json_set(object, "bytes", (int64_t)row->bytes);
    status |= ws_json_set(object, "timed", (int64_t)row->timed);
    status |= ws_json_set(object, "timed_bytes", (int64_t)row->timed_bytes);
    status |= ws_json_set(object, "total_ns", row->total);
    status |= ws_json_set(object, "exposed_ns", row->exposed);
    status |= ws_json_set(object, "call_ns", row->host);
    status |= json_object_set_new(object, "pageable", json_boolean(ws_copy_is_pageable(row->from, row->to)));
    if (row->total > 0)
        status |= json_object_set_new(object, "gb_per_s", json_real(ws_copy_rate(row)));
    if (best > 0)
        status |= json_object_set_new(object, "best_gb_per_s", json_real(best));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

int ws_copies_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_copies *result = memory;
    const struct ws_copy_row *rows = result->rows.data;
    json_t *list = json_array(), *storms = json_object();
    (void)subject;
    int status = json_object_set_new(object, "copies", list);
    for (size_t i = 0; i < result->rows.count && !status; i++)
        status = json_array_append_new(list, copies_row_json(report, result, &rows[i]));
    status |= json_object_set_new(object, "copy_storms", storms);
    status |= ws_json_set(storms, "count", (int64_t)result->storms);
    status |= ws_json_set(storms, "copies", (int64_t)result->storm_copies);
    status |= ws_json_set(storms, "bytes", (int64_t)result->storm_bytes);
    status |= ws_json_set(storms, "total_ns", result->storm_time);
    return status ? -ENOMEM : 0;
}

static int64_t copies_per_step(const struct ws_track_copies *result, int64_t total)
{
    return result->steps ? total / (int64_t)result->steps : total;
}

/* Returns the compute time in which no copy runs, in ns. Further copies could run in this time. The time is the mean
 * per steady step, or of the whole recording if there are no steady steps. */
static int64_t room_for_copies(const struct ws_report *report, size_t subject, const struct ws_track_copies *result)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    int64_t compute = result->steps ? steps->compute.mean : activity->group[WS_GROUP_COMPUTE];
    int64_t hidden = result->steps ? steps->memory.mean - steps->exposed_memory.mean
                                   : activity->group[WS_GROUP_MEMORY] - activity->exposed_memory;
    return compute > hidden ? compute - hidden : 0;
}

/* Returns an upper limit of the ns that a cure saves. `exposed` is the exposed time of the cure's copies, and `room`
 * is the compute time that can hide copies. Copies from and to pinned memory are assumed to be twice as fast as
 * pageable copies (over PCIe they mostly are). For WS_CURE_BATCH, we assume that one large copy in place of many
 * small copies takes no exposed time. For WS_CURE_INSIDE, we assume that the program can avoid all copies within the
 * device. */
static int64_t copies_saving_of(enum ws_copy_cure cure, int64_t exposed, int64_t room)
{
    int64_t hidden = ws_min(exposed, room);
    if (cure == WS_CURE_BATCH || cure == WS_CURE_INSIDE)
        return exposed;
    return cure == WS_CURE_PIN ? hidden + (exposed - hidden) / 2 : hidden;
}

static int advise_cure(const struct ws_report *report, size_t subject, const struct ws_track_copies *result,
                       enum ws_copy_cure cure, int64_t saving, struct ws_advice_list *list)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_copy_exposure *exposure = &result->cures[cure];
    const struct ws_op_shape *shape = ws_process_shape(process, process->ops.shape[exposure->example]);
    char where[256], code[WS_SOURCE_CODE], evidence[320], bytes[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    int64_t exposed = copies_per_step(result, exposure->exposed), room = room_for_copies(report, subject, result);
    ws_source_of_op(process, exposure->example, where, sizeof(where));
    ws_source_code_of_op(process, exposure->example, code);
    ws_format_each(count, exposure->count, result->steps);
    snprintf(evidence, sizeof(evidence), "%s %s%s, %s, mostly %s%s", count, strcmp(count, "1") ? "copies" : "copy",
             result->steps ? " a step" : "",
             ws_format_bytes(bytes, exposure->bytes / (result->steps ? result->steps : 1)),
             ws_model_name(report->model, shape->name)->text,
             cure == WS_CURE_INSIDE                      ? "; how much of it can be removed is not known"
             : cure == WS_CURE_OVERLAP && exposed > room ? "; limited by the compute that can hide them"
                                                         : "");
    struct ws_advice advice = { .name = cures[cure].name,
                                .part = cure == WS_CURE_INSIDE ? WS_PART_DEVICE_COPIES : WS_PART_EXPOSED_MEMORY,
                                .saving_ns = saving,
                                .what = (char *)cures[cure].what,
                                .where = where,
                                .code = code,
                                .evidence = evidence,
                                .track = (uint32_t)subject };
    return ws_advice_add(list, &advice);
}

/* Does `where` name a range of PyTorch's FSDP (FSDP::pre_forward and the like)? In these ranges FSDP copies only what
 * is offloaded to the host. */
static bool is_offload(const char *where)
{
    return strstr(where, "FSDP::") || strstr(where, "FullyShardedDataParallel");
}

/* Advises to copy less between host and device. `left` is the exposed time of copies, in ns per step, that remains if
 * the user applies the other advised cures. The advice gives `left` as an upper limit of its saving. */
static int advise_less(const struct ws_report *report, size_t subject, const struct ws_track_copies *result,
                       int64_t left, struct ws_advice_list *list)
{
    static char less[] = "move less between host and GPU: keep on the GPU what fits, copy in a smaller type, copy "
                         "only what is used";
    static char offload[] =
        "keep the parameters on the GPU: turn off FSDP's CPU offload, or shard over more GPUs; FSDP "
        "copies them in before each use";
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    const struct ws_copy_exposure *pin = &result->cures[WS_CURE_PIN], *overlap = &result->cures[WS_CURE_OVERLAP];
    uint64_t bytes = (pin->bytes + overlap->bytes) / (result->steps ? result->steps : 1);
    char where[256], code[WS_SOURCE_CODE], evidence[160], text[WS_FORMAT_SIZE];
    ws_source_of_op(process, (pin->longest > overlap->longest ? pin : overlap)->example, where, sizeof(where));
    ws_source_code_of_op(process, (pin->longest > overlap->longest ? pin : overlap)->example, code);
    snprintf(evidence, sizeof(evidence), "%s%s; how much of it can be removed is not known",
             ws_format_bytes(text, bytes), result->steps ? " a step" : "");
    return ws_advice_add(list, &(struct ws_advice){ .name = "transfers",
                                                    .part = WS_PART_EXPOSED_MEMORY,
                                                    .saving_ns = left,
                                                    .what = is_offload(where) ? offload : less,
                                                    .where = where,
                                                    .code = code,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)subject });
}

int ws_copies_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_copies *result = memory;
    int64_t least = ws_activity_known(activity) / 1000 * LEAST_ADVISED_PER_MILLE, left = 0;
    int64_t length = result->steps ? steps->mean : ws_activity_known(activity);
    int64_t room = room_for_copies(report, subject, result);
    int status = 0;
    for (int cure = WS_CURE_NONE + 1; cure < WS_CURE_COUNT && !status; cure++) {
        const struct ws_copy_exposure *exposure = &result->cures[cure];
        int64_t exposed = copies_per_step(result, exposure->exposed);
        int64_t saving = copies_saving_of((enum ws_copy_cure)cure, exposed, room);
        bool few = cure == WS_CURE_BATCH && exposure->count < WS_STORM_LEAST * (result->steps ? result->steps : 1);
        bool minor = cure == WS_CURE_INSIDE && exposed <= length / WORTH_A_LOOK;
        if (exposure->exposed <= least || few || minor)
            continue;
        status = advise_cure(report, subject, result, (enum ws_copy_cure)cure, saving, list);
        left += exposed - saving;
    }
    if (!status && left > length / WORTH_A_LOOK)
        status = advise_less(report, subject, result, left, list);
    return status;
}
