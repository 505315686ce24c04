/* The timeline of one or more traces: processes with their devices, streams and threads, and the operations of each
 * device. All times are on one clock, the host's CLOCK_MONOTONIC, in ns.
 *
 * Rows of a trace are not trusted: identifiers are looked up and times are checked. Invalid rows are counted, never
 * dropped silently. After loading, only ws_model_keep changes a model. */
#ifndef WALLSHIM_MODEL_MODEL_H
#define WALLSHIM_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vector.h"
#include "model/entries.h"
#include "model/ops.h"
#include "model/ranges.h"
#include "model/stacks.h"
#include "model/window.h"
#include "record/record.h"
#include "trace/reader.h"

/* The part of a device that an operation keeps busy. */
enum ws_activity {
    WS_ACTIVITY_NONE, /* host functions, stream memory operations, external semaphores: keep no part busy */
    WS_ACTIVITY_KERNEL,
    WS_ACTIVITY_MEMORY,
};

/* A name shared by operations: a kernel's name, or the kind of a copy or memset. */
struct ws_op_name {
    const char *text;
    enum ws_activity activity;
    enum ws_op_kind kind;
};

/* A shape (the static properties that many operations share) with its references resolved. */
struct ws_op_shape {
    struct ws_shape row;
    uint32_t name;    /* index into ws_model.names */
    uint32_t stream;  /* index into ws_process.streams, or WS_NOWHERE */
    uint32_t context; /* index into ws_process.clocks */
    uint32_t track;   /* index into ws_model.tracks */
    bool lost;        /* operations refer to the shape, but the trace lacks the shape's row */
};

#define WS_NOWHERE UINT32_MAX

/* The maximum number of devices per process. There is a limit, because each device costs time in every analysis. No
 * machine has more devices. */
enum { WS_MOST_DEVICES = 512 };

struct ws_meta_entry {
    const char *key;
    const char *value;
};

/* The map from a context's clock to the host's. */
struct ws_clock_map {
    uint32_t context;        /* identifier of the context in the trace; 0 if unknown */
    struct ws_vector points; /* elements: struct ws_clock */
    struct ws_vector knots;  /* elements: struct ws_clock; the points between which the map interpolates */
    int64_t error_ns;        /* maximum error of a mapped time, in ns */
};

struct ws_process {
    const char *path;               /* path of the process's file, as the user gave it */
    const char *file;               /* path to open; may be an unpacked copy of the file */
    size_t part, parts;             /* index of this process in its file, and number of processes in the file */
    const struct ws_window *window; /* the part of the recording that was read; NULL: the whole */
    struct ws_vector meta;          /* elements: struct ws_meta_entry */
    struct ws_map meta_places;      /* hash of a key → 1 + index in `meta` of the key's last entry */
    struct ws_entries driver_functions;
    struct ws_entries devices;
    struct ws_entries contexts;
    struct ws_entries streams;
    struct ws_entries threads;
    struct ws_entries functions;
    struct ws_entries comms;
    struct ws_entries params;
    struct ws_entries labels;
    struct ws_entries metrics;
    struct ws_entries shape_rows;
    struct ws_vector shapes; /* elements: struct ws_op_shape, also for shapes whose rows the trace lacks */
    struct ws_vector clocks; /* elements: struct ws_clock_map; one per context, one for unknown contexts */
    struct ws_map clock_of;  /* 1 + identifier of a context → 1 + index in `clocks` */
    struct ws_ops ops;
    uint32_t *order;              /* indices of the operations with known device times, by track, then by start */
    struct ws_vector calls;       /* elements: struct ws_call */
    struct ws_vector collectives; /* elements: struct ws_collective */
    struct ws_vector losses;      /* elements: struct ws_loss */
    struct ws_vector graph_nodes; /* elements: struct ws_graph_node */
    struct ws_vector counters;    /* elements: struct ws_counter */
    struct ws_vector health;      /* elements: struct ws_health */
    struct ws_ranges ranges;
    struct ws_stacks stacks;
    uint64_t rows[WS_FAMILY_COUNT];
    uint64_t odd_times; /* number of host times that were beyond ± WS_TIME_MOST and were clamped */
    struct ws_damage damage;
    uint64_t file_bytes;
    /* Index of the process's first track in ws_model.tracks, and number of its tracks. */
    uint32_t first_track, track_count;
    /* Maximum number of devices; number of further devices, which together count as one unknown device. */
    size_t devices_most, devices_beyond;
};

/* One device as used by one process: its operations, ordered by start. */
struct ws_track {
    uint32_t process; /* index into ws_model.processes */
    uint32_t device;  /* ordinal of the device + 1; 0: unknown */
    /* Facts about the device in the whole recording, if only a window of the recording was read. NULL: the whole
     * recording was read, or the window lists no facts about the device. */
    const struct ws_window_device *window;
    uint32_t *order; /* indices of the timed operations; points into ws_process.order */
    /* Number of timed operations, which have a known start and end on the device. */
    size_t count;
    uint64_t untimed; /* number of operations that ran at an unknown time */
    uint64_t captured;
    uint64_t failed;
    uint64_t backwards;
    uint64_t passive;    /* number of operations of WS_ACTIVITY_NONE, which do not keep the device busy */
    int64_t clock_error; /* maximum error, in ns, of mapping the operations' times to the host's clock */
    bool aligned;        /* the device's clock could be mapped to the host's */
};

struct ws_model {
    struct ws_vector processes; /* elements: struct ws_process */
    struct ws_vector tracks;    /* elements: struct ws_track, process by process */
    struct ws_vector names;     /* elements: struct ws_op_name */
    struct ws_arena texts;
};

typedef void (*ws_progress)(void *user, uint64_t done, uint64_t total);

struct ws_model_options {
    ws_progress progress; /* called from time to time while reading; may be NULL */
    void *user;
    /* Called if a file cannot be read, with the index of the file and the error message. Returns whether to continue
     * without the file. NULL: never continue. */
    bool (*leave_out)(void *user, size_t index, const char *why);
    /* By index of the file: the path to open instead, for example an unpacked copy of the file. NULL: the paths that
     * the user gave are opened. */
    const char *const *files;
    bool references_only; /* load everything except operations, calls, collectives and ranges */
    /* The processes to read, and the window of each process. NULL: the files at the paths are read in full. If
     * `windows` is set, the paths are ignored. The windows must outlive the model. */
    const struct ws_window *windows;
    size_t window_count;
};

/* Reads the traces. Returns 0, or -errno with a message that names the file and the problem. -ENODATA means
 * that all files were left out. */
int ws_model_create(struct ws_model **model, const char *const *paths, size_t count,
                    const struct ws_model_options *options, char *message, size_t capacity);

/* Keeps the processes i with numbers[i] == number, and their tracks. Removes all other processes. */
void ws_model_keep(struct ws_model *model, const uint32_t *numbers, uint32_t number);

/* Accepts NULL. */
void ws_model_destroy(struct ws_model *model);

/* Returns the last value that the trace gives for the key, or NULL. */
const char *ws_process_meta(const struct ws_process *process, const char *key);

/* Returns the value of --event-placement with which the process was recorded (static), or "". */
const char *ws_process_placement(const struct ws_process *process);

/* Is the trace undamaged, and if it was imported, was the other profiler's file? */
bool ws_process_is_whole(const struct ws_process *process);

/* Returns a text that lists the kinds of data whose recording slowed the host, such as "Python stacks, shapes of
 * inputs", or NULL. For wallshim's own recordings, the cost of recording is measured instead
 * (analysis/activity/recording_cost.h). */
const char *ws_process_slowed_by(const struct ws_process *process);

/* Returns whether the process used the device. A trace may also list devices with lower ordinals that the process did
 * not use. */
bool ws_process_uses_device(const struct ws_model *model, const struct ws_process *process, uint32_t device);

/* Returns the device's row, or NULL if the trace lacks it. */
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
