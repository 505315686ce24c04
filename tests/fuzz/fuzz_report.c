/* Fuzz target: the input is rows of one or several processes (rows.h). The trace of these rows goes through the
 * model, all analyses, the full report, the default page, JSON and a comparison with itself. */
#include <stdint.h>
#include <stdio.h>

#include "analysis/analyses.h"
#include "compare/compare.h"
#include "rows_job.h"

enum { MESSAGE = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct ws_report *report, struct ws_page *page)
{
    struct ws_report_side sides[2] = { 0 };
    struct ws_comparison comparison;
    char message[MESSAGE];
    ROWS_MUST(!ws_report_side_init(&sides[0], report) && !ws_report_side_init(&sides[1], report));
    if (!ws_compare(&comparison, &sides[0], &sides[1], message, sizeof(message))) {
        ws_comparison_print(&comparison, page);
        json_t *json = ws_comparison_json(&comparison);
        ROWS_MUST(json && !json_dumpf(json, page->out, 0));
        json_decref(json);
    }
    ws_comparison_finish(&comparison);
    ws_report_side_finish(&sides[0]);
    ws_report_side_finish(&sides[1]);
}

static void make_report(const struct rows_job *job, FILE *out)
{
    static const struct ws_report_options options = { .top = 5, .threads = 1 };
    struct ws_page page = { .out = out, .width = 80, .all = true, .top = 5 };
    struct ws_model *model;
    struct ws_report *report;
    char message[MESSAGE];
    ROWS_MUST(!ws_model_create(&model, job->names, job->count, NULL, message, sizeof(message)));
    ROWS_MUST(!ws_report_create(&report, model, &ws_all_analyses, &options));
    ws_report_print(report, &page, NULL, 0);
    ws_report_print_summary(report, &page);
    json_t *json = ws_report_json(report);
    ROWS_MUST(json && !json_dumpf(json, out, JSON_REAL_PRECISION(9)));
    json_decref(json);
    compare(report, &page);
    ws_report_destroy(report);
    ws_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    struct rows_job job;
    if (!out)
        out = fopen("/dev/null", "w");
    rows_job_write(&job, data, size);
    make_report(&job, out);
    rows_job_remove(&job);
    return 0;
}
