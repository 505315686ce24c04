/* Kernels: their names, computations and durations. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTERED = 256, FIXED_LATENCY_NS = 2000 };

static struct sim_kernel registered[REGISTERED];
static unsigned registered_count;
static pthread_mutex_t register_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53u;
    return value ^ value >> 33;
}

static uint64_t hash_of(const char *name, const unsigned grid[3])
{
    uint64_t hash = (uint64_t)sim_config.seed * 0x9e3779b97f4a7c15u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return mix(hash ^ mix(grid[0] | (uint64_t)grid[1] << 32) ^ mix(grid[2] + 77u));
}

/* Changes a duration at random, but reproducibly: a thread that makes the same calls with the same seed gets the same
 * durations. */
int64_t sim_jitter(int64_t duration, uint64_t key)
{
    static __thread uint64_t calls __attribute__((tls_model("initial-exec")));
    if (!sim_config.jitter_percent || duration <= 0)
        return duration;
    uint64_t random = mix(mix(key ^ (uint64_t)sim_config.seed) + ++calls) % 2001;
    return duration + duration * sim_config.jitter_percent * ((int64_t)random - 1000) / 100000;
}

int64_t sim_kernel_duration(const struct sim_kernel *kernel, const char *name, struct sim_device *device,
                            void **parameters, const unsigned grid[3], const unsigned block[3])
{
    if (kernel && kernel->duration && parameters)
        return (int64_t)kernel->duration(parameters, grid, block);
    if (kernel && kernel->bytes && parameters) {
        double slow = (double)sim_config.slowdown;
        double by_bytes = kernel->bytes(parameters) / device->model->bytes_per_ns * slow;
        double by_flops = kernel->flops ? kernel->flops(parameters) / device->model->flops_per_ns * slow : 0;
        return FIXED_LATENCY_NS + (int64_t)(by_bytes > by_flops ? by_bytes : by_flops);
    }
    if (sim_config.kernel_ns >= 0)
        return sim_config.kernel_ns;
    return 2000 + (int64_t)(hash_of(name, grid) % 18001);
}

/* Finds the identifier inside an Itanium-mangled function name: "fill" in "_Z4fillPfi". */
static size_t plain_name(const char **name)
{
    const char *at = *name;
    if (at[0] == '_' && at[1] == 'Z' && at[2] >= '1' && at[2] <= '9') {
        char *end;
        unsigned long length = strtoul(at + 2, &end, 10);
        if (length <= strlen(end)) {
            *name = end;
            return length;
        }
    }
    return strlen(at);
}

static bool same(const char *have, const char *name, size_t length)
{
    size_t own = strlen(have);
    if (own && have[own - 1] == '*')
        return length >= own - 1 && strncmp(have, name, own - 1) == 0;
    return strncmp(have, name, length) == 0 && !have[length];
}

const struct sim_kernel *sim_kernel_find(const char *name)
{
    size_t whole = strlen(name);
    const char *plain = name;
    size_t length = plain_name(&plain);
    const struct sim_kernel *found = NULL;
    pthread_mutex_lock(&register_lock);
    for (unsigned i = registered_count; i-- > 0 && !found;)
        if (same(registered[i].name, name, whole) || same(registered[i].name, plain, length))
            found = &registered[i];
    pthread_mutex_unlock(&register_lock);
    for (const struct sim_kernel *kernel = sim_kernels; !found && kernel->name; kernel++)
        if (same(kernel->name, plain, length))
            found = kernel;
    return found;
}

bool sim_computes_nothing(const struct sim_kernel *kernel)
{
    return !sim_config.kernel_data && kernel && !kernel->poll && kernel->fault == WS_CUDA_SUCCESS;
}

static int add(struct sim_kernel kernel)
{
    pthread_mutex_lock(&register_lock);
    int result = registered_count < REGISTERED ? 0 : -1;
    if (result == 0) {
        kernel.name = sim_intern(kernel.name);
        registered[registered_count++] = kernel;
    }
    pthread_mutex_unlock(&register_lock);
    return result;
}

__attribute__((visibility("default"))) int simgpuRegisterKernel(const char *name, simgpu_run run,
                                                                simgpu_duration duration)
{
    return add((struct sim_kernel){ .name = name, .run = run, .duration = duration });
}

__attribute__((visibility("default"))) int simgpuRegisterPolledKernel(const char *name, simgpu_begin begin,
                                                                      simgpu_run run, simgpu_poll poll)
{
    return add((struct sim_kernel){ .name = name, .run = run, .begin = begin, .poll = poll });
}

__attribute__((visibility("default"))) int simgpuRegisterWork(const char *name, simgpu_count count)
{
    int result = -1;
    pthread_mutex_lock(&register_lock);
    for (unsigned i = registered_count; i-- > 0 && result;)
        if (strcmp(registered[i].name, name) == 0) {
            registered[i].count = count;
            result = 0;
        }
    pthread_mutex_unlock(&register_lock);
    return result;
}
