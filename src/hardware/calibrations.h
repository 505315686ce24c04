/* The calibration files of this user, one per GPU, in $XDG_DATA_HOME/wallshim/gpus or ~/.local/share/wallshim/gpus.
 */
#ifndef WALLSHIM_HARDWARE_CALIBRATIONS_H
#define WALLSHIM_HARDWARE_CALIBRATIONS_H

#include "base/vector.h"
#include "hardware/gpu_file.h"

struct ws_calibrations {
    char folder[512];       /* path of the folder; empty: there is no home directory */
    struct ws_vector files; /* struct ws_gpu_file *, newest first */
    char unread[512];       /* error message of a file that could not be read; empty: none */
};

/* Writes the path of the folder. Returns false if neither XDG_DATA_HOME nor HOME is set. */
bool ws_calibrations_folder(char *path, size_t capacity);

/* Writes the name of a GPU's calibration file: "NVIDIA-H100-80GB-HBM3-GPU-….json". */
void ws_calibration_file_name(const char *name, const char *uuid, char *text, size_t capacity);

/* Reads all calibration files of the folder, which may be missing or empty. Returns 0 or -ENOMEM. */
int ws_calibrations_init(struct ws_calibrations *calibrations);

void ws_calibrations_finish(struct ws_calibrations *calibrations);

/* Returns the calibration of the GPU with this UUID and name; *match is then WS_GPU_CALIBRATED. Otherwise returns the
 * newest calibration of a GPU with the same name (WS_GPU_CALIBRATED_ON_ANOTHER). Otherwise returns NULL
 * (WS_GPU_UNKNOWN). uuid and name may be empty or NULL. A UUID without a name also finds a calibration. */
const struct ws_gpu_file *ws_calibrations_find(const struct ws_calibrations *calibrations, const char *uuid,
                                               const char *name, enum ws_gpu_match *match);

#endif
