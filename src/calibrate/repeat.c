#include "calibrate/repeat.h"

#include <errno.h>

#include "base/clock.h"

/* CUDA events have a resolution of 0.5 µs, and an event between two operations adds about 1 µs. A sample of 2 ms is
 * therefore exact to 0.1 %. If more than WS_MOST_SAMPLES samples of this length fit in the time budget, each sample
 * is made longer, to use all of the budget. A short measurement would miss that a GPU throttles: its clock falls only
 * after tenths of seconds. */
static const double least_sample_ns = 2e6;
enum { LEAST_SAMPLES = 5, MOST_IN_A_SAMPLE = 256 };

struct run {
    const struct ws_driver *driver;
    ws_operation operation;
    void *user;
    ws_CUevent events[WS_MOST_SAMPLES + 1];
    size_t event_count;
    ws_CUresult result;
};

static int driver_status(struct run *run, ws_CUresult result)
{
    run->result = result;
    return result == WS_CUDA_SUCCESS ? 0 : -EIO;
}

static int make_events(struct run *run, size_t count)
{
    int status = 0;
    while (!status && run->event_count < count) {
        status = driver_status(run, run->driver->event_create(&run->events[run->event_count], WS_CU_EVENT_DEFAULT));
        run->event_count += !status;
    }
    return status;
}

/* Launches one operation ahead, so that the device is busy at the first event. Then times `samples` samples of
 * `group` operations each. */
static int time_samples(struct run *run, size_t samples, size_t group, double *times)
{
    int status = make_events(run, samples + 1);
    status = status ? status : run->operation(run->user);
    for (size_t i = 0; i <= samples && !status; i++) {
        status = driver_status(run, run->driver->event_record(run->events[i], run->driver->stream));
        for (size_t j = 0; j < group && i < samples && !status; j++)
            status = run->operation(run->user);
    }
    /* Wait after a failure too: launched work must finish before its memory is freed. */
    ws_CUresult waited = run->driver->synchronize(run->driver->stream);
    status = status ? status : driver_status(run, waited);
    for (size_t i = 0; i < samples && !status; i++) {
        float milliseconds = 0;
        status = driver_status(run, run->driver->event_elapsed(&milliseconds, run->events[i], run->events[i + 1]));
        times[i] = (double)milliseconds * 1e6 / (double)group;
        if (!status && !(times[i] > 0))
            status = -ERANGE;
    }
    return status;
}

static double repeat_larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double repeat_clamp(double value, double least, double most)
{
    return repeat_larger(least, smaller(value, most));
}

int ws_repeat(const struct ws_driver *driver, ws_operation operation, void *user, double amount, double budget_ns,
              struct ws_repeated *repeated, ws_CUresult *failed)
{
    struct run run = { .driver = driver, .operation = operation, .user = user };
    double times[WS_MOST_SAMPLES];
    *repeated = (struct ws_repeated){ 0 };
    int status = time_samples(&run, 1, 1, times); /* unused times: the first run also loads modules and libraries */
    int64_t began = ws_clock_ns();
    status = status ? status : time_samples(&run, 1, 1, times);
    double host_ns = (double)(ws_clock_ns() - began) / 2;
    if (!status) {
        double once = repeated->once_ns = repeat_larger(host_ns, times[0]);
        double fit = budget_ns / once;
        double wanted = repeat_larger(least_sample_ns / times[0], fit / WS_MOST_SAMPLES);
        size_t group = (size_t)repeat_clamp(smaller(wanted, fit / LEAST_SAMPLES), 1, MOST_IN_A_SAMPLE);
        size_t samples = (size_t)repeat_clamp(fit / (double)group, LEAST_SAMPLES, WS_MOST_SAMPLES);
        status = time_samples(&run, samples, group, times);
        if (!status)
            repeated->rate = ws_rate_of(times, samples, amount);
    }
    while (run.event_count)
        driver->event_destroy(run.events[--run.event_count]);
    *failed = run.result;
    return status;
}
