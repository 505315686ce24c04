/* Writes a small trace for demonstrations, always the same: 40 training steps on one device. The input pipeline is
 * too slow, communication runs on a stream of its own, and every step waits for its loss. Times named host, batch,
 * forward and backward are host times, all others are device times. The device's clock is 5 s behind the host's. With
 * --ranges the main thread has ranges, and another thread, without ranges, launches the backward pass. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "builder.h"

static const int64_t us = 1000, clock_offset = 5000000000;
enum { COMPUTE = 1, COMM = 2, STEPS = 40, MAIN = 1, BACKWARD = 2 };

static bool with_ranges;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static const struct {
    const char *name;
    int64_t length; /* duration of the kernel, µs */
} layer[] = {
    { "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__"
      "5x_"
      "cublas",
      310 },
    { "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_18GeluCUDAKernelImplERNS_18TensorIteratorBaseEEUlfE_"
      "St5arrayIPcLm2EEEEviT0_T1_",
      24 },
    { "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
      "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
      18 },
    { "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t> >(Flash_fwd_"
      "params)",
      140 },
};

static void launch(struct builder *trace, uint32_t stream, const char *name, int64_t host, int64_t begin, int64_t end,
                   uint32_t flags, uint32_t thread)
{
    struct ws_op op = build_op(trace, &(struct launch){ .kernel = name,
                                                        .call = "cuLaunchKernelEx",
                                                        .stream = stream,
                                                        .thread = thread,
                                                        .grid = 128,
                                                        .begin = begin,
                                                        .end = end,
                                                        .host_begin = host,
                                                        .host_end = host + 2500,
                                                        .flags = flags });
    op.begin_error = 600;
    op.end_error = 500;
    build_row(trace, WS_FAMILY_op, &op);
}

/* Adds one step that begins at device time `at`; returns the time of its end. */
static int64_t step(struct builder *trace, uint32_t number, int64_t at, uint64_t *random)
{
    int64_t host = at + clock_offset - 20 * us, batch = host, forward, backward = 0;
    at += 400 * us + (int64_t)(next_random(random) % 300) * us; /* the device waits for the next batch */
    build_copy(trace, COMPUTE, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 4 << 20, at, at + 350 * us);
    at += 352 * us;
    forward = at + clock_offset - 9 * us;
    for (int i = 0; i < 12; i++) {
        int64_t length = layer[i % 4].length * us + (int64_t)(next_random(random) % 900);
        host = at + clock_offset - (i < 3 ? 8 : 60) * us;
        launch(trace, COMPUTE, layer[i % 4].name, host, at, at + length, i % 4 == 1 ? WS_OP_SAMPLED : 0,
               with_ranges && i > 7 ? BACKWARD : MAIN);
        if (i == 7)
            backward = host + 3 * us;
        at += length + (i < 3 ? 5 * us : 0);
    }
    launch(trace, COMM, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", host,
           at - 200 * us, at + 300 * us, WS_OP_IN_COLLECTIVE, MAIN);
    struct ws_collective all_reduce = {
        .function = build_driver_function(trace, "ncclAllReduce", WS_CALL_NCCL),
        .thread = 1,
        .correlation = (uint64_t)1 << 40 | (trace->launches + 1000000),
        .host_begin = host,
        .host_end = host + 9 * us,
        .comm = 1,
        .stream = COMM,
        .count = 8 << 20,
        .datatype = 9,
        .peer = -1,
        .sequence = number,
        .first_launch = (uint64_t)1 << 40 | trace->launches,
        .last_launch = (uint64_t)1 << 40 | trace->launches,
    };
    build_row(trace, WS_FAMILY_collective, &all_reduce);
    at += 300 * us;
    build_copy(trace, COMPUTE, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, at, at + 2 * us);
    build_call(trace, "cuStreamSynchronize", WS_CALL_SYNC, host + 12 * us, at + clock_offset + 9 * us);
    if (with_ranges) {
        build_range(trace, WS_RANGE_ANNOTATION, MAIN, "train step", batch, host + 10 * us);
        build_range(trace, WS_RANGE_ANNOTATION, MAIN, "load batch", batch, forward - us);
        build_range(trace, WS_RANGE_ANNOTATION, MAIN, "forward", forward, backward);
        build_range(trace, WS_RANGE_ANNOTATION, MAIN, "backward", backward, host - us);
    }
    return at + 12 * us;
}

int main(int count, char **words)
{
    struct builder trace;
    uint64_t random = 1;
    int64_t at = 1000000;
    if (count < 2 || count > 3 || *words[1] == '-') {
        fputs("usage: make_demo TRACE [RANK|--ranges]\n", stderr);
        return 2;
    }
    with_ranges = count > 2 && !strcmp(words[2], "--ranges");
    build_begin(&trace, words[1]);
    build_meta(&trace, "program", "python3");
    build_meta(&trace, "command_line", "python3 train.py --model small");
    build_meta(&trace, "driver_version", "13.0");
    build_meta(&trace, "start_monotonic_ns", "5000000000");
    build_meta(&trace, "start_realtime_ns", "1750000000000000000");
    build_meta(&trace, "backend", "events");
    if (count > 2 && !with_ranges)
        build_meta(&trace, "rank", words[2]);
    build_device(&trace, 1, "NVIDIA H100 80GB HBM3", clock_offset, 900);
    build_stream(&trace, COMPUTE, 1);
    build_stream(&trace, COMM, 1);
    build_thread(&trace, MAIN, 4242, "python3");
    if (with_ranges)
        build_thread(&trace, BACKWARD, 4243, "pt_autograd_0");
    build_row(&trace, WS_FAMILY_comm, &(struct ws_comm){ .id = 1, .rank = 0, .size = 8, .device = 1 });
    for (uint32_t i = 0; i < STEPS; i++)
        at = step(&trace, i, at, &random);
    struct ws_loss loss = { .reason = WS_LOSS_RING_FULL, .thread = 1, .count = 3, .host_ns = at };
    build_row(&trace, WS_FAMILY_loss, &loss);
    build_end(&trace);
    return 0;
}
