#include "engine/engine.h"

#include <time.h>

int64_t sim_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Converts host time to the device's clock. It computes in integers: it runs in the program's threads, and floating
 * point would set the threads' exception flags (fenv.h). */
int64_t sim_device_time(const struct sim_device *device, int64_t host_ns)
{
    const int64_t million = 1000000;
    int64_t since = host_ns - sim_clock_origin;
    int64_t drifted = since / million * device->clock_drift_ppm + since % million * device->clock_drift_ppm / million;
    return since + drifted + device->clock_offset;
}

void sim_spin_until(int64_t host_ns)
{
    while (sim_now() < host_ns)
        ;
}

void sim_pay(int64_t ns)
{
    if (ns > 0)
        sim_spin_until(sim_now() + ns);
}

void sim_wait_until(int64_t host_ns)
{
    int64_t left = host_ns - sim_now();
    /* The last part of a wait is spent spinning on the clock, since a sleep would return too late. */
    if (left > sim_config.spin_ns) {
        int64_t wake = host_ns - sim_config.spin_ns;
        struct timespec until = { wake / 1000000000, wake % 1000000000 };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    sim_spin_until(host_ns);
}
