/* Prints the four questions of the report's first section and their answers. The text of each question names the
 * limit from which on the answer is "yes". */
#include <stdio.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/graphs.h"
#include "analysis/kernels/kernels.h"
#include "analysis/roofline/roofline.h"
#include "analysis/roofline/roofline_judge.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/missing.h"
#include "analysis/verdict/no_verdict.h"
#include "analysis/verdict/verdict.h"
#include "analysis/verdict/wall_text.h"
#include "base/minmax.h"
#include "report/peaks.h"

/* The answer to a question is "yes" from these percentages on: BUSY_LIMIT of a step ("GPU busy?"), MATMUL_LIMIT of
 * compute time (matrix work), PEAK_LIMIT of the peak FLOP rate. FEWEST_STEPS: with fewer steady steps than this, the
 * report does not tell whether the step time is stable. */
enum { BUSY_LIMIT = 85, MATMUL_LIMIT = 50, PEAK_LIMIT = 60, FEWEST_STEPS = 3 };

/* Percent of a step. Exposed copies and exposed communication are those that run while no compute runs. If either
 * takes at least MOVING_LIMIT, the report names it as a part of busy time. If either takes more than MOSTLY_LIMIT,
 * the GPU does not count as busy. If the lower and the upper limit of the busy time are further apart than
 * UNSURE_LIMIT percent of the recording, the report gives the two limits. */
enum { MOVING_LIMIT = WS_VERDICT_MOVING, MOSTLY_LIMIT = 50, UNSURE_LIMIT = 10 };

/* Per mille of a step. Causes of idle time that take less are not listed. */
enum { IDLE_PER_MILLE = 5 };

/* Percent of a step. The report mentions that the profiler slowed the host only if the device waited for the host for
 * at least this share of a step. */
enum { SLOWED_LIMIT = 5 };

/* If steady steps cover less of the recording than this percentage, the report says so. */
enum { COVERED_LIMIT = 75 };

/* Percent. The report compares each matrix kernel with the peak of the kernel's own precision. The report mentions
 * the different peaks only if the mean share of the peak is more than 5 % larger than it would be with one peak for
 * all kernels. */
enum { MIXED_LIMIT = 105 };

/* Is the time that was not recorded more than 0.1 % of a step, so that a printed share would show it? If so, the
 * report gives a lower and an upper limit of busy time. */
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

static void ask(struct ws_page *page, const char *question, int limit, const char *what, const char *answer)
{
    char label[40];
    snprintf(label, sizeof(label), "%s %d %%%s?", question, limit, what);
    ws_page_fact(page, label, "%s", answer);
}

static void questions_print_untimed(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track *of = ws_model_track(report->model, track);
    char text[WS_UNTIMED_TEXT];
    ws_untimed_write(report, track, of->untimed + of->backwards == 1 ? "has no device times" : "have no device times",
                     text);
    if (*text)
        ws_page_fact(page, "not all timed", "%s: while they ran the GPU counts as idle", text);
}

/* ---- 1 */

static bool is_doubtful(const struct ws_track_steps *steps)
{
    return steps->source == WS_STEPS_FOUND && steps->proof == WS_PROOF_STRUCTURE;
}

/* Writes why the question whether the step time is stable has no answer. Returns false if the question has an
 * answer. */
static bool write_no_steps(const struct ws_track_steps *steps, char *text, size_t capacity)
{
    size_t steady = steps->kinds[WS_STEP_STEADY];
    char phases[160], median[WS_FORMAT_SIZE];
    if (steady >= FEWEST_STEPS)
        return false;
    ws_phases_write(&steps->phases, phases, sizeof(phases));
    ws_format_time(median, steps->median);
    if (steps->phases.several || (steps->phases.any && steps->source == WS_STEPS_NONE))
        snprintf(text, capacity, "not known  too few steps: %s", phases);
    else if (!steady)
        snprintf(text, capacity, "not known  %s", steps->why_none ? steps->why_none : "no step is like the others");
    else if (steady == 1)
        snprintf(text, capacity, "not known  only one step, %s", median);
    else
        snprintf(text, capacity, "not known  too few steps: %zu, median %s", steady, median);
    return true;
}

/* Writes "; steps cover 70.9 % of the recording" if the steady steps cover less than COVERED_LIMIT percent of the
 * recording. The program may have done other work in the rest, such as evaluation. */
static void write_covered(const struct ws_report *report, size_t track, char *text, size_t capacity)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    int64_t known = ws_activity_known(ws_report_result(report, &ws_analysis_activity, track));
    int64_t covered = steps->lasted[WS_STEP_STEADY];
    char share[WS_FORMAT_SIZE];
    *text = 0;
    if (steps->kinds[WS_STEP_STEADY] && covered < known / 100 * COVERED_LIMIT)
        snprintf(text, capacity, "; %s%s %s of the recording",
                 steps->phases.several ? ws_phase_name(steps->phases.lead) : "",
                 steps->phases.several               ? " steps cover"
                 : steps->kinds[WS_STEP_STEADY] == 1 ? "it covers"
                                                     : "steps cover",
                 ws_format_share(share, covered, known));
}

static void print_steps(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    char count[WS_FORMAT_SIZE], median[WS_FORMAT_SIZE], p95[WS_FORMAT_SIZE], more[WS_FORMAT_SIZE], slow[40] = "",
                                                                                                   left_out[80] = "";
    char phases[160], what[200], covered[120], vary[80] = "", text[600];
    size_t warm_up = steps->kinds[WS_STEP_WARM_UP];
    write_covered(report, track, covered, sizeof(covered));
    if (write_no_steps(steps, text, sizeof(text))) {
        strncat(text, covered, sizeof(text) - strlen(text) - 1);
        ask(page, "1 stable within", WS_STEPS_STABLE_P95 - 100, "", text);
        return;
    }
    if (warm_up)
        snprintf(left_out, sizeof(left_out), "  (%zu warm-up %s left out)", warm_up, warm_up == 1 ? "step" : "steps");
    if (!steps->stable && steps->p95 <= steps->median / 100 * WS_STEPS_STABLE_P95)
        snprintf(vary, sizeof(vary), ", the middle half differ by %s (stable: up to 10 %%)",
                 ws_format_share(more, steps->quartile_range, steps->median));
    if (steps->slow)
        snprintf(slow, sizeof(slow), ", %s slow", ws_format_count(count, steps->slow));
    ws_phases_write(&steps->phases, phases, sizeof(phases));
    if (steps->phases.several)
        snprintf(what, sizeof(what), "%s; %s:", phases, ws_phase_name(steps->phases.lead));
    else
        snprintf(what, sizeof(what), "%s %s,", ws_format_count(count, steps->kinds[WS_STEP_STEADY]),
                 steps->source == WS_STEPS_MARKED ? "marked steps"
                 : is_doubtful(steps)             ? "steps found (doubtful)"
                                                  : "steps found");
    snprintf(text, sizeof(text), "%s  %s median %s, p95 %s (+%s), CoV %.1f %%%s%s%s%s", steps->stable ? "yes" : "no ",
             what, ws_format_time(median, steps->median), ws_format_time(p95, steps->p95),
             ws_format_share(more, steps->p95 - steps->median, steps->median), steps->cov * 100, vary, slow, left_out,
             covered);
    ask(page, "1 stable within", WS_STEPS_STABLE_P95 - 100, "", text);
}

/* ---- 2 */

/* Writes the busy time and its large parts in which no compute ran: "98.7 %, 491 ms of it in collectives that no
 * compute hides". */
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

/* Returns the answer to "GPU busy?". The answer is "not known" if it would be "yes" or "no" depending on what the
 * device did in the time that was not recorded. A GPU that mostly copies or communicates does not count as busy,
 * because it hardly computes. */
static const char *is_busy(const struct ws_track_wall *wall, int64_t busy)
{
    double limit = (double)wall->length * BUSY_LIMIT / 100;
    int64_t most = wall->length / 100 * MOSTLY_LIMIT;
    if ((double)busy < limit)
        return lacks_time(wall) && (double)(busy + wall->parts[WS_PART_UNRECORDED]) >= limit ? "not known" : "no ";
    if (wall->parts[WS_PART_EXPOSED_MEMORY] + wall->parts[WS_PART_DEVICE_COPIES] > most)
        return "no   mostly copying:";
    return wall->parts[WS_PART_EXPOSED_COMM] > most ? "no   mostly communicating:" : "yes";
}

/* Writes the lower and the upper limit of busy time. Writes "" if these limits are close together, because the errors
 * of the times are small. Returns whether the answer to "GPU busy?" would be "no" at the lower limit, and "yes" at
 * the upper limit. */
static bool write_bounds(const struct ws_track_activity *activity, char *text, size_t capacity)
{
    char least[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE];
    int64_t known = ws_activity_known(activity), upper = ws_min(activity->busy_most, known);
    *text = 0;
    if (upper - activity->busy_least <= known / 100 * UNSURE_LIMIT)
        return false;
    snprintf(text, capacity, " (over the recording between %s and %s, since times have errors)",
             ws_format_share(least, activity->busy_least, known), ws_format_share(most, upper, known));
    return activity->busy_least < known / 100 * BUSY_LIMIT && upper >= known / 100 * BUSY_LIMIT;
}

/* Writes that the idle times are upper limits, if the device waited for the host for at least SLOWED_LIMIT percent of
 * a step and the profiler slowed the host. */
static void questions_write_slowed(const struct ws_report *report, size_t track, char *text, size_t capacity)
{
    static const enum ws_part by_host[] = { WS_PART_INPUT, WS_PART_SYNC, WS_PART_LAUNCH, WS_PART_ALLOCATION };
    const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, track);
    const char *by =
        ws_process_slowed_by(ws_model_process(report->model, ws_model_track(report->model, track)->process));
    int64_t idle = 0;
    for (size_t i = 0; i < sizeof(by_host) / sizeof(by_host[0]); i++)
        idle += wall->parts[by_host[i]];
    *text = 0;
    if (by && idle >= wall->length / 100 * SLOWED_LIMIT)
        snprintf(text, capacity, " (at most: recording %s slowed the host)", by);
}

static void print_busy(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, track);
    char time[WS_FORMAT_SIZE], causes[400] = "", text[200], bounds[120], slowed[160], answer[800];
    int64_t busy = busy_of(wall);
    uint32_t order[WS_CAUSE_COUNT];
    for (uint32_t i = 0; i < WS_CAUSE_COUNT; i++) {
        uint32_t at = i;
        for (; at && wall->parts[order[at - 1]] < wall->parts[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t i = 0; i < WS_CAUSE_COUNT && wall->parts[order[i]] > wall->length / 1000 * IDLE_PER_MILLE; i++)
        if (order[i] != WS_PART_UNRECORDED)
            snprintf(causes + strlen(causes), sizeof(causes) - strlen(causes), "%s %s %s",
                     *causes ? "," : "; idle:", ws_part_label((enum ws_part)order[i]),
                     ws_format_time(time, wall->parts[order[i]]));
    write_busy(wall, busy, text, sizeof(text));
    bool unsure = write_bounds(ws_report_result(report, &ws_analysis_activity, track), bounds, sizeof(bounds));
    const char *is = is_busy(wall, busy);
    unsure &= strcmp(is, "not known") != 0;
    if (unsure && !strcmp(is, "no "))
        is = "no";
    questions_write_slowed(report, track, slowed, sizeof(slowed));
    snprintf(answer, sizeof(answer), "%s%s%s%s%s%s%s%s", unsure ? "likely " : "", is,
             is[strlen(is) - 1] == ':' ? " " : "  ", text, bounds, causes, *causes && wall->per_step ? " a step" : "",
             slowed);
    ask(page, "2 GPU busy ≥", BUSY_LIMIT, "", answer);
}

/* ---- 3 and 4 */

static const char IN_GRAPHS[] = "not known  most of it ran in CUDA graphs (--section graphs)";

/* Returns the device time, in ns, of CUDA graphs that were timed as a whole. */
static int64_t graph_time(const struct ws_report *report, const struct ws_track_kernels *kernels)
{
    const struct ws_kernel_row *rows = kernels->rows.data;
    int64_t time = 0;
    for (size_t i = 0; i < kernels->rows.count; i++)
        if (ws_model_name(report->model, rows[i].name)->kind == WS_OP_GRAPH)
            time = (int64_t)((uint64_t)time + (uint64_t)rows[i].total);
    return time;
}

/* Did CUDA graphs that were timed as a whole compute more than all other kernels, in the recording or in its steps?
 */
static bool graphs_compute_most(const struct ws_report *report, size_t track)
{
    const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, track);
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, track);
    return graph_time(report, kernels) > kernels->total / 2 ||
           wall->parts[WS_PART_GRAPHS] > wall->parts[WS_PART_MATMUL] + wall->parts[WS_PART_OTHER_COMPUTE];
}

/* Writes the answer to question 3 (share of matrix work) if CUDA graphs computed most. */
static void write_graph_matmuls(const struct ws_report *report, size_t track, char *text, size_t capacity)
{
    double share;
    if (ws_graphs_matmul_share(report, track, &share))
        snprintf(text, capacity,
                 "likely %s  about %.0f %% of the CUDA graphs: GEMMs, convolutions and attention, by their times "
                 "outside of them",
                 share * 100 >= MATMUL_LIMIT ? "yes" : "no", share * 100);
    else
        snprintf(text, capacity, "%s", IN_GRAPHS);
}

/* Prints the share of compute time that is matrix work. Prints the compute time too, because a large share means
 * little on a GPU that hardly computes. */
static void print_matmuls(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, track);
    char share[WS_FORMAT_SIZE], limited[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], part[WS_FORMAT_SIZE], text[320];
    int64_t matmul = wall->parts[WS_PART_MATMUL], compute = matmul + wall->parts[WS_PART_OTHER_COMPUTE];
    int64_t by_memory = wall->in_wall[WS_PART_MATMUL][WS_WALL_BANDWIDTH];
    const char *is = *wall->reason                                            ? "not known"
                     : (double)matmul * 100 >= (double)compute * MATMUL_LIMIT ? "yes"
                                                                              : "no ";
    if (!compute && !wall->parts[WS_PART_GRAPHS])
        snprintf(text, sizeof(text), "not known  nothing computed");
    else if (graphs_compute_most(report, track))
        write_graph_matmuls(report, track, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%s  %s of %s in compute kernels (%s of %s%s)%s%s%s", is,
                 ws_format_share(share, matmul, compute), ws_format_time(time, compute),
                 ws_format_share(part, compute, wall->length), ws_wall_base(wall),
                 *wall->reason ? ", as far as recorded" : "", by_memory > matmul / 10 ? "; memory limits " : "",
                 by_memory > matmul / 10 ? ws_format_share(limited, by_memory, matmul) : "",
                 by_memory > matmul / 10 ? " of the matmuls" : "");
    ask(page, "3 matmuls ≥", MATMUL_LIMIT, "", text);
}

/* Writes the MFU (model FLOPs utilization): "; MFU at least 16.6 %". */
static void write_mfu(const struct ws_track_roofline *roofline, char *text, size_t capacity)
{
    char from[200];
    ws_roofline_flops_from(roofline, from, sizeof(from));
    snprintf(text, capacity, "; MFU %s%.3g %%%s%s%s",
             roofline->matmul_known < roofline->matmul_total ? "at least " : "", 100 * roofline->mfu,
             strchr(from, ',') ? " (FLOPs from: " : "", strchr(from, ',') ? from : "", strchr(from, ',') ? ")" : "");
}

/* Why is it not known which share of the peak the matrix kernels reach? */
static const char *why_no_share(const struct ws_report *report, size_t track,
                                const struct ws_track_roofline *roofline, char peak_text[WS_PEAK_TEXT])
{
    if (!roofline->match)
        return ws_why_no_peaks(report, ws_model_track(report->model, track));
    if (!roofline->matmul_total)
        return "there are none";
    if (!(ws_gpu_peak(&roofline->gpu, roofline->precision) > 0))
        return ws_peak_text(&roofline->gpu, roofline->precision, peak_text);
    return ws_roofline_why_unknown(report, track);
}

/* Prints which share of the peak the matrix kernels with known FLOPs reach. Prints "not known" if matrix kernels with
 * known FLOPs take less than half of the time of all matrix kernels, if CUDA graphs hide most kernels, or if the
 * share is impossible. */
static void print_peak(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_roofline *roofline = ws_report_result(report, &ws_analysis_roofline, track);
    char share[WS_FORMAT_SIZE], peak_text[WS_PEAK_TEXT], part[WS_FORMAT_SIZE + 60] = "", mfu[280], text[700];
    double peak = roofline->match ? ws_gpu_peak(&roofline->gpu, roofline->precision) : 0;
    if (graphs_compute_most(report, track)) {
        ask(page, "4 matmuls ≥", PEAK_LIMIT, " peak", IN_GRAPHS);
        return;
    }
    if (!(peak > 0) || roofline->matmul_known <= 0 || 2 * roofline->matmul_known < roofline->matmul_total) {
        snprintf(text, sizeof(text), "not known  %s", why_no_share(report, track, roofline, peak_text));
        ask(page, "4 matmuls ≥", PEAK_LIMIT, " peak", text);
        return;
    }
    double of_peak = roofline->matmul_of_peak,
           of_most = roofline->matmul_flops / (double)roofline->matmul_known / peak;
    if (ws_roofline_is_impossible(roofline)) {
        snprintf(text, sizeof(text),
                 "not known  %.0f %% of %s: impossible, so the peak, the FLOPs or the times are wrong", 100 * of_peak,
                 ws_peak_text(&roofline->gpu, roofline->precision, peak_text));
        ask(page, "4 matmuls ≥", PEAK_LIMIT, " peak", text);
        return;
    }
    bool is_mixed = of_peak > of_most * MIXED_LIMIT / 100;
    ws_format_share(share, roofline->matmul_known, roofline->matmul_total);
    if (strcmp(share, "100.0 %") != 0)
        snprintf(part, sizeof(part), ", for the %s of their time whose FLOPs are known", share);
    write_mfu(roofline, mfu, sizeof(mfu));
    snprintf(text, sizeof(text), "%s  %.1f %% of %s%s%s%s", of_peak >= PEAK_LIMIT / 100.0 ? "yes" : "no ",
             100 * of_peak, is_mixed ? "the peak of each one's precision, for most FLOPs " : "",
             ws_peak_text(&roofline->gpu, roofline->precision, peak_text), part, mfu);
    ask(page, "4 matmuls ≥", PEAK_LIMIT, " peak", text);
}

void ws_verdict_questions(const struct ws_report *report, size_t track, struct ws_page *page)
{
    ws_missing_text(report, track, ws_report_result(report, &ws_analysis_wall, track), page);
    questions_print_untimed(report, track, page);
    print_steps(report, track, page);
    print_busy(report, track, page);
    print_matmuls(report, track, page);
    print_peak(report, track, page);
}
