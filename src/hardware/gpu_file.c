#include "hardware/gpu_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) && json_number_value(value) > 0 ? json_number_value(value) : 0;
}

static uint32_t count(const json_t *object, const char *key)
{
    double value = number(object, key);
    return value < UINT32_MAX ? (uint32_t)value : 0;
}

static void copy(char *to, size_t capacity, const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, capacity, "%s", text && *text ? text : otherwise);
}

/* What was not measured is the data sheet's. */
static void complete(struct ws_gpu_file *file, const json_t *root)
{
    struct ws_gpu *gpu = &file->gpu;
    struct ws_gpu_facts facts = { .name = file->name,
                                  .sms = gpu->sms,
                                  .clock_khz = gpu->boost_mhz * 1000,
                                  .memory_bytes = (uint64_t)gpu->memory_gib << 30 };
    const char *capability = json_string_value(json_object_get(root, "compute_capability"));
    if (capability && sscanf(capability, "%u.%u", &facts.cc_major, &facts.cc_minor) == 2) {
        gpu->cc_major = facts.cc_major;
        gpu->cc_minor = facts.cc_minor;
    }
    snprintf(file->date, sizeof(file->date), "%.10s", file->calibrated);
    gpu->calibrated = file->date;
    gpu->measured = WS_GPU_MEASURED_BYTES;
    if (ws_gpu_find(&facts, &file->sheet) == WS_GPU_BY_NAME)
        gpu->sheet = &file->sheet;
    for (int i = 0; i < WS_PRECISION_COUNT; i++) {
        if (gpu->flops_per_ns[i][WS_CORES_TENSOR] > 0)
            gpu->measured |= 1U << i;
        else if (gpu->sheet)
            memcpy(gpu->flops_per_ns[i], gpu->sheet->flops_per_ns[i], sizeof(gpu->flops_per_ns[i]));
    }
}

static const char *fill(struct ws_gpu_file *file, const json_t *root, const char *path)
{
    const json_t *peaks = json_object_get(root, "tflops");
    const char *precision;
    json_t *value;
    *file = (struct ws_gpu_file){ .gpu = { .sms = count(root, "sms"),
                                           .boost_mhz = count(root, "clock_mhz"),
                                           .l2_mib = count(root, "l2_mib"),
                                           .memory_gib = count(root, "memory_gib"),
                                           .bytes_per_ns = number(root, "gb_per_s") } };
    copy(file->name, sizeof(file->name), root, "name", "a GPU described by a file");
    copy(file->source, sizeof(file->source), root, "source", path);
    copy(file->uuid, sizeof(file->uuid), root, "uuid", "");
    copy(file->calibrated, sizeof(file->calibrated), root, "calibrated", "");
    file->gpu.name = file->name;
    file->gpu.source = file->source;
    if (!(file->gpu.bytes_per_ns > 0))
        return "no gb_per_s, the bandwidth of its memory";
    if (!json_object_size(peaks) && !*file->calibrated)
        return "no tflops, an object of peaks by precision";
    json_object_foreach((json_t *)peaks, precision, value)
    {
        enum ws_precision which = ws_precision_named(precision);
        if (which == WS_PRECISION_COUNT || !(number(peaks, precision) > 0))
            return "tflops may hold fp64, fp32, tf32, fp16, bf16, fp8, int8 and fp4, numbers above 0";
        file->gpu.flops_per_ns[which][WS_CORES_TENSOR] = number(peaks, precision) * 1e3;
    }
    if (*file->calibrated)
        complete(file, root);
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
    const char *wrong = json_is_object(root) ? fill(file, root, path) : "not a JSON object";
    json_decref(root);
    if (wrong)
        snprintf(message, capacity, "%s: %s", path, wrong);
    return wrong ? -EINVAL : 0;
}
