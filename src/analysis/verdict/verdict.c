#include "analysis/verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/initialization.h"
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

enum { ADVICE_SHOWN = 5 };

static const struct ws_track_wall *verdict_wall_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_wall, track);
}

enum { COPIES_TEXT = WS_COPIES_PHRASE + 40 };

/* Writes the kind of exposed copies: "in exposed copies: host to device, pageable (…)". */
static void write_copies(const struct ws_report *report, size_t track, char text[COPIES_TEXT])
{
    char phrase[WS_COPIES_PHRASE];
    ws_copies_phrase(ws_report_result(report, &ws_analysis_copies, track),
                     verdict_wall_of(report, track)->parts[WS_PART_EXPOSED_MEMORY], phrase);
    snprintf(text, COPIES_TEXT, "%s%s%s", ws_part_spent(WS_PART_EXPOSED_MEMORY), *phrase ? ": " : "", phrase);
}

enum { PARTS_TEXT = 2 * COPIES_TEXT + WS_GAP_CALL + 80 };

/* Writes which part of a step takes most of the time of the wall (the resource or delay that limits the device most).
 * Exposed copies (copies during which the device neither computes nor communicates) belong to the wall "overhead". If
 * they take a large part of a step, the text names them even if another part of the wall "overhead" is larger. For
 * the wall "communication", the text gives the time of waiting for other ranks and the time of transfer, if these
 * times are known. */
static void write_parts(const struct ws_report *report, size_t track, char text[PARTS_TEXT])
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    int64_t most = wall->in_wall[wall->cause][wall->wall],
            copied = wall->wall == WS_WALL_OVERHEAD ? wall->parts[WS_PART_EXPOSED_MEMORY] : 0;
    bool are_cause = wall->cause == WS_PART_EXPOSED_MEMORY,
         are_beside = !are_cause && copied >= wall->length / 100 * WS_VERDICT_MOVING;
    char time[WS_FORMAT_SIZE], other[WS_FORMAT_SIZE], copies[COPIES_TEXT], call[WS_GAP_CALL];
    if (wall->wall == WS_WALL_COMMUNICATION && wall->comm_waiting >= 0) {
        int64_t waiting = wall->comm_waiting + wall->parts[WS_PART_COMM_WAIT];
        snprintf(text, PARTS_TEXT, "%s of it waiting for other ranks, %s transferring", ws_format_time(time, waiting),
                 ws_format_time(other, wall->by_wall[wall->wall] - waiting));
        return;
    }
    write_copies(report, track, copies);
    ws_gap_call_phrase(report, track, wall->cause, call);
    bool is_all = most == wall->by_wall[wall->wall],
         is_nearly = !strcmp(ws_format_time(time, most), ws_format_time(other, wall->by_wall[wall->wall]));
    snprintf(text, PARTS_TEXT, "%s of it %s%s%s%s%s%s",
             is_all      ? "all"
             : is_nearly ? "nearly all"
                         : time,
             are_cause ? copies : ws_verdict_spent_on(wall, wall->cause), call, are_beside ? ", another " : "",
             are_beside ? ws_format_time(other, copied) : "", are_beside ? " " : "", are_beside ? copies : "");
}

static void print_wall(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    char part[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], parts[PARTS_TEXT];
    if (!wall->wall) {
        ws_page_fact(page, "the wall", "not known: %s", wall->why_none);
        return;
    }
    int64_t time = wall->by_wall[wall->wall];
    write_parts(report, track, parts);
    ws_format_time(part, time);
    ws_format_time(whole, wall->length);
    ws_page_fact(page, "the wall", "%s%s%s: %s of the %s of %s (%s), %s", wall->by_names ? "probably " : "",
                 ws_wall_name(wall->wall), wall->by_names ? ", by the names of kernels only" : "",
                 strcmp(part, whole) != 0 ? part : "nearly all", whole, ws_wall_judged(wall),
                 ws_format_share(share, time, wall->length), parts);
}

/* If the wall (what limits the device most) is compute or bandwidth, prints the classes of its kernels (GEMM,
 * attention …), the class with most time first. Prints nothing if there is only one class. */
static void print_made_of(const struct ws_track_wall *wall, struct ws_page *page)
{
    /* LEAST: a class is printed only if it takes more than this percentage of the wall's time. MOST: at most this
     * many classes are printed */
    enum { LEAST = 5, MOST = 5 };
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

/* A wall is a resource or delay that limits the device. If another wall takes more of the step than the wall of the
 * verdict, prints why the other wall is not the verdict: a delay that exceeds its limit is preferred (wall.h). */
static void print_larger(const struct ws_track_wall *wall, struct ws_page *page)
{
    enum ws_wall largest = wall->wall;
    char share[WS_FORMAT_SIZE];
    for (int other = WS_WALL_NONE + 1; other < WS_WALL_COUNT; other++)
        if (wall->by_wall[other] > wall->by_wall[largest])
            largest = (enum ws_wall)other;
    if (wall->wall && largest != wall->wall)
        ws_page_fact(page, "", "%s takes more (%s), but all of a delay can go, and of %s only a part",
                     ws_wall_name(largest), ws_format_share(share, wall->by_wall[largest], wall->length),
                     ws_wall_name(largest));
}

/* If waits for input are the wall (what limits the device most), prints the wall of the rest of the step. The waits
 * may be a server's waits for requests, and then the user can improve only the rest of the step. */
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

/* Warns of launches that took longer because hardware counters were read. Prints nothing if the figures are per step:
 * they normally leave out the steps with these launches (steps.h). */
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

/* Prints what the program saves if several causes of idle time are removed together. Prints it only if it is clearly
 * more than the sum of the savings from removing each cause alone. */
static void print_together(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, track);
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    char causes[WS_TOGETHER_TEXT], time[WS_FORMAT_SIZE];
    int64_t alone = ws_savings_together(savings, causes);
    if (savings->together - alone > wall->length / 1000 * WS_ADVICE_PER_MILLE)
        ws_page_fact(page, "", "up to %s%s: %s removed together, as each hides some of the other",
                     ws_format_time(time, savings->together), wall->per_step ? " a step" : "", causes);
}

size_t ws_verdict_advice(const struct ws_report *report, size_t track, int per_mille, size_t most)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t count = ws_min(wall->advice.items.count, most), shown = 0;
    while (shown < count && advice[shown].saving_ns > wall->length / 1000 * per_mille)
        shown++;
    return shown;
}

static void print_advice(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t count = wall->advice.items.count,
           shown = ws_verdict_advice(report, track, WS_ADVICE_PER_MILLE, ADVICE_SHOWN);
    char time[WS_FORMAT_SIZE], place[WS_ADVICE_PLACE];
    bool again = ws_missing_needs_recording(report, track, wall);
    if (again)
        ws_page_fact(page, "do first", WS_RECORD_AGAIN);
    else if (!shown)
        ws_page_fact(page, "do first", wall->wall ? "nothing cheap to win was found" : "not known");
    for (size_t i = 0; i < shown; i++)
        ws_page_fact(page, i || again ? "" : "do first", "up to %s%s: %s%s%s%s%s",
                     ws_format_time(time, advice[i].saving_ns), wall->per_step ? " a step" : " of the recording",
                     advice[i].what, ws_advice_place(&advice[i], place), *advice[i].evidence ? " (" : "",
                     advice[i].evidence, *advice[i].evidence ? ")" : "");
    print_together(report, track, page);
    if (shown && shown < count)
        ws_page_fact(page, "", "and %zu more in the sections below", count - shown);
}

void ws_verdict_wall(const struct ws_report *report, size_t track, struct ws_page *page)
{
    const struct ws_track_wall *wall = verdict_wall_of(report, track);
    print_wall(report, track, page);
    print_made_of(wall, page);
    print_larger(wall, page);
    print_behind(wall, page);
    ws_initialization_print(report, track, wall->first_calls, wall->length, ws_wall_unit(wall), page);
    print_held_up(report, track, page);
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
    ws_missing_before_text(report, shown, page);
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
