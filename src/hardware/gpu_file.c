#include "hardware/gpu_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static double gpu_file_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) && json_number_value(value) > 0 ? json_number_value(value) : 0;
}

static uint32_t gpu_file_count(const json_t *object, const char *key)
{
    double value = gpu_file_number(object, key);
    return value < UINT32_MAX ? (uint32_t)value : 0;
}

static void gpu_file_copy(char *to, size_t capacity, const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, capacity, "%s", text && *text ? text : otherwise);
}

/* For a file of `wallshim calibrate`, finds the GPU's row in the table, which has the figures of the data sheet. */
static void find_sheet(struct ws_gpu_file *file)
{
    struct ws_gpu *gpu = &file->gpu;
    struct ws_gpu_facts facts = { .name = file->name,
                                  .cc_major = gpu->cc_major,
                                  .cc_minor = gpu->cc_minor,
                                  .sms = gpu->sms,
                                  .clock_khz = gpu->boost_mhz * 1000,
                                  .memory_bytes = (uint64_t)gpu->memory_gib << 30 };
    snprintf(file->date, sizeof(file->date), "%.10s", file->calibrated);
    gpu->calibrated = file->date;
    gpu->measured = WS_GPU_MEASURED_BYTES;
    if (ws_gpu_find(&facts, &file->sheet) == WS_GPU_BY_NAME)
        gpu->sheet = &file->sheet;
}

/* Returns the kind of cores to which a peak of the file applies: tensor cores if they support the precision, else
 * ordinary cores. Without a data sheet, tensor cores are assumed to support every precision but fp32, except on GPUs
 * that have none: those before compute capability 7.0. */
static enum ws_cores cores_of(const struct ws_gpu *gpu, enum ws_precision precision)
{
    bool has_none = gpu->cc_major && gpu->cc_major < 7;
    bool has_tensor = gpu->sheet ? gpu->sheet->flops_per_ns[precision][WS_CORES_TENSOR] > 0
                                 : !has_none && precision != WS_PRECISION_FP32;
    return has_tensor ? WS_CORES_TENSOR : WS_CORES_ORDINARY;
}

/* Takes the peaks that were not measured from the data sheet. If the peak of a precision was measured on one kind of
 * cores, the other kind does not reach more: GEMMs would have used it. */
static void complete(struct ws_gpu *gpu)
{
    for (enum ws_precision i = 0; i < WS_PRECISION_COUNT; i++) {
        double *peaks = gpu->flops_per_ns[i], measured = ws_gpu_peak(gpu, i);
        for (enum ws_cores cores = 0; cores < WS_CORES_COUNT && gpu->sheet; cores++)
            if (!(peaks[cores] > 0)) {
                double stated = gpu->sheet->flops_per_ns[i][cores];
                peaks[cores] = measured > 0 && stated > measured ? measured : stated;
            }
        if (measured > 0)
            gpu->measured |= 1U << i;
    }
}

static const char *gpu_file_fill(struct ws_gpu_file *file, const json_t *root, const char *path)
{
    const json_t *peaks = json_object_get(root, "tflops");
    const char *precision;
    json_t *value;
    *file = (struct ws_gpu_file){ .gpu = { .sms = gpu_file_count(root, "sms"),
                                           .boost_mhz = gpu_file_count(root, "clock_mhz"),
                                           .l2_mib = gpu_file_count(root, "l2_mib"),
                                           .memory_gib = gpu_file_count(root, "memory_gib"),
                                           .bytes_per_ns = gpu_file_number(root, "gb_per_s") } };
    gpu_file_copy(file->name, sizeof(file->name), root, "name", "a GPU described by a file");
    gpu_file_copy(file->source, sizeof(file->source), root, "source", path);
    gpu_file_copy(file->uuid, sizeof(file->uuid), root, "uuid", "");
    gpu_file_copy(file->calibrated, sizeof(file->calibrated), root, "calibrated", "");
    const json_t *stated = json_object_get(root, "compute_capability");
    const char *capability = json_string_value(stated);
    if (stated && (!capability || sscanf(capability, "%u.%u", &file->gpu.cc_major, &file->gpu.cc_minor) != 2))
        return "compute_capability must be a text, as \"6.1\"";
    file->gpu.name = file->name;
    file->gpu.source = file->source;
    if (!(file->gpu.bytes_per_ns > 0))
        return "gb_per_s is missing, the memory bandwidth";
    if (!json_object_size(peaks) && !*file->calibrated)
        return "tflops is missing, an object of peaks by precision";
    if (*file->calibrated)
        find_sheet(file);
    json_object_foreach((json_t *)peaks, precision, value)
    {
        enum ws_precision which = ws_precision_named(precision);
        if (which == WS_PRECISION_COUNT || !(gpu_file_number(peaks, precision) > 0))
            return "tflops may hold fp64, fp32, tf32, fp16, bf16, fp8, int8 and fp4, numbers above 0";
        file->gpu.flops_per_ns[which][cores_of(&file->gpu, which)] = gpu_file_number(peaks, precision) * 1e3;
    }
    if (*file->calibrated)
        complete(&file->gpu);
    return NULL;
}

int ws_gpu_read(struct ws_gpu_file *file, const char *path, char *message, size_t capacity)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        snprintf(message, capacity, "%s: %s (line %d)", path, error.text, error.line);
        return -EINVAL;
    }
    const char *wrong = json_is_object(root) ? gpu_file_fill(file, root, path) : "not a JSON object";
    json_decref(root);
    if (wrong)
        snprintf(message, capacity, "%s: %s", path, wrong);
    return wrong ? -EINVAL : 0;
}
