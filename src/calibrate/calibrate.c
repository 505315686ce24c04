#include "calibrate/calibrate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/device_facts.h"
#include "calibrate/measure.h"

/* The share of the calibration's time in which copies and memsets are measured. It is small, because GEMMs are
 * measured at many precisions. */
static const double memory_share = 0.2;

/* Above these percentages ws_ceiling_note writes a note. DRIFT_PERCENT: how far a rate fell while it was measured.
 * SPREAD_PERCENT: how far the rate's samples scatter. SHEET_PERCENT: the rate as a percentage of the data sheet's
 * rate. */
enum { DRIFT_PERCENT = 3, SPREAD_PERCENT = 5, SHEET_PERCENT = 105 };

double ws_measuring_left(const struct ws_measuring *measuring)
{
    return measuring->options->seconds * 1e9 - (double)(ws_clock_ns() - measuring->began);
}

void ws_measuring_says(const struct ws_measuring *measuring, const char *what, uint64_t size, const char *unit)
{
    char text[64];
    double all = measuring->options->seconds * 1e9, left = ws_measuring_left(measuring);
    if (!measuring->options->progress)
        return;
    if (size)
        snprintf(text, sizeof(text), "%s %llu%s", what, (unsigned long long)size, unit);
    else
        snprintf(text, sizeof(text), "%s", what);
    measuring->options->progress(measuring->options->user, text, left > 0 ? 1 - left / all : 1);
}

void ws_ceiling_raise(struct ws_ceiling *ceiling, const struct ws_rate *rate, uint64_t size)
{
    if (!ceiling->rate.samples || rate->drift < ceiling->drift)
        ceiling->drift = rate->drift;
    if (rate->median <= ceiling->rate.median)
        return;
    ceiling->rate = *rate;
    ceiling->size = size;
}

static void calibrate_describe(struct ws_calibration *calibration, const struct ws_driver *driver)
{
    ws_CUuuid uuid;
    size_t free_bytes = 0, total = 0;
    driver->device_name(calibration->name, sizeof(calibration->name), driver->device);
    if (driver->device_uuid(&uuid, driver->device) == WS_CUDA_SUCCESS)
        ws_format_uuid(calibration->uuid, &uuid);
    driver->memory_info(&free_bytes, &total);
    calibration->memory_free = free_bytes;
    calibration->l2_bytes = ws_driver_attribute(driver, WS_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    calibration->driver_version = driver->driver_version;
#define FACT(field, which) .field = ws_driver_attribute(driver, WS_CU_DEVICE_ATTRIBUTE_##which),
    calibration->facts =
        (struct ws_gpu_facts){ .name = calibration->name, .memory_bytes = total, WS_DEVICE_FACTS(FACT) };
#undef FACT
}

int ws_calibrate(struct ws_calibration *calibration, const struct ws_calibrate_options *options, char *message,
                 size_t capacity)
{
    struct ws_measuring measuring = { .options = options, .calibration = calibration, .began = ws_clock_ns() };
    memset(calibration, 0, sizeof(*calibration));
    int status = ws_driver_open(&measuring.driver, options->device, message, capacity);
    if (!status) {
        calibrate_describe(calibration, &measuring.driver);
        measuring.began = ws_clock_ns(); /* set anew: the time to open the driver does not count as measuring time */
        ws_measure_memory(&measuring, options->seconds * 1e9 * memory_share);
    }
    if (!status && !(calibration->copy.rate.median > 0)) {
        snprintf(message, capacity, "no bandwidth: %s", calibration->copy.why_not);
        status = -EIO;
    }
    if (!status)
        ws_measure_products(&measuring);
    ws_driver_close(&measuring.driver);
    return status;
}

bool ws_calibration_sheet(const struct ws_calibration *calibration, struct ws_gpu *sheet)
{
    return ws_gpu_find(&calibration->facts, sheet) == WS_GPU_BY_NAME;
}

void ws_ceiling_note(const struct ws_ceiling *ceiling, double sheet, char *text, size_t capacity)
{
    const struct ws_rate *rate = &ceiling->rate;
    *text = 0;
    if (ceiling->drift * 100 < -DRIFT_PERCENT)
        snprintf(text, capacity, "fell by %.1f %% while it was measured: the GPU lowers its clock (power, heat)",
                 -100 * ceiling->drift);
    else if (rate->spread * 100 > SPREAD_PERCENT)
        snprintf(text, capacity, "scatters by %.1f %%: something else uses the GPU, or its clock changes",
                 100 * rate->spread);
    else if (sheet > 0 && rate->median * 100 > sheet * SHEET_PERCENT)
        snprintf(text, capacity, "more than the data sheet says: it is probably of another variant of this GPU");
}
