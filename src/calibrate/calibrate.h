/* Measures both ceilings of a GPU's roofline: memory bandwidth and the FLOP/s of GEMMs in the installed libraries.
 *
 * Bandwidth is measured with copies within the device. Bytes read and bytes written both count. The arrays are much
 * larger than the L2 cache. GEMMs are square, take 2·n³ FLOPs and have random operands. Each figure is the median
 * over repeats after warm-up, at the size with the best median. */
#ifndef WALLSHIM_CALIBRATE_CALIBRATE_H
#define WALLSHIM_CALIBRATE_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/uuid.h"
#include "calibrate/rate.h"
#include "hardware/gpu.h"

struct ws_ceiling {
    struct ws_rate rate; /* GB/s or GFLOP/s; a median of 0: not measured */
    uint64_t size; /* size at which `rate` was measured: bytes that a copy or memset writes, or rows of a matrix */
    double drift;  /* the lowest ws_rate.drift of all sizes that were measured; below 0: the rate fell */
    char why_not[160]; /* the reason, if the ceiling was not measured */
};

struct ws_calibration {
    char name[256], uuid[WS_UUID_SIZE];
    struct ws_gpu_facts facts; /* facts.name points to `name` above */
    uint64_t l2_bytes, memory_free;
    int driver_version;
    char blas[64]; /* "cuBLAS 13.1.0"; empty: no GEMM was measured, for the reason in why_not of each GEMM */
    struct ws_ceiling copy, write, gemms[WS_PRECISION_COUNT];
};

struct ws_calibrate_options {
    int device;     /* ordinal of the device */
    double seconds; /* approximate duration of the calibration */
    void (*progress)(void *user, const char *what, double share);
    void *user;
};

/* Returns 0, or -errno with a message if the driver could not be opened or the bandwidth could not be measured. A
 * GEMM that could not be measured is no error. */
int ws_calibrate(struct ws_calibration *calibration, const struct ws_calibrate_options *options, char *message,
                 size_t capacity);

/* Makes the contents of a GPU file (hardware/gpu_file.h) with details of the measurement. The schema is
 * docs/calibrate.schema.json. `when` is the time of the calibration (ISO 8601, UTC), `version` the version of
 * wallshim. Returns NULL when memory runs out. */
json_t *ws_calibration_json(const struct ws_calibration *calibration, const char *when, const char *version);

/* Finds the data sheet's peaks for this GPU in the table hardware/gpus.h. Returns false if the table lacks this
 * GPU. */
bool ws_calibration_sheet(const struct ws_calibration *calibration, struct ws_gpu *sheet);

/* Writes a note if the ceiling needs caution: the measured rate fell during the measurement, scattered, or exceeds
 * the data sheet's rate. Otherwise writes an empty text. `sheet` is the data sheet's rate, or 0 if unknown. */
void ws_ceiling_note(const struct ws_ceiling *ceiling, double sheet, char *text, size_t capacity);

#endif
