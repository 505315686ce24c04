#include <errno.h>
#include <stdio.h>

#include "analysis/activity/activity.h"
#include "analysis/roofline/unfused.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "model/source_code.h"

/* A fusion gets no advice if it saves less than this percentage of a step's time, or of the recording if there are no
 * steady steps. */
enum { LEAST_PERCENT = 1 };

static const char fuse[] =
    "replace attention that is written as matrix product, softmax, matrix product by a fused kernel: "
    "torch.nn.functional.scaled_dot_product_attention (SDPA, FlashAttention)";

static uint64_t unfused_steps(const struct ws_track_unfused *result)
{
    return result->steps ? result->steps : 1;
}

/* Returns the sums over all patterns that are certain enough (ws_unfused_counts). */
static struct ws_unfused sum_of(const struct ws_track_unfused *result)
{
    const struct ws_unfused *patterns = result->patterns.data;
    struct ws_unfused sum = { .count = 0 };
    for (size_t i = 0; i < result->patterns.count; i++) {
        if (!ws_unfused_counts(result, &patterns[i]))
            continue;
        sum.example = sum.count ? sum.example : patterns[i].example;
        sum.first = sum.count ? sum.first : patterns[i].first;
        sum.count += patterns[i].count;
        sum.between = ws_sum(sum.between, patterns[i].between);
        sum.products = ws_sum(sum.products, patterns[i].products);
        sum.bytes += patterns[i].bytes;
    }
    return sum;
}

static void write_evidence(const struct ws_track_unfused *result, const struct ws_unfused *sum, char *text,
                           size_t capacity)
{
    char count[WS_FORMAT_SIZE], bytes[WS_FORMAT_SIZE], products[WS_FORMAT_SIZE], scores[200] = "";
    const char *a_step = result->steps ? " a step" : "";
    double saved = ws_min(sum->bytes / (double)unfused_steps(result), 1e18);
    if (sum->first.m > 0)
        snprintf(scores, sizeof(scores),
                 ", mostly %.6g × %.6g × %.6g scores; a fused kernel keeps them on the chip, which saves %s%s of "
                 "writing and reading",
                 sum->first.batch, sum->first.m, sum->first.n, ws_format_bytes(bytes, (uint64_t)saved), a_step);
    snprintf(text, capacity, "%s times%s%s; the products, %s%s, would get faster, too%s",
             ws_format_each(count, sum->count, result->steps), a_step, scores,
             ws_format_time(products, sum->products / (int64_t)unfused_steps(result)), a_step,
             sum->first.m > 0 ? "" : "; by names and order alone, not confirmed by sizes");
}

int ws_unfused_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_unfused *result = memory;
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    struct ws_unfused sum = sum_of(result);
    int64_t saving = sum.between / (int64_t)unfused_steps(result);
    int64_t length = result->steps ? steps->mean : ws_activity_known(activity);
    char where[256], code[WS_SOURCE_CODE], evidence[320];
    if (!sum.count || saving < length / 100 * LEAST_PERCENT)
        return 0;
    ws_source_of_op(process, sum.example, where, sizeof(where));
    ws_source_code_of_op(process, sum.example, code);
    write_evidence(result, &sum, evidence, sizeof(evidence));
    return ws_advice_add(list, &(struct ws_advice){ .name = "unfused_attention",
                                                    .part = WS_PART_OTHER_COMPUTE,
                                                    .saving_ns = saving,
                                                    .what = (char *)fuse,
                                                    .where = where,
                                                    .code = code,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)subject });
}

int ws_unfused_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_unfused *result = memory;
    const struct ws_unfused *patterns = result->patterns.data;
    json_t *list = json_array();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "unfused_attention", list);
    for (size_t i = 0; i < result->patterns.count && !status; i++) {
        if (!ws_unfused_counts(result, &patterns[i]))
            continue;
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= ws_json_set(row, "count", (int64_t)patterns[i].count);
        status |= ws_json_set(row, "between_ns", patterns[i].between);
        status |= ws_json_set(row, "products_ns", patterns[i].products);
        if (patterns[i].first.m > 0) {
            status |= ws_json_set_amount(row, "batch", patterns[i].first.batch);
            status |= ws_json_set_amount(row, "rows", patterns[i].first.m);
            status |= ws_json_set_amount(row, "columns", patterns[i].first.n);
            status |= ws_json_set_amount(row, "bytes", patterns[i].bytes);
        }
    }
    return status ? -ENOMEM : 0;
}
