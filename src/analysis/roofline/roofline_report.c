#include "analysis/roofline/roofline_report.h"

#include <errno.h>
#include <string.h>

#include "analysis/kernels/kernels.h"
#include "analysis/kernels/label.h"
#include "analysis/roofline/chains.h"
#include "analysis/roofline/gemms_report.h"
#include "analysis/roofline/roofline.h"
#include "base/minmax.h"
#include "report/peaks.h"

static const char *const class_names[WS_ROOF_CLASS_COUNT] = { "unknown", "compute-bound", "memory-bound",
                                                              "latency-bound", "communication" };
static const char *const source_names[WS_WORK_SOURCES] = {
    "none", "name", "tokens", "arguments", "shape", "counter"
};

const char *ws_work_source_name(enum ws_work_source source)
{
    return source_names[source];
}

/* Writes the share of each part that is not 0, with its name: "NAME 71.3 %, NAME 28.7 %". */
static void list_shares(char *text, size_t capacity, const char *const *names, const int64_t *parts, int count,
                        int64_t whole)
{
    char share[WS_FORMAT_SIZE];
    *text = 0;
    for (int i = count - 1; i >= 0; i--) {
        size_t used = strlen(text);
        if (parts[i])
            snprintf(text + used, capacity - used, "%s%s %s", used ? ", " : "", names[i],
                     ws_format_share(share, parts[i], whole));
    }
}

/* For a calibrated GPU, prints the precisions that the kernels use but whose peak was not measured. */
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

static void print_roofs(const struct ws_report *report, size_t track, const struct ws_track_roofline *result,
                        struct ws_page *page)
{
    char peak[WS_PEAK_TEXT], ridge[40] = "";
    const struct ws_gpu *gpu = &result->gpu;
    if (result->match == WS_GPU_UNKNOWN) {
        ws_page_text(page, "No roofline: %s.", ws_why_no_peaks(report, ws_model_track(report->model, track)));
        return;
    }
    if (ws_gpu_ridge(gpu, result->precision) > 0)
        snprintf(ridge, sizeof(ridge), ", ridge %.0f FLOPs a byte", ws_gpu_ridge(gpu, result->precision));
    ws_page_fact(page, "roofs", "%s, %s%.4g TB/s%s%s", ws_peak_text(gpu, result->precision, peak),
                 gpu->calibrated ? "measured " : "", gpu->bytes_per_ns / 1e3, ridge,
                 gpu->calibrated                         ? ""
                 : result->match == WS_GPU_GIVEN         ? ", as told"
                 : result->match == WS_GPU_BY_CAPABILITY ? " (estimated from a GPU of the same generation)"
                 : result->match == WS_GPU_BY_FIGURES ? " (the GPU has no name; one with the same figures is assumed)"
                                                      : "");
    ws_page_fact(page, "their source", "%s%s", gpu->source,
                 result->match == WS_GPU_CALIBRATED_ON_ANOTHER ? ", on a GPU of this name, maybe not this one" : "");
    print_not_measured(result, page);
}

/* Prints which share of the peak the matrix kernels reach, and on which cores they run. */
static void roofline_print_matmuls(const struct ws_track_roofline *result, struct ws_page *page)
{
    static const char *const cores[WS_MATMUL_CORES_COUNT] = { "not known", "ordinary cores", "tensor cores" };
    char share[WS_FORMAT_SIZE], text[200];
    if (!result->matmul_total)
        return;
    if (result->matmul_of_peak > 0)
        ws_page_fact(page, "matrix work",
                     "reaches %.1f %% of the peak of its precisions, in the %s of its time whose FLOPs are known",
                     100 * result->matmul_of_peak,
                     ws_format_share(share, result->matmul_known, result->matmul_total));
    else if (!result->matmul_known)
        ws_page_fact(page, "matrix work",
                     "FLOPs not known: the trace holds no shapes, parameters or counters of it (PyTorch's profiler "
                     "has them with "
                     "record_shapes=True, wallshim with record --counters)");
    if (result->matmul_by_cores[WS_MATMUL_CORES_UNKNOWN] == result->matmul_total)
        return;
    list_shares(text, sizeof(text), cores, result->matmul_by_cores, WS_MATMUL_CORES_COUNT, result->matmul_total);
    ws_page_fact(page, "runs on", "%s, by the names of the kernels", text);
}

void ws_roofline_flops_from(const struct ws_track_roofline *result, char *text, size_t capacity)
{
    enum { PARTS = 1000000 };
    int64_t parts[WS_WORK_SOURCES];
    for (int i = 0; i < WS_WORK_SOURCES; i++)
        parts[i] = result->step_flops > 0 ? (int64_t)(PARTS * (result->step_flops_from[i] / result->step_flops)) : 0;
    list_shares(text, capacity, source_names, parts, WS_WORK_SOURCES, PARTS);
}

const char *ws_roofline_why_unknown(const struct ws_report *report, size_t track)
{
    const struct ws_track_roofline *result = ws_report_result(report, &ws_analysis_roofline, track);
    const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, track)->process);
    const char *import = ws_process_meta(process, "import");
    if (!import)
        return "the recording holds no sizes for most of them; record --counters measures their work";
    if (2 * result->matmul_in_graphs > result->matmul_total)
        return "most ran in CUDA graphs, where no shapes are recorded: profile a run without graphs, with "
               "record_shapes=True";
    if (result->has_shapes)
        return "wallshim cannot compute the FLOPs of most operators that launched them";
    return !strncmp(import, "Nsight", 6) ? "the trace holds no shapes: wallshim record --counters measures the work"
                                         : "the trace holds no shapes: record with record_shapes=True in "
                                           "torch.profiler, or with wallshim record";
}

static void print_mfu(const struct ws_track_roofline *result, struct ws_page *page)
{
    char length[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], from[200], rest[100] = "", peak[WS_PEAK_TEXT],
                                                                   flops[WS_FORMAT_SIZE];
    int64_t unknown = result->matmul_total - result->matmul_known;
    if (result->step_flops > 0 && unknown > result->matmul_known)
        ws_page_fact(page, "MFU", "not known: FLOPs are known for only %s of the time of matrix work",
                     ws_format_share(share, result->matmul_known, result->matmul_total));
    if (!(result->mfu > 0))
        return;
    ws_roofline_flops_from(result, from, sizeof(from));
    if (unknown > 0)
        snprintf(rest, sizeof(rest), "; not known for %s of the time of matrix work",
                 ws_format_share(share, unknown, result->matmul_total));
    ws_page_fact(page, "MFU", "%s%.3g %%: %s %s of %s at %s; FLOPs from: %s%s", unknown > 0 ? "at least " : "",
                 100 * result->mfu, ws_format_flops(flops, result->step_flops),
                 result->steps ? "in a step" : "in the recording",
                 ws_format_time(length, (int64_t)result->step_length),
                 ws_peak_text(&result->gpu, result->precision, peak), from, rest);
}

static void print_classes(const struct ws_track_roofline *result, struct ws_page *page)
{
    const struct ws_table_column columns[] = { { "kernel time", true, false },
                                               { result->steps ? "a step" : "recording", false, false },
                                               { "share", false, false } };
    char share[WS_FORMAT_SIZE];
    struct ws_table table;
    /* If no kernel has a roofline class, no table is printed. */
    if (result->step_by_class[WS_ROOF_UNKNOWN] == result->step_total)
        return;
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = WS_ROOF_CLASS_COUNT; i >= 0; i--) {
        bool is_sum = i == WS_ROOF_CLASS_COUNT;
        int64_t time = is_sum ? result->step_total : result->step_by_class[i];
        if (!time && !is_sum)
            continue;
        ws_table_cell(&table, "%s", is_sum ? "all" : class_names[i]);
        ws_table_time(&table, time);
        ws_table_cell(&table, "%s", ws_format_share(share, time, result->step_total));
    }
    ws_table_finish(&table);
}

/* Prints a summary of the report's section Chains (kernels that one fused kernel could replace). */
static void print_fusion(const struct ws_track_chains *chains, struct ws_page *page)
{
    char time[WS_FORMAT_SIZE], bytes[WS_FORMAT_SIZE], waste[80] = "";
    struct ws_chains_sum sum = ws_chains_sum(chains);
    if (!sum.chains)
        return;
    if (sum.waste >= 1)
        snprintf(waste, sizeof(waste), ", %s moved again where that is known",
                 ws_format_bytes(bytes, (uint64_t)(sum.waste < 1e18 ? sum.waste : 1e18)));
    ws_page_fact(page, "fusion", "up to %s%s to win with %zu %s of chains%s: see Chains",
                 ws_format_time(time, ws_sum(sum.kernels, sum.gaps)), chains->steps ? " a step" : "", sum.chains,
                 sum.chains == 1 ? "kind" : "kinds", waste);
}

static void print_facts(const struct ws_report *report, size_t subject, const struct ws_track_roofline *result,
                        struct ws_page *page)
{
    print_roofs(report, subject, result, page);
    roofline_print_matmuls(result, page);
    print_mfu(result, page);
}

/* Returns the text in the trace that tells which hardware counters the shim read, or NULL if the user asked for no
 * counters. */
static const char *counters_summary(const struct ws_report *report, size_t subject)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    return ws_process_meta(ws_model_process(report->model, track->process), "counters");
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
    size_t count = 0;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->rows.count; i++) {
        const struct ws_roofline_row *row = &rows[i];
        if (result->match == WS_GPU_UNKNOWN && !(row->flops > 0 || row->bytes > 0))
            continue;
        if (count++ >= ws_page_rows(page, result->rows.count))
            continue;
        double known = row->known > 0 ? (double)row->known : 1;
        ws_table_time(&table, row->total);
        ws_table_cell(&table, "%s", class_names[row->class]);
        ws_table_real(&table, row->bytes > 0 ? row->flops / row->bytes : 0);
        ws_table_real(&table, row->flops / known / 1e3);
        ws_table_real(&table, row->bytes / known / 1e3);
        if (ws_roofline_of_roof(row) > 0)
            ws_table_cell(&table, "%.1f %%%s", 100 * ws_roofline_of_roof(row),
                          row->inconsistent ? " !"
                          : row->cached     ? " cache"
                                            : "");
        else
            ws_table_cell(&table, "–");
        ws_table_cell(&table, "%s", source_names[row->source]);
        ws_table_name(&table, ws_model_name(report->model, row->name)->text);
    }
    if (table.cells.count)
        fputc('\n', page->out);
    ws_table_finish(&table);
    ws_page_more(page, count, "");
}

/* A note below the table of kernels. `first` is the index of the first kernel to which the note applies, and `count`
 * is the number of these kernels. */
struct note {
    const char *text;
    size_t first, count;
};

enum { NOTES_MOST = 16 };

static void add_note(struct note notes[NOTES_MOST], const char *text, size_t row)
{
    size_t i = 0;
    while (i < NOTES_MOST && notes[i].text && strcmp(notes[i].text, text) != 0)
        i++;
    if (i == NOTES_MOST)
        return;
    if (!notes[i].count++)
        notes[i] = (struct note){ text, row, 1 };
}

static void print_note(const struct ws_report *report, const struct ws_track_roofline *result,
                       const struct note *note, struct ws_page *page)
{
    const struct ws_roofline_row *rows = result->rows.data;
    const char *name = ws_model_name(report->model, rows[note->first].name)->text;
    char title[4096], more[40] = "";
    bool warns = note->text[0] == '!';
    ws_kernel_shown(title, sizeof(title), name, page->wide);
    if (note->count > 1)
        snprintf(more, sizeof(more), " and %zu more", note->count - 1);
    ws_page_text(page, "%s%s%s: %s", warns ? "! " : "", title, more, note->text + (warns ? 2 : 0));
}

static void roofline_print_notes(const struct ws_report *report, const struct ws_track_roofline *result,
                                 struct ws_page *page)
{
    const struct ws_roofline_row *rows = result->rows.data;
    struct note notes[NOTES_MOST] = { 0 };
    char text[200];
    for (size_t i = 0; i < result->rows.count; i++) {
        if (rows[i].inconsistent && rows[i].shortcut == WS_SHORTCUT_TAKEN) {
            add_note(notes,
                     "! above a roof, which is no error: the Winograd and FFT algorithms need fewer FLOPs than "
                     "the direct convolution that is counted",
                     i);
        } else if (rows[i].inconsistent) {
            snprintf(
                text, sizeof(text),
                "! %.0f %% of a roof is impossible: do not trust its figures; it worked on other sizes than were "
                "recorded, or its time is wrong",
                100 * ws_roofline_of_roof(&rows[i]));
            print_note(report, result, &(struct note){ text, i, 1 }, page);
        } else if (rows[i].note) {
            add_note(notes, rows[i].note, i);
        }
    }
    for (size_t i = 0; i < NOTES_MOST && notes[i].text; i++)
        print_note(report, result, &notes[i], page);
}

void ws_roofline_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_roofline *result = memory;
    if (!result->rows.count) {
        ws_page_text(page, "No kernel has device times.");
        return;
    }
    print_facts(report, subject, result, page);
    if (counters_summary(report, subject))
        ws_page_fact(page, "counters", "%s", counters_summary(report, subject));
    print_fusion(ws_report_result(report, &ws_analysis_chains, subject), page);
    print_classes(result, page);
    print_rows(report, result, page);
    roofline_print_notes(report, result, page);
    ws_gemms_text(result, page);
}

static json_t *roofline_row_json(const struct ws_track_roofline *result, const struct ws_roofline_row *row)
{
    json_t *object = json_object();
    double known = (double)row->known;
    int status = json_object_set_new(object, "class", json_string(class_names[row->class]));
    status |= json_object_set_new(object, "source", json_string(source_names[row->source]));
    status |= json_object_set_new(object, "inconsistent", json_boolean(row->inconsistent));
    if (row->flops > 0 || row->bytes > 0) {
        status |= json_object_set_new(object, "precision", json_string(ws_precision_name(row->precision)));
        status |= ws_json_set(object, "known_ns", row->known);
        status |= ws_json_set_amount(object, "flops", row->flops);
        status |= ws_json_set_amount(object, "bytes", row->bytes);
        status |= ws_json_set_real(object, "intensity", row->bytes > 0 ? row->flops / row->bytes : 0);
        status |= ws_json_set_real(object, "flops_per_s", known > 0 ? row->flops / known * 1e9 : 0);
        status |= ws_json_set_real(object, "bytes_per_s", known > 0 ? row->bytes / known * 1e9 : 0);
        status |= ws_json_set_real(object, "of_compute", row->of_compute);
        if (row->of_compute > 0)
            status |= json_object_set_new(object, "peak_source",
                                          json_string(ws_peak_source(result->match, &result->gpu, row->precision)));
        status |= ws_json_set_real(object, "of_memory", row->of_memory);
        status |= json_object_set_new(object, "cached", json_boolean(row->cached));
    }
    if (row->note)
        status |= json_object_set_new(object, "note", ws_json_text(row->note));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

/* Adds the roofline of each kernel to its row in the JSON list `kernels`. */
static int add_to_kernels(const struct ws_report *report, size_t subject, const struct ws_track_roofline *result,
                          json_t *object)
{
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, subject);
    const struct ws_kernel_row *names = kernels->rows.data;
    const struct ws_roofline_row *rows = result->rows.data;
    json_t *list = json_object_get(object, "kernels");
    /* `kernels` and `result` are sorted in the same way: by total time and name. But `kernels` also has copies and
     * memsets, which have no roofline. */
    for (size_t i = 0, at = 0; i < kernels->rows.count && at < result->rows.count; i++)
        if (names[i].name == rows[at].name &&
            json_object_set_new(json_array_get(list, i), "roofline", roofline_row_json(result, &rows[at++])))
            return -ENOMEM;
    return 0;
}

static int roofline_add_classes(json_t *object, const char *key, const int64_t *parts)
{
    json_t *classes = json_object();
    int status = json_object_set_new(object, key, classes);
    for (int i = 0; i < WS_ROOF_CLASS_COUNT; i++)
        status |= ws_json_set(classes, class_names[i], parts[i]);
    return status;
}

static int add_flops(const struct ws_track_roofline *result, json_t *object)
{
    json_t *from = json_object();
    int status = json_object_set_new(object, "step_flops_from", from);
    for (int i = 0; i < WS_WORK_SOURCES; i++)
        status |= ws_json_set_amount(from, source_names[i], result->step_flops_from[i]);
    return status;
}

int ws_roofline_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_roofline *result = memory;
    json_t *roofline = json_object();
    int status = json_object_set_new(object, "roofline", roofline);
    status |= roofline_add_classes(roofline, "time_by_class", result->by_class);
    status |= ws_json_set(roofline, "kernel_ns", result->total);
    status |= roofline_add_classes(roofline, "step_time_by_class", result->step_by_class);
    status |= ws_json_set(roofline, "step_kernel_ns", result->step_total);
    status |= ws_json_set(roofline, "matmul_ns", result->matmul_total);
    status |= ws_json_set(roofline, "matmul_known_ns", result->matmul_known);
    status |= ws_json_set_amount(roofline, "matmul_flops", result->matmul_flops);
    status |= ws_json_set_real(roofline, "matmul_of_peak", result->matmul_of_peak);
    status |= ws_json_set(roofline, "tensor_cores_ns", result->matmul_by_cores[WS_MATMUL_CORES_TENSOR]);
    status |= ws_json_set(roofline, "ordinary_cores_ns", result->matmul_by_cores[WS_MATMUL_CORES_ORDINARY]);
    status |= ws_json_set_amount(roofline, "step_flops", result->step_flops);
    status |= add_flops(result, roofline);
    status |= ws_json_set_real(roofline, "mfu", result->mfu);
    if (counters_summary(report, subject))
        status |= json_object_set_new(roofline, "counters", ws_json_text(counters_summary(report, subject)));
    if (result->match != WS_GPU_UNKNOWN) {
        status |= json_object_set_new(roofline, "gpu", ws_json_text(result->gpu.name));
        status |= json_object_set_new(roofline, "gpu_source", ws_json_text(result->gpu.source));
        status |= json_object_set_new(roofline, "gpu_estimated", json_boolean(result->match == WS_GPU_BY_CAPABILITY));
        status |= json_object_set_new(roofline, "precision", json_string(ws_precision_name(result->precision)));
        status |= ws_json_set_real(roofline, "peak_flops_per_s", ws_gpu_peak(&result->gpu, result->precision) * 1e9);
        status |= ws_json_set_real(roofline, "bytes_per_s", result->gpu.bytes_per_ns * 1e9);
        status |= json_object_set_new(roofline, "peak_source",
                                      json_string(ws_peak_source(result->match, &result->gpu, result->precision)));
        status |= json_object_set_new(roofline, "bandwidth_source",
                                      json_string(ws_bandwidth_source(result->match, &result->gpu)));
        if (result->gpu.calibrated)
            status |= json_object_set_new(roofline, "calibrated", ws_json_text(result->gpu.calibrated));
        status |= ws_json_set_real(roofline, "ridge", ws_gpu_ridge(&result->gpu, result->precision));
    }
    status |= ws_gemms_json(report, result, roofline);
    return status || add_to_kernels(report, subject, result, object) ? -ENOMEM : 0;
}
