/* Both ceilings of a GPU's roofline, measured on the GPU itself: how fast its memory copies, and how fast the
 * libraries that are there multiply matrices.
 *
 * Bandwidth is that of copies within the device, read and write counted, of sizes well beyond the L2 cache; matrix
 * products are square, of 2·n³ FLOPs, their operands random. Each figure is the median of repeats after warm-up, of
 * the size whose median is best.
 */
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
    struct ws_rate rate; /* GB/s or GFLOP/s; median 0: not measured */
    uint64_t size;       /* bytes that a copy or memset writes; rows of the matrices */
    double drift;        /* of the size at which the rate fell most */
    char why_not[160];   /* where it was not measured */
};

struct ws_calibration {
    char name[256], uuid[WS_UUID_SIZE];
    struct ws_gpu_facts facts; /* its name is the one above */
    uint64_t l2_bytes, memory_free;
    int driver_version;
    char blas[64]; /* "cuBLAS 13.1.0"; empty: none was found, and why in every product's why_not */
    struct ws_ceiling copy, write, products[WS_PRECISION_COUNT];
};

struct ws_calibrate_options {
    int device;     /* ordinal */
    double seconds; /* to take about */
    void (*progress)(void *user, const char *what, double share);
    void *user;
};

/* Returns 0, or -errno with a line in message, where not even the bandwidth could be measured. */
int ws_calibrate(struct ws_calibration *calibration, const struct ws_calibrate_options *options, char *message,
                 size_t capacity);

/* As a GPU file (hardware/gpu_file.h) with what else was seen: docs/calibrate.schema.json. `when` is as ISO 8601 has
 * it, in UTC; `version` ours. NULL when memory is out. */
json_t *ws_calibration_json(const struct ws_calibration *calibration, const char *when, const char *version);

/* The sheet's GPU that this one is; false where there is none. */
bool ws_calibration_sheet(const struct ws_calibration *calibration, struct ws_gpu *sheet);

/* What a reader should know before trusting a figure: it fell, or scattered, or cannot be. Empty: nothing.
 * `sheet` is the data sheet's figure, 0 where there is none. */
void ws_ceiling_note(const struct ws_ceiling *ceiling, double sheet, char *text, size_t capacity);

#endif
