/* The run of a made-up program: the host launches one operation after another, and each stream runs its operations in
 * order. */
#ifndef WALLSHIM_WALLS_LOOP_RUN_H
#define WALLSHIM_WALLS_LOOP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "step_programs.h"
#include "builder.h"

enum { COMPUTE = 1, SECOND, STREAMS = 5, MOST_STEPS = 2000 };

static const int64_t us = 1000, clock_offset = 3000000000;

struct run {
    struct builder trace;
    const struct program *program;
    uint64_t random;
    int64_t host, stream_end[STREAMS], first, nobody_asked;
    int64_t steps[MOST_STEPS];
    int step_count;
    bool step_begins; /* the next operation on COMPUTE begins a step */
    uint32_t thread;
    double scale; /* multiplies the kernels' durations */
};

double uniform(struct run *run); /* a random number between 0 and 1 */
int64_t later(int64_t a, int64_t b);

void kernel(struct run *run, uint32_t stream, const char *name, double length); /* length: µs */
void graph(struct run *run, uint32_t number, double length);
void copy(struct run *run, uint32_t stream, bool to_device);
void wait_for(struct run *run, uint32_t stream);
void read_result(struct run *run, uint32_t stream);
/* Makes the stream wait for the work in `other`, as cuStreamWaitEvent does. */
void follow(struct run *run, uint32_t stream, uint32_t other);

/* Launch the parts of a step of run->program. */
void forward(struct run *run, uint32_t stream, int layers);
void backward(struct run *run, uint32_t stream, int layers);
void update(struct run *run, uint32_t stream);

#endif
