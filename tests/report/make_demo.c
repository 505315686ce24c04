/* Writes a small trace in which a little of everything happens, the same each time: 40 training steps
 * on one device with an input pipeline that is too slow, communication on a stream of its own, and a
 * wait for the loss in every step. Times are device times; the device's clock is 5 s behind. Asked for, the program
 * has ranges, and a thread that goes backward in none. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "story.h"

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
    int64_t length; /* µs */
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

static void launch(struct story *story, uint32_t stream, const char *name, int64_t host, int64_t begin, int64_t end,
                   uint32_t flags, uint32_t thread)
{
    struct ws_shape shape = { .kind = WS_OP_KERNEL,
                              .stream = stream,
                              .function = story_function(story, name),
                              .driver_function = story_driver_function(story, "cuLaunchKernelEx", WS_CALL_LAUNCH),
                              .grid_x = 128,
                              .grid_y = 1,
                              .grid_z = 1,
                              .block_x = 256,
                              .block_y = 1,
                              .block_z = 1 };
    struct ws_op op = story_op(story, story_shape(story, &shape), begin, end);
    op.host_begin = host;
    op.host_end = host + 2500;
    op.begin_error = 600;
    op.end_error = 500;
    op.flags |= flags;
    op.thread = thread;
    story_add(story, WS_FAMILY_op, &op);
}

/* One step from device time `at`; returns when it is over. */
static int64_t step(struct story *story, uint32_t number, int64_t at, uint64_t *random)
{
    int64_t host = at + clock_offset - 20 * us, batch = host, forward, backward = 0;
    at += 400 * us + (int64_t)(next_random(random) % 300) * us; /* waiting for the next batch */
    story_copy(story, COMPUTE, WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, 4 << 20, at, at + 350 * us);
    at += 352 * us;
    forward = at + clock_offset - 9 * us;
    for (int i = 0; i < 12; i++) {
        int64_t length = layer[i % 4].length * us + (int64_t)(next_random(random) % 900);
        host = at + clock_offset - (i < 3 ? 8 : 60) * us;
        launch(story, COMPUTE, layer[i % 4].name, host, at, at + length, i % 4 == 1 ? WS_OP_SAMPLED : 0,
               with_ranges && i > 7 ? BACKWARD : MAIN);
        if (i == 7)
            backward = host + 3 * us;
        at += length + (i < 3 ? 5 * us : 0);
    }
    launch(story, COMM, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", host,
           at - 200 * us, at + 300 * us, WS_OP_IN_COLLECTIVE, MAIN);
    struct ws_collective all_reduce = {
        .function = story_driver_function(story, "ncclAllReduce", WS_CALL_NCCL),
        .thread = 1,
        .correlation = (uint64_t)1 << 40 | (story->launches + 1000000),
        .host_begin = host,
        .host_end = host + 9 * us,
        .comm = 1,
        .stream = COMM,
        .count = 8 << 20,
        .datatype = 9,
        .peer = -1,
        .sequence = number,
        .first_launch = (uint64_t)1 << 40 | story->launches,
        .last_launch = (uint64_t)1 << 40 | story->launches,
    };
    story_add(story, WS_FAMILY_collective, &all_reduce);
    at += 300 * us;
    story_copy(story, COMPUTE, WS_SPACE_DEVICE, WS_SPACE_PINNED, 4, at, at + 2 * us);
    story_call(story, "cuStreamSynchronize", WS_CALL_SYNC, host + 12 * us, at + clock_offset + 9 * us);
    if (with_ranges) {
        story_range(story, WS_RANGE_ANNOTATION, MAIN, "train step", batch, host + 10 * us);
        story_range(story, WS_RANGE_ANNOTATION, MAIN, "load batch", batch, forward - us);
        story_range(story, WS_RANGE_ANNOTATION, MAIN, "forward", forward, backward);
        story_range(story, WS_RANGE_ANNOTATION, MAIN, "backward", backward, host - us);
    }
    return at + 12 * us;
}

int main(int count, char **words)
{
    struct story story;
    uint64_t random = 1;
    int64_t at = 1000000;
    if (count < 2 || count > 3 || *words[1] == '-') {
        fputs("usage: make_demo TRACE [RANK|--ranges]\n", stderr);
        return 2;
    }
    with_ranges = count > 2 && !strcmp(words[2], "--ranges");
    story_begin(&story, words[1]);
    story_meta(&story, "program", "python3");
    story_meta(&story, "command_line", "python3 train.py --model small");
    story_meta(&story, "driver_version", "13.0");
    story_meta(&story, "start_monotonic_ns", "5000000000");
    story_meta(&story, "start_realtime_ns", "1750000000000000000");
    story_meta(&story, "backend", "events");
    if (count > 2 && !with_ranges)
        story_meta(&story, "rank", words[2]);
    story_device(&story, 1, "NVIDIA H100 80GB HBM3", clock_offset, 900);
    story_stream(&story, COMPUTE, 1);
    story_stream(&story, COMM, 1);
    story_thread(&story, MAIN, 4242, "python3");
    if (with_ranges)
        story_thread(&story, BACKWARD, 4243, "pt_autograd_0");
    story_add(&story, WS_FAMILY_comm, &(struct ws_comm){ .id = 1, .rank = 0, .size = 8, .device = 1 });
    for (uint32_t i = 0; i < STEPS; i++)
        at = step(&story, i, at, &random);
    struct ws_loss loss = { .reason = WS_LOSS_RING_FULL, .thread = 1, .count = 3, .host_ns = at };
    story_add(&story, WS_FAMILY_loss, &loss);
    story_end(&story);
    return 0;
}
