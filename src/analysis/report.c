#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/registry.h"
#include "analysis/wall.h"
#include "base/hash.h"
#include "base/salted.h"

/* Analyses run as tasks: one for each analysis and subject. Those of an analysis begin in the order of its subjects,
 * so that a task is found without a look at all of them. */
struct work {
    struct ws_report *report;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool *done;     /* by analysis and subject */
    size_t *begun;  /* subjects an analysis has been begun for, the first ones */
    size_t *undone; /* subjects it has still to be run for */
    size_t *behind; /* analyses that wait for it in a row */
    size_t stride;  /* subjects an analysis */
    size_t left;
    int status;
};

static size_t subject_count(const struct ws_model *model, enum ws_scope scope)
{
    switch (scope) {
    case WS_SCOPE_TRACK:
        return model->tracks.count;
    case WS_SCOPE_PROCESS:
        return model->processes.count;
    case WS_SCOPE_JOB:
        return 1;
    }
    return 0;
}

static size_t stride_of(const struct ws_model *model)
{
    size_t stride = 1;
    for (int scope = WS_SCOPE_TRACK; scope <= WS_SCOPE_JOB; scope++)
        if (subject_count(model, (enum ws_scope)scope) > stride)
            stride = subject_count(model, (enum ws_scope)scope);
    return stride;
}

static size_t place_of(const struct ws_analysis *analysis)
{
    size_t place = 0;
    while (ws_analyses[place] != analysis)
        place++;
    return place;
}

const void *ws_report_result(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject)
{
    return report->results[place_of(analysis) * stride_of(report->model) + subject];
}

static bool is_done(const struct work *work, const struct ws_analysis *analysis, size_t subject)
{
    return work->done[place_of(analysis) * work->stride + subject];
}

/* Is it done for every subject? */
static bool is_done_throughout(const struct work *work, const struct ws_analysis *analysis)
{
    return !work->undone[place_of(analysis)];
}

static bool may_run(const struct work *work, const struct ws_analysis *analysis, size_t subject)
{
    for (size_t i = 0; i < ws_analysis_count && analysis->last; i++)
        if (!ws_analyses[i]->last && !is_done_throughout(work, ws_analyses[i]))
            return false;
    for (size_t i = 0; i < WS_MOST_NEEDS && analysis->needs[i]; i++) {
        const struct ws_analysis *needed = analysis->needs[i];
        if (needed->scope == analysis->scope ? !is_done(work, needed, subject) : !is_done_throughout(work, needed))
            return false;
    }
    return true;
}

/* How many analyses in a row wait for one, at most. */
static size_t count_behind(const struct ws_analysis *analysis)
{
    size_t longest = 0;
    for (size_t i = 0; i < ws_analysis_count; i++) {
        bool waits = false;
        for (size_t need = 0; need < WS_MOST_NEEDS && ws_analyses[i]->needs[need]; need++)
            waits |= ws_analyses[i]->needs[need] == analysis;
        size_t behind = waits ? 1 + count_behind(ws_analyses[i]) : 0;
        longest = behind > longest ? behind : longest;
    }
    return longest;
}

/* A task that may run now, of those the one that most analyses in a row wait for; or -1. While none is under way
 * there is one: the next of an analysis all of whose needs are met. */
static ssize_t next_task(const struct work *work)
{
    ssize_t task = -1;
    for (size_t i = 0; i < ws_analysis_count; i++) {
        size_t subject = work->begun[i];
        if (subject < subject_count(work->report->model, ws_analyses[i]->scope) &&
            (task < 0 || work->behind[i] > work->behind[(size_t)task / work->stride]) &&
            may_run(work, ws_analyses[i], subject))
            task = (ssize_t)(i * work->stride + subject);
    }
    return task;
}

static void *worker(void *user)
{
    struct work *work = user;
    pthread_mutex_lock(&work->mutex);
    while (work->left && !work->status) {
        ssize_t task = next_task(work);
        if (task < 0) {
            pthread_cond_wait(&work->changed, &work->mutex);
            continue;
        }
        const struct ws_analysis *analysis = ws_analyses[(size_t)task / work->stride];
        work->begun[(size_t)task / work->stride]++;
        pthread_mutex_unlock(&work->mutex);
        int status = analysis->run(work->report, (size_t)task % work->stride, work->report->results[task]);
        pthread_mutex_lock(&work->mutex);
        work->done[task] = true;
        work->undone[(size_t)task / work->stride]--;
        work->left--;
        if (status)
            work->status = status;
        pthread_cond_broadcast(&work->changed);
    }
    pthread_mutex_unlock(&work->mutex);
    return NULL;
}

static int run_all(struct ws_report *report, unsigned threads)
{
    struct work work = { .report = report, .stride = stride_of(report->model) };
    pthread_t others[16];
    unsigned started = 0;
    work.done = calloc(ws_analysis_count * work.stride + 1, sizeof(*work.done));
    work.begun = calloc(3 * ws_analysis_count + 1, sizeof(*work.begun));
    if (!work.done || !work.begun) {
        free(work.done);
        free(work.begun);
        return -ENOMEM;
    }
    work.undone = work.begun + ws_analysis_count;
    work.behind = work.undone + ws_analysis_count;
    for (size_t i = 0; i < ws_analysis_count; i++) {
        work.left += work.undone[i] = subject_count(report->model, ws_analyses[i]->scope);
        work.behind[i] = count_behind(ws_analyses[i]);
    }
    pthread_mutex_init(&work.mutex, NULL);
    pthread_cond_init(&work.changed, NULL);
    while (started + 1 < threads && started < sizeof(others) / sizeof(others[0]) &&
           !pthread_create(&others[started], NULL, worker, &work))
        started++;
    worker(&work);
    while (started)
        pthread_join(others[--started], NULL);
    pthread_cond_destroy(&work.changed);
    pthread_mutex_destroy(&work.mutex);
    free(work.done);
    free(work.begun);
    return work.status;
}

static int classify_names(struct ws_report *report)
{
    const struct ws_model *model = report->model;
    report->classes = calloc(model->names.count + 1, 1);
    if (!report->classes)
        return -ENOMEM;
    for (size_t i = 0; i < model->names.count; i++) {
        const struct ws_op_name *name = ws_model_name(model, i);
        if (name->kind == WS_OP_KERNEL)
            report->classes[i] = (uint8_t)ws_classify(name->text);
        else if (name->activity == WS_ACTIVITY_MEMORY)
            report->classes[i] = WS_CLASS_COPY;
    }
    return 0;
}

/* A rank is what people know a process by, unless several claim to be the same. */
static int name_by_rank(struct ws_report *report)
{
    size_t count = report->model->processes.count;
    struct ws_map claimed = { 0 }; /* hash of a rank → how many claim it */
    int status = 0;
    report->rank_names = calloc(count + 1, sizeof(*report->rank_names));
    uint64_t *hashes = calloc(count + 1, sizeof(*hashes));
    if (!report->rank_names || !hashes)
        status = -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        const char *rank = ws_process_meta(ws_model_process(report->model, i), "rank");
        hashes[i] = rank && *rank ? ws_hash(rank, strlen(rank)) | 1 : 0;
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

int ws_report_create(struct ws_report **result, const struct ws_model *model, const struct ws_report_options *options)
{
    size_t stride = stride_of(model);
    struct ws_report *report = calloc(1, sizeof(*report));
    if (!report)
        return -ENOMEM;
    report->model = model;
    report->top = options->top;
    report->gpu = options->gpu;
    report->calibrations = options->calibrations;
    report->steps = options->steps;
    int status = -ENOMEM;
    report->results = calloc(ws_analysis_count * stride + 1, sizeof(*report->results));
    if (!report->results || classify_names(report) || name_by_rank(report))
        goto failed;
    for (size_t i = 0; i < ws_analysis_count; i++) {
        for (size_t subject = 0; subject < subject_count(model, ws_analyses[i]->scope); subject++) {
            report->results[i * stride + subject] = calloc(1, ws_analyses[i]->result_size + 1);
            if (!report->results[i * stride + subject])
                goto failed;
        }
    }
    status = run_all(report, options->threads);
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
    size_t stride = stride_of(report->model);
    for (size_t i = 0; report->results && i < ws_analysis_count * stride; i++) {
        const struct ws_analysis *analysis = ws_analyses[i / stride];
        if (report->results[i] && analysis->finish)
            analysis->finish(report->results[i]);
        free(report->results[i]);
    }
    free(report->results);
    free(report->classes);
    free(report->rank_names);
    free(report);
}

void ws_report_process_title(const struct ws_report *report, size_t index, char *text, size_t capacity)
{
    const struct ws_process *process = ws_model_process(report->model, index);
    const char *rank = ws_process_meta(process, "rank"), *slash = strrchr(process->path, '/');
    const char *pid = ws_process_meta(process, "pid");
    if (report->rank_names[index])
        snprintf(text, capacity, "rank %s", rank);
    else
        snprintf(text, capacity, "%s%s%s", slash ? slash + 1 : process->path,
                 pid && process->parts > 1 ? " pid " : "", pid && process->parts > 1 ? pid : "");
}

void ws_report_track_title(const struct ws_report *report, size_t index, char *text, size_t capacity)
{
    const struct ws_track *track = ws_model_track(report->model, index);
    const struct ws_device *device = ws_track_device(report->model, track);
    size_t used = 0;
    if (report->model->processes.count > 1) {
        ws_report_process_title(report, track->process, text, capacity);
        used = strlen(text);
    }
    const char *comma = used ? ", " : "";
    if (!track->device)
        snprintf(text + used, capacity - used, "%sGPU not known", comma);
    else
        snprintf(text + used, capacity - used, "%sGPU %u%s%s", comma, track->device - 1, device ? " " : "",
                 device ? device->name.data : "");
}

static void print_subject(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject,
                          bool asked, struct ws_page *page)
{
    const void *result = ws_report_result(report, analysis, subject);
    char subtitle[256] = "";
    if (!asked && analysis->has_section && !analysis->has_section(result))
        return;
    bool several = subject_count(report->model, analysis->scope) > 1;
    if (several && analysis->scope == WS_SCOPE_TRACK)
        ws_report_track_title(report, subject, subtitle, sizeof(subtitle));
    else if (several)
        ws_report_process_title(report, subject, subtitle, sizeof(subtitle));
    ws_page_heading(page, analysis->title, subtitle);
    analysis->text(report, subject, result, page);
}

/* Of several devices the report shows the slowest, unless it is asked for all: they mostly do the same, and the first
 * section has a line of each. */
static void print_section(const struct ws_report *report, const struct ws_analysis *analysis, bool asked,
                          struct ws_page *page)
{
    size_t count = subject_count(report->model, analysis->scope), slowest = ws_report_slowest(report).shown;
    bool only_slowest = !page->all && slowest != WS_NOWHERE;
    if (only_slowest && analysis->scope == WS_SCOPE_TRACK) {
        print_subject(report, analysis, slowest, asked, page);
        return;
    }
    if (only_slowest && analysis->scope == WS_SCOPE_PROCESS) {
        print_subject(report, analysis, ws_model_track(report->model, slowest)->process, asked, page);
        return;
    }
    for (size_t subject = 0; subject < count; subject++)
        print_subject(report, analysis, subject, asked, page);
}

static const struct ws_analysis *section_named(const char *name)
{
    const struct ws_analysis *found = NULL;
    size_t headings = 0;
    for (size_t i = 0; i < ws_analysis_count; i++) {
        const struct ws_analysis *analysis = ws_analyses[i];
        if (analysis->title && !strcmp(name, analysis->name))
            return analysis;
        if (analysis->title && *name && strcasestr(analysis->title, name)) {
            found = analysis;
            headings++;
        }
    }
    return headings == 1 ? found : NULL;
}

bool ws_report_has_section(const char *name)
{
    return section_named(name) != NULL;
}

static bool is_chosen(const struct ws_analysis *analysis, const char *const *sections, size_t count)
{
    bool chosen = !count;
    for (size_t i = 0; i < count && !chosen; i++)
        chosen = section_named(sections[i]) == analysis;
    return chosen;
}

void ws_report_print(const struct ws_report *report, struct ws_page *page, const char *const *sections, size_t count)
{
    for (size_t i = 0; i < ws_analysis_count; i++)
        if (ws_analyses[i]->title && is_chosen(ws_analyses[i], sections, count))
            print_section(report, ws_analyses[i], count > 0, page);
}
