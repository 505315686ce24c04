/* One pass over the operations and gaps of a device, which adds them to a side of a comparison. */
#ifndef WALLSHIM_COMPARE_SWEEP_H
#define WALLSHIM_COMPARE_SWEEP_H

#include "compare/side.h"
#include "compare/tally.h"

/* The launches of a kernel that most time went to. */
struct ws_launch {
    const struct ws_op_shape *shape;
    double time;
};

struct ws_sweep {
    struct ws_side *side;
    const struct ws_report *report;
    struct ws_tallies names;       /* by index into ws_model.names */
    struct ws_tallies lines;       /* by place in ws_side.lines */
    struct ws_tallies collectives; /* by place in ws_side.collectives */
    struct ws_launch *launches;    /* by index into ws_model.names */
};

/* What of a device is where on the side. */
struct ws_places {
    const uint32_t *lines;       /* in ws_side.lines, by line of its causes */
    const uint32_t *collectives; /* in ws_side.collectives, by kind of its communication */
};

/* Returns 0 or -ENOMEM. */
int ws_sweep_track(struct ws_sweep *sweep, size_t track, struct ws_places places);

/* Of a name: enum ws_kernel_class or WS_GRAPH_CLASS. */
uint32_t ws_sample_class(const struct ws_report *report, uint32_t name);

#endif
