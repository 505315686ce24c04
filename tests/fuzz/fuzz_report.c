/* Fuzz target: the input is rows of one or several processes (rows.h). From them the target makes all that a trace
 * can become: file, model, report as text and as JSON, comparison, exports. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/analyses.h"
#include "compare/compare.h"
#include "export/registry.h"
#include "rows.h"
#include "trace/writer.h"

enum { PROCESSES = 4, ROWS_MOST = 1024, NAME = 64, MESSAGE = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct job {
    char paths[PROCESSES][NAME];
    const char *names[PROCESSES];
    size_t count;
    size_t rows;
    struct ws_writer *writer; /* writer of the last process */
};

#define MUST(holds) must(holds, #holds)

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void begin_process(struct job *job)
{
    const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char *path = job->paths[job->count];
    snprintf(path, NAME, "%s/fuzz_report.%d.%zu.wst", folder, (int)getpid(), job->count);
    job->names[job->count++] = path;
    unlink(path);
    MUST(!ws_writer_create(&job->writer, path));
}

static void add(struct job *job, enum ws_family family, const void *row)
{
    if (job->rows++ < ROWS_MOST)
        MUST(!ws_writer_add(job->writer, family, row));
}

static void write_job(struct job *job, const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    struct rows_item item, last = { .what = ROWS_PROCESS };
    begin_process(job);
    while (data && job->rows < ROWS_MOST && (data = rows_take(data, end, &item))) {
        if (item.what == ROWS_PROCESS && job->count < PROCESSES) {
            MUST(!ws_writer_close(job->writer));
            begin_process(job);
        } else if (item.what == ROWS_REPEAT && last.what < WS_FAMILY_COUNT) {
            for (uint16_t i = 0; i < item.more && job->rows < ROWS_MOST; i++) {
                rows_advance((enum ws_family)last.what, last.row, item.step);
                add(job, (enum ws_family)last.what, last.row);
            }
        } else if (item.what < WS_FAMILY_COUNT) {
            add(job, (enum ws_family)item.what, item.row);
            last = item;
        }
    }
    MUST(!ws_writer_close(job->writer));
}

static void compare(const struct ws_report *report, struct ws_page *page)
{
    struct ws_report_side sides[2] = { 0 };
    struct ws_comparison comparison;
    char message[MESSAGE];
    MUST(!ws_report_side_init(&sides[0], report) && !ws_report_side_init(&sides[1], report));
    if (!ws_compare(&comparison, &sides[0], &sides[1], message, sizeof(message))) {
        ws_comparison_print(&comparison, page);
        json_t *json = ws_comparison_json(&comparison);
        MUST(json && !json_dumpf(json, page->out, 0));
        json_decref(json);
    }
    ws_comparison_finish(&comparison);
    ws_report_side_finish(&sides[0]);
    ws_report_side_finish(&sides[1]);
}

static void make_report(const struct job *job, FILE *out)
{
    static const struct ws_report_options options = { .top = 5, .threads = 1 };
    struct ws_page page = { .out = out, .width = 80, .all = true, .top = 5 };
    struct ws_model *model;
    struct ws_report *report;
    char message[MESSAGE];
    MUST(!ws_model_create(&model, job->names, job->count, NULL, message, sizeof(message)));
    MUST(!ws_report_create(&report, model, &ws_all_analyses, &options));
    ws_report_print(report, &page, NULL, 0);
    ws_report_print_summary(report, &page);
    json_t *json = ws_report_json(report);
    MUST(json && !json_dumpf(json, out, JSON_REAL_PRECISION(9)));
    json_decref(json);
    compare(report, &page);
    ws_report_destroy(report);
    ws_model_destroy(model);
}

static void export_all(const struct job *job, FILE *out)
{
    static const struct ws_model_options options = { .references_only = true };
    struct ws_model *model;
    char message[MESSAGE];
    MUST(!ws_model_create(&model, job->names, job->count, &options, message, sizeof(message)));
    for (size_t i = 0; i < ws_export_format_count; i++)
        MUST(!ws_export_formats[i]->write(model, out, NULL, message, sizeof(message)));
    ws_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    struct job job = { 0 };
    if (!out)
        out = fopen("/dev/null", "w");
    write_job(&job, data, size);
    make_report(&job, out);
    export_all(&job, out);
    for (size_t i = 0; i < job.count; i++)
        unlink(job.paths[i]);
    return 0;
}
