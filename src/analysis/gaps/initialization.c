#include "analysis/gaps/initialization.h"

#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/recorded.h"
#include "analysis/gaps/gaps.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* LEFT_OUT_LEAST: the report's verdict (its judgement of what limits the device) leaves out idle time in first calls
 * only if this idle time is at least this percentage of the time that the verdict covers. FIRST_NUMBER: programs
 * number their first step 0 or 1, so a recording that starts with a higher number lacks the first steps. */
enum { LEFT_OUT_LEAST = 1, FIRST_NUMBER = 1 };

/* The times at which the host was in first calls (calls that load, compile or create something for the first time;
 * first_calls.h). `first`: calls that are initialization. `late`: late loads, which are first calls in later
 * steps. */
struct initialization_sets {
    struct ws_interval_set first, late;
    struct ws_interval_set in_step;     /* the calls in `first` that began in the first steady step */
    struct ws_interval_set returns_not; /* the calls in `first` except allocations, which may come again */
};

/* Facts about the steps. With these facts, the analysis decides which first calls are initialization. */
struct initialization_steps {
    const struct ws_track_steps *list;
    const struct ws_step *first; /* the first steady step; NULL: there is none, or `resumes` is set */
    /* the program already ran before the recording, so no call in the recording is initialization */
    bool resumes;
    bool several; /* there are at least WS_STEPS_TO_JUDGE steady steps, or `resumes` is set */
};

/* Did the program run before the recording, or before the window (the part of the recording that the report covers)?
 * If the program creates its CUDA context in the recording, a high number of the first step proves nothing: such a
 * program started in the recording, and continues from a checkpoint. */
static bool initialization_resumes(const struct ws_report *report, uint32_t process,
                                   const struct ws_process_first_calls *calls, const struct ws_track_steps *list)
{
    const struct ws_process_recorded *recorded = ws_report_result(report, &ws_analysis_recorded, process);
    const struct ws_step *steps = list->steps.data;
    if ((report->window && report->window->begin != INT64_MIN) || recorded->before)
        return true;
    return list->source == WS_STEPS_MARKED && list->steps.count && steps[0].number > FIRST_NUMBER &&
           !calls->of[WS_FIRST_CONTEXT].count;
}

static struct initialization_steps initialization_steps_of(const struct ws_report *report, uint32_t process,
                                                           const struct ws_process_first_calls *calls,
                                                           const struct ws_track_steps *list)
{
    const struct ws_step *steps = list->steps.data;
    struct initialization_steps found = { .list = list,
                                          .resumes = initialization_resumes(report, process, calls, list) };
    found.several = found.resumes || list->kinds[WS_STEP_STEADY] >= WS_STEPS_TO_JUDGE;
    for (size_t i = 0; i < list->steps.count && !found.first && !found.resumes; i++)
        if (ws_step_is_steady(&steps[i]))
            found.first = &steps[i];
    return found;
}

/* Returns the step in which the host was at this time, or NULL. `time` must not decrease from one call of this
 * function to the next. */
static const struct ws_step *initialization_any_step_at(const struct initialization_steps *steps, size_t *cursor,
                                                        int64_t time)
{
    const struct ws_step *list = steps->list->steps.data;
    size_t count = steps->list->steps.count;
    while (*cursor < count && list[*cursor].host_end <= time)
        ++*cursor;
    return *cursor < count && list[*cursor].host_begin <= time ? &list[*cursor] : NULL;
}

/* Returns the steady step in which the host was at this time. Returns NULL if the host was in no step, or in a step
 * that is not steady. */
static const struct ws_step *initialization_step_at(const struct initialization_steps *steps, size_t *cursor,
                                                    int64_t time)
{
    const struct ws_step *step = initialization_any_step_at(steps, cursor, time);
    return ws_step_is_steady(step) ? step : NULL;
}

/* Do calls of this kind begin in two or more steps? If so, they may come in every step, and are not
 * initialization. */
static bool initialization_recurs(const struct initialization_steps *steps, const struct ws_interval_set *calls)
{
    const struct ws_step *before = NULL;
    size_t cursor = 0;
    for (size_t i = 0; i < calls->count; i++) {
        const struct ws_step *step = initialization_any_step_at(steps, &cursor, calls->items[i].begin);
        if (step && before && step != before)
            return true;
        before = step ? step : before;
    }
    return false;
}

/* Is this allocation part of initialization? initialization.h gives the rule. */
static bool initialization_allocates_first(const struct ws_process_first_calls *calls,
                                           const struct initialization_steps *steps,
                                           const struct ws_interval *allocation)
{
    const struct ws_interval_set *all = &calls->of[WS_FIRST_ALLOCATION];
    if (steps->resumes)
        return false;
    if (steps->several)
        return allocation->begin < steps->first->host_begin;
    return all->items[all->count - 1].begin < calls->begin + (calls->end - calls->begin) / 2;
}

/* Divides the first calls of one kind into initialization (`first`) and late loads (`late`). */
static int initialization_pick(const struct ws_process_first_calls *calls, const struct initialization_steps *steps,
                               enum ws_first_kind kind, struct initialization_sets *picked)
{
    const struct ws_interval_set *of = &calls->of[kind];
    bool recurs = !steps->several && initialization_recurs(steps, of);
    size_t cursor = 0, marked = 0;
    int status = 0;
    for (size_t i = 0; i < of->count && !status; i++) {
        const struct ws_interval *item = &of->items[i];
        const struct ws_step *step = steps->several ? initialization_step_at(steps, &cursor, item->begin) : NULL;
        if (recurs && initialization_any_step_at(steps, &marked, item->begin))
            continue;
        if (kind == WS_FIRST_ALLOCATION && !initialization_allocates_first(calls, steps, item))
            continue;
        bool is_late = step && step != steps->first;
        if (is_late || !steps->resumes)
            status = ws_interval_set_add(is_late ? &picked->late : &picked->first, item->begin, item->end);
        if (!status && step && !is_late)
            status = ws_interval_set_add(&picked->in_step, item->begin, item->end);
    }
    return status;
}

static int64_t initialization_length(const struct ws_interval_set *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++)
        length += set->items[i].end - set->items[i].begin;
    return length;
}

/* Adds the intervals of `more` to `set`. Adds to *sum the ns by which `set` gets longer, so that time in several
 * kinds of calls counts once. Builds a new set from the two sets, with intervals in order of their starts: a set adds
 * intervals fastest in this order. */
static int initialization_merge(struct ws_interval_set *set, const struct ws_interval_set *more, int64_t *sum)
{
    struct ws_interval_set both = { 0 };
    size_t i = 0, k = 0;
    int status = 0;
    while ((i < set->count || k < more->count) && !status) {
        bool of_more = i == set->count || (k < more->count && more->items[k].begin < set->items[i].begin);
        const struct ws_interval *next = of_more ? &more->items[k++] : &set->items[i++];
        status = ws_interval_set_add(&both, next->begin, next->end);
    }
    *sum += initialization_length(&both) - initialization_length(set);
    ws_interval_set_finish(set);
    *set = both;
    return status;
}

static void initialization_sets_finish(struct initialization_sets *sets)
{
    ws_interval_set_finish(&sets->first);
    ws_interval_set_finish(&sets->late);
    ws_interval_set_finish(&sets->in_step);
    ws_interval_set_finish(&sets->returns_not);
}

static int initialization_divide(const struct ws_process_first_calls *calls, const struct initialization_steps *steps,
                                 enum ws_first_kind kind, struct initialization_sets *sets,
                                 struct ws_track_initialization *result)
{
    struct initialization_sets picked = { 0 };
    int64_t not_used = 0;
    int status = initialization_pick(calls, steps, kind, &picked);
    if (!status)
        status = initialization_merge(&sets->first, &picked.first, &result->of[kind]);
    if (!status)
        status = initialization_merge(&sets->late, &picked.late, &result->late_of[kind]);
    if (!status)
        status = initialization_merge(&sets->in_step, &picked.in_step, &result->first_step);
    if (!status && kind != WS_FIRST_ALLOCATION)
        status = initialization_merge(&sets->returns_not, &picked.first, &not_used);
    initialization_sets_finish(&picked);
    return status;
}

/* Counts the steady steps in which late loads begin. */
static void initialization_count_late(const struct initialization_steps *steps, const struct ws_interval_set *late,
                                      struct ws_track_initialization *result)
{
    const struct ws_step *before = NULL;
    size_t cursor = 0;
    for (size_t i = 0; i < late->count; i++) {
        const struct ws_step *step = initialization_step_at(steps, &cursor, late->items[i].begin);
        result->late_steps += step && step != before;
        before = step ? step : before;
    }
}

/* Can a first call of the host explain idle time of this cause? If not, the report's verdict covers the idle time
 * even if it lies in first calls. The answer is no for cause `input`: the launching thread waited for input while
 * another thread was in a first call, so the wait may come again. */
static bool initialization_is_hosts(enum ws_part cause)
{
    return cause == WS_PART_SYNC || cause == WS_PART_LAUNCH || cause == WS_PART_ALLOCATION ||
           cause == WS_PART_UNEXPLAINED;
}

/* State of a walk over the device's idle times in order of time. It adds up the parts of the idle times during which
 * the host was in the calls of `set`. If `per_step` is set, only parts in steady steps count. */
struct initialization_walk {
    const struct ws_interval_set *set;
    size_t next; /* index in set->items of the first call that ends after the current idle time begins */
    struct ws_steady_walk steady;
    bool per_step;
    int64_t *idle;   /* ns of idle time during the calls, by cause */
    int64_t longest; /* ns: the largest part of a single gap that was added to `idle` */
    /* index in ws_track_causes.lines of the line (cause and place in the program) of the gap with `longest` */
    size_t line;
};

/* Adds the part of one idle time that lies in the calls. `line`: index of the gap's line in ws_track_causes.lines;
 * WS_NOWHERE for idle time before the first or after the last operation, which is not a gap. */
static void initialization_add_idle(struct initialization_walk *walk, int64_t begin, int64_t end, enum ws_part cause,
                                    size_t line)
{
    const struct ws_interval_set *set = walk->set;
    while (walk->next < set->count && set->items[walk->next].end <= begin)
        walk->next++;
    if (!initialization_is_hosts(cause))
        return;
    int64_t before = walk->idle[cause];
    for (size_t i = walk->next; i < set->count && set->items[i].begin < end; i++) {
        int64_t from = ws_max(begin, set->items[i].begin), to = ws_min(end, set->items[i].end);
        walk->idle[cause] += walk->per_step ? ws_steady_part(&walk->steady, from, to) : to - from;
    }
    if (line == WS_NOWHERE || walk->idle[cause] - before <= walk->longest)
        return;
    walk->longest = walk->idle[cause] - before;
    walk->line = line;
}

/* Adds up, by cause, the idle time of the device during the calls of a set. If there are steady steps, only idle time
 * in them counts. Finds the gap with the most idle time during these calls. Returns the index in
 * ws_track_causes.lines of its line, or WS_NOWHERE if there is no such gap. */
static size_t initialization_sum_idle(const struct ws_report *report, size_t subject,
                                      const struct ws_interval_set *set, int64_t idle[WS_CAUSE_COUNT])
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_edge_gap *edges = causes->edges;
    struct initialization_walk walk = {
        .set = set, .steady = ws_steady_walk(steps), .per_step = causes->per_step, .idle = idle, .line = WS_NOWHERE
    };
    if (!set->count)
        return WS_NOWHERE;
    if (causes->per_step && edges[0].begin < edges[0].end)
        initialization_add_idle(&walk, edges[0].begin, edges[0].end, edges[0].cause, WS_NOWHERE);
    struct ws_gap_run run = { 0 };
    struct ws_gap_walk gaps = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&gaps, &gap);) {
        ws_gap_run_reach(causes, &run, &gap);
        initialization_add_idle(&walk, gap.begin, gap.end, run.cause, run.line);
    }
    if (causes->per_step && edges[1].begin < edges[1].end)
        initialization_add_idle(&walk, edges[1].begin, edges[1].end, edges[1].cause, WS_NOWHERE);
    return walk.line;
}

/* Do most steady steps have late loads, and is less than half of the time of these loads compilation? If so, the
 * program's loop itself loads in each step. The advice on late loads then leaves out these loads, because the advice
 * on gaps covers their time. If at least half is compilation, the answer is no, because no program compiles
 * repeatedly on purpose. */
static bool initialization_is_habit(const struct ws_track_initialization *result, const struct ws_track_steps *steps)
{
    return 2 * result->late_steps > steps->kinds[WS_STEP_STEADY] &&
           2 * result->late_of[WS_FIRST_COMPILE] < result->late;
}

/* With fewer than three steady steps, computes the idle time in first calls that the report's verdict leaves out. If
 * this idle time is less than LEFT_OUT_LEAST percent of the time that the verdict covers, the verdict leaves out
 * nothing. With more steady steps, computes the idle time during late loads. Stores the times of these calls in
 * result->calls. */
static void initialization_leave_out(const struct ws_report *report, size_t subject, struct initialization_sets *sets,
                                     struct ws_track_initialization *result)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_interval_set *kept = result->is_judged ? &sets->returns_not : &sets->late;
    if (result->is_judged) {
        bool per_step = steps->kinds[WS_STEP_STEADY];
        int64_t judged = per_step ? steps->lasted[WS_STEP_STEADY] : ws_activity_known(activity);
        initialization_sum_idle(report, subject, kept, result->idle);
        if (ws_initialization_left_out(result) < judged / 100 * LEFT_OUT_LEAST) {
            memset(result->idle, 0, sizeof(result->idle));
            return;
        }
    } else if (!(result->is_habit = initialization_is_habit(result, steps))) {
        result->late_line = initialization_sum_idle(report, subject, kept, result->late_idle);
    }
    result->calls = *kept;
    *kept = (struct ws_interval_set){ 0 };
}

static int initialization_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process_first_calls *calls = ws_report_result(report, &ws_analysis_first_calls, track->process);
    const struct ws_track_steps *list = ws_report_result(report, &ws_analysis_steps, subject);
    struct initialization_steps steps = initialization_steps_of(report, track->process, calls, list);
    struct ws_track_initialization *result = memory;
    struct initialization_sets sets = { 0 };
    int status = 0;
    if (calls->begin >= calls->end)
        return 0;
    result->recorded = calls->end - calls->begin;
    result->is_judged = !steps.several;
    for (enum ws_first_kind kind = 0; kind < WS_FIRST_COUNT && !status; kind++) {
        result->is_inferred[kind] = calls->is_inferred[kind];
        status = initialization_divide(calls, &steps, kind, &sets, result);
        result->time += result->of[kind];
        result->late += result->late_of[kind];
    }
    if (!status) {
        initialization_count_late(&steps, &sets.late, result);
        initialization_leave_out(report, subject, &sets, result);
    }
    initialization_sets_finish(&sets);
    return status;
}

static void initialization_finish(void *memory)
{
    struct ws_track_initialization *result = memory;
    ws_interval_set_finish(&result->calls);
}

int64_t ws_initialization_left_out(const struct ws_track_initialization *result)
{
    int64_t sum = 0;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        sum += result->idle[cause];
    return sum;
}

const struct ws_analysis ws_analysis_initialization = {
    .name = "initialization",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_initialization),
    .needs = { &ws_analysis_first_calls, &ws_analysis_recorded, &ws_analysis_activity, &ws_analysis_steps,
               &ws_analysis_causes },
    .run = initialization_run,
    .finish = initialization_finish,
    .advise = ws_initialization_advise,
    .json = ws_initialization_json,
};
