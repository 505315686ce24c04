/* The health of a device: its clocks, power and temperature while it worked, and what held its clocks down. NVML gave
 * samples of these values during the recording.
 *
 * Only samples that were taken while the device was at work count. If there are steady steps, a sample must be in one
 * of them. The sample must not be in an idle time of the device of more than 10 ms. Without this rule, an idle device
 * with low clocks would seem to be throttled.
 *
 * Clocks are held down in a sample if two conditions are met: NVML names a reason that holds clocks down
 * (record/health.h), and the SM clock is more than 2 % below its maximum. Samples are evenly spaced while the program
 * works, so a share of samples is a share of time. With n samples, the error of a share is about 1/sqrt(n).
 *
 * A slow step coincides with lower clocks if the mean SM clock of its samples is at least 5 % below the median SM
 * clock of all samples that count. If a step has no sample, the last sample before the step and the first one after
 * it must both be at least 5 % below this median. These limits (10 ms, 2 %, 5 %) are our choice. */
#ifndef WALLSHIM_ANALYSIS_STEPS_HEALTH_H
#define WALLSHIM_ANALYSIS_STEPS_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/steps/steps.h"
#include "base/vector.h"
#include "record/health.h"
#include "report/analysis.h"

/* X(NAME, key in JSON, name in a report, unit in a report): values that are measured in the samples that count. The
 * values of links are rates between successive samples. */
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
    size_t count; /* number of samples that have a value for this figure; 0: the other fields are not valid */
    int64_t least, median, most;
};

/* A slow step during which the SM clock was lower than usual. */
struct ws_health_slow {
    uint32_t step; /* index into ws_track_steps.steps */
    uint32_t mhz;  /* mean SM clock in the step, MHz */
};

struct ws_track_health {
    size_t samples; /* number of samples of this device that have values */
    size_t failed;  /* number of samples that gave only an error */
    uint32_t error; /* error of the last sample in `failed` (nvmlReturn_t) */
    size_t counted; /* number of samples taken while the device was at work; only these samples count */
    bool in_steps;  /* true: only samples in steady steps count */
    /* number of samples, out of `counted`, in which the reasons for lower clocks could be read from NVML */
    size_t with_reason;
    /* number of samples, out of `with_reason`, in which NVML named a reason and the SM clock was more than 2 % below
     * its maximum */
    size_t held;
    /* by reason: number of samples, out of `held`, in which NVML named this reason */
    size_t reasons[WS_HEALTH_REASON_COUNT];
    int64_t held_mhz;   /* median SM clock of the samples counted by `held`, MHz */
    int64_t most_mhz;   /* highest SM clock of which the device is capable, MHz; 0: not known */
    int64_t limit_mw;   /* last known power limit, mW; 0: not known */
    int64_t ecc_errors; /* number of uncorrected memory errors from the first sample to the last; -1: not known */
    int64_t ecc_errors_before; /* number of uncorrected memory errors from the load of the driver to the first sample;
                                  -1: not known */
    struct ws_health_figure figures[WS_HEALTH_FIGURE_COUNT];
    size_t slow_known;     /* number of slow steps whose SM clock is known */
    struct ws_vector slow; /* struct ws_health_slow: slow steps whose SM clock was lower than usual, by time */
};

extern const struct ws_analysis ws_analysis_health;

/* defined in health_report.c */
void ws_health_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_health_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list);
int ws_health_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
