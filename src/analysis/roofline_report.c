#include "analysis/roofline_report.h"

#include <errno.h>
#include <string.h>

#include "analysis/kernels.h"
#include "analysis/label.h"
#include "analysis/peaks.h"
#include "analysis/roofline.h"

static const char *const class_names[WS_ROOF_CLASS_COUNT] = { "unknown", "compute-bound", "memory-bound",
                                                              "latency-bound", "communication" };
static const char *const source_names[WS_WORK_SOURCES] = { "none", "name", "arguments", "shape", "counter" };

const char *ws_roof_class_name(enum ws_roof_class class)
{
    return class_names[class];
}

const char *ws_work_source_name(enum ws_work_source source)
{
    return source_names[source];
}

/* The share of the roof that applies; 0: not known. */
static double of_roof(const struct ws_roofline_row *row)
{
    return row->of_compute > row->of_memory ? row->of_compute : row->of_memory;
}

/* Precisions of which there are FLOPs, but no ceiling that was measured beside the others. */
static void print_not_measured(const struct ws_track_roofline *result, struct ws_page *page)
{
    const struct ws_roofline_row *rows = result->rows.data;
    const struct ws_gpu *gpu = &result->gpu;
    bool used[WS_PRECISION_COUNT] = { false };
    used[result->precision] = true;
    for (size_t i = 0; i < result->rows.count; i++)
        used[rows[i].precision] |= rows[i].flops > 0;
    for (int i = 0; i < WS_PRECISION_COUNT && gpu->calibrated; i++) {
        enum ws_precision precision = (enum ws_precision)i;
        if (used[i] && !ws_gpu_peak_is_measured(gpu, precision))
            ws_page_fact(page, "not measured", "%s: %s", ws_precision_name(precision),
                         ws_gpu_peak(gpu, precision) > 0 ? gpu->sheet->source : "and no peak is known");
    }
}

static void print_facts(const struct ws_track_roofline *result, struct ws_page *page)
{
    char share[WS_FORMAT_SIZE], peak[WS_PEAK_TEXT], text[256] = "";
    const struct ws_gpu *gpu = &result->gpu;
    if (result->match == WS_GPU_UNKNOWN) {
        ws_page_text(
            page, "The GPU's peaks are not in the table, so no kernel can be held against them; --gpu gives them.");
    } else {
        ws_page_fact(page, "roofs", "%s, %s%.4g TB/s, ridge %.0f FLOPs a byte%s",
                     ws_peak_text(gpu, result->precision, peak), gpu->calibrated ? "measured " : "",
                     gpu->bytes_per_ns / 1e3, ws_gpu_ridge(gpu, result->precision),
                     gpu->calibrated                         ? ""
                     : result->match == WS_GPU_GIVEN         ? ", as told"
                     : result->match == WS_GPU_BY_CAPABILITY ? " (estimated from a GPU of the same generation)"
                                                             : "");
        ws_page_fact(page, "their source", "%s%s", gpu->source,
                     result->match == WS_GPU_CALIBRATED_ON_ANOTHER ? ", on another GPU of this name" : "");
        print_not_measured(result, page);
    }
    for (int i = WS_ROOF_CLASS_COUNT - 1; i >= 0; i--)
        if (result->by_class[i])
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s", *text ? ", " : "", class_names[i],
                     ws_format_share(share, result->by_class[i], result->total));
    ws_page_fact(page, "kernel time", "%s", text);
}

static void rate_cell(struct ws_table *table, double per_ns, double unit)
{
    if (per_ns > 0)
        ws_table_cell(table, "%.4g", per_ns / unit);
    else
        ws_table_cell(table, "–");
}

static void print_rows(const struct ws_report *report, const struct ws_track_roofline *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "total", false, false },
        { "class", true, false },
        { "intensity", false, WS_NARROW_LEAVE_OUT },
        { "TFLOP/s", false, WS_NARROW_LEAVE_OUT },
        { "TB/s", false, WS_NARROW_LEAVE_OUT },
        { "of roof", false, false },
        { "from", true, WS_NARROW_LEAVE_OUT },
        { "name", true, true },
    };
    const struct ws_roofline_row *rows = result->rows.data;
    size_t shown = page->top && page->top < result->rows.count ? page->top : result->rows.count;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < shown; i++) {
        const struct ws_roofline_row *row = &rows[i];
        if (result->match == WS_GPU_UNKNOWN && !(row->flops > 0 || row->bytes > 0))
            continue;
        double known = row->known > 0 ? (double)row->known : 1;
        ws_table_time(&table, row->total);
        ws_table_cell(&table, "%s", class_names[row->class]);
        rate_cell(&table, row->bytes > 0 ? row->flops / row->bytes : 0, 1);
        rate_cell(&table, row->flops / known, 1e3);
        rate_cell(&table, row->bytes / known, 1e3);
        if (of_roof(row) > 0)
            ws_table_cell(&table, "%.1f %%%s", 100 * of_roof(row),
                          row->inconsistent ? " !"
                          : row->cached     ? " L2"
                                            : "");
        else
            ws_table_cell(&table, "–");
        ws_table_cell(&table, "%s", source_names[row->source]);
        ws_table_name(&table, ws_model_name(report->model, row->name)->text);
    }
    if (table.cells.count)
        fputc('\n', page->out);
    ws_table_finish(&table);
}

static void print_notes(const struct ws_report *report, const struct ws_track_roofline *result, struct ws_page *page)
{
    const struct ws_roofline_row *rows = result->rows.data;
    const char *last = NULL;
    char title[4096];
    for (size_t i = 0; i < result->rows.count; i++) {
        const char *name = ws_model_name(report->model, rows[i].name)->text;
        if ((rows[i].inconsistent || rows[i].note) && !page->wide) {
            ws_kernel_title(title, sizeof(title), name);
            name = title;
        }
        if (rows[i].inconsistent)
            ws_page_text(page, "! inconsistent: %.0f %% of a roof cannot be; %s: %s", 100 * of_roof(&rows[i]),
                         rows[i].shortcut == WS_SHORTCUT_TAKEN
                             ? "fewer FLOPs are computed than the convolution is counted for"
                             : "sizes are not what the kernel saw, or its time is wrong",
                         name);
        bool is_said = rows[i].inconsistent && rows[i].shortcut == WS_SHORTCUT_TAKEN;
        if (rows[i].note && !is_said && (!last || strcmp(last, rows[i].note) != 0))
            ws_page_text(page, "%s: %s", rows[i].note, name);
        if (rows[i].note)
            last = rows[i].note;
    }
}

static void print_products(const struct ws_track_roofline *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "total", false, false },   { "count", false, false },
        { "m", false, false },       { "n", false, false },
        { "k", false, false },       { "batch", false, WS_NARROW_LEAVE_OUT },
        { "type", true, false },     { "TFLOP/s", false, WS_NARROW_LEAVE_OUT },
        { "of peak", false, false },
    };
    const struct ws_product_row *rows = result->products.data;
    size_t shown = page->top && page->top < result->products.count ? page->top : result->products.count;
    struct ws_table table;
    if (!shown)
        return;
    fputc('\n', page->out);
    ws_page_text(page, "Matrix products by size:");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < shown; i++) {
        const struct ws_operator_cost *cost = &rows[i].cost;
        double peak = result->match ? ws_gpu_peak(&result->gpu, rows[i].precision) : 0;
        double rate = rows[i].total > 0 ? rows[i].flops / (double)rows[i].total : 0;
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_cell(&table, "%.0f", cost->m);
        ws_table_cell(&table, "%.0f", cost->n);
        ws_table_cell(&table, "%.0f", cost->k);
        ws_table_cell(&table, "%.0f", cost->batch);
        ws_table_cell(&table, "%s", ws_precision_name(rows[i].precision));
        rate_cell(&table, rate, 1e3);
        if (peak > 0)
            ws_table_cell(&table, "%.1f %%", 100 * rate / peak);
        else
            ws_table_cell(&table, "–");
    }
    ws_table_finish(&table);
}

void ws_roofline_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_roofline *result = memory;
    (void)subject;
    if (!result->rows.count) {
        ws_page_text(page, "No kernel has device times.");
        return;
    }
    print_facts(result, page);
    print_rows(report, result, page);
    print_notes(report, result, page);
    print_products(result, page);
}

static int set_real(json_t *object, const char *key, double value)
{
    return value > 0 ? json_object_set_new(object, key, json_real(value)) : 0;
}

/* FLOPs and bytes are whole numbers as far as integers reach. */
static json_t *amount(double value)
{
    return value < 9e18 ? json_integer((json_int_t)(value + 0.5)) : json_real(value);
}

static int set_amount(json_t *object, const char *key, double value)
{
    return value > 0 ? json_object_set_new(object, key, amount(value)) : 0;
}

static json_t *row_json(const struct ws_track_roofline *result, const struct ws_roofline_row *row)
{
    json_t *object = json_object();
    double known = (double)row->known;
    int status = json_object_set_new(object, "class", json_string(class_names[row->class]));
    status |= json_object_set_new(object, "source", json_string(source_names[row->source]));
    status |= json_object_set_new(object, "inconsistent", json_boolean(row->inconsistent));
    if (row->flops > 0 || row->bytes > 0) {
        status |= json_object_set_new(object, "precision", json_string(ws_precision_name(row->precision)));
        status |= ws_json_set(object, "known_ns", row->known);
        status |= set_amount(object, "flops", row->flops);
        status |= set_amount(object, "bytes", row->bytes);
        status |= set_real(object, "intensity", row->bytes > 0 ? row->flops / row->bytes : 0);
        status |= set_real(object, "flops_per_s", known > 0 ? row->flops / known * 1e9 : 0);
        status |= set_real(object, "bytes_per_s", known > 0 ? row->bytes / known * 1e9 : 0);
        status |= set_real(object, "of_compute", row->of_compute);
        if (row->of_compute > 0)
            status |= json_object_set_new(object, "peak_source",
                                          json_string(ws_peak_source(result->match, &result->gpu, row->precision)));
        status |= set_real(object, "of_memory", row->of_memory);
        status |= json_object_set_new(object, "cached", json_boolean(row->cached));
    }
    if (row->note)
        status |= json_object_set_new(object, "note", json_string(row->note));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

/* Beside each row of kernels. */
static int add_to_kernels(const struct ws_report *report, size_t subject, const struct ws_track_roofline *result,
                          json_t *object)
{
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, subject);
    const struct ws_kernel_row *names = kernels->rows.data;
    const struct ws_roofline_row *rows = result->rows.data;
    json_t *list = json_object_get(object, "kernels");
    /* Both are by total time and name; only copies and memsets have no roofline. */
    for (size_t i = 0, at = 0; i < kernels->rows.count && at < result->rows.count; i++)
        if (names[i].name == rows[at].name &&
            json_object_set_new(json_array_get(list, i), "roofline", row_json(result, &rows[at++])))
            return -ENOMEM;
    return 0;
}

static int add_products(const struct ws_track_roofline *result, size_t top, json_t *object)
{
    const struct ws_product_row *rows = result->products.data;
    size_t shown = top && top < result->products.count ? top : result->products.count;
    json_t *list = json_array();
    int status = json_object_set_new(object, "products", list);
    for (size_t i = 0; i < shown && !status; i++) {
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= ws_json_set(row, "m", (int64_t)rows[i].cost.m);
        status |= ws_json_set(row, "n", (int64_t)rows[i].cost.n);
        status |= ws_json_set(row, "k", (int64_t)rows[i].cost.k);
        status |= ws_json_set(row, "batch", (int64_t)rows[i].cost.batch);
        status |= json_object_set_new(row, "precision", json_string(ws_precision_name(rows[i].precision)));
        status |= ws_json_set(row, "count", (int64_t)rows[i].count);
        status |= ws_json_set(row, "total_ns", rows[i].total);
        status |= json_object_set_new(row, "flops", amount(rows[i].flops));
    }
    return status;
}

int ws_roofline_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_roofline *result = memory;
    json_t *roofline = json_object(), *classes = json_object();
    int status = json_object_set_new(object, "roofline", roofline);
    status |= json_object_set_new(roofline, "time_by_class", classes);
    for (int i = 0; i < WS_ROOF_CLASS_COUNT; i++)
        status |= ws_json_set(classes, class_names[i], result->by_class[i]);
    status |= ws_json_set(roofline, "kernel_ns", result->total);
    status |= ws_json_set(roofline, "matmul_ns", result->matmul_total);
    status |= ws_json_set(roofline, "matmul_known_ns", result->matmul_known);
    status |= set_amount(roofline, "matmul_flops", result->matmul_flops);
    status |= set_amount(roofline, "step_flops", result->step_flops);
    status |= set_real(roofline, "mfu", result->mfu);
    if (result->match != WS_GPU_UNKNOWN) {
        status |= json_object_set_new(roofline, "gpu", json_string(result->gpu.name));
        status |= json_object_set_new(roofline, "gpu_source", json_string(result->gpu.source));
        status |= json_object_set_new(roofline, "gpu_estimated", json_boolean(result->match == WS_GPU_BY_CAPABILITY));
        status |= json_object_set_new(roofline, "precision", json_string(ws_precision_name(result->precision)));
        status |= set_real(roofline, "peak_flops_per_s", ws_gpu_peak(&result->gpu, result->precision) * 1e9);
        status |= set_real(roofline, "bytes_per_s", result->gpu.bytes_per_ns * 1e9);
        status |= json_object_set_new(roofline, "peak_source",
                                      json_string(ws_peak_source(result->match, &result->gpu, result->precision)));
        status |= json_object_set_new(roofline, "bandwidth_source",
                                      json_string(ws_bandwidth_source(result->match, &result->gpu)));
        if (result->gpu.calibrated)
            status |= json_object_set_new(roofline, "calibrated", json_string(result->gpu.calibrated));
        status |= set_real(roofline, "ridge", ws_gpu_ridge(&result->gpu, result->precision));
    }
    status |= add_products(result, report->top, roofline);
    return status || add_to_kernels(report, subject, result, object) ? -ENOMEM : 0;
}
