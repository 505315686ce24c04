/* The health of a device: its clocks, power and heat while it worked, and what held its clocks down.
 *
 * A sample counts if the device was at work: in a steady step, or anywhere in the recording if there are no steps,
 * and not in an idle time of more than 10 ms. Without this rule, an idle device with low clocks would look throttled.
 *
 * Clocks are held down in a sample if NVML names a reason that holds clocks down (record/health.h) and the SM clock
 * is at least 2 % below its maximum. Samples are evenly spaced while the program works, so a share of samples is a
 * share of time. With n samples, a share is known to about 1/sqrt(n).
 *
 * A slow step coincides with lower clocks if the mean SM clock of its samples is at least 5 % below the median of all
 * samples that count. A step without a sample takes the two samples around it, and both must be that low. The limits
 * are our choice. */
#ifndef WALLSHIM_ANALYSIS_STEPS_HEALTH_H
#define WALLSHIM_ANALYSIS_STEPS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/steps/steps.h"
#include "base/vector.h"
#include "record/health.h"
#include "report/analysis.h"

/* X(NAME, key in JSON, name in a report, unit in a report): figures over the samples that count. Links are rates from
 * sample to sample. */
#define WS_HEALTH_FIGURES(X)                                             \
    X(SM_CLOCK, "sm_mhz", "SM clock", "MHz")                             \
    X(MEMORY_CLOCK, "memory_mhz", "memory clock", "MHz")                 \
    X(POWER, "power_mw", "power", "W")                                   \
    X(TEMPERATURE, "celsius", "temperature", "°C")                       \
    X(UTILISATION, "busy_percent", "busy (NVML)", "%")                   \
    X(MEMORY_USED, "memory_used_bytes", "memory used", "B")              \
    X(NVLINK_SENT, "nvlink_sent_bytes_s", "NVLink sent", "B/s")          \
    X(NVLINK_RECEIVED, "nvlink_received_bytes_s", "NVLink taken", "B/s") \
    X(PCIE_SENT, "pcie_sent_bytes_s", "PCIe sent", "B/s")                \
    X(PCIE_RECEIVED, "pcie_received_bytes_s", "PCIe taken", "B/s")

enum ws_health_figure_name {
#define WS_HEALTH_FIGURE(name, key, text, unit) WS_HEALTH_OF_##name,
    WS_HEALTH_FIGURES(WS_HEALTH_FIGURE)
#undef WS_HEALTH_FIGURE
        WS_HEALTH_FIGURE_COUNT
};

struct ws_health_figure {
    size_t count; /* samples that know the figure; 0: the others are not valid */
    int64_t least, median, most;
};

/* A slow step with lower clocks than usual. */
struct ws_health_slow {
    uint32_t step; /* index into ws_track_steps.steps */
    uint32_t mhz;  /* mean SM clock */
};

struct ws_track_health {
    size_t samples;                         /* samples of this device with values */
    size_t failed;                          /* samples that gave only an error */
    uint32_t error;                         /* the last of these errors (nvmlReturn_t) */
    size_t counted;                         /* samples that count */
    bool in_steps;                          /* only samples in steady steps count */
    size_t with_reason;                     /* samples that count and know why clocks are not higher */
    size_t held;                            /* those in which clocks were held down */
    size_t reasons[WS_HEALTH_REASON_COUNT]; /* those in which this reason held them down */
    int64_t held_mhz;                       /* median SM clock of the samples in `held` */
    int64_t most_mhz;                       /* highest SM clock that the device has; 0: not known */
    int64_t limit_mw;                       /* last known power limit; 0: not known */
    int64_t ecc_errors;                     /* uncorrected errors while the program ran; -1: not known */
    int64_t ecc_errors_before;              /* since the driver was loaded, as of the first sample; -1: not known */
    struct ws_health_figure figures[WS_HEALTH_FIGURE_COUNT];
    size_t slow_known;     /* slow steps whose clocks are known */
    struct ws_vector slow; /* struct ws_health_slow: those with lower clocks, in order of time */
};

extern const struct ws_analysis ws_analysis_health;

/* defined in health_report.c */
void ws_health_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_health_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list);
int ws_health_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
