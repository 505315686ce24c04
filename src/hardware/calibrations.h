/* The GPUs of this user that were calibrated: a file each, in $XDG_DATA_HOME/wallshim/gpus, or
 * ~/.local/share/wallshim/gpus. */
#ifndef WALLSHIM_HARDWARE_CALIBRATIONS_H
#define WALLSHIM_HARDWARE_CALIBRATIONS_H

#include "base/vector.h"
#include "hardware/gpu_file.h"

struct ws_calibrations {
    char folder[512];       /* empty: there is no home */
    struct ws_vector files; /* struct ws_gpu_file *, the newest first */
    char unread[512];       /* what is wrong with one that could not be read; empty: nothing */
};

/* Where they are; false: neither XDG_DATA_HOME nor HOME says. */
bool ws_calibrations_folder(char *path, size_t capacity);

/* "NVIDIA-H100-80GB-HBM3-GPU-….json", the name of a GPU's file. */
void ws_calibration_file_name(const char *name, const char *uuid, char *text, size_t capacity);

/* Reads all that are there; none is no error. Returns 0 or -ENOMEM. */
int ws_calibrations_init(struct ws_calibrations *calibrations);

void ws_calibrations_finish(struct ws_calibrations *calibrations);

/* The one of this very GPU, else the newest of one of the same name: WS_GPU_CALIBRATED or …_ON_ANOTHER. NULL and
 * WS_GPU_UNKNOWN when there is neither. Either text may be empty, or NULL. */
const struct ws_gpu_file *ws_calibrations_find(const struct ws_calibrations *calibrations, const char *uuid,
                                               const char *name, enum ws_gpu_match *match);

#endif
