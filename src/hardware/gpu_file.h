/* Reads the peaks of a GPU from a file, for a GPU that the table gpus.h lacks or a GPU that was calibrated.
 *
 *     { "name": "my H100 at 500 W", "gb_per_s": 3020, "tflops": { "bf16": 640, "fp32": 51 },
 *       "sms": 132, "l2_mib": 50, "source": "measured 2026-11-21" }
 *
 * Only gb_per_s and one precision are required. A file with a date in "calibrated" was written by `wallshim
 * calibrate` and also has a "uuid". The figures in such a file were measured. The peaks of precisions that the file
 * lacks are taken from the table. */
#ifndef WALLSHIM_HARDWARE_GPU_FILE_H
#define WALLSHIM_HARDWARE_GPU_FILE_H

#include "hardware/gpu.h"

struct ws_gpu_file {
    struct ws_gpu gpu;
    char name[128], source[192], uuid[64];
    char calibrated[32]; /* "2026-11-21T18:03:11Z"; empty: not measured by wallshim */
    char date[16];       /* the date in `calibrated`, without the time of day */
    struct ws_gpu sheet; /* the table's row for this GPU, to which gpu.sheet points; unused if gpu.sheet is NULL */
    /* The pointers in gpu point into this structure, so a copy of gpu must not outlive the structure. */
};

/* Returns 0, or -errno with a message that names the file and the problem. */
int ws_gpu_read(struct ws_gpu_file *file, const char *path, char *message, size_t capacity);

#endif
