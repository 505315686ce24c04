#include "check.h"

#include "hardware/roofline.h"

static void check(const char *name, uint32_t memory_gib, const char *row, enum ws_precision precision, double ridge)
{
    struct ws_gpu gpu;
    struct ws_gpu_facts facts = { .name = name, .memory_bytes = (uint64_t)memory_gib << 30 };
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_BY_NAME);
    assert_string_equal(gpu.name, row);
    assert_float_equal(ws_gpu_ridge(&gpu, precision), ridge, 0.5);
}

/* Ridges (peak FLOP/s divided by bandwidth) in FLOPs per byte, computed by hand: 989.4 / 3.35 = 295; 312 / 2.039 =
 * 153, 312 / 1.935 = 161, 312 / 1.555 = 201; 989.4 / 4.8 = 206. */
static void devices_are_found_by_the_names_drivers_give(void **state)
{
    (void)state;
    check("NVIDIA H100 80GB HBM3", 79, "H100", WS_PRECISION_BF16, 295);
    check("NVIDIA H100 PCIe", 79, "H100 PCIe", WS_PRECISION_FP16, 371);
    check("NVIDIA H100 NVL", 93, "H100 NVL", WS_PRECISION_FP16, 212);
    check("NVIDIA H200", 140, "H200", WS_PRECISION_FP16, 206);
    check("NVIDIA A100-SXM4-80GB", 79, "A100", WS_PRECISION_BF16, 153);
    check("NVIDIA A100 80GB PCIe", 79, "A100 PCIE", WS_PRECISION_BF16, 161);
    check("NVIDIA A100-PCIE-40GB", 39, "A100 40GB", WS_PRECISION_BF16, 201);
    check("A100-SXM4-40GB", 39, "A100 40GB", WS_PRECISION_BF16, 201);
    check("Tesla V100-SXM2-32GB", 32, "V100", WS_PRECISION_FP16, 139);
    check("Tesla V100-PCIE-16GB", 16, "V100 PCIE", WS_PRECISION_FP16, 124);
    check("Tesla T4", 15, "T4", WS_PRECISION_FP16, 203);
    check("NVIDIA L4", 22, "L4", WS_PRECISION_BF16, 403);
    check("NVIDIA L40S", 45, "L40S", WS_PRECISION_BF16, 419);
    check("NVIDIA GeForce RTX 4090", 24, "GeForce RTX 4090", WS_PRECISION_BF16, 164);
    check("NVIDIA B200", 179, "B200", WS_PRECISION_BF16, 281);
    check("NVIDIA GB200", 185, "GB200", WS_PRECISION_FP4, 1250);
    check("AMD Instinct MI300X", 192, "MI300X", WS_PRECISION_BF16, 247);
    check("AMD Instinct MI325X", 255, "MI325X", WS_PRECISION_BF16, 218);
    check("AMD Instinct MI355X", 287, "MI355X", WS_PRECISION_BF16, 315);
    check("NVIDIA H20", 95, "H20", WS_PRECISION_BF16, 37);
    check("NVIDIA GeForce RTX 2080 Ti", 10, "GeForce RTX 2080 Ti", WS_PRECISION_FP16, 87);
    check("NVIDIA A40", 44, "A40", WS_PRECISION_BF16, 215);
    check("NVIDIA RTX A6000", 47, "RTX A6000", WS_PRECISION_BF16, 202);
    check("NVIDIA L20", 44, "L20", WS_PRECISION_BF16, 138);
}

/* The number in some board names is not a memory size. */
static void a_size_may_be_that_of_the_memory(void **state)
{
    (void)state;
    check("A100-PG509-200", 39, "A100 40GB", WS_PRECISION_BF16, 201);
    check("A100-PG509-200", 79, "A100", WS_PRECISION_BF16, 153);
    check("A100-PG509-200", 0, "A100", WS_PRECISION_BF16, 153);
}

static void a_sibling_stands_in_for_a_chip_the_table_lacks(void **state)
{
    struct ws_gpu gpu;
    struct ws_gpu_facts facts = { .name = "NVIDIA A10G",
                                  .cc_major = 8,
                                  .cc_minor = 6,
                                  .sms = 36,
                                  .clock_khz = 1695000,
                                  .memory_clock_khz = 6251000,
                                  .memory_bus_bits = 384 };
    (void)state;
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_BY_CAPABILITY);
    assert_float_equal(ws_gpu_peak(&gpu, WS_PRECISION_BF16), 62500, 1); /* half the rate of an A10 */
    assert_float_equal(gpu.bytes_per_ns, 600, 1);
    facts.name = "AMD Instinct MI100";
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_UNKNOWN);
    facts = (struct ws_gpu_facts){ .name = "NVIDIA A10G" };
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_UNKNOWN);
    facts = (struct ws_gpu_facts){ 0 };
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_UNKNOWN);
}

static void a_gpu_without_a_name_is_known_by_all_its_figures(void **state)
{
    struct ws_gpu gpu;
    struct ws_gpu_facts facts = {
        .name = "", .cc_major = 9, .cc_minor = 4, .sms = 304, .memory_bytes = UINT64_C(206141652992)
    };
    (void)state;
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_BY_FIGURES);
    assert_string_equal(gpu.name, "MI300X");
    facts.memory_bytes = UINT64_C(256) << 30;
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_BY_FIGURES);
    assert_string_equal(gpu.name, "MI325X");
    facts.memory_bytes = UINT64_C(128) << 30;
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_UNKNOWN);
    facts.memory_bytes = UINT64_C(192) << 30;
    facts.name = "AMD Instinct of another kind";
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_UNKNOWN);
    /* An NVIDIA GPU is not found by its figures alone: several models share them. */
    facts = (struct ws_gpu_facts){ .cc_major = 9, .sms = 132, .memory_bytes = UINT64_C(80) << 30 };
    assert_int_equal(ws_gpu_find(&facts, &gpu), WS_GPU_UNKNOWN);
}

static void people_name_gpus_shortly(void **state)
{
    static const char *const pairs[][2] = {
        { "h100", "H100" },
        { "H100 SXM", "H100" },
        { "h100-pcie", "H100 PCIe" },
        { "a100", "A100" },
        { "A100 80GB PCIe", "A100 PCIE" },
        { "rtx 4090", "GeForce RTX 4090" },
        { "a100-40gb", "A100 40GB" },
        { "4090", "GeForce RTX 4090" },
        { "mi300x", "MI300X" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct ws_gpu *gpu = ws_gpu_named(pairs[i][0]);
        assert_non_null(gpu);
        assert_string_equal(gpu->name, pairs[i][1]);
    }
    assert_null(ws_gpu_named("Voodoo 2"));
    assert_null(ws_gpu_named(""));
}

/* On the tensor cores of one chip, elements of half the size have twice the rate. The test checks this to find typing
 * errors in the table. */
static void rows_agree_with_themselves(void **state)
{
    size_t count;
    const struct ws_gpu *gpus = ws_gpu_table(&count);
    (void)state;
    assert_true(count >= 20);
    for (size_t i = 0; i < count; i++) {
        double fp16 = gpus[i].flops_per_ns[WS_PRECISION_FP16][WS_CORES_TENSOR];
        double bf16 = gpus[i].flops_per_ns[WS_PRECISION_BF16][WS_CORES_TENSOR];
        double fp8 = gpus[i].flops_per_ns[WS_PRECISION_FP8][WS_CORES_TENSOR];
        double tf32 = gpus[i].flops_per_ns[WS_PRECISION_TF32][WS_CORES_TENSOR];
        double fp32 = gpus[i].flops_per_ns[WS_PRECISION_FP32][WS_CORES_ORDINARY];
        assert_true(fp16 > fp32);
        assert_true(!bf16 || bf16 == fp16);
        assert_true(!fp8 || (fp8 / fp16 > 1.98 && fp8 / fp16 < 2.03));
        assert_true(!tf32 || (fp16 / tf32 > 1.97 && fp16 / tf32 < 2.06));
        assert_true(gpus[i].bytes_per_ns > 0 && gpus[i].sms && gpus[i].boost_mhz);
        assert_true(strlen(gpus[i].source) > 10);
    }
}

static struct ws_roof roof_on(const char *gpu, enum ws_precision precision, struct ws_work work)
{
    return ws_roof_of(ws_gpu_named(gpu), precision, &work);
}

static void matrix_products_by_hand(void **state)
{
    struct ws_work work = ws_work_gemm(4096, 4096, 4096, 1, 2);
    struct ws_roof roof = roof_on("h100", WS_PRECISION_FP16, work);
    (void)state;
    assert_true(work.flops == 137438953472.0 && work.bytes == 100663296.0);
    assert_float_equal(roof.intensity, 4096 / 3.0, 1e-9);
    assert_true(roof.compute_bound && roof.attainable == roof.peak);
    assert_float_equal(roof.ns, 137438953472.0 / 989400, 1e-6);
    /* a GEMM of a decode step, with one row */
    roof = roof_on("h100", WS_PRECISION_FP16, ws_work_gemm(1, 4096, 4096, 1, 2));
    assert_float_equal(roof.intensity, 1, 0.001);
    assert_false(roof.compute_bound);
}

/* A pointwise kernel: one output and `inputs` inputs for each element. */
static struct ws_work pointwise(double elements, double inputs, double flops_per_element, double element_bytes)
{
    return ws_work_chain(1, true, elements, inputs, flops_per_element, element_bytes);
}

static void pointwise_kernels_by_hand(void **state)
{
    double elements = 32.0 * 2048 * 4096;
    struct ws_roof roof = roof_on("h100", WS_PRECISION_FP16, pointwise(elements, 1, 10, 2));
    (void)state;
    assert_true(roof.intensity == 2.5);
    assert_float_equal(roof.attainable / roof.peak, 0.0085, 0.00005);
    roof = roof_on("h100", WS_PRECISION_FP32, pointwise(elements, 2, 1, 4)); /* a pointwise addition c = a + b */
    assert_float_equal(roof.intensity, 1 / 12.0, 1e-12);
    for (int kernels = 1; kernels < 20; kernels++) {
        struct ws_work apart = ws_work_chain(kernels, false, elements, 1, 10, 2);
        struct ws_work fused = ws_work_chain(kernels, true, elements, 1, 10, 2);
        assert_true(apart.flops == fused.flops);
        assert_true(apart.bytes == 2.0 * kernels * elements * 2 && fused.bytes == 2 * elements * 2);
    }
}

/* The peak of an H100's tensor cores is 989.4 TFLOP/s, that of its ordinary cores 133.8. A type for which ordinary
 * cores have no peak counts as fp32. */
static void pointwise_work_has_the_peak_of_ordinary_cores(void **state)
{
    struct ws_work work = pointwise(1e9, 1, 1000, 2);
    struct ws_roof roof = ws_roof_of_ordinary(ws_gpu_named("h100"), WS_PRECISION_BF16, &work);
    (void)state;
    assert_true(roof.compute_bound && roof.attainable == 133800 && roof.peak == 989400);
    assert_float_equal(roof.ns, 1e12 / 133800, 1e-6);
    work = pointwise(1e9, 1, 80, 2); /* 20 FLOPs per byte: less than the ridge 133.8 / 3.35 = 40 */
    roof = ws_roof_of_ordinary(ws_gpu_named("h100"), WS_PRECISION_BF16, &work);
    assert_false(roof.compute_bound);
    assert_float_equal(roof.attainable, 20 * 3350, 1e-6);
    assert_true(ws_roof_of_ordinary(ws_gpu_named("h100"), WS_PRECISION_FP8, &work).cores_peak == 66900);
}

static void makers_are_told_by_names(void **state)
{
    size_t count;
    const struct ws_gpu *gpus = ws_gpu_table(&count);
    (void)state;
    assert_true(ws_gpu_is_amd("AMD Instinct MI300X") && ws_gpu_is_amd("AMD Radeon Graphics"));
    assert_false(ws_gpu_is_amd("NVIDIA H100 80GB HBM3") || ws_gpu_is_amd("") || ws_gpu_is_amd("MIG"));
    for (size_t i = 0; i < count; i++)
        assert_true(ws_gpu_is_amd(gpus[i].name) == (strstr(gpus[i].source, "AMD") != NULL));
}

static void attention_by_hand(void **state)
{
    struct ws_attention attention = { .batch = 2, .heads = 4, .queries = 1024, .keys = 1024, .head_size = 64 };
    struct ws_work standard = ws_work_attention(&attention, false, 2), fused = ws_work_attention(&attention, true, 2);
    (void)state;
    assert_true(standard.flops == 8.0 * 4 * 1024 * 1024 * 64 && fused.flops == standard.flops);
    assert_true(fused.bytes == 8.0 * 4 * 1024 * 64 * 2);
    assert_true(standard.bytes == fused.bytes + 8.0 * 4 * 1024 * 1024 * 2);
    attention.causal = true;
    struct ws_work skips = ws_work_attention(&attention, true, 2), masks = ws_work_attention(&attention, false, 2);
    assert_true(skips.flops == fused.flops / 2 && skips.bytes == fused.bytes);
    assert_true(masks.flops == standard.flops && masks.bytes == standard.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_found_by_the_names_drivers_give),
        cmocka_unit_test(a_size_may_be_that_of_the_memory),
        cmocka_unit_test(a_sibling_stands_in_for_a_chip_the_table_lacks),
        cmocka_unit_test(a_gpu_without_a_name_is_known_by_all_its_figures),
        cmocka_unit_test(people_name_gpus_shortly),
        cmocka_unit_test(rows_agree_with_themselves),
        cmocka_unit_test(matrix_products_by_hand),
        cmocka_unit_test(pointwise_kernels_by_hand),
        cmocka_unit_test(pointwise_work_has_the_peak_of_ordinary_cores),
        cmocka_unit_test(makers_are_told_by_names),
        cmocka_unit_test(attention_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
