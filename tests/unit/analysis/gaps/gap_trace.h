/* Helpers for the tests of gaps: they write traces of two kernels with a gap between them. */
#ifndef WALLSHIM_TESTS_GAP_TRACE_H
#define WALLSHIM_TESTS_GAP_TRACE_H

#include "built.h"

static const int64_t us = 1000, ms = 1000000;
static const char gemm[] = "ampere_sgemm_128x64_nn", all_reduce[] = "ncclDevKernel_AllReduce_Sum";
enum { COMPUTE = 1, OTHER = 2 };

/* Begins a trace of one device with two streams, and of two threads. The device's clock equals the host's, within 1
 * µs. */
static inline struct builder *begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, "Test GPU", 0, 1000);
    build_stream(trace, COMPUTE, 1);
    build_stream(trace, OTHER, 1);
    build_thread(trace, 1, 100, "main");
    build_thread(trace, 2, 101, "other");
    return trace;
}

/* Like begin(), but the trace counts as imported from another profiler. Such a trace may lack operations. */
static inline struct builder *begin_imported(struct built *built)
{
    struct builder *trace = begin(built);
    build_meta(trace, "import", "Kineto (PyTorch profiler) JSON, schema 1");
    return trace;
}

/* Adds a kernel (name NULL: a copy to the device) that ran from `from` to `to`. Its launch call begins at `host` and
 * takes 5 µs. */
static inline void launch(struct builder *trace, uint32_t stream, const char *name, int64_t host, int64_t from,
                          int64_t to)
{
    build_launch(trace, &(struct launch){ .kernel = name,
                                          .call = name ? NULL : "cuMemcpyHtoDAsync",
                                          .stream = stream,
                                          .begin = from,
                                          .end = to,
                                          .host_begin = host,
                                          .host_end = host + 5 * us });
}

/* Adds the kernel before the gap: it runs from 0 to 1 ms, and was launched long before. */
static inline void first(struct builder *trace)
{
    launch(trace, COMPUTE, gemm, -100 * us, 0, ms);
}

/* Adds the kernel after the gap. It begins 7 µs after its launch call began, and 2 µs after the call returned. So
 * only the launch delays it. */
static inline void second(struct builder *trace, int64_t host)
{
    launch(trace, COMPUTE, gemm, host, host + 7 * us, host + ms);
}

#endif
