#include "analysis/verdict/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/comm/ranks.h"
#include "analysis/gaps/gaps.h"
#include "base/minmax.h"

/* If the step times of all devices differ by at most this percentage, no device is called the slowest. */
enum { ALIKE_PERCENT = 1 };

static const struct ws_track_wall *devices_wall_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_wall, track);
}

/* Do all devices have the same name (GPU model)? If so, the table of devices leaves the name out. */
static bool devices_are_alike(const struct ws_report *report)
{
    const struct ws_device *first = ws_track_device(report->model, ws_model_track(report->model, 0));
    for (size_t i = 1; i < report->model->tracks.count; i++) {
        const struct ws_device *other = ws_track_device(report->model, ws_model_track(report->model, i));
        if (!first || !other || strcmp(first->name.data, other->name.data) != 0)
            return false;
    }
    return first != NULL;
}

/* Does one file hold all processes? If so, the table of devices leaves the file's name out. */
static bool devices_are_of_one_file(const struct ws_report *report)
{
    const char *path = ws_model_process(report->model, 0)->path;
    for (size_t i = 1; i < report->model->processes.count; i++)
        if (strcmp(path, ws_model_process(report->model, i)->path) != 0)
            return false;
    return true;
}

/* Adds the cells with the parts of the device's step (kernels, transfer …). The time in collectives is split into
 * transfer and waiting for other ranks. */
static void devices_put_parts(struct ws_table *table, const struct ws_track_wall *wall)
{
    int64_t comm = wall->parts[WS_PART_EXPOSED_COMM], waiting = wall->comm_waiting;
    ws_table_time(table,
                  wall->parts[WS_PART_MATMUL] + wall->parts[WS_PART_OTHER_COMPUTE] + wall->parts[WS_PART_GRAPHS]);
    if (waiting < 0 && comm) {
        char time[WS_FORMAT_SIZE];
        ws_table_cell(table, "≤ %s", ws_format_time(time, comm));
        ws_table_cell(table, "not known");
    } else {
        ws_table_time(table, comm - ws_max(waiting, 0));
        ws_table_time(table, ws_max(waiting, 0) + wall->parts[WS_PART_COMM_WAIT]);
    }
    ws_table_time(table, wall->parts[WS_PART_EXPOSED_MEMORY] + wall->parts[WS_PART_DEVICE_COPIES]);
    ws_table_time(table, ws_verdict_idle(wall) - wall->parts[WS_PART_COMM_WAIT]);
}

/* Prints a table with a line for each device. */
static void devices_print_table(const struct ws_report *report, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "GPU", true, WS_NARROW_SHORTEN },        { "step", false, false },
        { "kernels", false, WS_NARROW_LEAVE_OUT }, { "transfer", false, WS_NARROW_LEAVE_OUT },
        { "waiting", false, WS_NARROW_LEAVE_OUT }, { "copies", false, WS_NARROW_LEAVE_OUT },
        { "idle", false, WS_NARROW_LEAVE_OUT },    { "wall", true, WS_NARROW_SHORTEN },
    };
    struct ws_table table;
    char share[WS_FORMAT_SIZE], title[256];
    bool alike = devices_are_alike(report), one_file = devices_are_of_one_file(report);
    size_t count = report->model->tracks.count;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, count); i++) {
        const struct ws_track_wall *wall = devices_wall_of(report, i);
        ws_report_track_title(report, i, title, sizeof(title));
        const char *name = alike ? ws_track_device(report->model, ws_model_track(report->model, i))->name.data : "";
        char *at = *name ? strstr(title, name) : NULL;
        if (at > title)
            at[-1] = 0;
        const char *pid = one_file ? strstr(title, " pid ") : NULL;
        ws_table_cell(&table, "%s%s", pid ? pid + 1 : title,
                      ws_ranks_at(report, (uint32_t)i)->straggler ? ", late" : "");
        ws_table_time(&table, wall->length);
        devices_put_parts(&table, wall);
        if (wall->wall)
            ws_table_cell(&table, "%s %s", ws_wall_name(wall->wall),
                          ws_format_share(share, wall->by_wall[wall->wall], wall->length));
        else
            ws_table_cell(&table, "not known");
    }
    ws_table_finish(&table);
    ws_page_more(page, count, "device");
    fputc('\n', page->out);
}

enum { ALSO_LATE = 160 };

/* Writes which ranks other than the rank of this device are late (stragglers): "; also late: ranks 2 and 6". */
static void devices_write_also_late(const struct ws_report *report, size_t track, char text[ALSO_LATE])
{
    enum { MOST = 8 };
    uint32_t numbers[MOST];
    size_t count = 0, used = 0;
    for (size_t i = 0; i < report->model->tracks.count; i++)
        if (i != track && ws_ranks_at(report, (uint32_t)i)->straggler && count++ < MOST)
            numbers[count - 1] = ws_ranks_at(report, (uint32_t)i)->number;
    *text = 0;
    for (size_t i = 0; i < ws_min(count, (size_t)MOST); i++)
        used += (size_t)snprintf(text + used, ALSO_LATE - used, "%s%" PRIu32,
                                 i           ? i + 1 == count ? " and " : ", "
                                 : count > 1 ? "; also late: ranks "
                                             : "; also late: rank ",
                                 numbers[i]);
    if (count > MOST)
        snprintf(text + used, ALSO_LATE - used, " and %zu others", count - MOST);
}

/* Prints how long the other ranks wait, on average, for this device's late rank, per step or in the whole recording.
 * Also prints why the late rank is late. */
static void devices_print_late(const struct ws_report *report, size_t track, const char *title, const char *note,
                               struct ws_page *page)
{
    const struct ws_rank *rank = ws_ranks_at(report, (uint32_t)track);
    struct ws_lateness lateness = ws_lateness_of(report, track);
    char time[WS_FORMAT_SIZE], why[WS_LATENESS_TEXT], also[ALSO_LATE];
    ws_lateness_describe(report, track, &lateness, why);
    devices_write_also_late(report, track, also);
    ws_page_fact(page, "others wait for", "%s: %s %s; %s%s%s", title,
                 ws_format_time(time, rank->steps ? rank->steady_delay / rank->steps : rank->delay),
                 rank->steps ? "a step" : "on average", why, also, note);
}

/* Returns why no device is called the slowest, although the step times of all devices are known. Returns NULL if a
 * device is called the slowest. */
static const char *devices_why_none_slowest(const struct ws_report *report, size_t shown)
{
    const struct ws_track_wall *wall = devices_wall_of(report, shown);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, shown);
    size_t compared = 0;
    bool alike = true;
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_track_wall *other = devices_wall_of(report, i);
        if (!other->is_measured || other->per_step != wall->per_step)
            continue;
        compared++;
        alike = alike && other->length >= wall->length / 100 * (100 - ALIKE_PERCENT);
    }
    if (causes->is_sampled)
        return "; a sample does not show which device is the slowest";
    return alike && compared > 1 ? "; the devices differ by less than 1 %" : NULL;
}

/* Prints the device that the verdict is on: the straggler that other ranks wait for, or, without a straggler, the
 * slowest device with a verdict. If a device without a verdict is slower, prints why it has none. */
static void devices_print_shown(const struct ws_report *report, const struct ws_slowest *slowest, const char *note,
                                struct ws_page *page)
{
    char title[256], known[80] = "";
    const char *why = devices_why_none_slowest(report, slowest->shown);
    if (slowest->not_compared)
        snprintf(known, sizeof(known), "; not compared: %zu %s %s steps", slowest->not_compared,
                 slowest->not_compared == 1 ? "device" : "devices",
                 devices_wall_of(report, slowest->shown)->per_step ? "without" : "with");
    if (slowest->slower != WS_NOWHERE) {
        ws_report_track_title(report, slowest->slower, title, sizeof(title));
        ws_page_fact(page, "slowest", "%s%s; no verdict on it: %s", title, known,
                     devices_wall_of(report, slowest->slower)->why_none);
    }
    ws_report_track_title(report, slowest->shown, title, sizeof(title));
    if (slowest->is_late)
        devices_print_late(report, slowest->shown, title, note, page);
    else if (slowest->slower != WS_NOWHERE)
        ws_page_fact(page, "verdict on", "%s, the next%s", title, note);
    else
        ws_page_fact(page, why ? "shown" : "slowest", "%s%s%s%s", title, known, why ? why : "", note);
}

void ws_verdict_devices(const struct ws_report *report, size_t shown, const char *note, struct ws_page *page)
{
    struct ws_slowest slowest = ws_report_slowest(report);
    if (report->model->tracks.count <= 1)
        return;
    devices_print_table(report, page);
    if (shown != WS_NOWHERE)
        devices_print_shown(report, &slowest, note, page);
}
