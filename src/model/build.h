/* Between the files of the model; not for its users. */
#ifndef WALLSHIM_MODEL_BUILD_H
#define WALLSHIM_MODEL_BUILD_H

#include "base/map.h"
#include "model/model.h"

struct ws_build {
    struct ws_model *model;
    struct ws_map names; /* hash of a name → its index + 1 */
};

/* Reads every row of one of the processes in the file. Returns 0, or -errno with a message. */
int ws_process_load(struct ws_process *process, struct ws_arena *texts, const char *path, size_t part,
                    const struct ws_model_options *options, char *message, size_t capacity);

/* The clock of a context, made where there is none yet; valid until the next is made. NULL when memory is out. */
struct ws_clock_map *ws_process_clock(struct ws_process *process, uint32_t context);

static inline struct ws_clock_map *ws_process_clock_at(const struct ws_process *process, size_t index)
{
    return (struct ws_clock_map *)process->clocks.data + index;
}

/* Notes a fact, in place of an earlier one of that key; the texts are kept by the caller. Returns 0 or -ENOMEM. */
int ws_process_set_meta(struct ws_process *process, const char *key, const char *value);

void ws_process_finish(struct ws_process *process);

/* Follows the references of a loaded process: shapes to streams, contexts, devices and names; then makes
 * its tracks and puts its times on the host's clock. Returns 0 or -ENOMEM. */
int ws_process_resolve(struct ws_build *build, uint32_t process);

/* The track of a device of the process, the one of no device where it has none of its own. */
uint32_t ws_process_find_track(const struct ws_model *model, const struct ws_process *process, uint32_t device);

/* Fills ws_process.shapes; the shape column of ops then holds indices into it. */
int ws_process_resolve_shapes(struct ws_build *build, struct ws_process *process);

/* Puts every time on the host's clock, and counts in the tracks how many operations they get. Returns 0 or -ENOMEM.
 */
int ws_process_map_times(struct ws_model *model, struct ws_process *process);

/* Fills ws_process.order: each track of the process has its timed operations in order of their begin. Scratch has
 * room for all operations. */
int ws_process_order(struct ws_model *model, struct ws_process *process, uint32_t *scratch);

/* The index of a name, new or known; WS_NOWHERE when memory is out. */
uint32_t ws_build_name(struct ws_build *build, const char *text, enum ws_op_kind kind, enum ws_activity activity);

/* What reports call an operation of this shape. */
uint32_t ws_build_shape_name(struct ws_build *build, const struct ws_process *process,
                             const struct ws_op_shape *shape);

#endif
