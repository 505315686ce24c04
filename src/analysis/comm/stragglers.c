#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/comm/comm.h"
#include "analysis/gaps/gaps.h"
#include "analysis/kernels/classify.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* We assume that two ranks did the same work if their numbers of kernels differ by at most this percentage. */
enum { SAME_WORK = 2 };

/* Advice lists the numbers of at most MOST_NAMED stragglers. */
enum { MOST_NAMED = 8, NAMES_TEXT = 160 };

static const struct ws_job_comm *stragglers_job_of(const struct ws_report *report)
{
    return ws_report_result(report, &ws_analysis_comm_match, 0);
}

static const struct ws_rank *stragglers_rank_at(const struct ws_report *report, size_t track)
{
    return (const struct ws_rank *)stragglers_job_of(report)->ranks.data + track;
}

static const struct ws_track_collectives *cost_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_collectives, track);
}

static const struct ws_track_steps *stragglers_steps_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_steps, track);
}

int64_t ws_comm_per_step(const struct ws_report *report, size_t track, int64_t total)
{
    const struct ws_track_steps *steps = stragglers_steps_of(report, track);
    return steps->kinds[WS_STEP_STEADY] ? ws_steps_share(steps, total) : total;
}

/* ---- why a rank is late */

/* Does the rank have collectives that were matched with other ranks, and is it not a straggler (a late rank)? */
static bool is_on_time(const struct ws_report *report, size_t track)
{
    return stragglers_rank_at(report, track)->matched && !stragglers_rank_at(report, track)->straggler;
}

/* The result of ws_analysis_punctual: means over the ranks on time (ranks with matched operations that are not
 * stragglers), and the tracks of up to MOST_NAMED stragglers. */
struct punctual {
    double ranks, compute, idle, kernels,
        causes[WS_CAUSE_COUNT]; /* `ranks`: number of ranks on time; the other fields: means over these ranks */
    double won;                 /* mean ns per step that a rank on time would save if the stragglers were on time */
    uint32_t stragglers[MOST_NAMED];
    size_t straggler_count;
};

static const struct punctual *punctual_of(const struct ws_report *report)
{
    return ws_report_result(report, &ws_analysis_punctual, 0);
}

static void add_punctual(const struct ws_report *report, size_t track, struct punctual *sum)
{
    const struct ws_track_collectives *cost = cost_of(report, track);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    sum->ranks++;
    sum->compute += (double)cost->compute;
    sum->idle += (double)cost->idle;
    sum->kernels += (double)cost->kernels;
    sum->won += (double)ws_comm_per_step(report, track, cost->caused_by_stragglers);
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        sum->causes[cause] += (double)causes->totals[cause].total;
}

static int run_punctual(const struct ws_report *report, size_t subject, void *memory)
{
    struct punctual *result = memory;
    (void)subject;
    for (size_t track = 0; track < report->model->tracks.count; track++)
        if (is_on_time(report, track))
            add_punctual(report, track, result);
        else if (stragglers_rank_at(report, track)->straggler && result->straggler_count < MOST_NAMED)
            result->stragglers[result->straggler_count++] = (uint32_t)track;
    double ranks = result->ranks > 0 ? result->ranks : 1;
    result->compute /= ranks;
    result->idle /= ranks;
    result->kernels /= ranks;
    result->won /= ranks;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        result->causes[cause] /= ranks;
    return 0;
}

const struct ws_analysis ws_analysis_punctual = {
    .name = "punctual",
    .scope = WS_SCOPE_JOB,
    .result_size = sizeof(struct punctual),
    .needs = { &ws_analysis_steps, &ws_analysis_causes, &ws_analysis_comm_match, &ws_analysis_collectives },
    .run = run_punctual,
};

/* Finds the cause of `idle`, the rank's extra idle time. A cause counts if this rank's idle time of that cause
 * exceeds the mean of the ranks on time by at least half of `idle`. Returns the first such cause. */
static enum ws_part cause_of(const struct ws_report *report, size_t track, int64_t idle)
{
    const struct ws_track_causes *own = ws_report_result(report, &ws_analysis_causes, track);
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        if (((double)own->totals[cause].total - punctual_of(report)->causes[cause]) * 2 >= (double)idle)
            return (enum ws_part)cause;
    return WS_PART_UNEXPLAINED;
}

struct ws_lateness ws_lateness_of(const struct ws_report *report, size_t track)
{
    const struct ws_track_collectives *own = cost_of(report, track);
    const struct punctual *others = punctual_of(report);
    if (!(others->ranks > 0))
        return (struct ws_lateness){ .cause = WS_PART_UNEXPLAINED };
    double more = (double)own->kernels - others->kernels;
    struct ws_lateness lateness = {
        .compute = own->compute - (int64_t)others->compute,
        .idle = own->idle - (int64_t)others->idle,
        .same_kernels = (more < 0 ? -more : more) * 100 <= others->kernels * SAME_WORK,
        .cause = WS_PART_UNEXPLAINED,
    };
    if (lateness.idle > 0)
        lateness.cause = cause_of(report, track, lateness.idle);
    return lateness;
}

/* Converts `time`, which is a sum over the time from the rank's first collective to its last, to a time per step.
 * Returns `time` unchanged if the rank has no steady steps. */
static int64_t a_step_of(const struct ws_report *report, size_t track, int64_t time)
{
    const struct ws_rank *rank = stragglers_rank_at(report, track);
    if (!rank->steps || rank->end <= rank->begin)
        return time;
    return (int64_t)((double)time *
                     ((double)stragglers_steps_of(report, track)->mean / (double)(rank->end - rank->begin)));
}

void ws_lateness_describe(const struct ws_report *report, size_t track, const struct ws_lateness *lateness,
                          char text[WS_LATENESS_TEXT])
{
    char time[WS_FORMAT_SIZE];
    uint32_t number = stragglers_rank_at(report, track)->number;
    const char *each = stragglers_rank_at(report, track)->steps ? " a step" : "";
    if (lateness->compute <= 0 && lateness->idle <= 0)
        snprintf(text, WS_LATENESS_TEXT, "the trace does not show why it is late");
    else if (lateness->compute >= lateness->idle)
        snprintf(text, WS_LATENESS_TEXT, "rank %" PRIu32 " computes %s%s longer than the others, with %s kernels",
                 number, ws_format_time(time, a_step_of(report, track, lateness->compute)), each,
                 lateness->same_kernels ? "as many" : "a different number of");
    else
        snprintf(text, WS_LATENESS_TEXT, "rank %" PRIu32 " is idle %s%s longer than the others, %s%s", number,
                 ws_format_time(time, a_step_of(report, track, lateness->idle)), each,
                 lateness->cause == WS_PART_UNEXPLAINED ? "its host late" : "mostly for ",
                 lateness->cause == WS_PART_UNEXPLAINED ? "" : ws_part_label(lateness->cause));
}

/* ---- advice */

/* Writes "rank 3", or "ranks 0 and 6", into `who`. Writes into `why` the reason why the first of these ranks is
 * late. */
static void stragglers_describe(const struct ws_report *report, char who[NAMES_TEXT], char why[WS_LATENESS_TEXT])
{
    const struct punctual *punctual = punctual_of(report);
    uint32_t stragglers = stragglers_job_of(report)->stragglers, named = 0;
    snprintf(who, NAMES_TEXT, stragglers == 1 ? "rank " : "ranks ");
    why[0] = 0;
    for (; named < punctual->straggler_count; named++) {
        uint32_t track = punctual->stragglers[named];
        const char *separator = !named ? "" : named + 1 == stragglers ? " and " : ", ";
        snprintf(who + strlen(who), NAMES_TEXT - strlen(who), "%s%" PRIu32, separator,
                 stragglers_rank_at(report, track)->number);
        if (!named) {
            struct ws_lateness lateness = ws_lateness_of(report, track);
            ws_lateness_describe(report, track, &lateness, why);
        }
    }
    if (stragglers > named)
        snprintf(who + strlen(who), NAMES_TEXT - strlen(who), " and %" PRIu32 " other%s", stragglers - named,
                 stragglers - named == 1 ? "" : "s");
}

/* Adds advice for a rank that waits for stragglers. */
static int advise_waiting(const struct ws_report *report, size_t track, struct ws_advice_list *list)
{
    const struct ws_track_collectives *cost = cost_of(report, track);
    static char what[] = "make the late ranks be on time";
    char who[NAMES_TEXT], evidence[WS_LATENESS_TEXT + 64], why[WS_LATENESS_TEXT];
    char time[WS_FORMAT_SIZE];
    stragglers_describe(report, who, why);
    snprintf(evidence, sizeof(evidence), "%s%s of waiting for late ranks; %s",
             ws_format_time(time, ws_comm_per_step(report, track, cost->waited_for_stragglers)),
             stragglers_steps_of(report, track)->kinds[WS_STEP_STEADY] ? " a step" : "", why);
    return ws_advice_add(
        list, &(struct ws_advice){ .name = "straggler",
                                   .part = WS_PART_EXPOSED_COMM,
                                   .saving_ns = ws_comm_per_step(report, track, cost->caused_by_stragglers),
                                   .what = what,
                                   .where = who,
                                   .evidence = evidence,
                                   .track = (uint32_t)track });
}

/* Returns the part that takes most of a device's compute time: matrix products, or other kernels. */
static enum ws_part larger_part(const struct ws_report *report, size_t track)
{
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, track);
    const struct ws_kernel_row *rows = kernels->rows.data;
    double matmul = 0, other = 0;
    for (size_t i = 0; i < kernels->rows.count; i++) {
        enum ws_kernel_class class = ws_report_class(report, rows[i].name);
        if (class != WS_CLASS_COMM && class != WS_CLASS_COPY)
            *(ws_class_is_matmul(class) ? &matmul : &other) += (double)rows[i].total;
    }
    return matmul >= other ? WS_PART_MATMUL : WS_PART_OTHER_COMPUTE;
}

/* Adds advice for a straggler that computes longer than the other ranks. The saving is the extra compute time, but at
 * most the mean time that the other ranks would save if no rank were late. If a straggler has more extra idle time
 * than extra compute time, this function adds nothing, because the advice on gaps (idle periods of the device) covers
 * its idle time. */
static int advise_straggler(const struct ws_report *report, size_t track, struct ws_advice_list *list)
{
    const struct ws_rank *rank = stragglers_rank_at(report, track);
    struct ws_lateness lateness = ws_lateness_of(report, track);
    char what[160], where[32], why[WS_LATENESS_TEXT];
    int64_t won = (int64_t)punctual_of(report)->won, more = lateness.compute, time = rank->end - rank->begin;
    if (lateness.compute <= lateness.idle || more <= 0 || won <= 0 || time <= 0)
        return 0;
    more = a_step_of(report, track, more);
    snprintf(what, sizeof(what), "find out why this rank computes longer than the others: %s",
             lateness.same_kernels ? "clocks, temperature, other users of the GPU, larger inputs"
                                   : "it does different work");
    snprintf(where, sizeof(where), "rank %" PRIu32, rank->number);
    ws_lateness_describe(report, track, &lateness, why);
    return ws_advice_add(list, &(struct ws_advice){ .name = "straggler",
                                                    .part = larger_part(report, track),
                                                    .saving_ns = ws_min(more, won),
                                                    .what = what,
                                                    .where = where,
                                                    .evidence = why,
                                                    .track = (uint32_t)track });
}

int ws_stragglers_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list)
{
    int status = 0;
    if (stragglers_rank_at(report, track)->straggler)
        status = advise_straggler(report, track, list);
    if (!status && cost_of(report, track)->caused_by_stragglers > 0)
        status = advise_waiting(report, track, list);
    return status;
}
