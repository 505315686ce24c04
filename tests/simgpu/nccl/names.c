/* The kernels' names, mangled as in the real library, and a PTX image that declares all these kernels. */
#include "nccl/nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANGLED "24ncclDevKernelArgsStorageILm4096EE"

static const char *const types[] = { "i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16" };
static const char *const reductions[] = { "Sum", "Prod", "MinMax", "PreMulSum", "SumPostDiv" };
static const char *const reducing[] = { "AllReduce", "Reduce", "ReduceScatter" };
static const char *const moving[] = { "AllGather_RING_LL", "Broadcast_RING_LL", "SendRecv" };

enum { TYPES = 10, REDUCTIONS = 5, NAME_BYTES = 128 };

static void mangle(char *to, const char *plain)
{
    snprintf(to, NAME_BYTES, "_Z%zu%s" MANGLED, strlen(plain), plain);
}

static const char *reduction_name(ws_ncclEnum reduction, ws_ncclEnum type)
{
    bool whole = type < WS_ncclFloat16;
    switch (reduction) {
    case WS_ncclSum:
        return "Sum";
    case WS_ncclProd:
        return "Prod";
    case WS_ncclMax:
    case WS_ncclMin:
        return "MinMax";
    default:
        return whole ? "SumPostDiv" : "PreMulSum";
    }
}

/* The name of the task's kernel, in a buffer of the calling thread, which the next call overwrites. */
const char *nccl_kernel_name(const struct nccl_task *task)
{
    static __thread char name[NAME_BYTES];
    char plain[NAME_BYTES - 48];
    switch (task->kind) {
    case NCCL_ALL_REDUCE:
    case NCCL_REDUCE:
    case NCCL_REDUCE_SCATTER:
        snprintf(plain, sizeof(plain), "ncclDevKernel_%s_%s_%s_RING_LL", reducing[task->kind],
                 reduction_name(task->reduction, task->type), types[task->type < TYPES ? task->type : 0]);
        break;
    case NCCL_ALL_GATHER:
        snprintf(plain, sizeof(plain), "ncclDevKernel_AllGather_RING_LL");
        break;
    case NCCL_BROADCAST:
        snprintf(plain, sizeof(plain), "ncclDevKernel_Broadcast_RING_LL");
        break;
    default:
        snprintf(plain, sizeof(plain), "ncclDevKernel_SendRecv");
    }
    mangle(name, plain);
    return name;
}

static void add_entry(FILE *out, const char *plain)
{
    char name[NAME_BYTES];
    mangle(name, plain);
    fprintf(out, ".visible .entry %s(.param .align 8 .b8 args[4096]) { ret; }\n", name);
}

/* Returns the PTX text that declares all kernels; the caller frees it. */
char *nccl_kernel_image(void)
{
    char *text = NULL, plain[NAME_BYTES - 48];
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    fprintf(out, ".version 8.0\n.target sm_80\n.address_size 64\n");
    for (size_t kind = 0; kind < 3; kind++)
        for (size_t reduction = 0; reduction < REDUCTIONS; reduction++)
            for (size_t type = 0; type < TYPES; type++) {
                snprintf(plain, sizeof(plain), "ncclDevKernel_%s_%s_%s_RING_LL", reducing[kind],
                         reductions[reduction], types[type]);
                add_entry(out, plain);
            }
    for (size_t kind = 0; kind < 3; kind++) {
        snprintf(plain, sizeof(plain), "ncclDevKernel_%s", moving[kind]);
        add_entry(out, plain);
    }
    fclose(out);
    return text;
}
