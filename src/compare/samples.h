/* Adds the operations and gaps of a device to one side of a comparison, in one pass. */
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
    struct ws_tallies names;       /* by index into ws_model.names */
    struct ws_tallies lines;       /* by index in ws_report_side.lines */
    struct ws_tallies collectives; /* by index in ws_report_side.collectives */
    struct ws_launch *launches;    /* by index into ws_model.names */
};

/* Maps the lines and collectives of a device to those of its side of the comparison. */
struct ws_places {
    const uint32_t *lines;       /* index in ws_report_side.lines, by line of the device's causes */
    const uint32_t *collectives; /* index in ws_report_side.collectives, by kind of the device's communication */
};

/* Returns 0 or -ENOMEM. */
int ws_sampler_track(struct ws_sampler *sweep, size_t track, struct ws_places places);

/* Returns the class of a name: enum ws_kernel_class or WS_GRAPH_CLASS. */
uint32_t ws_sample_class(const struct ws_report *report, uint32_t name);

#endif
