/* The work of one iteration of an inference server, read from the name of the range around the iteration.
 *
 * Servers name the range after the work that the scheduler put into the iteration:
 * - vLLM: "execute_context_2(512)_generation_30(30)" (annotate_profile in vllm/v1/worker/gpu_worker.py). Earlier
 *   versions write "execute_new_3_cached_5". Some versions add the sum of the squared prompt lengths:
 *   "execute_context_1(888_788544)_generation_0(0)". ROCm's vLLM writes
 *   "execute_8192_context_9(sq8155…)_generation_37(sq37…)";
 * - SGLang: "step[DECODE bs=32]", "step[EXTEND bs=2 toks=4096]" (build_step_span_name in
 *   python/sglang/srt/model_executor/step_span_utils.py, modes in forward_batch_info.py);
 * - TensorRT-LLM: "[Executor] _forward_step 7: 2 ctx reqs, 30 gen reqs" (_forward_step in
 *   tensorrt_llm/_torch/pyexecutor/py_executor.py).
 *
 * Prefill works on prompts, and decode adds tokens to answers. So iterations of prefill and of decode differ in
 * length and in bottleneck.
 *
 * If an iteration runs as a CUDA graph, the trace has no operators that give the sizes of the graph's kernels. For
 * such kernels, the range gives the number of tokens that the iteration works on. The iteration multiplies a weight
 * matrix with at most one row per token. Some products have fewer rows: the last product of the model, and the
 * products of experts, which get only the tokens that are routed to them. */
#ifndef WALLSHIM_ANALYSIS_COST_SERVER_STEP_H
#define WALLSHIM_ANALYSIS_COST_SERVER_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/kernels/classify.h"
#include "analysis/kernels/matmul_name.h"
#include "model/model.h"

enum ws_phase {
    WS_PHASE_NOT_KNOWN = 0,
    WS_PHASE_PREFILL = 1,
    WS_PHASE_DECODE = 2,
    WS_PHASE_MIXED = WS_PHASE_PREFILL | WS_PHASE_DECODE,
    WS_PHASE_COUNT
};

struct ws_server_step {
    double tokens; /* number of tokens that the iteration works on; 0: not known, or `iteration` is false */
    /* each request generates one token in this iteration, so attention reads all keys of a request for a single
     * query */
    bool decodes;
    double requests; /* number of requests in the iteration; 0: no requests, or not known */
    enum ws_phase phase;
    bool iteration; /* the range is an iteration of an inference server */
    bool drafts;    /* the range belongs to speculative decoding, in which one iteration of the server has several
                       ranges */
};

struct ws_server_step ws_server_step_read(const char *name, size_t length);

/* Does the process have ranges of an inference server? */
bool ws_process_serves(const struct ws_process *process);

/* An upper limit of a matrix kernel's FLOPs per byte in this iteration; 0: none is known.
 * - A product with t rows does 2·t FLOPs for each element of the weights, and reads each element at least once. If
 *   the kernel's name does not give the size of an element, half a byte is assumed.
 * - Attention that reads keys for one query does 2·g FLOPs for each element of the keys and values, where g query
 *   heads share the keys of one head. In published models with grouped queries, g is at most 16. An element of the
 *   keys has at least one byte. Latent attention (MLA) shares keys among all heads, so no limit is given for MLA. */
double ws_server_step_intensity(const struct ws_server_step *step, enum ws_kernel_class class,
                                const struct ws_matmul_name *matmul, const char *kernel);

#endif
