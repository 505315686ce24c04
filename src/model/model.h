/* What traces say happened: processes, their devices, streams and threads, and the operations of each
 * device on one time base, CLOCK_MONOTONIC nanoseconds of the host.
 *
 * Rows of a trace are not believed: identifiers are looked up, times checked, and what does not fit is
 * counted rather than dropped in silence. Loading is the only step that changes a model.
 */
#ifndef WALLSHIM_MODEL_MODEL_H
#define WALLSHIM_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vector.h"
#include "model/ops.h"
#include "model/ranges.h"
#include "model/rows.h"
#include "record/record.h"
#include "trace/reader.h"

/* What of a device an operation keeps busy. */
enum ws_activity {
    WS_ACTIVITY_NONE, /* nothing: host functions, waits for memory values */
    WS_ACTIVITY_KERNEL,
    WS_ACTIVITY_MEMORY,
};

/* A name that operations share: kernels by function, copies and memsets by kind. */
struct ws_op_name {
    const char *text;
    enum ws_activity activity;
    enum ws_op_kind kind;
};

/* What a shape comes to once its references are followed. */
struct ws_op_shape {
    struct ws_shape row;
    uint32_t name;    /* index into ws_model.names */
    uint32_t stream;  /* index into ws_process.streams, or WS_NOWHERE */
    uint32_t context; /* index into ws_process.clocks */
    uint32_t track;   /* index into ws_model.tracks */
    bool lost;        /* the trace holds no row for it */
};

#define WS_NOWHERE UINT32_MAX

/* Devices of a process that are told apart at most: no machine has as many, and each costs every analysis. */
enum { WS_MOST_DEVICES = 512 };

struct ws_meta_entry {
    const char *key;
    const char *value;
};

/* How the clock of a context is turned into the host's. */
struct ws_clock_map {
    uint32_t context;        /* identifier in the trace; 0 when that is lost */
    struct ws_vector points; /* struct ws_clock */
    struct ws_vector knots;  /* struct ws_clock: those that the mapping goes through */
    int64_t error_ns;        /* of any operation's place on the host's clock at most */
};

struct ws_process {
    const char *path;
    size_t part, parts;        /* which of the processes that the file tells apart */
    struct ws_vector meta;     /* struct ws_meta_entry */
    struct ws_map meta_places; /* hash of a key → index of its last entry + 1 */
    struct ws_rows driver_functions;
    struct ws_rows devices;
    struct ws_rows contexts;
    struct ws_rows streams;
    struct ws_rows threads;
    struct ws_rows functions;
    struct ws_rows comms;
    struct ws_rows params;
    struct ws_rows labels;
    struct ws_rows metrics;
    struct ws_rows shape_rows;
    struct ws_vector shapes; /* struct ws_op_shape, with one for each that is lost */
    struct ws_vector clocks; /* struct ws_clock_map, one a context and one for no context */
    struct ws_map clock_of;  /* identifier of a context + 1 → index of its clock + 1 */
    struct ws_ops ops;
    uint32_t *order;              /* indices of operations, track by track */
    struct ws_vector calls;       /* struct ws_call */
    struct ws_vector collectives; /* struct ws_collective */
    struct ws_vector losses;      /* struct ws_loss */
    struct ws_vector graph_nodes; /* struct ws_graph_node */
    struct ws_vector counters;    /* struct ws_counter */
    struct ws_ranges ranges;
    uint64_t rows[WS_FAMILY_COUNT];
    uint64_t odd_times; /* host times further away than WS_TIME_MOST, brought there */
    struct ws_damage damage;
    uint64_t file_bytes;
    uint32_t first_track, track_count;   /* in ws_model.tracks */
    size_t devices_most, devices_beyond; /* told apart, and beyond them: taken together as one that is not known */
};

/* One device as one process used it: its operations in order of their begin. */
struct ws_track {
    uint32_t process; /* index into ws_model.processes */
    uint32_t device;  /* ordinal + 1; 0 when the trace does not say which */
    uint32_t *order;  /* indices of timed operations, a part of ws_process.order */
    size_t count;     /* of them */
    uint64_t untimed; /* ran, but when is not known */
    uint64_t captured;
    uint64_t failed;
    uint64_t backwards;
    uint64_t passive;    /* host functions and memory waits: no work of the device */
    int64_t clock_error; /* of the operations' place on the host's clock at most */
    bool aligned;        /* the device's clock is tied to the host's */
};

struct ws_model {
    struct ws_vector processes; /* struct ws_process */
    struct ws_vector tracks;    /* struct ws_track, those of a process together */
    struct ws_vector names;     /* struct ws_op_name */
    struct ws_arena texts;
};

typedef void (*ws_progress)(void *user, uint64_t done, uint64_t total);

struct ws_model_options {
    ws_progress progress; /* called now and then while reading; may be NULL */
    void *user;
    /* Asked where a file cannot be read, with its index and the line that says why: may the model do without it?
     * NULL: no. */
    bool (*leave_out)(void *user, size_t index, const char *why);
    bool references_only; /* leave out the rows that others refer to: no operations, calls, collectives, ranges */
};

/* Reads the traces. Returns 0, or -errno with one line in message that says what is wrong with which
 * file and what to do; -ENODATA where all of several were left out. */
int ws_model_create(struct ws_model **model, const char *const *paths, size_t count,
                    const struct ws_model_options *options, char *message, size_t capacity);

/* Drops all processes, with their tracks, but those of one number. */
void ws_model_keep(struct ws_model *model, const uint32_t *numbers, uint32_t number);

/* Accepts NULL. */
void ws_model_destroy(struct ws_model *model);

/* The value, the last one that was given, or NULL. */
const char *ws_process_meta(const struct ws_process *process, const char *key);

/* Did the process use the device? A trace also holds the rows of the devices below it, by ordinal. */
bool ws_process_uses_device(const struct ws_model *model, const struct ws_process *process, uint32_t device);

/* The device's row, or NULL when the trace does not hold it. */
const struct ws_device *ws_track_device(const struct ws_model *model, const struct ws_track *track);

static inline struct ws_process *ws_model_process(const struct ws_model *model, size_t index)
{
    return (struct ws_process *)model->processes.data + index;
}

static inline struct ws_track *ws_model_track(const struct ws_model *model, size_t index)
{
    return (struct ws_track *)model->tracks.data + index;
}

static inline const struct ws_op_name *ws_model_name(const struct ws_model *model, size_t index)
{
    return (const struct ws_op_name *)model->names.data + index;
}

static inline const struct ws_op_shape *ws_process_shape(const struct ws_process *process, size_t index)
{
    return (const struct ws_op_shape *)process->shapes.data + index;
}

#endif
