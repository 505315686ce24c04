#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/salted.h"
#include "report/results.h"
#include "report/run.h"

static int classify_names(struct ws_report *report)
{
    const struct ws_model *model = report->model;
    report->classes = calloc(model->names.count + 1, 1);
    if (!report->classes)
        return -ENOMEM;
    for (size_t i = 0; i < model->names.count; i++)
        report->classes[i] = report->analyses->class_of(ws_model_name(model, i));
    return 0;
}

/* Sets report->rank_names. The title of a process is its rank if no other process has the same rank. */
static int name_by_rank(struct ws_report *report)
{
    size_t count = report->model->processes.count;
    struct ws_map claimed = { 0 }; /* hash of a rank → number of processes that have it */
    int status = 0;
    report->rank_names = calloc(count + 1, sizeof(*report->rank_names));
    uint64_t *hashes = calloc(count + 1, sizeof(*hashes));
    if (!report->rank_names || !hashes)
        status = -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        const char *rank = ws_process_meta(ws_model_process(report->model, i), "rank");
        hashes[i] = rank && *rank ? ws_hash_key(rank, strlen(rank)) : 0;
        uint64_t *place = hashes[i] ? ws_salted_put(&claimed, hashes[i]) : NULL;
        if (place)
            ++*place;
        else if (hashes[i])
            status = -ENOMEM;
    }
    for (size_t i = 0; i < count && !status; i++)
        report->rank_names[i] = hashes[i] && *ws_salted_get(&claimed, hashes[i]) == 1;
    ws_map_finish(&claimed);
    free(hashes);
    return status;
}

int ws_report_create(struct ws_report **result, const struct ws_model *model, const struct ws_analyses *analyses,
                     const struct ws_report_options *options)
{
    struct ws_report *report = calloc(1, sizeof(*report));
    if (!report)
        return -ENOMEM;
    report->model = model;
    report->analyses = analyses;
    report->stride = results_stride(report);
    report->top = options->top;
    report->gpu = options->gpu;
    report->calibrations = options->calibrations;
    report->steps = options->steps;
    report->window = options->window;
    int status = -ENOMEM;
    report->results = calloc(analyses->count * report->stride + 1, sizeof(*report->results));
    if (!report->results || classify_names(report) || name_by_rank(report))
        goto failed;
    for (size_t i = 0; i < analyses->count; i++) {
        size_t subjects = results_subjects(report, analyses->list[i]->scope);
        for (size_t subject = 0; subject < subjects; subject++) {
            void *empty = calloc(1, analyses->list[i]->result_size + 1);
            if (!empty)
                goto failed;
            report->results[i * report->stride + subject] = empty;
        }
    }
    status = ws_report_run(report, options->threads);
    if (status)
        goto failed;
    *result = report;
    return 0;
failed:
    ws_report_destroy(report);
    return status;
}

void ws_report_destroy(struct ws_report *report)
{
    if (!report)
        return;
    size_t places = report->analyses->count * report->stride;
    for (size_t i = 0; report->results && i < places; i++) {
        const struct ws_analysis *analysis = report->analyses->list[i / report->stride];
        if (report->results[i] && analysis->finish)
            analysis->finish(report->results[i]);
        free(report->results[i]);
    }
    free(report->results);
    free(report->classes);
    free(report->rank_names);
    free(report);
}
