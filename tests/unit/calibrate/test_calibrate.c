/* Tests of calibration: the rate (FLOP/s, bytes/s) computed from repeated timings, and reading the files that
 * calibrations write. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "calibrate/calibrate.h"
#include "hardware/calibrations.h"
#include "hardware/roofline.h"

static void near(double value, double expected)
{
    assert_float_equal(value, expected, 1e-9 * (expected < 0 ? -expected : expected) + 1e-12);
}

static void rates_are_of_the_median_time(void **state)
{
    const double one[] = { 50 }, three[] = { 10, 1000, 20 }, even[] = { 10, 20, 30, 40 };
    (void)state;
    struct ws_rate rate = ws_rate_of(one, 1, 100);
    near(rate.median, 2);
    near(rate.spread, 0);
    near(rate.drift, 0);
    assert_int_equal(rate.samples, 1);
    near(ws_rate_of(three, 3, 100).median, 5); /* one slow sample does not change the median */
    near(ws_rate_of(even, 4, 100).median, 4);
    near(ws_rate_of(even, 4, 100).spread, (37 - 13) / 25.0);
    /* Equal times have no spread, and no rounding makes it negative. */
    for (int i = 1; i < 1000; i++) {
        double equal[7];
        for (int k = 0; k < 7; k++)
            equal[k] = i / 7.0;
        assert_true(ws_rate_of(equal, 7, 100).spread == 0);
    }
}

static void rates_that_fall_are_noticed(void **state)
{
    double times[WS_MOST_SAMPLES];
    struct ws_ceiling ceiling = { 0 };
    char note[160];
    (void)state;
    for (int i = 0; i < WS_MOST_SAMPLES; i++)
        times[i] = i < WS_MOST_SAMPLES / 2 ? 100 : 125;
    ceiling.rate = ws_rate_of(times, WS_MOST_SAMPLES, 1000);
    ceiling.drift = ceiling.rate.drift;
    near(ceiling.drift, -0.2);
    ws_ceiling_note(&ceiling, 0, note, sizeof(note));
    assert_non_null(strstr(note, "fell by 20.0 %"));

    for (int i = 0; i < WS_MOST_SAMPLES; i++) /* rates that go up and down are not called falling */
        times[i] = i % 2 ? 100 : 125;
    ceiling.rate = ws_rate_of(times, WS_MOST_SAMPLES, 1000);
    ceiling.drift = ceiling.rate.drift;
    near(ceiling.drift, 0);
    ws_ceiling_note(&ceiling, 0, note, sizeof(note));
    assert_non_null(strstr(note, "scatters by 22"));

    for (int i = 0; i < WS_MOST_SAMPLES; i++)
        times[i] = 100;
    ceiling.rate = ws_rate_of(times, WS_MOST_SAMPLES, 1000);
    ws_ceiling_note(&ceiling, 10, note, sizeof(note));
    assert_string_equal(note, "");
    ws_ceiling_note(&ceiling, 9, note, sizeof(note));
    assert_non_null(strstr(note, "more than the data sheet"));
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fputs(text, out) < 0, 0);
    assert_int_equal(fclose(out), 0);
}

static void what_was_not_measured_is_the_data_sheets(void **state)
{
    struct ws_gpu_file file;
    char message[256];
    const struct ws_gpu *h100 = ws_gpu_named("h100");
    (void)state;
    write_text("gpu.json", "{ \"name\": \"NVIDIA H100 80GB HBM3\", \"calibrated\": \"2026-11-21T18:00:00Z\", "
                           "\"memory_gib\": 79, \"gb_per_s\": 3000, \"tflops\": { \"bf16\": 700 } }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    const struct ws_gpu *gpu = &file.gpu;
    assert_string_equal(gpu->calibrated, "2026-11-21");
    near(ws_gpu_peak(gpu, WS_PRECISION_BF16), 700e3);
    near(ws_gpu_peak(gpu, WS_PRECISION_FP8), ws_gpu_peak(h100, WS_PRECISION_FP8));
    near(ws_gpu_ridge(gpu, WS_PRECISION_BF16), 700e3 / 3000);
    assert_true(ws_gpu_peak_is_measured(gpu, WS_PRECISION_BF16) && ws_gpu_bandwidth_is_measured(gpu));
    assert_false(ws_gpu_peak_is_measured(gpu, WS_PRECISION_FP8));
    assert_string_equal(gpu->sheet->source, h100->source);
    near(ws_gpu_limit(gpu, WS_PRECISION_BF16), ws_gpu_peak(h100, WS_PRECISION_BF16));
    near(ws_gpu_bandwidth_limit(gpu), h100->bytes_per_ns);

    write_text("gpu.json", "{ \"name\": \"NVIDIA H100 80GB HBM3\", \"calibrated\": \"2026-11-21T18:00:00Z\", "
                           "\"memory_gib\": 79, \"gb_per_s\": 3000, \"tflops\": { \"fp32\": 50, \"bf16\": 700 } }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    near(gpu->flops_per_ns[WS_PRECISION_FP32][WS_CORES_ORDINARY], 50e3);
    near(gpu->flops_per_ns[WS_PRECISION_FP32][WS_CORES_TENSOR], 0);
    near(gpu->flops_per_ns[WS_PRECISION_BF16][WS_CORES_ORDINARY],
         h100->flops_per_ns[WS_PRECISION_BF16][WS_CORES_ORDINARY]);
    assert_true(ws_gpu_peak_is_measured(gpu, WS_PRECISION_FP32));

    write_text("gpu.json", "{ \"name\": \"NVIDIA B200\", \"calibrated\": \"2026-11-21\", \"gb_per_s\": 7000, "
                           "\"tflops\": { \"fp64\": 36 } }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    assert_non_null(gpu->sheet);
    near(ws_gpu_peak(gpu, WS_PRECISION_FP64), 36e3); /* not the 40 of the data sheet's ordinary cores */

    write_text("gpu.json", "{ \"name\": \"P100\", \"compute_capability\": \"6.0\", \"gb_per_s\": 700, "
                           "\"tflops\": { \"fp32\": 10, \"fp16\": 20 } }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    near(gpu->flops_per_ns[WS_PRECISION_FP16][WS_CORES_TENSOR], 0);

    write_text("gpu.json", "{ \"compute_capability\": 6.1, \"gb_per_s\": 700, \"tflops\": { \"fp32\": 10 } }");
    assert_int_not_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    assert_non_null(strstr(message, "compute_capability must be a text"));
    write_text("gpu.json", "{ \"compute_capability\": \"six\", \"gb_per_s\": 700, \"tflops\": { \"fp32\": 10 } }");
    assert_int_not_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);

    /* Tensor cores do not run fp32, so fp32's peak bounds pointwise kernels of any precision. */
    write_text("gpu.json", "{ \"name\": \"mine\", \"gb_per_s\": 1000, \"tflops\": { \"fp32\": 20, \"bf16\": 100 } }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    near(ws_roof_of_ordinary(gpu, WS_PRECISION_BF16, &(struct ws_work){ 1e6, 1 }).cores_peak, 20e3);

    /* A file that a calibration wrote may lack the rate of GEMMs, as GEMMs need cuBLAS. A file written by hand must
     * have it. */
    write_text("gpu.json", "{ \"name\": \"unheard of\", \"calibrated\": \"2026-11-21\", \"gb_per_s\": 3000, "
                           "\"tflops\": {} }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    assert_true(!file.gpu.sheet && ws_gpu_peak(&file.gpu, WS_PRECISION_BF16) == 0);
    near(ws_gpu_bandwidth_limit(&file.gpu), 3000);
    write_text("gpu.json", "{ \"name\": \"H100\", \"gb_per_s\": 3000, \"tflops\": {} }");
    assert_int_not_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    write_text("gpu.json", "{ \"name\": \"H100\", \"gb_per_s\": 3000, \"tflops\": { \"bf16\": 1 } }");
    assert_int_equal(ws_gpu_read(&file, "gpu.json", message, sizeof(message)), 0);
    assert_true(!file.gpu.calibrated && !ws_gpu_bandwidth_is_measured(&file.gpu));
    near(ws_gpu_limit(&file.gpu, WS_PRECISION_BF16), 1e3);
}

static void put(const char *folder, const char *name, const char *uuid, const char *when, double bandwidth)
{
    char path[1024], text[512];
    snprintf(path, sizeof(path), "%s/%s-%s.json", folder, name, uuid);
    snprintf(text, sizeof(text),
             "{ \"name\": \"%s\", \"uuid\": \"%s\", \"calibrated\": \"%s\", \"gb_per_s\": %f, \"tflops\": {} }", name,
             uuid, when, bandwidth);
    write_text(path, text);
}

static double bandwidth_of(const struct ws_calibrations *all, const char *uuid, const char *name,
                           enum ws_gpu_match expected)
{
    enum ws_gpu_match match;
    const struct ws_gpu_file *file = ws_calibrations_find(all, uuid, name, &match);
    assert_int_equal(match, expected);
    return file ? file->gpu.bytes_per_ns : 0;
}

static void a_gpu_is_found_by_its_uuid_else_by_name(void **state)
{
    char folder[512], name[1024];
    struct ws_calibrations all;
    (void)state;
    setenv("XDG_DATA_HOME", "relative/is/ignored", 1);
    assert_true(ws_calibrations_folder(folder, sizeof(folder)));
    assert_non_null(strstr(folder, "/.local/share/wallshim/gpus"));
    assert_int_equal(system("mkdir -p .local/share/wallshim/gpus"), 0);
    put(folder, "A", "GPU-1", "2026-01-03T00:00:00Z", 1);
    put(folder, "A", "GPU-2", "2026-02-03T00:00:00Z", 2);
    put(folder, "A", "GPU-3", "2025-12-03T00:00:00Z", 3);
    put(folder, "B", "GPU-1", "2026-01-03T00:00:00Z", 4);
    snprintf(name, sizeof(name), "%s/notes.json", folder);
    write_text(name, "not JSON");
    assert_int_equal(ws_calibrations_init(&all), 0);
    assert_int_equal(all.files.count, 4);
    assert_non_null(strstr(all.unread, "notes.json"));
    near(bandwidth_of(&all, "GPU-3", "A", WS_GPU_CALIBRATED), 3);
    near(bandwidth_of(&all, "GPU-1", "B", WS_GPU_CALIBRATED), 4);
    /* GPU-9 has no file of its own: the value is from the newest file of a GPU whose name is A */
    near(bandwidth_of(&all, "GPU-9", "A", WS_GPU_CALIBRATED_ON_ANOTHER), 2);
    near(bandwidth_of(&all, "", "b", WS_GPU_CALIBRATED_ON_ANOTHER), 4);
    near(bandwidth_of(&all, "GPU-9", "C", WS_GPU_UNKNOWN), 0);
    near(bandwidth_of(&all, NULL, NULL, WS_GPU_UNKNOWN), 0);
    ws_calibrations_finish(&all);
    ws_calibration_file_name("NVIDIA H100 / 80GB..", "GPU-1-2", name, sizeof(name));
    assert_string_equal(name, "NVIDIA-H100-80GB..-GPU-1-2.json");
}

/* The tests run in a temporary folder, which is also their $HOME. */
static int make_home(void **state)
{
    static char folder[] = "/tmp/wallshim-calibrate-XXXXXX";
    (void)state;
    return !mkdtemp(folder) || chdir(folder) || setenv("HOME", folder, 1);
}

static int remove_home(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", getenv("HOME"));
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_the_median_time),
        cmocka_unit_test(rates_that_fall_are_noticed),
        cmocka_unit_test(what_was_not_measured_is_the_data_sheets),
        cmocka_unit_test(a_gpu_is_found_by_its_uuid_else_by_name),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
