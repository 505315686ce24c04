#include "engine/config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/log.h"

struct sim_config sim_config;

static int64_t number_from(const char *variable, int64_t fallback)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return fallback;
    char *end;
    long long value = strtoll(text, &end, 10);
    if (*end) {
        sim_log("%s=%s is not a whole number; taking %lld", variable, text, (long long)fallback);
        return fallback;
    }
    return value;
}

/* Converts a version: "12.8" becomes 12080. */
static int version_from(const char *text)
{
    int major, minor;
    if (!text)
        return 13000;
    if (sscanf(text, "%d.%d", &major, &minor) != 2) {
        sim_log("SIMGPU_DRIVER_VERSION=%s is not like 13.0; taking 13.0", text);
        return 13000;
    }
    return major * 1000 + minor * 10;
}

static void load(void)
{
#define X(field, variable, fallback) sim_config.field = number_from(variable, fallback);
    SIM_SETTINGS(X)
#undef X
    if (sim_config.devices < 0 || sim_config.devices > 64)
        sim_config.devices = 1;
    if (sim_config.queue_depth < 1)
        sim_config.queue_depth = 1;
    if (sim_config.truth_rows < 1)
        sim_config.truth_rows = 1 << 16;
    if (sim_config.slowdown < 1)
        sim_config.slowdown = 1;
    if (sim_config.event_dispatch_ns < 0)
        sim_config.event_dispatch_ns = sim_config.dispatch_ns + 330;
    if (sim_config.after_event_ns < 0)
        sim_config.after_event_ns = sim_config.event_dispatch_ns + 900;
    if (sim_config.event_resolution_ns < 1)
        sim_config.event_resolution_ns = 1;
    sim_config.driver_version = version_from(getenv("SIMGPU_DRIVER_VERSION"));
    sim_config.gpu = getenv("SIMGPU_GPU");
    sim_config.truth = getenv("SIMGPU_TRUTH");
    sim_config.throttle = sim_throttle_read();
}

void sim_config_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
}
