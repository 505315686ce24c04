#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/initialization.h"
#include "analysis/steps/steps.h"

/* Initialization is shown if it takes at least SHOWN percent of the recording, and late loads if they take at least
 * SHOWN percent of the steady steps. If initialization takes more than START percent of the recording and more than
 * START_LEAST ns, or if the program is an inference server, the report also tells how to make it shorter. There is
 * advice on late loads only if the device's idle time in them is more than 1/WORTHWHILE of the steady steps. */
enum { SHOWN = 1, START = 10, START_LEAST = 1000000000, WORTHWHILE = 200 };

enum { KINDS_TEXT = 320 };

/* Writes "context creation 981 ms (inferred), module loads 4.00 ms", longest first. Leaves out kinds of calls that
 * took at most 1/20 of `time`. */
static void initialization_write_kinds(const int64_t of[WS_FIRST_COUNT], const bool is_inferred[WS_FIRST_COUNT],
                                       int64_t time, char text[KINDS_TEXT])
{
    bool is_written[WS_FIRST_COUNT] = { false };
    char length[WS_FORMAT_SIZE];
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < WS_FIRST_COUNT; i++) {
        enum ws_first_kind most = WS_FIRST_COUNT;
        for (enum ws_first_kind kind = 0; kind < WS_FIRST_COUNT; kind++)
            if (!is_written[kind] && (most == WS_FIRST_COUNT || of[kind] > of[most]))
                most = kind;
        is_written[most] = true;
        if (of[most] > time / 20)
            used += (size_t)snprintf(text + used, KINDS_TEXT - used, "%s%s %s%s", used ? ", " : "",
                                     ws_first_kind_text(most), ws_format_time(length, of[most]),
                                     is_inferred[most] ? " (inferred)" : "");
    }
}

/* Returns a phrase that tells whether the figures of steps include the time of initialization. */
static const char *initialization_in_figures(const struct ws_track_initialization *result)
{
    if (!result->is_judged)
        return result->first_step > result->time / 20 ? "; a part is in the first steady step"
                                                      : "; the figures of steady steps leave it out";
    return ws_initialization_left_out(result) + result->of[WS_FIRST_ALLOCATION] > result->time / 20
               ? ""
               : "; the figures below leave it out";
}

/* Returns advice on a shorter initialization. The advice to load modules at the program's start only moves the time
 * of these loads, and does not make it shorter. */
static const char *initialization_start(const struct ws_track_initialization *result)
{
    int64_t loads = result->of[WS_FIRST_MODULE] + result->of[WS_FIRST_LAUNCH];
    if (result->of[WS_FIRST_COMPILE] > result->time / 2)
        return "keep the compiler's cache from run to run (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR), and send a "
               "server a request of each shape before it serves";
    if (loads > result->time / 2)
        return "CUDA_MODULE_LOADING=EAGER moves module loads to the program's start; so does a warm-up request "
               "before a server serves";
    return "a warm-up step or request before the measurement, or before a server serves, takes it";
}

static void initialization_print_first(const struct ws_track_initialization *result, bool serves, int64_t left_out,
                                       struct ws_page *page)
{
    char time[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], kinds[KINDS_TEXT];
    if (result->time < result->recorded / 100 * SHOWN || !result->time)
        return;
    initialization_write_kinds(result->of, result->is_inferred, result->time, kinds);
    ws_format_time(time, result->time);
    ws_format_time(whole, result->recorded);
    ws_format_share(share, result->time, result->recorded);
    if (left_out)
        ws_page_fact(page, "", "the host spent %s of the %s recorded (%s) in first-call initialization: %s", time,
                     whole, share, kinds);
    else
        ws_page_fact(page, "first calls", "%s of the %s recorded (%s) is first-call initialization: %s%s", time,
                     whole, share, kinds, initialization_in_figures(result));
    if (serves || (result->time > result->recorded / 100 * START && result->time > START_LEAST))
        ws_page_fact(page, "", "%s", initialization_start(result));
}

static void initialization_print_late(const struct ws_track_initialization *result,
                                      const struct ws_track_steps *steps, struct ws_page *page)
{
    char time[WS_FORMAT_SIZE], kinds[KINDS_TEXT], count[WS_FORMAT_SIZE], all[WS_FORMAT_SIZE];
    if (!result->late || result->late < steps->lasted[WS_STEP_STEADY] / 100 * SHOWN)
        return;
    initialization_write_kinds(result->late_of, result->is_inferred, result->late, kinds);
    ws_page_fact(page, "late loads", "%s in %s of %s steady steps: %s. %s", ws_format_time(time, result->late),
                 ws_format_count(count, result->late_steps), ws_format_count(all, steps->kinds[WS_STEP_STEADY]),
                 kinds,
                 result->is_habit ? "The loop loads again and again" : "New kernels or shapes, or recompilation");
}

void ws_initialization_print(const struct ws_report *report, size_t track, int64_t left_out, int64_t length,
                             const char *unit, struct ws_page *page)
{
    const struct ws_track_initialization *result = ws_report_result(report, &ws_analysis_initialization, track);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    if (left_out)
        ws_page_fact(
            page, "first calls",
            "%s of %s (%s) is idle time in first-call initialization, which should not come again: the verdict "
            "is on the rest. Record more steps, or warm up first",
            ws_format_time(time, left_out), unit, ws_format_share(share, left_out, length + left_out));
    initialization_print_first(result, steps->phases.any, left_out, page);
    initialization_print_late(result, steps, page);
}

/* Returns the text of the advice to avoid late loads. */
static const char *initialization_what(const struct ws_track_initialization *result)
{
    if (result->late_of[WS_FIRST_COMPILE] > result->late / 2)
        return "compile no more in steady steps: mark dimensions that change as dynamic "
               "(torch._dynamo.mark_dynamic), "
               "or pad them to few sizes; TORCH_LOGS=recompiles says why it compiles";
    return "load no more in steady steps: run each kernel once before them, or set CUDA_MODULE_LOADING=EAGER";
}

/* Adds one piece of advice to avoid late loads, for all causes of the device's idle time during them. The advice
 * belongs to the cause with the most of this idle time. */
int ws_initialization_advise(const struct ws_report *report, size_t subject, const void *memory,
                             struct ws_advice_list *list)
{
    const struct ws_track_initialization *result = memory;
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_gap_line *lines = causes->lines.data;
    char evidence[KINDS_TEXT + 80], kinds[KINDS_TEXT], count[WS_FORMAT_SIZE], all[WS_FORMAT_SIZE];
    char where[256] = "", code[WS_SOURCE_CODE] = "";
    enum ws_part part = 0;
    unsigned causes_of = 0;
    int64_t idle = 0;
    for (enum ws_part cause = 0; cause < WS_CAUSE_COUNT; cause++) {
        idle += result->late_idle[cause];
        causes_of |= result->late_idle[cause] ? 1U << cause : 0;
        part = result->late_idle[cause] > result->late_idle[part] ? cause : part;
    }
    if (idle <= steps->lasted[WS_STEP_STEADY] / WORTHWHILE)
        return 0;
    if (result->late_line != WS_NOWHERE && ws_gap_line_text(process, &lines[result->late_line], where, sizeof(where)))
        ws_gap_line_code(process, &lines[result->late_line], code);
    initialization_write_kinds(result->late_of, result->is_inferred, result->late, kinds);
    snprintf(evidence, sizeof(evidence), "%s of %s steady steps: %s", ws_format_count(count, result->late_steps),
             ws_format_count(all, steps->kinds[WS_STEP_STEADY]), kinds);
    return ws_advice_add(list, &(struct ws_advice){
                                   .name = "late_load",
                                   .part = part,
                                   .also = causes_of,
                                   .saving_ns = ws_steps_share(steps, idle),
                                   .what = (char *)initialization_what(result),
                                   .where = where,
                                   .code = code,
                                   .evidence = evidence,
                                   .track = (uint32_t)subject,
                               });
}

static int initialization_put_kinds(json_t *object, const int64_t of[WS_FIRST_COUNT])
{
    int status = 0;
    for (enum ws_first_kind kind = 0; kind < WS_FIRST_COUNT; kind++)
        status |= ws_json_set(object, ws_first_kind_key(kind), of[kind]);
    return status;
}

int ws_initialization_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_initialization *result = memory;
    json_t *first = json_object(), *late = json_object();
    int64_t late_idle = 0;
    (void)report;
    (void)subject;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        late_idle += result->late_idle[cause];
    int status = json_object_set_new(object, "initialization", first);
    status |= json_object_set_new(object, "late_loads", late);
    status |= ws_json_set(first, "recorded_ns", result->recorded);
    status |= ws_json_set(first, "time_ns", result->time);
    status |= initialization_put_kinds(first, result->of);
    status |= json_object_set_new(first, "context_is_inferred", json_boolean(result->is_inferred[WS_FIRST_CONTEXT]));
    status |= ws_json_set(first, "judged_idle_ns", ws_initialization_left_out(result));
    status |= ws_json_set(late, "steps", (int64_t)result->late_steps);
    status |= ws_json_set(late, "time_ns", result->late);
    status |= initialization_put_kinds(late, result->late_of);
    status |= ws_json_set(late, "idle_ns", late_idle);
    return status ? -ENOMEM : 0;
}
