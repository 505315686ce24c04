/* Tables of Nsight Systems that say more of calls: each row names one by its correlation. */
#include <string.h>

#include "import/nsight.h"

enum { PROCESS, CORRELATION, DEVICE, CONTEXT, AFTER_PLACE };

static int64_t device_of(sqlite3_stmt *row)
{
    return nsight_is_null(row, DEVICE) ? -1 : sqlite3_column_int64(row, DEVICE);
}

/* The source's number of a context, as its operations have it. */
static int64_t context_of(struct nsight *nsight, sqlite3_stmt *row)
{
    return (int64_t)nsight_of_process(nsight, sqlite3_column_int64(row, PROCESS), sqlite3_column_int64(row, CONTEXT));
}

/* Memory taken or given back; which of them the name of the call says. */
void nsight_take_memory(struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t correlation = sqlite3_column_int64(row, CORRELATION), bytes = sqlite3_column_int64(row, AFTER_PLACE + 1);
    struct ws_text kind = nsight_text(row, AFTER_PLACE + 2);
    struct ws_gather_detail detail = {
        .object = (uint64_t)sqlite3_column_int64(row, AFTER_PLACE + 3),
        .address = (uint64_t)sqlite3_column_int64(row, AFTER_PLACE),
        .bytes = bytes > 0 ? (uint64_t)bytes : 0,
    };
    if (memmem(kind.data, kind.length, "Static", 6)) /* a module's variables come with it */
        return;
    if (!correlation) {
        nsight->gather->losses[WS_LOSS_NO_CALL]++;
        return;
    }
    detail.correlation = nsight_of_process(nsight, sqlite3_column_int64(row, PROCESS), correlation);
    detail.context = ws_gather_known_context(nsight->gather, device_of(row), context_of(nsight, row));
    ws_gather_detail(nsight->gather, &detail);
}
