/* Tables of Nsight Systems with details of calls. Each row gives the correlation id of its call. */
#include <errno.h>
#include <string.h>

#include "base/salted.h"
#include "input/nsight.h"

enum { PROCESS, CORRELATION, DEVICE, CONTEXT, AFTER_PLACE };

static int64_t nsight_details_device_of(sqlite3_stmt *row)
{
    return nsight_is_null(row, DEVICE) ? -1 : sqlite3_column_int64(row, DEVICE);
}

/* Returns a number for the row's context. The number contains the process, so that it is unique in the file. The
 * context of a call and the context of an operation can be compared, because both get their numbers in this way. */
static int64_t context_of(struct nsight *nsight, sqlite3_stmt *row)
{
    return (int64_t)nsight_of_process(nsight, sqlite3_column_int64(row, PROCESS), sqlite3_column_int64(row, CONTEXT));
}

/* Reads a row about memory that a call allocated or released. Does not store whether the call allocated or released,
 * because the call's name shows it. */
void nsight_take_memory(struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t correlation = sqlite3_column_int64(row, CORRELATION), bytes = sqlite3_column_int64(row, AFTER_PLACE + 1);
    struct ws_text kind = nsight_text(row, AFTER_PLACE + 2);
    struct ws_gather_detail detail = {
        .object = (uint64_t)sqlite3_column_int64(row, AFTER_PLACE + 3),
        .address = (uint64_t)sqlite3_column_int64(row, AFTER_PLACE),
        .bytes = bytes > 0 ? (uint64_t)bytes : 0,
    };
    /* Skip static variables, which are allocated when their module is loaded. */
    if (memmem(kind.data, kind.length, "Static", 6))
        return;
    if (!correlation) {
        nsight->gather->losses[WS_LOSS_NO_CALL]++;
        return;
    }
    detail.correlation = nsight_of_process(nsight, sqlite3_column_int64(row, PROCESS), correlation);
    detail.context = ws_gather_known_context(nsight->gather, nsight_details_device_of(row), context_of(nsight, row));
    ws_gather_detail(nsight->gather, &detail);
}

/* --- streams and events ------------------------------------------------------------------------------ */

/* Returns whether the column has the number of a stream or event. UINT32_MAX means none. */
static bool is_number(sqlite3_stmt *row, int column)
{
    int64_t value = sqlite3_column_int64(row, column);
    return !nsight_is_null(row, column) && value >= 0 && value < UINT32_MAX;
}

/* Reads the context, stream and event of a call that records an event or waits for an event. The event's
 * number in the result is unique in the file, not only in the process. */
static struct ws_gather_detail place_at(struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t process = sqlite3_column_int64(row, PROCESS), correlation = sqlite3_column_int64(row, CORRELATION);
    struct ws_gather_detail detail = { 0 };
    if (!correlation)
        return detail;
    detail.correlation = nsight_of_process(nsight, process, correlation);
    detail.context = ws_gather_known_context(nsight->gather, nsight_details_device_of(row), context_of(nsight, row));
    if (is_number(row, AFTER_PLACE))
        detail.stream = ws_gather_known_stream(nsight->gather, nsight_details_device_of(row), context_of(nsight, row),
                                               sqlite3_column_int64(row, AFTER_PLACE));
    if (is_number(row, AFTER_PLACE + 1))
        detail.object = nsight_of_process(nsight, process, sqlite3_column_int64(row, AFTER_PLACE + 1));
    return detail;
}

/* An event is recorded only in streams of its own context. So an event number that was recorded in two contexts
 * stands for two events, and is marked as ambiguous. */
void nsight_take_record(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_gather_detail detail = place_at(nsight, row);
    if (!detail.correlation || !detail.stream || !detail.object)
        return;
    uint64_t *place = ws_salted_put(&nsight->recorded, detail.object);
    if (!place)
        nsight->gather->error = -ENOMEM;
    else
        *place = *place && *place != detail.context ? NSIGHT_AMBIGUOUS : detail.context;
    detail.records = true;
    ws_gather_detail(nsight->gather, &detail);
}

/* Does not read the kind of the wait, because versions of Nsight Systems number the kinds differently. The name of
 * the call tells the kind. */
void nsight_take_wait(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_gather_detail detail = place_at(nsight, row);
    const uint64_t *recorded = ws_salted_get(&nsight->recorded, detail.object);
    if (recorded && *recorded == NSIGHT_AMBIGUOUS)
        detail.object = 0;
    detail.waits = detail.object != 0;
    if (detail.correlation)
        ws_gather_detail(nsight->gather, &detail);
}
