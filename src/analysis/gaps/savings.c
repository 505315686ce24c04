#include "analysis/gaps/savings.h"

#include <stdio.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/host_time.h"
#include "analysis/gaps/gap_waits.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/initialization.h"
#include "analysis/gaps/replay.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

enum {
    WORTHWHILE = 200, /* a cause whose idle time is at most 1/200 of a step gets no replay and no saving */
    MOST_LINES = 5,   /* maximum number of lines of code per cause that get advice of their own */
};

static const struct {
    enum ws_part cause;
    unsigned without;
    const char *what;  /* text of the advice; NULL: storms.h gives the advice */
    const char *which; /* describes the gaps, as in the evidence "3 gaps waiting for input" */
    const char *gone;  /* what the replay leaves out, as in the evidence "without these waits" */
} remedies[] = {
    { WS_PART_INPUT, WS_WITHOUT_INPUT,
      "load input ahead: more loader workers, prefetch, pinned memory with copies that do not block",
      "waiting for input", "these waits" },
    { WS_PART_SYNC, WS_WITHOUT_SYNC,
      "wait for the GPU less often: read results every N steps, or copy them asynchronously and read them a step "
      "later",
      "after the host had waited", "these waits" },
    { WS_PART_ALLOCATION, WS_WITHOUT_ALLOCATION,
      "keep allocations and module loads out of the loop: reuse buffers, use a caching or stream-ordered allocator",
      "in allocations and module loads", "these calls" },
    { WS_PART_LAUNCH, WS_WITHOUT_LAUNCHES, NULL, NULL, NULL },
};
enum { REMEDIES = sizeof(remedies) / sizeof(remedies[0]) };

/* Computes the saving of a replay, in ns. If only a part of the recording was replayed, scales the saving up to the
 * whole recording. */
static int saving_of_replay(const struct ws_report *report, size_t subject, unsigned without, int64_t length,
                            int64_t *won)
{
    struct ws_replay_times times;
    int status = ws_replay(report, subject, without, &times);
    int64_t saving = times.recorded - times.replayed;
    if (!times.steps && times.recorded > 0 && times.recorded < length)
        saving = (int64_t)((double)saving * ((double)length / (double)times.recorded));
    *won = saving;
    return status;
}

static bool is_advised(const struct ws_track_savings *savings, size_t remedy)
{
    return remedies[remedy].what && savings->saving[remedies[remedy].cause] > 0;
}

/* Computes the saving of all remedies that are advised (entries of `remedies` with a text and a saving) together, if
 * there are at least two. The saving of a single remedy is limited to the idle time of its cause, because its replay
 * may also save time that belongs to another remedy. The saving of all remedies together is limited to the idle time
 * of all causes except `unrecorded`. */
static int saving_together(const struct ws_report *report, size_t subject, int64_t length,
                           struct ws_track_savings *result)
{
    unsigned without = 0;
    int64_t idle = -result->idle[WS_PART_UNRECORDED], won = 0;
    for (size_t i = 0; i < REMEDIES; i++)
        without |= is_advised(result, i) ? remedies[i].without : 0;
    if (__builtin_popcount(without) < 2)
        return 0;
    int status = saving_of_replay(report, subject, without, length, &won);
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        idle += result->idle[cause];
    result->together = ws_max(ws_min(won, idle), 0);
    return status;
}

/* Is most of the cause's idle time in late loads, which have advice of their own? */
static bool is_late_loads(const struct ws_report *report, size_t subject, enum ws_part cause)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_initialization *first = ws_report_result(report, &ws_analysis_initialization, subject);
    return 2 * first->late_idle[cause] > ws_gap_time(causes, &causes->totals[cause]);
}

static int savings_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_initialization *first = ws_report_result(report, &ws_analysis_initialization, subject);
    struct ws_track_savings *result = memory;
    int64_t length = causes->per_step ? steps->mean : ws_activity_known(activity);
    int status = 0;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
        int64_t elsewhere = first->idle[cause] + first->late_idle[cause];
        int64_t time = ws_max(ws_gap_time(causes, &causes->totals[cause]) - elsewhere, 0);
        result->idle[cause] = causes->per_step ? ws_steps_share(steps, time) : time;
    }
    for (size_t i = 0; i < REMEDIES && !status; i++) {
        enum ws_part cause = remedies[i].cause;
        int64_t saving = 0;
        if (result->idle[cause] <= length / WORTHWHILE || (remedies[i].what && is_late_loads(report, subject, cause)))
            continue;
        status = saving_of_replay(report, subject, remedies[i].without, length, &saving);
        result->saving[cause] = ws_max(ws_min(saving, result->idle[cause]), 0);
    }
    return status ? status : saving_together(report, subject, length, result);
}

int64_t ws_savings_together(const struct ws_track_savings *savings, char text[WS_TOGETHER_TEXT])
{
    size_t left = 0, used = 0;
    int64_t sum = 0;
    *text = 0;
    for (size_t i = 0; i < REMEDIES; i++)
        left += is_advised(savings, i);
    for (size_t i = 0; i < REMEDIES && savings->together; i++) {
        if (!is_advised(savings, i))
            continue;
        const char *before = !used ? "" : left == 1 ? " and " : ", ";
        used +=
            (size_t)snprintf(text + used, WS_TOGETHER_TEXT - used, "%s%s", before, ws_part_label(remedies[i].cause));
        sum += savings->saving[remedies[i].cause];
        left--;
    }
    return sum;
}

/* The gaps of a cause are divided into shares: one share for each of up to MOST_LINES known lines of code, one for
 * other gaps in copies, and one for all other gaps. */
enum { MOST_SHARES = MOST_LINES + 2 };

struct share {
    /* the line of code that caused the gaps; NULL: several lines of code caused them, or the trace does not show the
     * line */
    const struct ws_gap_line *line;
    struct ws_gap_total gaps;
    /* a driver function whose calls caused gaps of the share; if there are several such functions, the function of
     * the line of code with the most idle time; NULL: no such function is known */
    const char *function;
    bool copies; /* the calls that caused the gaps are copies */
};

static bool is_copy(const struct ws_process *process, const struct ws_gap_line *line)
{
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, line->function);
    return function && function->family == WS_CALL_COPY;
}

static const char *function_of(const struct ws_process *process, const struct ws_gap_line *line)
{
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, line->function);
    return function ? function->name.data : NULL;
}

static void savings_add(struct share *share, const struct ws_process *process, const struct ws_gap_line *line)
{
    if (!share->function)
        share->function = function_of(process, line);
    share->gaps.count += line->gaps.count;
    share->gaps.total += line->gaps.total;
    share->gaps.steady_count += line->gaps.steady_count;
    share->gaps.steady += line->gaps.steady;
}

static size_t shares_of(const struct ws_process *process, const struct ws_track_causes *causes, enum ws_part cause,
                        struct share shares[MOST_SHARES])
{
    const struct ws_gap_line *lines = causes->lines.data;
    struct share rest[2] = { { .copies = false }, { .copies = true } };
    size_t count = 0;
    for (size_t i = 0; i < causes->lines.count; i++) {
        char text[8];
        if (lines[i].cause != cause)
            continue;
        if (count == MOST_LINES || !ws_gap_line_text(process, &lines[i], text, sizeof(text))) {
            savings_add(&rest[is_copy(process, &lines[i])], process, &lines[i]);
            continue;
        }
        shares[count] = (struct share){ .line = &lines[i], .copies = is_copy(process, &lines[i]) };
        savings_add(&shares[count++], process, &lines[i]);
    }
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        if (rest[i].gaps.count || rest[i].gaps.steady_count)
            shares[count++] = rest[i];
    return count;
}

/* Chooses the text of the advice. If the program does not train, its input may be requests of users, which no loader
 * can fetch ahead. The advice then says that time spent waiting for input may be spare time, unless the trace names a
 * line of code that waits for input. A program with such a line may prepare its next input earlier. A program that
 * generates text must read each token, so the advice does not suggest reading results less often. If the host waits
 * in copies, the program can avoid the waits and still read results as often. */
static const char *what_to_do(const struct ws_report *report, size_t subject, size_t remedy,
                              const struct share *share)
{
    bool trains = ws_report_trains(report, subject);
    if (remedies[remedy].cause == WS_PART_SYNC && share->copies)
        return trains ? "do not wait for copies: use pinned memory and asynchronous copies (pin_memory=True, "
                        "non_blocking=True), and read results every N steps or a step later"
                      : "do not wait for copies: use pinned memory and asynchronous copies (pin_memory=True, "
                        "non_blocking=True)";
    if (remedies[remedy].cause == WS_PART_SYNC && !trains)
        return "wait for the GPU less often: copy results asynchronously, and read them a step later";
    if (remedies[remedy].cause == WS_PART_INPUT && share->line && !trains)
        return "prepare input faster: on the GPU, with more workers, or the next one while the GPU works on this one";
    if (remedies[remedy].cause == WS_PART_INPUT && !trains)
        return "load input ahead: more loader workers, prefetch, pinned memory with copies that do not block; for a "
               "server that waits for requests this is spare time";
    return remedies[remedy].what;
}

static int advise_cause(const struct ws_report *report, size_t subject, const struct ws_track_savings *savings,
                        size_t remedy, struct ws_advice_list *list)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    enum ws_part cause = remedies[remedy].cause;
    int64_t all = ws_gap_time(causes, &causes->totals[cause]);
    struct share shares[MOST_SHARES];
    size_t count = shares_of(process, causes, cause, shares);
    int status = 0;
    for (size_t i = 0; i < count && !status && all > 0; i++) {
        int64_t time = ws_gap_time(causes, &shares[i].gaps);
        char where[256] = "", code[WS_SOURCE_CODE] = "", evidence[400], gaps[WS_GAP_PHRASE];
        if (shares[i].line && ws_gap_line_text(process, shares[i].line, where, sizeof(where)))
            ws_gap_line_code(process, shares[i].line, code);
        ws_gap_phrase(causes, steps, &shares[i].gaps, remedies[remedy].which, gaps);
        snprintf(evidence, sizeof(evidence), "%s%s%s; estimated by replaying the %s without %s", gaps,
                 shares[i].function ? ", mostly in " : "", shares[i].function ? shares[i].function : "",
                 causes->per_step ? "recorded steps" : "recording", remedies[remedy].gone);
        status = ws_advice_add(
            list, &(struct ws_advice){
                      .part = cause,
                      .saving_ns = (int64_t)((double)savings->saving[cause] * ((double)time / (double)all)),
                      .what = (char *)what_to_do(report, subject, remedy, &shares[i]),
                      .where = where,
                      .code = code,
                      .evidence = evidence,
                      .track = (uint32_t)subject,
                  });
    }
    return status;
}

/* Causes without a known remedy. For these causes, the advice tells how much time is lost, and what the user should
 * examine. */
static const struct {
    enum ws_part cause;
    const char *what;
} pointers[] = {
    { WS_PART_WAIT, "find out what queued work waits for: an event of another stream, device or process, a host "
                    "function, a memory value, or another program on the GPU" },
    { WS_PART_DISPATCH, "run fewer, larger operations: fuse kernels, batch small copies, use a CUDA graph" },
};

/* Advice by reason of the wait. It replaces pointers[].what if one reason explains at least half of the wait time. */
static const char *const instead[WS_WAITED_COUNT] = {
    [WS_WAITED_EVENT] =
        "balance the GPUs, which wait for each other: give them equal work, or let the later one start "
        "first",
    [WS_WAITED_FOREIGN_EVENT] =
        "find out which process records the event that this one waits for, and what delays it",
    [WS_WAITED_HOST_FUNCTION] =
        "keep host functions (cuLaunchHostFunc) out of the stream: make them short, or put them "
        "on a stream of their own",
    [WS_WAITED_MEMORY_VALUE] =
        "find out who writes the value that the stream waits for (cuStreamWaitValue), and why so "
        "late",
    [WS_WAITED_INTEROP] = "find out who signals the external semaphore that the stream waits for, and why so late",
};

/* Writes what queued work waited for, such as "; mostly for a host function on stream 2". */
static void write_wait(const struct ws_report *report, size_t subject, const struct ws_gap_wait_row *mostly,
                       char *text, size_t capacity)
{
    char what[256];
    bool known = mostly && instead[mostly->wait.what];
    snprintf(text, capacity, "; %s%s", known ? "mostly for " : "the trace does not say what for",
             known ? ws_gap_wait_text(report, subject, &mostly->wait, what, sizeof(what)) : "");
}

/* A cause without a known remedy gets advice if its idle time is more than 1/WORTH_A_LOOK of a step. */
enum { WORTH_A_LOOK = 20 };

static int advise_look(const struct ws_report *report, size_t subject, const struct ws_track_savings *savings,
                       size_t pointer, struct ws_advice_list *list)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    enum ws_part cause = pointers[pointer].cause;
    int64_t length = causes->per_step ? steps->mean : ws_activity_known(activity);
    struct share shares[MOST_SHARES];
    const struct ws_gap_wait_row *mostly = cause == WS_PART_WAIT ? ws_gap_wait_mostly(report, subject) : NULL;
    const char *what = mostly ? instead[mostly->wait.what] : NULL;
    char where[256] = "", code[WS_SOURCE_CODE] = "", evidence[640], gaps[WS_GAP_PHRASE], wait[300] = "";
    if (savings->idle[cause] <= length / WORTH_A_LOOK)
        return 0;
    if (shares_of(process, causes, cause, shares) && shares[0].line &&
        ws_gap_line_text(process, shares[0].line, where, sizeof(where)))
        ws_gap_line_code(process, shares[0].line, code);
    ws_gap_phrase(causes, steps, &causes->totals[cause], "", gaps);
    if (cause == WS_PART_WAIT)
        write_wait(report, subject, mostly, wait, sizeof(wait));
    snprintf(evidence, sizeof(evidence), "%s%s; how much of it can be removed is not known", gaps, wait);
    return ws_advice_add(list, &(struct ws_advice){ .part = cause,
                                                    .saving_ns = savings->idle[cause],
                                                    .what = (char *)(what ? what : pointers[pointer].what),
                                                    .where = where,
                                                    .code = code,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)subject });
}

static int savings_advise(const struct ws_report *report, size_t subject, const void *memory,
                          struct ws_advice_list *list)
{
    const struct ws_track_savings *savings = memory;
    int status = 0;
    for (size_t i = 0; i < REMEDIES && !status; i++)
        if (is_advised(savings, i))
            status = advise_cause(report, subject, savings, i, list);
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]) && !status; i++)
        status = advise_look(report, subject, savings, i, list);
    return status;
}

const struct ws_analysis ws_analysis_savings = {
    .name = "savings",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_savings),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_host_time, &ws_analysis_causes,
               &ws_analysis_kernels, &ws_analysis_initialization },
    .run = savings_run,
    .advise = savings_advise,
};
