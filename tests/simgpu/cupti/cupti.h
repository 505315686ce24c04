/* The simulated CUPTI: the range profiler and its host side. Metrics are computed from the FLOPs and bytes of the
 * simulated GPU's kernels.
 *
 * The variable SIMGPU_CUPTI makes calls fail, and says why: "privileges" (the process lacks them), "another" (another
 * client uses the profiler) or "busy" (the hardware is busy). If it is unset, calls succeed. Calls in a wrong order
 * are refused, as by the real library. A range counts all kernels that ended on the device between its push and its
 * pop, whoever launched them. A kernel that still runs does not count. */
#ifndef SIMGPU_CUPTI_CUPTI_H
#define SIMGPU_CUPTI_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cupti.h"
#include "simgpu.h"

#define CUPTI_API __attribute__((visibility("default"))) ws_CUptiResult

#define DECLARE(structure, symbol) CUPTI_API symbol(struct ws_cupti_##structure *params);
WS_CUPTI_FUNCTIONS(DECLARE)
#undef DECLARE

enum { MOST_METRICS = 32, MOST_NAME = 96 };
enum { HOST_OBJECT = 0x484f5354, CONFIG_IMAGE = 0x434f4e46, DATA_IMAGE = 0x44415441, RANGE_OBJECT = 0x52414e47 };

struct config_image {
    uint32_t magic, passes, count;
};

struct data_image {
    uint32_t magic, ranges;
    struct simgpu_counters counted; /* a counter data image has room for one range */
};

/* The functions of simgpu.h, found in the driver; all NULL when the driver is not the simulated one. */
struct simgpu_functions {
    int (*counters)(int, struct simgpu_counters *);
    const char *(*chip)(int);
    int (*device_of)(void *);
};
const struct simgpu_functions *cupti_driver(void);

/* Computes a metric's value. Returns false if the chip has no metric of that name. */
bool cupti_metric(const char *chip, const char *name, const struct simgpu_counters *counted, double *value);

/* The number of passes that these metrics need together. */
uint32_t cupti_passes(const char (*names)[MOST_NAME], uint32_t count);

/* Whether SIMGPU_CUPTI is `what`. */
bool cupti_refuses(const char *what);

#endif
