/* Internal to src/model: the functions that its files share. */
#ifndef WALLSHIM_MODEL_BUILD_H
#define WALLSHIM_MODEL_BUILD_H

#include "base/map.h"
#include "model/model.h"

struct ws_build {
    struct ws_model *model;
    struct ws_map names; /* hash of a name → 1 + index of the name in ws_model.names */
};

/* Reads the rows of the process with index `part` in the file. If `window` is not NULL, reads only the rows in this
 * time window. Opens `file`, but error messages call it `path`. Returns 0, or -errno with a message. */
int ws_process_load(struct ws_process *process, struct ws_arena *texts, const char *path, const char *file,
                    size_t part, const struct ws_window *window, const struct ws_model_options *options,
                    char *message, size_t capacity);

/* Returns the map from a context's clock to the host's clock, and makes the map if needed. The pointer is valid until
 * another map is made. Returns NULL when memory runs out. */
struct ws_clock_map *ws_process_clock(struct ws_process *process, uint32_t context);

static inline struct ws_clock_map *ws_process_clock_at(const struct ws_process *process, size_t index)
{
    return (struct ws_clock_map *)process->clocks.data + index;
}

/* Stores a fact about the process under a key; ws_process_meta then returns this value, not an earlier one. The texts
 * must outlive `process`. Returns 0 or -ENOMEM. */
int ws_process_set_meta(struct ws_process *process, const char *key, const char *value);

void ws_process_finish(struct ws_process *process);

/* Completes a loaded process. Makes its tracks (a track is one device as this process used it). Finds the stream,
 * context, track and name of each shape (static properties that many operations share). Maps the times to the host's
 * clock, and orders operations and ranges. Returns 0, -ENOMEM, or -EFBIG if there are too many ranges. */
int ws_process_resolve(struct ws_build *build, uint32_t process);

/* Returns the process's track for a device. If the device has no track, returns the track for an unknown device. */
uint32_t ws_process_find_track(const struct ws_model *model, const struct ws_process *process, uint32_t device);

/* Maps all times to the host's clock and counts the operations of each track. Returns 0 or -ENOMEM. */
int ws_process_map_times(struct ws_model *model, struct ws_process *process);

/* Fills ws_process.order: the operations with known device times, track by track, ordered by start. scratch has room
 * for all operations. */
int ws_process_order(struct ws_model *model, struct ws_process *process, uint32_t *scratch);

/* Returns the index of the name that reports use for operations of this shape. */
uint32_t ws_build_shape_name(struct ws_build *build, const struct ws_process *process,
                             const struct ws_op_shape *shape);

#endif
