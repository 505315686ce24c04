/* Adds the operations and gaps (idle periods) of a device to one side of a comparison. One pass over the device's
 * time adds both. */
#ifndef WALLSHIM_COMPARE_SAMPLES_H
#define WALLSHIM_COMPARE_SAMPLES_H

#include "compare/report_side.h"
#include "compare/tally.h"

/* The launch shape (grid and block) in which a kernel spends most time. */
struct ws_launch {
    const struct ws_op_shape *shape;
    double time;
};

struct ws_sampler {
    struct ws_report_side *side;
    const struct ws_report *report;
    struct ws_tallies names;       /* sums per name of an operation, by index into ws_model.names */
    struct ws_tallies lines;       /* sums of gaps per line of code, by index in ws_report_side.lines */
    struct ws_tallies collectives; /* sums per kind of collective, by index in ws_report_side.collectives */
    struct ws_launch *launches;    /* for each kernel, by index into ws_model.names: its shape with most time */
};

/* Maps the lines of code and the kinds of collectives of one device to the lists in ws_report_side, which all devices
 * of this side share. */
struct ws_places {
    const uint32_t *lines;       /* for each ws_track_causes.lines: its index in ws_report_side.lines */
    const uint32_t *collectives; /* for each ws_track_comm.kinds: its index in ws_report_side.collectives */
};

/* Adds the operations and gaps of the device with this index in ws_model.tracks. Returns 0 or -ENOMEM. */
int ws_sampler_track(struct ws_sampler *sweep, size_t track, struct ws_places places);

/* Returns the class of a name: enum ws_kernel_class or WS_GRAPH_CLASS. */
uint32_t ws_sample_class(const struct ws_report *report, uint32_t name);

#endif
