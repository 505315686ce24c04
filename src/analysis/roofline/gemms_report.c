#include "analysis/roofline/gemms_report.h"

#include <errno.h>
#include <stdlib.h>

#include "base/minmax.h"

static size_t shown_of(const struct ws_vector *rows, size_t top)
{
    return top && top < rows->count ? top : rows->count;
}

static double gemms_report_rate_of(const struct ws_gemm_row *row)
{
    return row->total > 0 ? row->flops / (double)row->total : 0;
}

static void add_rate(struct ws_table *table, const struct ws_track_roofline *result, const struct ws_gemm_row *row)
{
    double peak = result->match ? ws_gpu_peak(&result->gpu, row->precision) : 0;
    ws_table_cell(table, "%s", ws_precision_name(row->precision));
    ws_table_real(table, gemms_report_rate_of(row) / 1e3);
    if (peak > 0)
        ws_table_cell(table, "%.1f %%", 100 * gemms_report_rate_of(row) / peak);
    else
        ws_table_cell(table, "–");
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
    const struct ws_gemm_row *rows = result->gemms.data;
    struct ws_table table;
    if (!result->gemms.count)
        return;
    fputc('\n', page->out);
    ws_page_text(page, "GEMMs by size:");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->gemms.count); i++) {
        const struct ws_operator_cost *cost = &rows[i].cost;
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_cell(&table, "%.0f", cost->m);
        ws_table_cell(&table, "%.0f", cost->n);
        ws_table_cell(&table, "%.0f", cost->k);
        ws_table_cell(&table, "%.0f", cost->batch);
        add_rate(&table, result, &rows[i]);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->gemms.count, "size");
}

static void print_attention(const struct ws_track_roofline *result, struct ws_page *page)
{
    static const char *const causal[] = { "not known", "no", "yes", "yes" };
    static const char *const counted[] = { "in full", "in full", "half", "in full" };
    static const struct ws_table_column columns[] = {
        { "total", false, false },
        { "count", false, false },
        { "batch", false, WS_NARROW_LEAVE_OUT },
        { "heads", false, false },
        { "queries", false, false },
        { "keys", false, false },
        { "of", false, WS_NARROW_LEAVE_OUT },
        { "causal", true, false },
        { "counted", true, false },
        { "type", true, false },
        { "TFLOP/s", false, WS_NARROW_LEAVE_OUT },
        { "of peak", false, false },
    };
    const struct ws_gemm_row *rows = result->attention.data;
    struct ws_table table;
    if (!result->attention.count)
        return;
    fputc('\n', page->out);
    ws_page_text(page, "Attention by size; causal attention needs half of the FLOPs, and only these are counted:");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->attention.count); i++) {
        const struct ws_operator_cost *cost = &rows[i].cost;
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_cell(&table, "%.0f", cost->batch);
        ws_table_cell(&table, "%.0f", cost->heads);
        ws_table_cell(&table, "%.0f", cost->queries);
        ws_table_cell(&table, "%.0f", cost->keys);
        ws_table_cell(&table, "%.0f", cost->head_size);
        ws_table_cell(&table, "%s%s", causal[cost->causal], cost->backward ? ", backward" : "");
        ws_table_cell(&table, "%s", counted[cost->causal]);
        add_rate(&table, result, &rows[i]);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->attention.count, "size");
}

/* A GEMM and the reason why it is slow. Arrays of this struct are sorted by saving. */
struct held_back {
    const struct ws_gemm_row *row;
    struct ws_gemm_finding finding;
};

static int most_to_win(const void *a, const void *b)
{
    const struct held_back *x = a, *y = b;
    if (x->finding.saving != y->finding.saving)
        return x->finding.saving < y->finding.saving ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static int find_held_back(const struct ws_track_roofline *result, struct ws_vector *list)
{
    const struct ws_gemm_row *rows = result->gemms.data;
    for (size_t i = 0; i < result->gemms.count && result->match; i++) {
        struct held_back item = { &rows[i], ws_gemm_judge(result, &rows[i]) };
        if (item.finding.issue == WS_GEMM_FINE || !item.finding.saving)
            continue;
        struct held_back *added = ws_vector_push(list);
        if (!added)
            return -ENOMEM;
        *added = item;
    }
    if (list->count)
        qsort(list->data, list->count, sizeof(struct held_back), most_to_win);
    return 0;
}

static void add_reason(struct ws_table *table, const struct held_back *item)
{
    static const char *const reasons[WS_GEMM_ISSUES] = {
        [WS_GEMM_NO_TF32] = "ordinary cores: TF32 not used",
        [WS_GEMM_MISSES] = "ordinary cores: its sizes",
        [WS_GEMM_MISSES_FIT] = "ordinary cores, though sizes fit",
        [WS_GEMM_SLOW] = "its sizes",
    };
    uint32_t load = item->row->matmul.load * ws_precision_bits(item->row->precision) / 8;
    if (item->finding.issue == WS_GEMM_SLOW && load)
        ws_table_cell(table, "loads of %u bytes, not 16", load);
    else
        ws_table_cell(table, "%s", reasons[item->finding.issue]);
}

static void print_held_back(const struct ws_track_roofline *result, const struct ws_vector *list,
                            struct ws_page *page)
{
    static const char *const judges[] = { "the same share of peak", "GEMMs like it", "roof" };
    static const struct ws_table_column columns[] = {
        { "to win", false, false },
        { "of", false, WS_NARROW_LEAVE_OUT },
        { "m × n × k", true, false },
        { "type", true, WS_NARROW_LEAVE_OUT },
        { "held back by", true, WS_NARROW_SHORTEN | WS_NARROW_LEAVE_OUT },
        { "pad to", true, false },
        { "judged by", true, WS_NARROW_LEAVE_OUT },
    };
    const struct held_back *items = list->data;
    struct ws_table table;
    fputc('\n', page->out);
    ws_page_text(
        page,
        "GEMMs that do not run on tensor cores, or run slowly because of their sizes%s. \"to win\" is an upper "
        "limit. GEMMs on other cores are judged by the same share of the tensor cores' peak as they reach of their "
        "own cores' peak. GEMMs on tensor cores are judged by the rate that GEMMs of aligned sizes reach here, else "
        "by "
        "the roof. Aligned sizes are multiples of 16 bytes; from the A100 on, multiples of 128 bytes are best.",
        result->steps ? ", per steady step" : "");
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, list->count); i++) {
        const struct ws_operator_cost *cost = &items[i].row->cost;
        const struct ws_gemm_finding *finding = &items[i].finding;
        bool is_padded = finding->m > cost->m || finding->n > cost->n || finding->k > cost->k;
        ws_table_time(&table, finding->saving);
        ws_table_time(&table, items[i].row->steady);
        ws_table_cell(&table, "%.0f × %.0f × %.0f", cost->m, cost->n, cost->k);
        ws_table_cell(&table, "%s", ws_precision_name(items[i].row->precision));
        add_reason(&table, &items[i]);
        if (is_padded)
            ws_table_cell(&table, "%.0f × %.0f × %.0f", finding->m, finding->n, finding->k);
        else
            ws_table_cell(&table, "–");
        ws_table_cell(&table, "%s", judges[finding->judge]);
    }
    ws_table_finish(&table);
    ws_page_more(page, list->count, "size");
}

void ws_gemms_text(const struct ws_track_roofline *result, struct ws_page *page)
{
    struct ws_vector held_back = WS_VECTOR(struct held_back);
    print_products(result, page);
    print_attention(result, page);
    if (!find_held_back(result, &held_back) && held_back.count)
        print_held_back(result, &held_back, page);
    ws_vector_finish(&held_back);
}

static int add_common(const struct ws_report *report, const struct ws_gemm_row *row, json_t *object)
{
    int status = ws_json_set(object, "batch", (int64_t)row->cost.batch);
    status |= json_object_set_new(object, "kernel", ws_json_text(ws_model_name(report->model, row->name)->text));
    status |= json_object_set_new(object, "precision", json_string(ws_precision_name(row->precision)));
    status |= ws_json_set(object, "count", (int64_t)row->count);
    status |= ws_json_set(object, "total_ns", row->total);
    status |= ws_json_set(object, "step_ns", row->steady);
    status |= json_object_set_new(object, "flops", ws_json_amount(row->flops));
    return status;
}

static int gemms_add_finding(const struct ws_track_roofline *result, const struct ws_gemm_row *row, json_t *object)
{
    struct ws_gemm_finding finding = { .issue = WS_GEMM_FINE };
    json_t *issue;
    if (result->match)
        finding = ws_gemm_judge(result, row);
    if (finding.issue == WS_GEMM_FINE)
        return 0;
    issue = json_object();
    int status = json_object_set_new(object, "held_back", issue);
    status |= json_object_set_new(issue, "by", json_string(ws_gemm_issue_name(finding.issue)));
    status |= ws_json_set(issue, "m", (int64_t)finding.m);
    status |= ws_json_set(issue, "n", (int64_t)finding.n);
    status |= ws_json_set(issue, "k", (int64_t)finding.k);
    status |= ws_json_set(issue, "saving_ns", finding.saving);
    status |= json_object_set_new(issue, "judged_by", json_string(ws_gemm_judge_name(finding.judge)));
    return status;
}

static int gemms_add_product(const struct ws_report *report, const struct ws_track_roofline *result,
                             const struct ws_gemm_row *row, json_t *object)
{
    int status = ws_json_set(object, "m", (int64_t)row->cost.m);
    status |= ws_json_set(object, "n", (int64_t)row->cost.n);
    status |= ws_json_set(object, "k", (int64_t)row->cost.k);
    status |= ws_json_set(object, "ordinary_cores_ns", row->ordinary);
    return status | add_common(report, row, object) | gemms_add_finding(result, row, object);
}

static int add_attention(const struct ws_report *report, const struct ws_track_roofline *result,
                         const struct ws_gemm_row *row, json_t *object)
{
    static const char *const causal[] = { "unknown", "no", "yes", "yes" };
    const struct ws_operator_cost *cost = &row->cost;
    (void)result;
    int status = ws_json_set(object, "heads", (int64_t)cost->heads);
    status |= ws_json_set(object, "queries", (int64_t)cost->queries);
    status |= ws_json_set(object, "keys", (int64_t)cost->keys);
    status |= ws_json_set(object, "head_size", (int64_t)cost->head_size);
    status |= json_object_set_new(object, "causal", json_string(causal[cost->causal]));
    status |= json_object_set_new(object, "halved", json_boolean(cost->causal == WS_CAUSAL_HALVED));
    status |= json_object_set_new(object, "backward", json_boolean(cost->backward));
    return status | add_common(report, row, object);
}

typedef int add_row(const struct ws_report *report, const struct ws_track_roofline *result,
                    const struct ws_gemm_row *row, json_t *object);

static int add_list(const struct ws_report *report, const struct ws_track_roofline *result,
                    const struct ws_vector *of, const char *key, add_row *add, json_t *roofline)
{
    const struct ws_gemm_row *rows = of->data;
    json_t *list = json_array();
    int status = json_object_set_new(roofline, key, list);
    for (size_t i = 0; i < shown_of(of, report->top) && !status; i++) {
        json_t *row = json_object();
        status = json_array_append_new(list, row);
        status |= add(report, result, &rows[i], row);
    }
    return status;
}

int ws_gemms_json(const struct ws_report *report, const struct ws_track_roofline *result, json_t *roofline)
{
    int status = add_list(report, result, &result->gemms, "products", gemms_add_product, roofline);
    status |= add_list(report, result, &result->attention, "attention", add_attention, roofline);
    return status ? -ENOMEM : 0;
}
