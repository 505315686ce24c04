/* Peaks from a file: a GPU the table lacks, or one whose ceilings were measured.
 *
 *     { "name": "my H100 at 500 W", "gb_per_s": 3020, "tflops": { "bf16": 640, "fp32": 51 },
 *       "sms": 132, "l2_mib": 50, "source": "measured 2026-11-21" }
 *
 * Only gb_per_s and one precision must be there. With "calibrated", a date, it is what `wallshim calibrate` wrote,
 * and says a "uuid" as well: its figures were measured, and precisions that are not among them are taken from the
 * table.
 */
#ifndef WALLSHIM_HARDWARE_GPU_FILE_H
#define WALLSHIM_HARDWARE_GPU_FILE_H

#include "hardware/gpu.h"

struct ws_gpu_file {
    struct ws_gpu gpu;
    char name[128], source[192], uuid[64];
    char calibrated[32]; /* "2026-11-21T18:03:11Z"; empty: its figures are somebody's word */
    char date[16];       /* of that, the day */
    struct ws_gpu sheet;
    /* gpu's texts and sheet point to the above: not to be copied apart */
};

/* Returns 0, or -errno with a line in message that says what is wrong with which file. */
int ws_gpu_read(struct ws_gpu_file *file, const char *path, char *message, size_t capacity);

#endif
