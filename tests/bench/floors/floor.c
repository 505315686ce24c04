/* Preloaded wrappers of cuLaunchKernel that do as little as possible, to compare the shim with. This file is built
 * twice. Without FLOOR_RECORDS, the wrapper only passes the call on. With FLOOR_RECORDS, the wrapper also does the
 * least work of a recorder: it reads the CPU's tick counter before and after the call, and stores a record of 64
 * bytes in a ring as large as the shim's. The ring is never read, and its pages are touched before the first
 * launch. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "abi/cuda.h"
#include "base/clock.h"
#include "record/ring_records.h"

typedef ws_CUresult (*launch_function)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, ws_CUstream, void **, void **);
static launch_function real;

#ifdef FLOOR_RECORDS
enum { SLOTS = 65536 };
static struct ws_ring_op ring[SLOTS];
static uint64_t head;

__attribute__((constructor)) static void touch(void)
{
    memset(ring, 1, sizeof(ring));
}
#endif

__attribute__((visibility("default"))) ws_CUresult cuLaunchKernel(ws_CUfunction function, unsigned grid_x,
                                                                  unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                                  unsigned block_y, unsigned block_z, unsigned shared,
                                                                  ws_CUstream stream, void **params, void **extra);
ws_CUresult cuLaunchKernel(ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream,
                           void **params, void **extra)
{
    if (__builtin_expect(!real, 0))
        real = (launch_function)dlsym(RTLD_NEXT, "cuLaunchKernel");
#ifdef FLOOR_RECORDS
    struct ws_ring_op *record = &ring[head % SLOTS];
    record->header = (struct ws_ring_header){ .kind = WS_RING_OP, .slots = 1, .shape = grid_x };
    record->correlation = head;
    record->bytes = 0;
    record->stream = 1;
    record->begin_event = record->end_event = record->copies_before = record->inner = 0;
    record->ticks_begin = ws_clock_ticks();
    record->result = real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, extra);
    record->ticks_end = ws_clock_ticks();
    __atomic_store_n(&head, head + 1, __ATOMIC_RELEASE);
    return record->result;
#else
    return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, extra);
#endif
}
