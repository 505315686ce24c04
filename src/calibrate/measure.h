/* What a calibration needs while it measures. Only files of src/calibrate include this header. */
#ifndef WALLSHIM_CALIBRATE_MEASURE_H
#define WALLSHIM_CALIBRATE_MEASURE_H

#include <stdint.h>

#include "calibrate/calibrate.h"
#include "calibrate/driver.h"

struct ws_measuring {
    struct ws_driver driver;
    const struct ws_calibrate_options *options;
    struct ws_calibration *calibration;
    int64_t began; /* host time at which measuring began, in ns */
};

/* Returns the remaining measuring time in ns. */
double ws_measuring_left(const struct ws_measuring *measuring);

/* Calls options->progress with a text on what is measured now: `what`, followed by `size` and `unit` if size is not
 * 0. */
void ws_measuring_says(const struct ws_measuring *measuring, const char *what, uint64_t size, const char *unit);

/* Stores the rate and its size in the ceiling if the rate is the best so far. Keeps the lowest drift of all rates. */
void ws_ceiling_raise(struct ws_ceiling *ceiling, const struct ws_rate *rate, uint64_t size);

/* Measures copies and memsets within the device for about budget_ns. If a copy or memset fails, stores the reason in
 * calibration->copy.why_not or calibration->write.why_not. */
void ws_measure_memory(struct ws_measuring *measuring, double budget_ns);

/* Measures GEMMs at each precision that the device and its libraries support, in the remaining time. */
void ws_measure_products(struct ws_measuring *measuring);

#endif
