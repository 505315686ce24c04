#include "analysis/verdict/verdict.h"

#include <stdio.h>
#include <string.h>

#include "analysis/comm/ranks.h"
#include "base/minmax.h"

static const struct ws_track_wall *devices_wall_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_wall, track);
}

/* Do all devices have the same name? If so, the table leaves the name out. */
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

/* Adds the cells with the parts of the device's step. The time in collectives is split into waiting for other ranks
 * and transfer. */
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
    bool alike = devices_are_alike(report);
    size_t count = report->model->tracks.count;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, count); i++) {
        const struct ws_track_wall *wall = devices_wall_of(report, i);
        ws_report_track_title(report, i, title, sizeof(title));
        const char *name = alike ? ws_track_device(report->model, ws_model_track(report->model, i))->name.data : "";
        char *at = *name ? strstr(title, name) : NULL;
        if (at > title)
            at[-1] = 0;
        ws_table_cell(&table, "%s%s", title, ws_ranks_at(report, (uint32_t)i)->straggler ? ", late" : "");
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

/* Prints for how long another rank waits for this device's rank on average, in a step or in the recording, and why
 * this rank is late. */
static void devices_print_late(const struct ws_report *report, size_t track, const char *title, const char *note,
                               struct ws_page *page)
{
    const struct ws_rank *rank = ws_ranks_at(report, (uint32_t)track);
    struct ws_lateness lateness = ws_lateness_of(report, track);
    char time[WS_FORMAT_SIZE], why[WS_LATENESS_TEXT];
    ws_lateness_describe(report, track, &lateness, why);
    ws_page_fact(page, "others wait for", "%s: %s %s; %s%s", title,
                 ws_format_time(time, rank->steps ? rank->steady_delay / rank->steps : rank->delay),
                 rank->steps ? "a step" : "on average", why, note);
}

/* Prints the device that the verdict is on: the straggler that other ranks wait for, else the slowest device with a
 * verdict. If a slower device has no verdict, prints why. */
static void devices_print_shown(const struct ws_report *report, const struct ws_slowest *slowest, const char *note,
                                struct ws_page *page)
{
    char title[256], known[80] = "";
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
        ws_page_fact(page, "slowest", "%s%s%s", title, known, note);
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
