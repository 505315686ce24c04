#include "report/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "report/results.h"

/* Analyses run as tasks, one per analysis and subject. The tasks of one analysis start in the order of their
 * subjects, so the search for the next task looks at one task per analysis. */
struct work {
    struct ws_report *report;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool *done;     /* whether the task has finished, by analysis and subject */
    size_t *begun;  /* by analysis: number of subjects started; subjects start in order */
    size_t *undone; /* by analysis: number of subjects not finished */
    size_t *behind; /* by analysis: what count_behind returns */
    size_t left;    /* number of tasks that have not finished */
    int status;     /* error of a task that failed; 0: none */
};

static bool is_done(const struct work *work, const struct ws_analysis *analysis, size_t subject)
{
    return work->done[results_place(work->report, analysis) * work->report->stride + subject];
}

/* Has the analysis finished for every subject? */
static bool is_done_throughout(const struct work *work, const struct ws_analysis *analysis)
{
    return !work->undone[results_place(work->report, analysis)];
}

static bool may_run(const struct work *work, const struct ws_analysis *analysis, size_t subject)
{
    const struct ws_analyses *analyses = work->report->analyses;
    for (size_t i = 0; i < analyses->count && analysis->last; i++)
        if (!analyses->list[i]->last && !is_done_throughout(work, analyses->list[i]))
            return false;
    for (size_t i = 0; i < WS_MOST_NEEDS && analysis->needs[i]; i++) {
        const struct ws_analysis *needed = analysis->needs[i];
        if (needed->scope == analysis->scope ? !is_done(work, needed, subject) : !is_done_throughout(work, needed))
            return false;
    }
    return true;
}

/* Returns the length of the longest chain of analyses that wait for this analysis: the first in the chain needs this
 * analysis's results, the second needs the results of the first, and so on. */
static size_t count_behind(const struct ws_analyses *analyses, const struct ws_analysis *analysis)
{
    size_t longest = 0;
    for (size_t i = 0; i < analyses->count; i++) {
        bool waits = false;
        for (size_t need = 0; need < WS_MOST_NEEDS && analyses->list[i]->needs[need]; need++)
            waits |= analyses->list[i]->needs[need] == analysis;
        size_t behind = waits ? 1 + count_behind(analyses, analyses->list[i]) : 0;
        longest = ws_max(behind, longest);
    }
    return longest;
}

/* Returns a task that may run now, or -1. Prefers the analysis for which the longest chain of other analyses waits.
 * If no task is running and some are left, at least one can start, because no analysis needs itself through
 * others. */
static ssize_t next_task(const struct work *work)
{
    const struct ws_report *report = work->report;
    ssize_t task = -1;
    for (size_t i = 0; i < report->analyses->count; i++) {
        const struct ws_analysis *analysis = report->analyses->list[i];
        size_t subject = work->begun[i];
        if (subject < results_subjects(report, analysis->scope) &&
            (task < 0 || work->behind[i] > work->behind[(size_t)task / report->stride]) &&
            may_run(work, analysis, subject))
            task = (ssize_t)(i * report->stride + subject);
    }
    return task;
}

static void *worker(void *user)
{
    struct work *work = user;
    const struct ws_report *report = work->report;
    pthread_mutex_lock(&work->mutex);
    while (work->left && !work->status) {
        ssize_t task = next_task(work);
        if (task < 0) {
            pthread_cond_wait(&work->changed, &work->mutex);
            continue;
        }
        size_t place = (size_t)task / report->stride, subject = (size_t)task % report->stride;
        work->begun[place]++;
        pthread_mutex_unlock(&work->mutex);
        int status = report->analyses->list[place]->run(report, subject, report->results[task]);
        pthread_mutex_lock(&work->mutex);
        work->done[task] = true;
        work->undone[place]--;
        work->left--;
        if (status)
            work->status = status;
        pthread_cond_broadcast(&work->changed);
    }
    pthread_mutex_unlock(&work->mutex);
    return NULL;
}

int ws_report_run(struct ws_report *report, unsigned threads)
{
    struct work work = { .report = report };
    size_t count = report->analyses->count;
    pthread_t others[16];
    unsigned started = 0;
    work.done = calloc(count * report->stride + 1, sizeof(*work.done));
    work.begun = calloc(3 * count + 1, sizeof(*work.begun));
    if (!work.done || !work.begun) {
        free(work.done);
        free(work.begun);
        return -ENOMEM;
    }
    work.undone = work.begun + count;
    work.behind = work.undone + count;
    for (size_t i = 0; i < count; i++) {
        work.left += work.undone[i] = results_subjects(report, report->analyses->list[i]->scope);
        work.behind[i] = count_behind(report->analyses, report->analyses->list[i]);
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
