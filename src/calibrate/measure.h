/* What the parts of a calibration share. */
#ifndef WALLSHIM_CALIBRATE_MEASURE_H
#define WALLSHIM_CALIBRATE_MEASURE_H

#include <stdint.h>

#include "calibrate/calibrate.h"
#include "calibrate/driver.h"

struct ws_measuring {
    struct ws_driver driver;
    const struct ws_calibrate_options *options;
    struct ws_calibration *calibration;
    int64_t began; /* host ns */
};

/* ns until the time that was given is over. */
double ws_measuring_left(const struct ws_measuring *measuring);

void ws_measuring_says(const struct ws_measuring *measuring, const char *what, uint64_t size, const char *unit);

/* Keeps the rate if it is the best so far. */
void ws_ceiling_raise(struct ws_ceiling *ceiling, const struct ws_rate *rate, uint64_t size);

/* Copies and memsets within the device, for about budget_ns. What could not be measured says why. */
void ws_measure_memory(struct ws_measuring *measuring, double budget_ns);

/* Matrix products at every precision that the device and its libraries offer, in the time that is left. */
void ws_measure_products(struct ws_measuring *measuring);

#endif
