#include "record/counters.h"

#include <string.h>

/* Groups of chips, one bit each. Chips of one group use the same names for their metrics. CUPTI's range profiler
 * reads counters only on Turing and later chips. */
enum chips {
    TU116 = 1, /* has no tensor cores */
    TURING = 2,
    AMPERE = 4,
    ADA = 8,
    HOPPER = 16,
    GB100 = 32,
    GB200 = 64, /* chips GB202 to GB207 (sm_120), not the product GB200 */
    TENSOR_BF16 = AMPERE | ADA | HOPPER | GB100 | GB200,
    ALL = TU116 | TURING | TENSOR_BF16,
};

static const struct {
    const char *prefix;
    enum chips chips;
} families[] = {
    { "TU116", TU116 },  { "TU117", TU116 },  { "TU10", TURING },  { "GA100", AMPERE }, { "GA102", AMPERE },
    { "GA103", AMPERE }, { "GA104", AMPERE }, { "GA106", AMPERE }, { "GA107", AMPERE }, { "AD10", ADA },
    { "GH100", HOPPER }, { "GB100", GB100 },  { "GB102", GB100 },  { "GB202", GB200 },  { "GB203", GB200 },
    { "GB205", GB200 },  { "GB206", GB200 },  { "GB207", GB200 },
};

/* Each M(group, chips, quantity, weight, precision, name) is one metric. The metrics of a group must be adjacent. */
#define SASS(instruction) "smsp__sass_thread_inst_executed_op_" instruction "_pred_on.sum"
#define PATH(what) "sm__ops_path_tensor_" what ".sum"
#define METRICS(M)                                                                                                   \
    M("memory and time", ALL, TIME, 1, "", "gpu__time_duration.sum")                                                 \
    M("memory and time", ALL & ~GB200, BYTES_READ, 1, "", "dram__bytes_read.sum")                                    \
    M("memory and time", ALL & ~GB200, BYTES_WRITTEN, 1, "", "dram__bytes_write.sum")                                \
    M("memory and time", GB200, BYTES_READ, 1, "", "dram__bytes_op_read.sum")                                        \
    M("memory and time", GB200, BYTES_WRITTEN, 1, "", "dram__bytes_op_write.sum")                                    \
    M("memory and time", ALL & ~TU116, TENSOR_ACTIVE, 1, "",                                                         \
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed")                                             \
    M("memory and time", ALL, CLOCK, 1, "", "sm__cycles_elapsed.avg.per_second")                                     \
    M("ordinary cores", ALL, FLOPS, 1, "fp32", SASS("fadd"))                                                         \
    M("ordinary cores", ALL, FLOPS, 1, "fp32", SASS("fmul"))                                                         \
    M("ordinary cores", ALL, FLOPS, 2, "fp32", SASS("ffma"))                                                         \
    M("ordinary cores", ALL, FLOPS, 2, "fp16", SASS("hadd"))                                                         \
    M("ordinary cores", ALL, FLOPS, 2, "fp16", SASS("hmul"))                                                         \
    M("ordinary cores", ALL, FLOPS, 4, "fp16", SASS("hfma"))                                                         \
    M("ordinary cores", ALL, FLOPS, 1, "fp64", SASS("dadd"))                                                         \
    M("ordinary cores", ALL, FLOPS, 1, "fp64", SASS("dmul"))                                                         \
    M("ordinary cores", ALL, FLOPS, 2, "fp64", SASS("dfma"))                                                         \
    M("ordinary cores", GB100, FLOPS, 2, "fp32", SASS("fadd2"))                                                      \
    M("ordinary cores", GB100, FLOPS, 2, "fp32", SASS("fmul2"))                                                      \
    M("ordinary cores", GB100, FLOPS, 4, "fp32", SASS("ffma2"))                                                      \
    M("tensor bf16", TENSOR_BF16, TENSOR_FLOPS, 1, "bf16", PATH("src_bf16_dst_fp32"))                                \
    M("tensor fp16", TURING, TENSOR_FLOPS, 1, "fp16", PATH("src_fp16_bf16_tf32_dst_fp32"))                           \
    M("tensor fp16", TURING, TENSOR_FLOPS, 1, "fp16", PATH("src_fp16_dst_fp16"))                                     \
    M("tensor fp16", HOPPER, TENSOR_FLOPS, 1, "fp16", PATH("op_hgmma_src_fp16"))                                     \
    M("tensor fp16 by hmma", HOPPER, TENSOR_FLOPS, 1, "fp16", PATH("op_hmma_src_fp16_dst_fp32"))                     \
    M("tensor fp16 to fp16", HOPPER | GB100, TENSOR_FLOPS, 1, "fp16", PATH("op_hmma_src_fp16_dst_fp16"))             \
    M("tensor fp16 to fp32", AMPERE | ADA | GB100 | GB200, TENSOR_FLOPS, 1, "fp16", PATH("src_fp16_dst_fp32"))       \
    M("tensor fp16 to fp16", AMPERE | ADA | GB200, TENSOR_FLOPS, 1, "fp16", PATH("src_fp16_dst_fp16"))               \
    M("tensor fp16 by utchmma", GB100, TENSOR_FLOPS, 1, "fp16", PATH("op_utchmma_src_fp16_dst_fp16_sparsity_off"))   \
    M("tensor fp16 by utchmma, sparse", GB100, TENSOR_FLOPS, 1, "fp16",                                              \
      PATH("op_utchmma_src_fp16_dst_fp16_sparsity_on"))                                                              \
    M("tensor tf32", AMPERE | ADA | HOPPER | GB200, TENSOR_FLOPS, 1, "tf32", PATH("src_tf32_dst_fp32"))              \
    M("tensor tf32", GB100, TENSOR_FLOPS, 1, "tf32", PATH("op_hmma_src_tf32_dst_fp32"))                              \
    M("tensor tf32", GB100, TENSOR_FLOPS, 1, "tf32", PATH("op_utchmma_src_tf32_dst_fp32_sparsity_off"))              \
    M("tensor tf32, sparse", GB100, TENSOR_FLOPS, 1, "tf32", PATH("op_utchmma_src_tf32_dst_fp32_sparsity_on"))       \
    M("tensor fp8", ADA | HOPPER, TENSOR_FLOPS, 1, "fp8", PATH("src_fp8"))                                           \
    M("tensor fp8 to fp32", GB200, TENSOR_FLOPS, 1, "fp8", PATH("src_fp8_dst_fp32"))                                 \
    M("tensor fp8 to fp16", GB200, TENSOR_FLOPS, 1, "fp8", PATH("src_fp8_dst_fp16"))                                 \
    M("tensor fp8 to fp32", GB100, TENSOR_FLOPS, 1, "fp8", PATH("op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_off")) \
    M("tensor fp8 to fp32, sparse", GB100, TENSOR_FLOPS, 1, "fp8",                                                   \
      PATH("op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_on"))                                                       \
    M("tensor fp8 to fp16", GB100, TENSOR_FLOPS, 1, "fp8", PATH("src_fp4_fp6_fp8_dst_fp16"))                         \
    M("tensor fp4", GB100 | GB200, TENSOR_FLOPS, 1, "fp4", PATH("src_fp4_dst_fp32"))                                 \
    M("tensor fp4 and fp6 to fp32", GB200, TENSOR_FLOPS, 1, "fp4", PATH("src_fp4_fp6_dst_fp32"))                     \
    M("tensor fp4 and fp6 to fp16", GB200, TENSOR_FLOPS, 1, "fp4", PATH("src_fp4_fp6_dst_fp16"))                     \
    M("tensor int8", TURING | GB200, TENSOR_FLOPS, 1, "int8", PATH("src_int8"))                                      \
    M("tensor int8", AMPERE | ADA, TENSOR_FLOPS, 1, "int8", PATH("src_int8_sparsity_off"))                           \
    M("tensor int8, sparse", AMPERE | ADA, TENSOR_FLOPS, 1, "int8", PATH("src_int8_sparsity_on"))                    \
    M("tensor int8", HOPPER, TENSOR_FLOPS, 1, "int8", PATH("op_igmma_src_int8"))                                     \
    M("tensor int8 by imma", HOPPER, TENSOR_FLOPS, 1, "int8", PATH("op_imma_src_int8_sparsity_off"))                 \
    M("tensor int8 by imma, sparse", HOPPER, TENSOR_FLOPS, 1, "int8", PATH("op_imma_src_int8_sparsity_on"))          \
    M("tensor int8 by imma", GB100, TENSOR_FLOPS, 1, "int8", PATH("op_imma_src_int8"))                               \
    M("tensor int8", GB100, TENSOR_FLOPS, 1, "int8", PATH("op_utcimma_src_int8_sparsity_off"))                       \
    M("tensor int8, sparse", GB100, TENSOR_FLOPS, 1, "int8", PATH("op_utcimma_src_int8_sparsity_on"))                \
    M("tensor fp64", TENSOR_BF16, TENSOR_FLOPS, 1, "fp64", PATH("src_fp64"))

static const struct {
    const char *group;
    enum chips chips;
    enum ws_quantity quantity;
    uint32_t weight;
    const char *precision, *name;
} metrics[] = {
#define ROW(group, of, quantity, weight, precision, name) \
    { group, (enum chips)(of), WS_QUANTITY_##quantity, weight, precision, name },
    METRICS(ROW)
#undef ROW
};

static enum chips family_of(const char *chip)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (!strncmp(chip, families[i].prefix, strlen(families[i].prefix)))
            return families[i].chips;
    return (enum chips)0;
}

static struct ws_text counters_text_of(const char *text)
{
    return (struct ws_text){ text, (uint32_t)strlen(text) };
}

uint32_t ws_counter_metrics(const char *chip, struct ws_metric rows[WS_METRICS_MOST])
{
    enum chips chips = family_of(chip);
    uint32_t count = 0, group = 0;
    const char *last = "";
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]) && count < WS_METRICS_MOST; i++) {
        if (!(metrics[i].chips & chips))
            continue;
        group += strcmp(last, metrics[i].group) != 0;
        last = metrics[i].group;
        rows[count++] = (struct ws_metric){ .group = group,
                                            .quantity = metrics[i].quantity,
                                            .weight = metrics[i].weight,
                                            .precision = counters_text_of(metrics[i].precision),
                                            .group_name = counters_text_of(metrics[i].group),
                                            .name = counters_text_of(metrics[i].name) };
    }
    return count;
}
