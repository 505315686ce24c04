/* Reports what queued work waited for. */
#include <stdio.h>
#include <string.h>

#include "analysis/gaps/gap_report.h"
#include "analysis/gaps/gap_waits.h"
#include "analysis/kernels/label.h"
#include "base/minmax.h"

static const struct ws_process *gap_waits_process_of(const struct ws_report *report, size_t track)
{
    return ws_model_process(report->model, ws_model_track(report->model, track)->process);
}

/* Writes " on stream 2", or " on GPU 1, stream 2" for another device; "" if the trace names no stream. */
static void write_stream(const struct ws_report *report, size_t track, uint32_t op, char *text, size_t capacity)
{
    const struct ws_process *process = gap_waits_process_of(report, track);
    const struct ws_op_shape *shape = ws_process_shape(process, process->ops.shape[op]);
    uint32_t device = ws_model_track(report->model, shape->track)->device;
    *text = 0;
    if (shape->track != track && device)
        snprintf(text, capacity, " on GPU %u, stream %u", device - 1, shape->row.stream);
    else if (shape->row.stream)
        snprintf(text, capacity, " on stream %u", shape->row.stream);
}

const char *ws_gap_wait_text(const struct ws_report *report, size_t track, const struct ws_gap_wait *wait, char *text,
                             size_t capacity)
{
    const struct ws_process *process = gap_waits_process_of(report, track);
    char name[120] = "", stream[64] = "";
    if (wait->op != WS_NOWHERE) {
        uint32_t index = ws_process_shape(process, process->ops.shape[wait->op])->name;
        ws_kernel_title(name, sizeof(name), ws_model_name(report->model, index)->text);
        write_stream(report, track, wait->op, stream, sizeof(stream));
    }
    switch (wait->what) {
    case WS_WAITED_OWN_STREAM:
        snprintf(text, capacity, "the operation before it on its own stream");
        break;
    case WS_WAITED_LAST_ENDED:
        snprintf(text, capacity, "not known; %s%s ended last", name, stream);
        break;
    case WS_WAITED_EVENT:
        snprintf(text, capacity, "%s%s, by an event", name, stream);
        break;
    case WS_WAITED_FOREIGN_EVENT:
        snprintf(text, capacity,
                 "an event without a record in the trace: from another process, or from before the recording");
        break;
    case WS_WAITED_HOST_FUNCTION:
        snprintf(text, capacity, "a host function%s", stream);
        break;
    case WS_WAITED_MEMORY_VALUE:
        snprintf(text, capacity, "a value in memory (cuStreamWaitValue)%s", stream);
        break;
    case WS_WAITED_INTEROP:
        snprintf(text, capacity, "an external semaphore or graphics resource%s", stream);
        break;
    default:
        snprintf(text, capacity, "not known");
        break;
    }
    return text;
}

/* Writes what the stream of a row waited for. For cause `dispatch`, the text names the stream on which an operation
 * ended, but not the operation. */
static const char *row_text(const struct ws_report *report, size_t track, const struct ws_gap_wait_row *row,
                            char *text, size_t capacity)
{
    char stream[64];
    bool is_event = row->wait.what == WS_WAITED_EVENT, is_last = row->wait.what == WS_WAITED_LAST_ENDED;
    if (row->cause != WS_PART_DISPATCH || !(is_event || is_last))
        return ws_gap_wait_text(report, track, &row->wait, text, capacity);
    write_stream(report, track, row->wait.op, stream, sizeof(stream));
    snprintf(text, capacity, "%s%s%s", is_event ? "work" : "perhaps work", stream,
             is_event ? ", by an event" : ", which ended last");
    return text;
}

void ws_gap_waits_text(const struct ws_report *report, size_t track, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "cause", true, false },
        { "idle", false, false },
        { "gaps", false, false },
        { "stream", false, WS_NARROW_LEAVE_OUT },
        { "waited for", true, WS_NARROW_SHORTEN },
    };
    const struct ws_track_waits *waits = ws_report_result(report, &ws_analysis_gap_waits, track);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    const struct ws_gap_wait_row *rows = waits->rows.data;
    size_t known = 0;
    struct ws_table table;
    char text[256], count[WS_FORMAT_SIZE];
    while (known < waits->rows.count && ws_gap_count(causes, &rows[known].gaps))
        known++;
    if (!known)
        return;
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, known); i++) {
        ws_table_cell(&table, "%s", ws_part_label(rows[i].cause));
        ws_table_time(&table, ws_gap_mean(causes, steps, &rows[i].gaps));
        ws_table_cell(&table, "%s", ws_gap_count_text(causes, steps, &rows[i].gaps, count));
        if (rows[i].stream)
            ws_table_cell(&table, "%u", rows[i].stream);
        else
            ws_table_cell(&table, "?");
        ws_table_cell(&table, "%s", row_text(report, track, &rows[i], text, sizeof(text)));
    }
    ws_table_finish(&table);
    ws_page_more(page, known, "");
}

int ws_gap_wait_json(const struct ws_report *report, size_t track, const struct ws_gap_wait *wait, json_t *object)
{
    static const char *const names[WS_WAITED_COUNT] = {
#define WS_WAITED(name, key) [WS_WAITED_##name] = key,
        WS_WAITED_FOR(WS_WAITED)
#undef WS_WAITED
    };
    const struct ws_process *process = gap_waits_process_of(report, track);
    json_t *name = json_null(), *stream = json_null(), *device = json_null();
    if (wait->op != WS_NOWHERE) {
        const struct ws_op_shape *shape = ws_process_shape(process, process->ops.shape[wait->op]);
        uint32_t ordinal = ws_model_track(report->model, shape->track)->device;
        name = ws_json_text(ws_model_name(report->model, shape->name)->text);
        stream = json_integer(shape->row.stream);
        device = ordinal ? json_integer(ordinal - 1) : json_null();
    }
    int status = json_object_set_new(object, "what", json_string(names[wait->what]));
    status |= json_object_set_new(object, "name", name);
    status |= json_object_set_new(object, "stream", stream);
    return status | json_object_set_new(object, "device", device);
}

static json_t *gap_waits_row_json(const struct ws_report *report, size_t track, const struct ws_gap_wait_row *row)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    json_t *object = json_object(), *waited = json_object();
    int status = json_object_set_new(object, "cause", json_string(ws_part_name(row->cause)));
    status |= ws_json_set(object, "stream", row->stream);
    status |= json_object_set_new(object, "waited_for", waited);
    status |= ws_gap_wait_json(report, track, &row->wait, waited);
    status |= ws_gap_total_json(object, &row->gaps, causes, steps);
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

int ws_gap_waits_json(const struct ws_report *report, size_t track, json_t *object)
{
    const struct ws_track_waits *waits = ws_report_result(report, &ws_analysis_gap_waits, track);
    const struct ws_gap_wait_row *rows = waits->rows.data;
    size_t shown = report->top && report->top < waits->rows.count ? report->top : waits->rows.count;
    json_t *list = json_array();
    int status = json_object_set_new(object, "gap_waits", list);
    for (size_t i = 0; i < shown && !status; i++)
        status = json_array_append_new(list, gap_waits_row_json(report, track, &rows[i]));
    return status;
}
