/* Derives facts from the names that profilers give to calls, copies, collectives and kinds of memory. */
#include <string.h>

#include "input/gather.h"

/* The first row whose word occurs in a call's name gives the call's family (enum ws_call_family: launch, copy, …).
 * The functions of the CUDA runtime, of the CUDA driver and of HIP contain the same words. The last rows are for
 * functions of Intel's runtimes. */
static const struct {
    const char *word;
    enum ws_call_family family;
} words[] = {
    { "nccl", WS_CALL_NCCL },
    { "[memory]", WS_CALL_MEMORY },
    { "LaunchHostFunc", WS_CALL_WORK },
    { "AddCallback", WS_CALL_WORK },
    { "Launch", WS_CALL_LAUNCH }, /* also matches GraphLaunch */
    { "Captur", WS_CALL_CAPTURE },
    { "Graph", WS_CALL_GRAPH },
    { "MemPrefetch", WS_CALL_WORK },
    { "MemDiscard", WS_CALL_WORK },
    { "StreamWaitValue", WS_CALL_WORK },
    { "StreamWriteValue", WS_CALL_WORK },
    { "BatchMemOp", WS_CALL_WORK },
    { "Memcpy", WS_CALL_COPY },
    { "Memset", WS_CALL_MEMSET },
    { "Synchronize", WS_CALL_SYNC },
    { "EventQuery", WS_CALL_SYNC },
    { "StreamQuery", WS_CALL_SYNC },
    { "EventRecord", WS_CALL_EVENT },
    { "WaitEvent", WS_CALL_EVENT },
    { "Malloc", WS_CALL_MEMORY },
    { "MemAlloc", WS_CALL_MEMORY },
    { "Free", WS_CALL_MEMORY },
    { "HostAlloc", WS_CALL_MEMORY },
    { "HostRegister", WS_CALL_MEMORY },
    { "HostUnregister", WS_CALL_MEMORY },
    { "MemCreate", WS_CALL_MEMORY },
    { "MemMap", WS_CALL_MEMORY },
    { "MemUnmap", WS_CALL_MEMORY },
    { "MemRelease", WS_CALL_MEMORY },
    { "MemAddress", WS_CALL_MEMORY },
    { "MemPool", WS_CALL_MEMORY },
    { "MemSetAccess", WS_CALL_MEMORY },
    { "ModuleLoad", WS_CALL_MODULE },
    { "ModuleUnload", WS_CALL_MODULE },
    { "ModuleGet", WS_CALL_MODULE },
    { "Library", WS_CALL_MODULE },
    { "KernelGetFunction", WS_CALL_MODULE },
    { "GetProcAddress", WS_CALL_RESOLUTION },
    { "EntryPoint", WS_CALL_RESOLUTION },
    { "Profiler", WS_CALL_PROFILER },
    { "Ctx", WS_CALL_LIFETIME },
    { "StreamCreate", WS_CALL_LIFETIME },
    { "StreamDestroy", WS_CALL_LIFETIME },
    { "MemoryCopy", WS_CALL_COPY },
    { "MemBufferRead", WS_CALL_COPY },
    { "MemBufferWrite", WS_CALL_COPY },
    { "MemBufferCopy", WS_CALL_COPY },
    { "MemoryFill", WS_CALL_MEMSET },
    { "USMFill", WS_CALL_MEMSET },
    { "MemBufferFill", WS_CALL_MEMSET },
    { "EventWait", WS_CALL_SYNC },
    { "QueueFinish", WS_CALL_SYNC },
    { "DeviceAlloc", WS_CALL_MEMORY },
    { "SharedAlloc", WS_CALL_MEMORY },
};

static bool has(const char *name, size_t length, const char *word)
{
    return memmem(name, length, word, strlen(word));
}

struct ws_call_kind ws_call_kind_of(const char *name, size_t length)
{
    struct ws_call_kind kind = { .family = WS_CALL_OTHER };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (has(name, length, words[i].word)) {
            kind.family = words[i].family;
            break;
        }
    }
    kind.blocks = kind.family == WS_CALL_COPY && !has(name, length, "Async") && !has(name, length, "Enqueue") &&
                  !has(name, length, "CommandList");
    return kind;
}

struct ws_text ws_collective_function(struct ws_text name)
{
    static const struct {
        const char *words[2];
        const char *function;
    } functions[] = {
        { { "all_reduce", "allreduce" }, "ncclAllReduce" },
        { { "reduce_scatter", "reducescatter" }, "ncclReduceScatter" },
        { { "all_gather", "allgather" }, "ncclAllGather" },
        { { "all_to_all", "alltoall" }, "ncclAlltoAll" },
        { { "broadcast", "broadcast" }, "ncclBroadcast" },
        { { "reduce", "reduce" }, "ncclReduce" },
        { { "gather", "gather" }, "ncclGather" },
        { { "scatter", "scatter" }, "ncclScatter" },
        { { "send", "send" }, "ncclSend" },
        { { "recv", "recv" }, "ncclRecv" },
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        for (int j = 0; j < 2; j++)
            if (memmem(name.data, name.length, functions[i].words[j], strlen(functions[i].words[j])))
                return (struct ws_text){ functions[i].function, (uint32_t)strlen(functions[i].function) };
    return name;
}

uint32_t ws_collective_type(struct ws_text name)
{
    /* Names of a type, and the number of its ncclDataType_t: 0 = ncclInt8 … */
    static const struct {
        const char *words[3];
        uint32_t type;
    } types[] = {
        { { "Char", "signed char", "signed_char" }, 0 },
        { { "Byte", "unsigned char", "unsigned_char" }, 1 },
        { { "Bool", "bool", "bool" }, 1 },
        { { "Int", "int", "int" }, 2 },
        { { "Long", "long int", "long_int" }, 4 },
        { { "Half", "c10::Half", "c10::Half" }, 6 },
        { { "Float", "float", "float" }, 7 },
        { { "Double", "double", "double" }, 8 },
        { { "BFloat16", "c10::BFloat16", "c10::BFloat16" }, 9 },
        { { "Float8_e4m3fn", "c10::Float8_e4m3fn", "c10::Float8_e4m3fn" }, 10 },
        { { "Float8_e5m2", "c10::Float8_e5m2", "c10::Float8_e5m2" }, 11 },
        { { "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz" }, 10 },
        { { "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz", "c10::Float8_e5m2fnuz" }, 11 },
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (int j = 0; j < 3; j++)
            if (strlen(types[i].words[j]) == name.length && !memcmp(types[i].words[j], name.data, name.length))
                return types[i].type;
    return WS_NO_TYPE;
}

uint32_t ws_space_of(const char *word, size_t length)
{
    static const struct {
        const char *word;
        enum ws_space space;
    } spaces[] = {
        { "Pageable", WS_SPACE_PAGEABLE }, { "Pinned", WS_SPACE_PINNED },   { "Host", WS_SPACE_HOST },
        { "Device", WS_SPACE_DEVICE },     { "Array", WS_SPACE_ARRAY },     { "Managed", WS_SPACE_MANAGED },
        { "Peer", WS_SPACE_PEER },         { "Unified", WS_SPACE_MANAGED }, { "Memory", WS_SPACE_PAGEABLE },
        { "Shared", WS_SPACE_MANAGED }, /* Intel writes "SHARED" */
    };
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (length >= strlen(spaces[i].word) && !strncasecmp(word, spaces[i].word, strlen(spaces[i].word)))
            return spaces[i].space;
    return WS_SPACE_UNKNOWN;
}

void ws_copy_spaces(const char *name, size_t length, uint32_t *from, uint32_t *to)
{
    const char *open = memchr(name, '(', length);
    *from = *to = WS_SPACE_UNKNOWN;
    if (!open)
        return;
    const char *first = open + 1;
    size_t left = length - (size_t)(first - name);
    const char *arrow = memmem(first, left, " -> ", 4);
    *from = ws_space_of(first, left);
    if (arrow)
        *to = ws_space_of(arrow + 4, left - (size_t)(arrow + 4 - first));
}
