/* Turns the rows of Nsight Systems' tables into operations, calls, ranges and facts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "input/decimal.h"
#include "input/nsight.h"
#include "record/range_name.h"

static uint64_t process_number(struct nsight *nsight, int64_t global);

void nsight_init(struct nsight *nsight, struct ws_gather *gather)
{
    *nsight = (struct nsight){ .gather = gather, .processes = WS_INTERN(int64_t), .pid = -1 };
    ws_gather_meta(gather, "import", "Nsight Systems (SQLite export)", 30);
}

void nsight_alone(struct nsight *nsight, int64_t global)
{
    nsight->pid = global >> 24 & 0xffffff;
}

void nsight_choose(struct nsight *nsight, int64_t global)
{
    char pid[32];
    nsight_alone(nsight, global);
    int size = snprintf(pid, sizeof(pid), "%d", (int)nsight->pid);
    ws_gather_meta(nsight->gather, "pid", pid, (size_t)size);
    process_number(nsight, global);
}

void nsight_finish(struct nsight *nsight)
{
    ws_intern_finish(&nsight->processes);
    ws_map_finish(&nsight->visible);
    ws_map_finish(&nsight->recorded);
}

static uint32_t narrow_at(sqlite3_stmt *row, int column)
{
    int64_t value = sqlite3_column_int64(row, column);
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Reads begin and end from the first two columns. Returns false and counts the row as lost if the times are invalid.
 */
static bool times_at(struct nsight *nsight, sqlite3_stmt *row, int64_t *begin, int64_t *end)
{
    *begin = sqlite3_column_int64(row, 0);
    *end = sqlite3_column_int64(row, 1);
    bool fine = !nsight_is_null(row, 0) && !nsight_is_null(row, 1) && *begin >= -WS_DECIMAL_MOST &&
                *end <= WS_DECIMAL_MOST && *begin <= *end;
    nsight->gather->losses[WS_LOSS_NO_TIMES] += !fine;
    return fine;
}

/* --- identifiers ------------------------------------------------------------------------------------ */

/* A globalTid holds the machine, the process (24 bits) and the thread (24 bits). A globalPid has thread 0. */
static int64_t nsight_tables_process_of(int64_t global)
{
    return global & ~(int64_t)0xffffff;
}

/* Returns a number for the process. Combined with this number, an identifier that is unique in its process is unique
 * in the file. */
static uint64_t process_number(struct nsight *nsight, int64_t global)
{
    int64_t key = nsight_tables_process_of(global);
    bool fresh;
    uint32_t number = ws_intern_key(&nsight->processes, &key, &fresh);
    if (!number)
        nsight->gather->error = -ENOMEM;
    return number;
}

uint64_t nsight_of_process(struct nsight *nsight, int64_t global, int64_t id)
{
    return process_number(nsight, global) << 32 | (uint32_t)id;
}

static uint32_t nsight_tables_thread_of(struct nsight *nsight, int64_t global)
{
    return ws_gather_thread(nsight->gather, nsight_tables_process_of(global), global & 0xffffff);
}

/* --- operations ------------------------------------------------------------------------------------- */

#define OPERATION_COLUMNS "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"
enum { AFTER_OPERATION = 7 };

static void nsight_tables_take_operation(struct nsight *nsight, sqlite3_stmt *row, struct ws_shape *shape,
                                         uint64_t bytes)
{
    struct ws_gather_op op = { .bytes = bytes };
    if (!times_at(nsight, row, &op.begin, &op.end))
        return;
    int64_t process = sqlite3_column_int64(row, 6), correlation = sqlite3_column_int64(row, 5);
    shape->stream = ws_gather_stream(nsight->gather, nsight_is_null(row, 2) ? -1 : sqlite3_column_int64(row, 2),
                                     (int64_t)nsight_of_process(nsight, process, sqlite3_column_int64(row, 3)),
                                     sqlite3_column_int64(row, 4));
    op.correlation = correlation ? nsight_of_process(nsight, process, correlation) : 0;
    op.shape = shape->stream ? ws_gather_shape(nsight->gather, shape) : 0;
    ws_gather_op(nsight->gather, &op);
}

static void take_kernel(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_text name = { "", 0 };
    for (int i = 0; i < 3 && !name.length; i++)
        name = nsight_text(row, AFTER_OPERATION + i);
    struct ws_shape shape = { .kind = WS_OP_KERNEL };
    uint32_t *fields[] = { &shape.grid_x,  &shape.grid_y,  &shape.grid_z,      &shape.block_x,
                           &shape.block_y, &shape.block_z, &shape.shared_bytes };
    for (int i = 0; i < 7; i++)
        *fields[i] = narrow_at(row, AFTER_OPERATION + 5 + i);
    shape.function = ws_gather_function(nsight->gather, name.data, name.length, narrow_at(row, AFTER_OPERATION + 3),
                                        narrow_at(row, AFTER_OPERATION + 4));
    nsight_tables_take_operation(nsight, row, &shape, 0);
}

/* Derives the kinds of memory of a copy's source and destination from the column `copyKind`. The columns `srcKind`
 * and `dstKind` say more about them (pinned, pageable), but a file may lack these columns. */
static void spaces_of_kind(int64_t kind, uint32_t *from, uint32_t *to)
{
    static const uint8_t sides[][2] = {
        { WS_SPACE_UNKNOWN, WS_SPACE_UNKNOWN }, { WS_SPACE_HOST, WS_SPACE_DEVICE },
        { WS_SPACE_DEVICE, WS_SPACE_HOST },     { WS_SPACE_HOST, WS_SPACE_ARRAY },
        { WS_SPACE_ARRAY, WS_SPACE_HOST },      { WS_SPACE_ARRAY, WS_SPACE_ARRAY },
        { WS_SPACE_ARRAY, WS_SPACE_DEVICE },    { WS_SPACE_DEVICE, WS_SPACE_ARRAY },
        { WS_SPACE_DEVICE, WS_SPACE_DEVICE },   { WS_SPACE_HOST, WS_SPACE_HOST },
        { WS_SPACE_PEER, WS_SPACE_PEER },       { WS_SPACE_HOST, WS_SPACE_MANAGED },
        { WS_SPACE_MANAGED, WS_SPACE_HOST },    { WS_SPACE_MANAGED, WS_SPACE_MANAGED },
    };
    bool known = kind >= 0 && kind < (int64_t)(sizeof(sides) / sizeof(sides[0]));
    *from = sides[known ? kind : 0][0];
    *to = sides[known ? kind : 0][1];
}

static void take_copy(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_shape shape = { .kind = WS_OP_COPY };
    int64_t bytes = sqlite3_column_int64(row, AFTER_OPERATION), kind = sqlite3_column_int64(row, AFTER_OPERATION + 1);
    struct ws_text from = nsight_text(row, AFTER_OPERATION + 2), to = nsight_text(row, AFTER_OPERATION + 3);
    spaces_of_kind(kind, &shape.from_space, &shape.to_space);
    if (shape.from_space != WS_SPACE_PEER && ws_space_of(from.data, from.length))
        shape.from_space = ws_space_of(from.data, from.length);
    if (shape.to_space != WS_SPACE_PEER && ws_space_of(to.data, to.length))
        shape.to_space = ws_space_of(to.data, to.length);
    nsight_tables_take_operation(nsight, row, &shape, bytes > 0 ? (uint64_t)bytes : 0);
}

static void take_memset(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_text to = nsight_text(row, AFTER_OPERATION + 1);
    int64_t bytes = sqlite3_column_int64(row, AFTER_OPERATION);
    struct ws_shape shape = { .kind = WS_OP_MEMSET, .to_space = ws_space_of(to.data, to.length) };
    nsight_tables_take_operation(nsight, row, &shape, bytes > 0 ? (uint64_t)bytes : 0);
}

/* Reads a graph launch that is timed as a whole. */
static void take_graph(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_shape shape = { .kind = WS_OP_GRAPH,
                              .function =
                                  narrow_at(row, AFTER_OPERATION + (nsight_is_null(row, AFTER_OPERATION) ? 1 : 0)) };
    nsight_tables_take_operation(nsight, row, &shape, 0);
}

/* --- calls and ranges --------------------------------------------------------------------------------- */

/* Returns the length of "cudaLaunchKernel_v7000" without "_v7000", the version of CUDA that introduced the
 * function. */
static size_t without_version(struct ws_text name)
{
    size_t length = name.length;
    while (length && name.data[length - 1] >= '0' && name.data[length - 1] <= '9')
        length--;
    bool versioned = name.length - length >= 4 && length > 2 && !memcmp(name.data + length - 2, "_v", 2);
    return versioned ? length - 2 : name.length;
}

static void nsight_tables_take_call(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_gather_call call = { 0 };
    struct ws_text name = nsight_text(row, 4);
    int64_t thread = sqlite3_column_int64(row, 2), correlation = sqlite3_column_int64(row, 3);
    if (!times_at(nsight, row, &call.begin, &call.end))
        return;
    call.correlation = correlation ? nsight_of_process(nsight, thread, correlation) : 0;
    call.function = ws_gather_driver_function(nsight->gather, name.data, without_version(name));
    call.thread = nsight_tables_thread_of(nsight, thread);
    ws_gather_call(nsight->gather, &call);
    int64_t result = sqlite3_column_int64(row, 5);
    if (result && call.correlation)
        ws_gather_detail(nsight->gather, &(struct ws_gather_detail){
                                             .correlation = call.correlation,
                                             .result = result == (int32_t)result ? (int32_t)result : INT32_MAX });
}

static void take_nvtx(struct nsight *nsight, sqlite3_stmt *row)
{
    enum { PUSH_POP = 59, START_END = 60 };
    struct ws_text text = nsight_text(row, nsight_is_null(row, 5) ? 6 : 5);
    struct ws_range range = { 0 };
    int64_t type = sqlite3_column_int64(row, 2);
    if (type != PUSH_POP && type != START_END)
        return;
    /* A range that ends on another thread does not describe either thread's time. A range that never ended has no
     * length. These ranges, and ranges without a name, are counted as lost. */
    bool crosses = !nsight_is_null(row, 4) && sqlite3_column_int64(row, 4) != sqlite3_column_int64(row, 3);
    if (nsight_is_null(row, 1) || crosses || !text.length) {
        nsight->gather->losses[WS_LOSS_RANGE_OPEN]++;
        return;
    }
    if (!times_at(nsight, row, &range.host_begin, &range.host_end))
        return;
    struct ws_range_name name = ws_range_name_read(text.data, text.length);
    range.kind = name.kind;
    range.number = name.number;
    range.name =
        ws_gather_label(nsight->gather, text.data, name.kind == WS_RANGE_OPERATOR ? name.length : text.length);
    range.thread = nsight_tables_thread_of(nsight, sqlite3_column_int64(row, 3));
    ws_gather_row(nsight->gather, WS_FAMILY_range, &range);
    if (range.kind != WS_RANGE_COMMUNICATION)
        return;
    struct ws_gather_collective collective = {
        .begin = range.host_begin,
        .end = range.host_end,
        .thread = range.thread,
        .function = ws_gather_driver_function(nsight->gather, text.data, text.length),
        .peer = -1,
    };
    ws_gather_collective(nsight->gather, &collective);
}

/* --- names -------------------------------------------------------------------------------------- */

static void take_thread_name(struct nsight *nsight, sqlite3_stmt *row)
{
    struct ws_text name = nsight_text(row, 1);
    int64_t thread = sqlite3_column_int64(row, 0);
    if (name.length)
        ws_gather_thread_name(nsight->gather, nsight_tables_process_of(thread), thread & 0xffffff, name.data,
                              name.length);
}

static void take_process(struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t key = nsight_tables_process_of(sqlite3_column_int64(row, 0));
    struct ws_text name = nsight_text(row, 2);
    char pid[32];
    if (ws_intern_find(&nsight->processes, &key) != 1) /* the trace gets the pid and name of the first process only */
        return;
    int size = snprintf(pid, sizeof(pid), "%lld", (long long)sqlite3_column_int64(row, 1));
    ws_gather_meta(nsight->gather, "pid", pid, (size_t)size);
    if (name.length)
        ws_gather_meta(nsight->gather, "program", name.data, name.length);
}

/* CUDA_VISIBLE_DEVICES renumbers the GPUs of a process. In the file, the rows of operations give the new numbers,
 * and the rows of GPUs give the old numbers. */
static void take_visible(struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t gpu = sqlite3_column_int64(row, 0), ordinal = sqlite3_column_int64(row, 1);
    if (nsight_is_null(row, 0) || nsight_is_null(row, 1) || gpu < 0 || ordinal < 0 || nsight->pid < 0 ||
        sqlite3_column_int64(row, 2) != nsight->pid)
        return;
    uint64_t *place = ws_salted_put(&nsight->visible, (uint64_t)gpu + 1);
    if (!place)
        nsight->gather->error = -ENOMEM;
    else if (!*place)
        *place = (uint64_t)ordinal + 1;
}

/* Returns the number that the process uses for the GPU; -1: the GPU is not visible to the process. */
static int64_t ordinal_of(const struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t gpu = sqlite3_column_int64(row, 0);
    const uint64_t *place = gpu >= 0 ? ws_salted_get(&nsight->visible, (uint64_t)gpu + 1) : NULL;
    if (place)
        return (int64_t)(*place - 1);
    return nsight->visible.count ? -1 : sqlite3_column_int64(row, nsight_is_null(row, 1) ? 0 : 1);
}

static void take_gpu(struct nsight *nsight, sqlite3_stmt *row)
{
    int64_t ordinal = ordinal_of(nsight, row);
    int64_t clock = sqlite3_column_int64(row, 6), memory = sqlite3_column_int64(row, 7);
    int64_t l2 = sqlite3_column_int64(row, 8);
    struct ws_text name = nsight_text(row, 2), uuid = nsight_text(row, 9), pci = nsight_text(row, 10);
    char text[64];
    if (ordinal < 0 || ordinal >= INT32_MAX)
        return;
    int size = uuid.length
                   ? snprintf(text, sizeof(text), "GPU-%.*s", (int)(uuid.length < 40 ? uuid.length : 40), uuid.data)
                   : 0;
    struct ws_device device = {
        .id = (uint32_t)ordinal + 1,
        .cc_major = narrow_at(row, 3),
        .cc_minor = narrow_at(row, 4),
        .sms = narrow_at(row, 5),
        .clock_khz = clock > 0 && clock / 1000 <= UINT32_MAX ? (uint32_t)(clock / 1000) : 0,
        .memory_bytes = memory > 0 ? (uint64_t)memory : 0,
        .l2_bytes = l2 > 0 ? (uint64_t)l2 : 0,
        .name = ws_gather_text(nsight->gather, name.data, name.length),
        .uuid = ws_gather_text(nsight->gather, text, (size_t)size),
        .pci = ws_gather_text(nsight->gather, pci.data, pci.length),
    };
    ws_gather_row(nsight->gather, WS_FAMILY_device, &device);
}

static void take_start(struct nsight *nsight, sqlite3_stmt *row)
{
    char text[32];
    if (nsight_is_null(row, 0))
        return;
    /* The times in the file count from the start of Nsight Systems' recording session. Later versions of Nsight
     * Systems also write the wall-clock time of this start. */
    int size = snprintf(text, sizeof(text), "%lld", (long long)sqlite3_column_int64(row, 0));
    ws_gather_meta(nsight->gather, "start_realtime_ns", text, (size_t)size);
    size = snprintf(text, sizeof(text), "%lld", (long long)sqlite3_column_int64(row, 1));
    ws_gather_meta(nsight->gather, "start_monotonic_ns", text, (size_t)size);
}

static void take_fact(struct nsight *nsight, sqlite3_stmt *row)
{
    static const struct {
        const char *name, *key;
    } facts[] = {
        { "EXPORT_PRODUCT_VERSION", "nsight_version" },
        { "EXPORT_SCHEMA_VERSION", "nsight_schema" },
    };
    struct ws_text name = nsight_text(row, 0), value = nsight_text(row, 1);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (name.length == strlen(facts[i].name) && !memcmp(name.data, facts[i].name, name.length))
            ws_gather_meta(nsight->gather, facts[i].key, value.data, value.length);
}

/* Stores the host name, unless the row describes another machine. Bits 48 to 63 of globalPid and globalVid identify
 * the machine. */
static void take_system(struct nsight *nsight, sqlite3_stmt *row)
{
    const int64_t *process = nsight->processes.items.count ? ws_intern_item(&nsight->processes, 1) : NULL;
    struct ws_text name = nsight_text(row, 0), value = nsight_text(row, 1);
    bool of_another = process && !nsight_is_null(row, 2) && (sqlite3_column_int64(row, 2) ^ *process) >> 48;
    if (name.length == 8 && !memcmp(name.data, "Hostname", 8) && value.length && !of_another)
        ws_gather_meta(nsight->gather, "host", value.data, value.length);
}

#define NAME(column) column ">StringIds.value"
#define MEMORY(column) column ">ENUM_CUDA_MEM_KIND.label"
#define EVENT_COLUMNS "globalPid", "correlationId", "deviceId", "contextId", "streamId", "eventId"

const struct nsight_table nsight_tables[] = {
    { "META_DATA_EXPORT", { "name", "value" }, take_fact, NULL, false },
    { "EXPORT_META_DATA", { "name", "value" }, take_fact, NULL, false },
    { "TARGET_INFO_SYSTEM_ENV", { "name", "value", "globalVid" }, take_system, NULL, false },
    { "TARGET_INFO_SESSION_START_TIME", { "utcEpochNs", "systemClockNs" }, take_start, NULL, false },
    { "TARGET_INFO_CUDA_DEVICE", { "gpuId", "cudaId", "pid" }, take_visible, NULL, false },
    { "TARGET_INFO_GPU",
      { "id", "cuDevice", "name", "computeMajor", "computeMinor", "smCount", "clockRate", "totalMemory",
        "l2CacheSize", "uuid", "busLocation" },
      take_gpu,
      NULL,
      false },
    { "CUPTI_ACTIVITY_KIND_KERNEL",
      { OPERATION_COLUMNS, NAME("demangledName"), NAME("shortName"), NAME("mangledName"), "registersPerThread",
        "staticSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "dynamicSharedMemory" },
      take_kernel,
      NULL,
      true },
    { "CUPTI_ACTIVITY_KIND_MEMCPY",
      { OPERATION_COLUMNS, "bytes", "copyKind", MEMORY("srcKind"), MEMORY("dstKind") },
      take_copy,
      NULL,
      true },
    { "CUPTI_ACTIVITY_KIND_MEMSET", { OPERATION_COLUMNS, "bytes", MEMORY("memKind") }, take_memset, NULL, true },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", { OPERATION_COLUMNS, "graphExecId", "graphId" }, take_graph, NULL, true },
    { "CUPTI_ACTIVITY_KIND_RUNTIME",
      { "start", "end", "globalTid", "correlationId", NAME("nameId"), "returnValue" },
      nsight_tables_take_call,
      NULL,
      false },
    { "CUPTI_ACTIVITY_KIND_DRIVER",
      { "start", "end", "globalTid", "correlationId", NAME("nameId"), "returnValue" },
      nsight_tables_take_call,
      NULL,
      false },
    { "CUDA_GPU_MEMORY_USAGE_EVENTS",
      { "globalPid", "correlationId", "deviceId", "contextId", "address", "bytes", MEMORY("memKind"),
        "localMemoryPoolAddress" },
      nsight_take_memory,
      NULL,
      false },
    { "CUPTI_ACTIVITY_KIND_CUDA_EVENT", { EVENT_COLUMNS }, nsight_take_record, NULL, false },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", { EVENT_COLUMNS }, nsight_take_wait, NULL, false },
    { "NVTX_EVENTS",
      { "start", "end", "eventType", "globalTid", "endGlobalTid", "text", NAME("textId") },
      take_nvtx,
      NULL,
      false },
    { "ThreadNames", { "globalTid", NAME("nameId") }, take_thread_name, "priority", false },
    { "PROCESSES", { "globalPid", "pid", "name" }, take_process, NULL, false },
};
const size_t nsight_table_count = sizeof(nsight_tables) / sizeof(nsight_tables[0]);
