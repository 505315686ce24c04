#include "hardware/roofline.h"

static struct ws_roof roof_of(const struct ws_gpu *gpu, enum ws_precision precision, double cores_peak,
                              const struct ws_work *work)
{
    struct ws_roof roof = { .peak = ws_gpu_peak(gpu, precision),
                            .ridge = ws_gpu_ridge(gpu, precision),
                            .cores_peak = cores_peak };
    double compute = cores_peak > 0 ? work->flops / cores_peak : 0;
    double memory = gpu->bytes_per_ns > 0 ? work->bytes / gpu->bytes_per_ns : 0;
    roof.intensity = work->bytes > 0 ? work->flops / work->bytes : 0;
    roof.compute_bound = compute >= memory;
    roof.attainable = roof.compute_bound ? cores_peak : roof.intensity * gpu->bytes_per_ns;
    roof.ns = roof.compute_bound ? compute : memory;
    return roof;
}

struct ws_roof ws_roof_of(const struct ws_gpu *gpu, enum ws_precision precision, const struct ws_work *work)
{
    return roof_of(gpu, precision, ws_gpu_peak(gpu, precision), work);
}

struct ws_roof ws_roof_of_ordinary(const struct ws_gpu *gpu, enum ws_precision precision, const struct ws_work *work)
{
    double own = gpu->flops_per_ns[precision][WS_CORES_ORDINARY];
    double fp32 = gpu->flops_per_ns[WS_PRECISION_FP32][WS_CORES_ORDINARY];
    double peak = own > 0 ? own : fp32 > 0 ? fp32 : ws_gpu_peak(gpu, precision);
    return roof_of(gpu, precision, peak, work);
}

struct ws_work ws_work_gemm(double m, double n, double k, double batch, double element_bytes)
{
    return (struct ws_work){ 2 * m * n * k * batch, (m * k + k * n + m * n) * batch * element_bytes };
}

struct ws_work ws_work_chain(double kernels, bool fused, double elements, double inputs, double flops_per_element,
                             double element_bytes)
{
    double passed_on = fused ? 2 : 2 * kernels, extra = inputs > 1 ? (inputs - 1) * kernels : 0;
    if (inputs < 1)
        passed_on -=
            fused ? 1 : kernels; /* kernels without inputs only write, so passed_on must not count reads of inputs */
    return (struct ws_work){ kernels * elements * flops_per_element, (passed_on + extra) * elements * element_bytes };
}

struct ws_work ws_work_attention(const struct ws_attention *attention, bool fused, double element_bytes)
{
    double heads = attention->batch * attention->heads, share = attention->causal && fused ? 0.5 : 1;
    double scores = attention->queries * attention->keys * share;
    double vectors = 2 * (attention->queries + attention->keys) * attention->head_size;
    return (struct ws_work){ 4 * heads * scores * attention->head_size,
                             heads * (vectors + (fused ? 0 : 4 * scores)) * element_bytes };
}
