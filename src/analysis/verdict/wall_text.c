#include "analysis/verdict/wall_text.h"

#include <stdio.h>
#include <string.h>

#include "analysis/verdict/verdict.h"

/* Texts that tell what a part of a step is spent on, as the end of a sentence. */
static const char *const spent[WS_PART_COUNT] = {
    [WS_PART_INPUT] = "waiting for input",
    [WS_PART_SYNC] = "after the host had waited for the GPU",
    [WS_PART_LAUNCH] = "waiting for the host to launch",
    [WS_PART_ALLOCATION] = "waiting for allocations or module loads",
    [WS_PART_WAIT] = "while queued work waited for something else",
    [WS_PART_COMM_WAIT] = "waiting for other ranks",
    [WS_PART_DISPATCH] = "between operations that were ready",
    [WS_PART_UNEXPLAINED] = "for reasons that the trace does not show",
    [WS_PART_UNRECORDED] = "in work that was not recorded",
    [WS_PART_EXPOSED_COMM] = "in collectives that no compute hides",
    [WS_PART_EXPOSED_MEMORY] = "in exposed copies",
    [WS_PART_DEVICE_COPIES] = "in copies within the device",
    [WS_PART_MATMUL] = "in matrix work",
    [WS_PART_OTHER_COMPUTE] = "in non-GEMM kernels",
    [WS_PART_GRAPHS] = "in CUDA graphs, which were measured as a whole",
};

const char *ws_part_spent(enum ws_part part)
{
    return spent[part];
}

const char *ws_verdict_spent_on(const struct ws_track_wall *wall, enum ws_part part)
{
    if (part == WS_PART_MATMUL && wall->wall == WS_WALL_BANDWIDTH)
        return "in matrix work that memory limits";
    if (part == WS_PART_EXPOSED_COMM && 2 * wall->comm_waiting > wall->parts[part])
        return "in collectives, mostly waiting for other ranks";
    return part == WS_PART_INPUT && !wall->trains ? "waiting for input or requests" : spent[part];
}

const char *ws_wall_unit(const struct ws_track_wall *wall)
{
    if (wall->per_step)
        return wall->steps > 1 ? "an average step" : "the only whole step";
    return "the recording";
}

const char *ws_wall_base(const struct ws_track_wall *wall)
{
    return wall->first_calls ? "the rest" : wall->per_step ? "a step" : "the recording";
}

const char *ws_wall_judged(const struct ws_track_wall *wall)
{
    if (!wall->first_calls)
        return ws_wall_unit(wall);
    if (wall->per_step)
        return wall->steps > 1 ? "the rest of an average step" : "the rest of the only whole step";
    return "the rest of the recording";
}

/* Prints the delays of the GPU (overhead, communication) that are not the verdict, but are long enough for a
 * warning. */
void ws_wall_print_beside(const struct ws_track_wall *wall, struct ws_page *page)
{
    static const enum ws_wall delays[] = { WS_WALL_OVERHEAD, WS_WALL_COMMUNICATION };
    char part[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        enum ws_wall delay = delays[i];
        int64_t recorded = wall->length - wall->parts[WS_PART_UNRECORDED];
        int64_t least = recorded / 100 * ws_wall_limit(delay) / 100 * WS_WALL_WARNED_OF;
        if (delay != wall->wall && delay != wall->behind && wall->by_wall[delay] > least)
            ws_page_fact(page, "beside it", "%s: %s (%s), the largest part of it %s", ws_wall_name(delay),
                         ws_format_time(part, wall->by_wall[delay]),
                         ws_format_share(share, wall->by_wall[delay], wall->length),
                         ws_verdict_spent_on(wall, ws_wall_cause(wall, delay)));
    }
}

int64_t ws_wall_sure(const struct ws_track_wall *wall, enum ws_wall of)
{
    return wall->by_wall[of] - ws_wall_suggested(wall, of);
}

int64_t ws_wall_unknown(const struct ws_track_wall *wall)
{
    return wall->by_wall[WS_WALL_NONE] + ws_wall_suggested(wall, WS_WALL_COMPUTE) +
           ws_wall_suggested(wall, WS_WALL_BANDWIDTH);
}

void ws_wall_write_suggested(const struct ws_track_wall *wall, char *text, size_t capacity)
{
    char compute[WS_FORMAT_SIZE], bandwidth[WS_FORMAT_SIZE];
    int64_t by_compute = ws_wall_suggested(wall, WS_WALL_COMPUTE),
            by_bandwidth = ws_wall_suggested(wall, WS_WALL_BANDWIDTH);
    *text = 0;
    if (by_compute + by_bandwidth > wall->length / 100)
        snprintf(text, capacity, ", where names suggest compute %s, bandwidth %s",
                 ws_format_share(compute, by_compute, wall->length),
                 ws_format_share(bandwidth, by_bandwidth, wall->length));
}

/* Prints the share of a step that each wall (compute, communication …) takes, largest first. If the wall of the
 * verdict is not the largest wall, also prints why it is the verdict. */
void ws_wall_print_shares(const struct ws_track_wall *wall, struct ws_page *page)
{
    char share[WS_FORMAT_SIZE], text[320] = "";
    bool shown[WS_WALL_COUNT] = { [WS_WALL_NONE] = true }, is_largest = true;
    for (int i = 0; i + 1 < WS_WALL_COUNT; i++) {
        int largest = WS_WALL_NONE;
        for (int other = 0; other < WS_WALL_COUNT; other++)
            if (!shown[other] && (largest == WS_WALL_NONE || ws_wall_sure(wall, (enum ws_wall)other) >
                                                                 ws_wall_sure(wall, (enum ws_wall)largest)))
                largest = other;
        shown[largest] = true;
        is_largest = is_largest && (!wall->wall || wall->by_wall[largest] <= wall->by_wall[wall->wall]);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s", i ? ", " : "",
                 ws_wall_name((enum ws_wall)largest),
                 ws_format_share(share, ws_wall_sure(wall, (enum ws_wall)largest), wall->length));
    }
    if (ws_wall_unknown(wall) >= wall->length / 1000 && ws_wall_unknown(wall)) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "; not known %s",
                 ws_format_share(share, ws_wall_unknown(wall), wall->length));
        ws_wall_write_suggested(wall, text + strlen(text), sizeof(text) - strlen(text));
    }
    if (is_largest)
        ws_page_fact(page, "shares", "%s", text);
    else
        ws_page_fact(
            page, "shares",
            "%s; delays of the GPU are named first, overhead from %d %%, communication from %d %%, since all "
            "of a delay can go",
            text, WS_WALL_OVERHEAD_LIMIT, WS_WALL_COMMUNICATION_LIMIT);
}
