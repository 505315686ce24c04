#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sections.h"

/* Below this a copy's cost is its launch, not its bytes. */
enum { SMALL_COPY = 64 * 1024 };

struct copy_row {
    uint32_t name;
    uint32_t from, to; /* enum ws_space */
    uint64_t count, bytes, small;
    uint64_t blocking;
    uint64_t timed; /* of count: those with device times */
    uint64_t timed_bytes;
    int64_t total;
};

struct track_copies {
    struct ws_vector rows; /* struct copy_row, by time, longest first */
};

static int longest_first(const void *a, const void *b)
{
    const struct copy_row *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* All copies count, also those whose time is not known. */
static void add_copy(const struct ws_ops *ops, size_t op, const struct ws_op_shape *shape, struct copy_row *row)
{
    row->name = shape->name;
    row->from = shape->row.from_space;
    row->to = shape->row.to_space;
    row->count++;
    row->bytes += ws_op_bytes(ops, op);
    row->small += ws_op_bytes(ops, op) < SMALL_COPY;
    row->blocking += (ops->flags[op] & WS_OP_BLOCKING) != 0;
    if (ws_op_is_timed(ops, op)) {
        row->timed++;
        row->timed_bytes += ws_op_bytes(ops, op);
        row->total = (int64_t)((uint64_t)row->total + (uint64_t)(ws_op_length(ops, op)));
    }
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_ops *ops = &process->ops;
    struct track_copies *result = memory;
    result->rows = WS_VECTOR(struct copy_row);
    struct copy_row *names = calloc(report->model->names.count + 1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < ops->count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, ops->shape[i]);
        if (shape->row.kind == WS_OP_COPY && shape->track == subject &&
            !(ops->flags[i] & (WS_OP_FAILED | WS_OP_CAPTURED)))
            add_copy(ops, i, shape, &names[shape->name]);
    }
    int status = 0;
    for (size_t i = 0; i < report->model->names.count && !status; i++) {
        if (!names[i].count)
            continue;
        struct copy_row *row = ws_vector_push(&result->rows);
        if (row)
            *row = names[i];
        else
            status = -ENOMEM;
    }
    free(names);
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct copy_row), longest_first);
    return status;
}

static void finish(void *memory)
{
    struct track_copies *result = memory;
    ws_vector_finish(&result->rows);
}

static bool is_pageable(const struct copy_row *row)
{
    return row->from == WS_SPACE_PAGEABLE || row->to == WS_SPACE_PAGEABLE;
}

/* Bytes a nanosecond are gigabytes a second. */
static double rate(const struct copy_row *row)
{
    return row->total > 0 ? (double)row->timed_bytes / (double)row->total : 0;
}

static void print_advice(const struct track_copies *result, struct ws_page *page)
{
    const struct copy_row *rows = result->rows.data;
    uint64_t pageable = 0, count = 0, small = 0;
    int64_t pageable_time = 0;
    char number[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    for (size_t i = 0; i < result->rows.count; i++) {
        count += rows[i].count;
        small += rows[i].small;
        if (is_pageable(&rows[i])) {
            pageable += rows[i].count;
            pageable_time += rows[i].total;
        }
    }
    if (pageable)
        ws_page_text(page,
                     "! %s copies use pageable host memory%s%s: they go through a staging buffer and hold up the "
                     "host. Allocate it pinned (cudaMallocHost, pin_memory=True) and copy asynchronously.",
                     ws_format_count(number, pageable), pageable_time ? ", for " : "",
                     pageable_time ? ws_format_time(time, pageable_time) : "");
    if (small)
        ws_page_text(page, "%s of the copies are smaller than 64 KiB: what they cost is the launch, not the bytes.",
                     ws_format_share(share, (int64_t)small, (int64_t)count));
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "total", false, false },
        { "count", false, false },
        { "blocking", false, WS_NARROW_LEAVE_OUT },
        { "bytes", false, WS_NARROW_LEAVE_OUT },
        { "mean", false, WS_NARROW_LEAVE_OUT },
        { "rate", false, false },
        { "", true, false },
        { "kind", true, true },
    };
    const struct track_copies *result = memory;
    const struct copy_row *rows = result->rows.data;
    struct ws_table table;
    (void)subject;
    if (!result->rows.count) {
        ws_page_text(page, "None.");
        return;
    }
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->rows.count; i++) {
        if (rows[i].timed)
            ws_table_time(&table, rows[i].total);
        else
            ws_table_cell(&table, "?");
        ws_table_count(&table, rows[i].count);
        ws_table_count(&table, rows[i].blocking);
        ws_table_bytes(&table, rows[i].bytes);
        ws_table_bytes(&table, rows[i].bytes / rows[i].count);
        if (rows[i].total > 0)
            ws_table_cell(&table, "%.*f GB/s", rate(&rows[i]) < 10 ? 2 : 1, rate(&rows[i]));
        else
            ws_table_cell(&table, "?");
        ws_table_cell(&table, "%s", is_pageable(&rows[i]) ? "!" : "");
        ws_table_cell(&table, "%s", ws_model_name(report->model, rows[i].name)->text);
    }
    ws_table_finish(&table);
    print_advice(result, page);
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct track_copies *result = memory;
    const struct copy_row *rows = result->rows.data;
    json_t *list = json_array();
    (void)subject;
    int status = json_object_set_new(object, "copies", list);
    for (size_t i = 0; i < result->rows.count && !status; i++) {
        json_t *row = json_object();
        status |= json_object_set_new(row, "name", ws_json_text(ws_model_name(report->model, rows[i].name)->text));
        status |= json_object_set_new(row, "from", json_string(ws_space_name(rows[i].from)));
        status |= json_object_set_new(row, "to", json_string(ws_space_name(rows[i].to)));
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "blocking", (int64_t)rows[i].blocking);
        status |= ws_json_set(row, "small", (int64_t)rows[i].small);
        status |= ws_json_set(row, "bytes", (int64_t)rows[i].bytes);
        status |= ws_json_set(row, "timed", (int64_t)rows[i].timed);
        status |= ws_json_set(row, "timed_bytes", (int64_t)rows[i].timed_bytes);
        status |= ws_json_set(row, "total_ns", rows[i].total);
        status |= json_object_set_new(row, "pageable", json_boolean(is_pageable(&rows[i])));
        if (rows[i].total > 0)
            status |= json_object_set_new(row, "gb_per_s", json_real(rate(&rows[i])));
        status |= json_array_append_new(list, row);
    }
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_copies = {
    .name = "copies",
    .title = "Copies",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct track_copies),
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
