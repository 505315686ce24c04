#include "analysis/verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/savings.h"
#include "analysis/kernels/kernels.h"
#include "analysis/memory/copies.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/missing.h"
#include "analysis/verdict/no_verdict.h"
#include "analysis/verdict/wall.h"
#include "analysis/verdict/wall_text.h"
#include "base/minmax.h"
#include "report/peaks.h"

enum { ADVICE_SHOWN = 5, BUSY_LIMIT = 85, PEAK_LIMIT = 60, FEWEST_STEPS = 3 };

/* Percent of a step. If exposed copies or communication take at least MOVING_LIMIT, the report names them as a part
 * of busy time. If the lower and the upper limit of busy time are further apart than UNSURE_LIMIT, the report gives
 * both. */
enum { MOVING_LIMIT = 15, UNSURE_LIMIT = 10 };

/* If steady steps cover less of the recording than this percentage, the report says so. */
enum { COVERED_LIMIT = 75 };

/* Advice that saves less than this share of a step, or of the recording, is not shown. */
enum { LEAST_SHOWN_PER_MILLE = 10 };

/* Percent. The report compares each matrix kernel with the peak of its own precision. The report mentions this if the
 * mean share is more than 5 % larger than the share of a single peak for all kernels. */
enum { MIXED_LIMIT = 105 };

static const struct ws_track_wall *verdict_wall_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_wall, track);
}

/* Is the time that was not recorded more than 0.1 % of a step, so that a printed share shows it? If so, busy time has
 * a lower and an upper limit. */
static bool lacks_time(const struct ws_track_wall *wall)
{
    return wall->parts[WS_PART_UNRECORDED] > wall->length / 1000;
}

int64_t ws_verdict_idle(const struct ws_track_wall *wall)
{
    int64_t idle = -wall->parts[WS_PART_UNRECORDED];
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        idle += wall->parts[cause];
    return idle;
}

static int64_t busy_of(const struct ws_track_wall *wall)
{
    return wall->length - ws_verdict_idle(wall) - wall->parts[WS_PART_UNRECORDED];
}

enum { COPIES_TEXT = WS_COPIES_PHRASE + 40 };

/* Writes "in exposed copies: host to device, pageable (…)". */
static void write_copies(const struct ws_report *report, size_t track, char text[COPIES_TEXT])
{
    char phrase[WS_COPIES_PHRASE];
    ws_copies_phrase(ws_report_result(report, &ws_analysis_copies, track),
                     verdict_wall_of(report, track)->parts[WS_PART_EXPOSED_MEMORY], phrase);
    snprintf(text, COPIES_TEXT, "%s%s%s", ws_part_spent(WS_PART_EXPOSED_MEMORY), *phrase ? ": " : "", phrase);
}

/* Prints the wall. Exposed copies count as overhead. If exposed copies are a large part of a step, the printed line
 * names the copies. */
static void print_wall(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    if (!wall->wall) {
        ws_page_fact(page, "the wall", "not known: %s", wall->why_none);
        return;
    }
    int64_t copied = wall->wall == WS_WALL_OVERHEAD ? wall->parts[WS_PART_EXPOSED_MEMORY] : 0;
    bool are_cause = wall->cause == WS_PART_EXPOSED_MEMORY,
         are_beside = !are_cause && copied >= wall->length / 100 * MOVING_LIMIT;
    char copies[COPIES_TEXT], beside[WS_FORMAT_SIZE], call[WS_GAP_CALL];
    write_copies(report, track, copies);
    ws_gap_call_phrase(report, track, wall->cause, call);
    char part[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE];
    int64_t time = wall->by_wall[wall->wall], most_time = wall->in_wall[wall->cause][wall->wall];
    ws_page_fact(page, "the wall", "%s: %s of the %s of %s (%s), %s of it %s%s%s%s%s%s%s", ws_wall_name(wall->wall),
                 ws_format_time(part, time), ws_format_time(whole, wall->length), ws_wall_unit(wall),
                 ws_format_share(share, time, wall->length),
                 most_time == time ? "all" : ws_format_time(most, most_time),
                 are_cause ? copies : ws_verdict_spent_on(wall, wall->cause), call, are_beside ? ", another " : "",
                 are_beside ? ws_format_time(beside, copied) : "", are_beside ? " " : "", are_beside ? copies : "",
                 wall->by_names ? "; only the names of kernels suggest it: their work is not known" : "");
}

/* Prints the classes of the kernels that the wall consists of, most time first, if there are at least two. */
static void print_made_of(const struct ws_track_wall *wall, struct ws_page *page)
{
    enum { LEAST = 5, MOST = 5 }; /* LEAST: percent of the wall; MOST: number of classes */
    int64_t times[WS_CLASS_COUNT + 1], all = wall->by_wall[wall->wall];
    char text[200] = "", time[WS_FORMAT_SIZE];
    size_t listed = 0;
    if (wall->wall != WS_WALL_COMPUTE && wall->wall != WS_WALL_BANDWIDTH)
        return;
    memcpy(times, wall->by_class[wall->wall], sizeof(wall->by_class[wall->wall]));
    times[WS_CLASS_COUNT] = wall->in_wall[WS_PART_DEVICE_COPIES][wall->wall];
    for (; listed < MOST; listed++) {
        size_t most = 0;
        for (size_t i = 1; i <= WS_CLASS_COUNT; i++)
            if (times[i] > times[most])
                most = i;
        if (times[most] <= all / 100 * LEAST)
            break;
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s", listed ? ", " : "",
                 most < WS_CLASS_COUNT ? ws_kernel_class_name((uint32_t)most) : ws_part_label(WS_PART_DEVICE_COPIES),
                 ws_format_time(time, times[most]));
        times[most] = 0;
    }
    if (listed > 1)
        ws_page_fact(page, "made of", "%s", text);
}

/* Says why the wall is not the largest part: a delay that is long enough comes first (wall_judge). */
static void print_larger(const struct ws_track_wall *wall, struct ws_page *page)
{
    enum ws_wall largest = wall->wall;
    char share[WS_FORMAT_SIZE];
    for (int other = WS_WALL_NONE + 1; other < WS_WALL_COUNT; other++)
        if (wall->by_wall[other] > wall->by_wall[largest])
            largest = (enum ws_wall)other;
    if (wall->wall && largest != wall->wall)
        ws_page_fact(page, "", "%s takes more (%s), but first comes what keeps the GPU from computing",
                     ws_wall_name(largest), ws_format_share(share, wall->by_wall[largest], wall->length));
}

/* Prints the wall that remains without waits for input. For a server that waits for requests, this is the only wall
 * that can be worked on. */
static void print_behind(const struct ws_track_wall *wall, struct ws_page *page)
{
    int64_t input = wall->parts[WS_PART_INPUT], length = wall->length - input;
    int64_t time = wall->by_wall[wall->behind] - (wall->behind == WS_WALL_OVERHEAD ? input : 0);
    char part[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    if (wall->behind)
        ws_page_fact(page, "behind it", "%s: %s of the %s in which it did not wait for input%s (%s)%s%s",
                     ws_wall_name(wall->behind), ws_format_time(part, time), ws_format_time(whole, length),
                     wall->trains ? "" : " or requests", ws_format_share(share, time, length),
                     wall->behind == WS_WALL_OVERHEAD ? ", the largest part of it " : "",
                     wall->behind == WS_WALL_OVERHEAD ? ws_part_spent(wall->behind_cause) : "");
}

/* Warns about launches that took longer because hardware counters were read. Figures per step leave out the steps
 * with such launches. Figures of the whole recording include them. */
static void print_held_up(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, track)->process);
    char count[WS_FORMAT_SIZE];
    if (!verdict_wall_of(report, track)->per_step && ws_sparse_count(&process->ops.counted))
        ws_page_fact(page, "",
                     "hardware counters delayed %s launches, and no steady step is free of them; "
                     "record without --counters for the program's own wall",
                     ws_format_count(count, ws_sparse_count(&process->ops.counted)));
}

static void verdict_print_untimed(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track *of = ws_model_track(report->model, track);
    char text[WS_UNTIMED_TEXT];
    ws_untimed_write(report, track, of->untimed + of->backwards == 1 ? "has no device times" : "have no device times",
                     text);
    if (*text)
        ws_page_fact(page, "not all timed", "%s: while they ran the GPU counts as idle", text);
}

static bool is_doubtful(const struct ws_track_steps *steps)
{
    return steps->source == WS_STEPS_FOUND && steps->proof == WS_PROOF_STRUCTURE;
}

static void print_steps(const struct ws_track_steps *steps, struct ws_page *page)
{
    char count[WS_FORMAT_SIZE], median[WS_FORMAT_SIZE], p95[WS_FORMAT_SIZE], slow[40] = "", left_out[80] = "";
    char phases[160], what[200];
    size_t warm_up = steps->kinds[WS_STEP_WARM_UP];
    bool few = steps->kinds[WS_STEP_STEADY] < FEWEST_STEPS;
    ws_phases_write(&steps->phases, phases, sizeof(phases));
    if (few && (steps->phases.several || (steps->phases.any && steps->source == WS_STEPS_NONE))) {
        ws_page_fact(page, "1 step time stable?", "not known  too few steps: %s", phases);
        return;
    }
    if (!steps->kinds[WS_STEP_STEADY]) {
        ws_page_fact(page, "1 step time stable?", "not known  %s",
                     steps->why_none ? steps->why_none : "no step is like the others");
        return;
    }
    if (few) {
        ws_page_fact(page, "1 step time stable?", "not known  too few steps: %zu, median %s",
                     steps->kinds[WS_STEP_STEADY], ws_format_time(median, steps->median));
        return;
    }
    if (warm_up)
        snprintf(left_out, sizeof(left_out), "  (%zu warm-up %s left out)", warm_up, warm_up == 1 ? "step" : "steps");
    if (steps->slow)
        snprintf(slow, sizeof(slow), ", %s slow", ws_format_count(count, steps->slow));
    if (steps->phases.several)
        snprintf(what, sizeof(what), "%s; %s:", phases, ws_phase_name(steps->phases.lead));
    else
        snprintf(what, sizeof(what), "%s %s,", ws_format_count(count, steps->kinds[WS_STEP_STEADY]),
                 steps->source == WS_STEPS_MARKED ? "marked steps"
                 : is_doubtful(steps)             ? "steps found (doubtful)"
                                                  : "steps found");
    ws_page_fact(page, "1 step time stable?", "%s  %s median %s, p95 %s, CoV %.1f %%%s%s",
                 steps->stable ? "yes" : "no ", what, ws_format_time(median, steps->median),
                 ws_format_time(p95, steps->p95), steps->cov * 100, slow, left_out);
}

/* Warns if steady steps cover little of the recording. Figures per step leave out the rest of the recording, such as
 * evaluation. */
static void print_covered(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    int64_t known = ws_activity_known(ws_report_result(report, &ws_analysis_activity, track));
    int64_t covered = steps->lasted[WS_STEP_STEADY];
    char share[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE];
    if (steps->kinds[WS_STEP_STEADY] && covered < known / 100 * COVERED_LIMIT)
        ws_page_fact(page, "",
                     "%s%s are %s of the %s recorded; figures per step leave out the rest (--steps none includes "
                     "it)",
                     steps->phases.several ? ws_phase_name(steps->phases.lead) : "they",
                     steps->phases.several ? " steps" : "", ws_format_share(share, covered, known),
                     ws_format_time(whole, known));
}

/* Writes "98.7 %, 491 ms of it in collectives that no compute hides". In these 491 ms the device is busy but computes
 * nothing. */
static void write_busy(const struct ws_track_wall *wall, int64_t busy, char *text, size_t capacity)
{
    static const enum ws_part moving[] = { WS_PART_EXPOSED_COMM, WS_PART_EXPOSED_MEMORY, WS_PART_DEVICE_COPIES };
    char share[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE];
    size_t used = (size_t)snprintf(text, capacity, "%s", ws_format_share(share, busy, wall->length));
    if (lacks_time(wall))
        used = (size_t)snprintf(text, capacity, "between %s and %s, as %s were not recorded", share,
                                ws_format_share(most, busy + wall->parts[WS_PART_UNRECORDED], wall->length),
                                ws_format_time(time, wall->parts[WS_PART_UNRECORDED]));
    for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++)
        if (wall->parts[moving[i]] >= wall->length / 100 * MOVING_LIMIT)
            used += (size_t)snprintf(text + used, capacity - used, ", %s%s %s",
                                     ws_format_time(time, wall->parts[moving[i]]), lacks_time(wall) ? "" : " of it",
                                     ws_part_spent(moving[i]));
}

/* The answer to "GPU busy?". The answer is "not known" if it depends on time that was not recorded. */
static const char *is_busy(const struct ws_track_wall *wall, int64_t busy)
{
    double limit = (double)wall->length * BUSY_LIMIT / 100;
    if ((double)busy >= limit)
        return "yes";
    return lacks_time(wall) && (double)(busy + wall->parts[WS_PART_UNRECORDED]) >= limit ? "not known" : "no ";
}

/* Writes the lower and upper limit of busy time, if these are far apart because of the errors of the times. */
static void write_bounds(const struct ws_track_activity *activity, char *text, size_t capacity)
{
    char least[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE];
    int64_t known = ws_activity_known(activity), upper = ws_min(activity->busy_most, known);
    *text = 0;
    if (upper - activity->busy_least > known / 100 * UNSURE_LIMIT)
        snprintf(text, capacity, " (over the recording between %s and %s, since times have errors)",
                 ws_format_share(least, activity->busy_least, known), ws_format_share(most, upper, known));
}

static void print_busy(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    char time[WS_FORMAT_SIZE], causes[400] = "", text[200], bounds[120];
    int64_t busy = busy_of(wall);
    uint32_t order[WS_CAUSE_COUNT];
    for (uint32_t i = 0; i < WS_CAUSE_COUNT; i++) {
        uint32_t at = i;
        for (; at && wall->parts[order[at - 1]] < wall->parts[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t i = 0; i < WS_CAUSE_COUNT && wall->parts[order[i]] > wall->length / 1000; i++)
        if (order[i] != WS_PART_UNRECORDED)
            snprintf(causes + strlen(causes), sizeof(causes) - strlen(causes), "%s %s %s",
                     *causes ? "," : "; idle:", ws_part_label((enum ws_part)order[i]),
                     ws_format_time(time, wall->parts[order[i]]));
    write_busy(wall, busy, text, sizeof(text));
    write_bounds(ws_report_result(report, &ws_analysis_activity, track), bounds, sizeof(bounds));
    ws_page_fact(page, "2 GPU busy?", "%s  %s%s%s%s", is_busy(wall, busy), text, bounds, causes,
                 *causes && wall->per_step ? " a step" : "");
}

/* Time in graphs that were measured as a whole. */
static int64_t graph_time(const struct ws_report *report, const struct ws_track_kernels *kernels)
{
    const struct ws_kernel_row *rows = kernels->rows.data;
    int64_t time = 0;
    for (size_t i = 0; i < kernels->rows.count; i++)
        if (ws_model_name(report->model, rows[i].name)->kind == WS_OP_GRAPH)
            time = (int64_t)((uint64_t)time + (uint64_t)rows[i].total);
    return time;
}

static void verdict_print_matmuls(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, track);
    char share[WS_FORMAT_SIZE], limited[WS_FORMAT_SIZE];
    int64_t matmul = wall->parts[WS_PART_MATMUL], compute = matmul + wall->parts[WS_PART_OTHER_COMPUTE];
    if (!compute && !wall->parts[WS_PART_GRAPHS]) {
        ws_page_fact(page, "3 busy in matmuls?", "not known  nothing computed");
        return;
    }
    if (graph_time(report, kernels) > kernels->total / 2 || wall->parts[WS_PART_GRAPHS] > compute) {
        ws_page_fact(page, "3 busy in matmuls?",
                     "not known  most of it ran in CUDA graphs, which were measured as a whole");
        return;
    }
    int64_t by_memory = wall->in_wall[WS_PART_MATMUL][WS_WALL_BANDWIDTH];
    ws_page_fact(page, "3 busy in matmuls?", "%s  %s of kernel time%s%s%s", 2 * matmul >= compute ? "yes" : "no ",
                 ws_format_share(share, matmul, compute), by_memory > matmul / 10 ? "; memory limits " : "",
                 by_memory > matmul / 10 ? ws_format_share(limited, by_memory, matmul) : "",
                 by_memory > matmul / 10 ? " of them" : "");
}

/* Prints which share of the peak the matrix kernels with known FLOPs reach. Prints "not known" if matrix kernels with
 * known FLOPs take less than half of the time of all matrix kernels. */
static void print_peak(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_roofline *roofline = ws_report_result(report, &ws_analysis_roofline, track);
    char share[WS_FORMAT_SIZE], text[WS_PEAK_TEXT], from[200];
    double peak = roofline->match ? ws_gpu_peak(&roofline->gpu, roofline->precision) : 0;
    if (!(peak > 0) || roofline->matmul_known <= 0 || 2 * roofline->matmul_known < roofline->matmul_total) {
        ws_page_fact(page, "4 matmuls near peak?", "not known  %s",
                     !roofline->match          ? ws_why_no_peaks(report, ws_model_track(report->model, track))
                     : !roofline->matmul_total ? "there are none"
                                               : ws_roofline_why_unknown(report, track));
        return;
    }
    double of_peak = roofline->matmul_of_peak,
           of_most = roofline->matmul_flops / (double)roofline->matmul_known / peak;
    bool is_mixed = of_peak > of_most * MIXED_LIMIT / 100;
    ws_roofline_flops_from(roofline, from, sizeof(from));
    ws_page_fact(page, "4 matmuls near peak?", "%s  %.1f %% of %s%s, for the %s of their time whose FLOPs are known",
                 of_peak >= PEAK_LIMIT / 100.0 ? "yes" : "no ", 100 * of_peak,
                 is_mixed ? "the peak of each one's precision, for most FLOPs " : "",
                 ws_peak_text(&roofline->gpu, roofline->precision, text),
                 ws_format_share(share, roofline->matmul_known, roofline->matmul_total));
    ws_page_fact(page, "MFU", "%s%.3g %%  of %s%.4g TFLOP/s; FLOPs from: %s",
                 roofline->matmul_known < roofline->matmul_total ? "at least " : "", 100 * roofline->mfu,
                 ws_gpu_peak_is_measured(&roofline->gpu, roofline->precision) ? "measured peak " : "", peak / 1e3,
                 from);
}

/* Prints the saving from removing several causes together, if this saving exceeds the sum of the single savings. */
static void print_together(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, track);
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    char causes[WS_TOGETHER_TEXT], time[WS_FORMAT_SIZE];
    int64_t alone = ws_savings_together(savings, causes);
    if (savings->together - alone > wall->length / 1000 * LEAST_SHOWN_PER_MILLE)
        ws_page_fact(page, "", "up to %s%s: %s removed together, as each hides some of the other",
                     ws_format_time(time, savings->together), wall->per_step ? " a step" : "", causes);
}

size_t ws_verdict_advice(const struct ws_report *report, size_t track, size_t most)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t count = ws_min(wall->advice.items.count, most), shown = 0;
    while (shown < count && advice[shown].saving_ns > wall->length / 1000 * LEAST_SHOWN_PER_MILLE)
        shown++;
    return shown;
}

static void print_advice(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t count = wall->advice.items.count, shown = ws_verdict_advice(report, track, ADVICE_SHOWN);
    char time[WS_FORMAT_SIZE];
    bool again = ws_missing_needs_recording(report, track, wall);
    if (again)
        ws_page_fact(page, "do first",
                     "record again, with all operations and the kernels of graphs: wallshim record -- COMMAND");
    else if (!shown)
        ws_page_fact(page, "do first", wall->wall ? "nothing cheap to win was found" : "not known");
    for (size_t i = 0; i < shown; i++)
        ws_page_fact(page, i || again ? "" : "do first", "up to %s%s: %s%s%s%s%s%s",
                     ws_format_time(time, advice[i].saving_ns), wall->per_step ? " a step" : " of the recording",
                     advice[i].what, *advice[i].where ? "; at " : "", advice[i].where,
                     *advice[i].evidence ? " (" : "", advice[i].evidence, *advice[i].evidence ? ")" : "");
    print_together(report, track, page);
    if (shown && shown < count)
        ws_page_fact(page, "", "and %zu more in the sections below", count - shown);
}

void ws_verdict_wall(const struct ws_report *report, size_t track, struct ws_page *page)
{
    print_wall(report, track, page);
    print_made_of(verdict_wall_of(report, track), page);
    print_larger(verdict_wall_of(report, track), page);
    print_behind(verdict_wall_of(report, track), page);
    print_held_up(report, track, page);
}

void ws_verdict_questions(const struct ws_report *report, size_t track, struct ws_page *page)
{
    ws_missing_text(report, track, verdict_wall_of(report, track), page);
    verdict_print_untimed(report, track, page);
    print_steps(ws_report_result(report, &ws_analysis_steps, track), page);
    print_covered(report, track, page);
    print_busy(report, track, page);
    verdict_print_matmuls(report, track, page);
    print_peak(report, track, page);
}

static void verdict_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    size_t label = page->label, shown = ws_report_slowest(report).shown;
    (void)subject;
    (void)memory;
    page->label = WS_VERDICT_LABEL;
    ws_verdict_devices(report, shown, page->all ? "" : "; sections show only this one, --all shows each", page);
    if (shown == WS_NOWHERE) {
        page->label = label;
        ws_no_verdict_text(report, page);
        return;
    }
    ws_verdict_wall(report, shown, page);
    ws_wall_print_beside(verdict_wall_of(report, shown), page);
    ws_wall_print_shares(verdict_wall_of(report, shown), page);
    ws_verdict_questions(report, shown, page);
    print_advice(report, shown, page);
    page->label = label;
}

static int verdict_run(const struct ws_report *report, size_t subject, void *memory)
{
    (void)report;
    (void)subject;
    (void)memory;
    return 0;
}

const struct ws_analysis ws_analysis_verdict = {
    .name = "verdict",
    .title = "The wall",
    .scope = WS_SCOPE_JOB,
    .last = true,
    .run = verdict_run,
    .text = verdict_text,
};
