/* The metrics by name. Their values follow from the FLOPs and bytes of kernels. */
#include "cupti/cupti.h"

#include <stddef.h>
#include <string.h>

static const char base[] = "gpu__", dram[] = "dram__", sass[] = "smsp__sass_thread_inst_executed_op_",
                  tensor[] = "sm__ops_path_tensor_";

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* The metrics that count instructions of ordinary cores, by instruction and precision. As many FLOPs of a precision
 * as possible count as fused multiply-adds; the remainder counts as additions. */
static const struct {
    const char *instruction;
    enum simgpu_precision precision;
    unsigned flops; /* FLOPs of one instruction; 0: no simulated kernel executes it */
    unsigned least; /* if not 0: the metric counts only the FLOPs modulo this number */
} instructions[] = {
    { "fadd", SIMGPU_FP32, 1, 2 }, { "fmul", SIMGPU_FP32, 0, 0 }, { "ffma", SIMGPU_FP32, 2, 0 },
    { "hadd", SIMGPU_FP16, 2, 4 }, { "hmul", SIMGPU_FP16, 0, 0 }, { "hfma", SIMGPU_FP16, 4, 0 },
    { "dadd", SIMGPU_FP64, 1, 2 }, { "dmul", SIMGPU_FP64, 0, 0 }, { "dfma", SIMGPU_FP64, 2, 0 },
};

static bool instruction_count(const char *chip, const char *rest, const struct simgpu_counters *counted,
                              double *value)
{
    for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
        size_t length = strlen(instructions[i].instruction);
        if (strncmp(rest, instructions[i].instruction, length) || strcmp(rest + length, "_pred_on.sum"))
            continue;
        uint64_t flops = counted->work.flops[instructions[i].precision];
        if (instructions[i].least)
            flops %= instructions[i].least;
        if (instructions[i].flops)
            flops /= instructions[i].flops;
        *value = instructions[i].flops ? (double)flops : 0;
        return true;
    }
    /* GB100 also has instructions that work on two numbers at a time. No simulated kernel executes them. */
    *value = 0;
    return begins(chip, "GB1") && (!strcmp(rest, "fadd2_pred_on.sum") || !strcmp(rest, "fmul2_pred_on.sum") ||
                                   !strcmp(rest, "ffma2_pred_on.sum"));
}

/* For each chip and precision: the one tensor core metric that counts the FLOPs. All other tensor core metrics of the
 * precision are 0. */
static const struct {
    const char *chip, *name;
    enum simgpu_precision precision;
} paths[] = {
    { "GH", "op_hgmma_src_fp16.sum", SIMGPU_FP16 },         { "GA", "src_fp16_dst_fp32.sum", SIMGPU_FP16 },
    { "GB", "src_fp16_dst_fp32.sum", SIMGPU_FP16 },         { "G", "src_bf16_dst_fp32.sum", SIMGPU_BF16 },
    { "GH", "src_tf32_dst_fp32.sum", SIMGPU_TF32 },         { "GA", "src_tf32_dst_fp32.sum", SIMGPU_TF32 },
    { "GB", "op_hmma_src_tf32_dst_fp32.sum", SIMGPU_TF32 }, { "GH", "src_fp8.sum", SIMGPU_FP8 },
    { "GB", "src_fp4_fp6_fp8_dst_fp16.sum", SIMGPU_FP8 },   { "GB", "src_fp4_dst_fp32.sum", SIMGPU_FP4 },
    { "GH", "op_igmma_src_int8.sum", SIMGPU_INT8 },         { "GA", "src_int8_sparsity_off.sum", SIMGPU_INT8 },
    { "GB", "op_imma_src_int8.sum", SIMGPU_INT8 },          { "G", "src_fp64.sum", SIMGPU_FP64 },
};

static bool tensor_count(const char *chip, const char *rest, const struct simgpu_counters *counted, double *value)
{
    *value = 0;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (begins(chip, paths[i].chip) && !strcmp(rest, paths[i].name))
            *value = (double)counted->work.tensor[paths[i].precision];
    return begins(rest, "src_") || begins(rest, "op_");
}

static bool has_tensor_work(const struct simgpu_counters *counted)
{
    uint64_t all = 0;
    for (int i = 0; i < SIMGPU_PRECISIONS; i++)
        all |= counted->work.tensor[i];
    return all != 0;
}

bool cupti_metric(const char *chip, const char *name, const struct simgpu_counters *counted, double *value)
{
    if (!strcmp(name, "gpu__time_duration.sum"))
        *value = (double)counted->ns;
    else if (!strcmp(name, "dram__bytes_read.sum"))
        *value = (double)counted->work.bytes_read;
    else if (!strcmp(name, "dram__bytes_write.sum"))
        *value = (double)counted->work.bytes_written;
    else if (!strcmp(name, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"))
        *value = has_tensor_work(counted) ? 62.5 : 0;
    else if (!strcmp(name, "sm__cycles_elapsed.avg.per_second"))
        *value = 1.755e9;
    else if (begins(name, sass))
        return instruction_count(chip, name + strlen(sass), counted, value);
    else
        return begins(name, tensor) && tensor_count(chip, name + strlen(tensor), counted, value);
    return true;
}

/* The results equal those of the real library. All gpu__ and dram__ metrics together take one pass, and all sass
 * metrics together another one. Each tensor metric takes one more pass. But on GB100 one op_hmma_ and one op_utchmma_
 * metric share a pass. */
uint32_t cupti_passes(const char (*names)[MOST_NAME], uint32_t count)
{
    bool plain = false, patched = false;
    uint32_t by_hmma = 0, by_utchmma = 0, others = 0;
    for (uint32_t i = 0; i < count; i++) {
        plain |= begins(names[i], base) || begins(names[i], dram);
        patched |= begins(names[i], sass);
        if (!begins(names[i], tensor))
            continue;
        const char *path = names[i] + strlen(tensor);
        by_hmma += begins(path, "op_hmma_");
        by_utchmma += begins(path, "op_utchmma_");
        others += !begins(path, "op_hmma_") && !begins(path, "op_utchmma_");
    }
    return plain + patched + others + (by_hmma > by_utchmma ? by_hmma : by_utchmma);
}
