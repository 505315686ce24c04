/* Sums of the FLOPs and bytes of a device's kernels, for the simulated CUPTI's counters. A kernel counts only once it
 * has ended. So a profiler gets wrong figures if it begins a range too late, or ends the range before its kernels
 * have ended. */
#include "engine/engine.h"

/* For built-in kernels, which work on floats, all FLOPs count as fp32 and all bytes as read. */
void sim_count_launch(struct simgpu_work *work, const struct sim_kernel *kernel, void **parameters,
                      const unsigned grid[3], const unsigned block[3])
{
    *work = (struct simgpu_work){ 0 };
    if (!kernel || !parameters)
        return;
    if (kernel->count)
        kernel->count(parameters, grid, block, work);
    if (kernel->bytes)
        work->bytes_read = (uint64_t)kernel->bytes(parameters);
    if (kernel->flops)
        work->flops[SIMGPU_FP32] = (uint64_t)kernel->flops(parameters);
}

void sim_count_end(const struct sim_op *op)
{
    struct simgpu_counters *counters = &op->stream->context->device->counters;
    const struct simgpu_work *work = &op->work.launch.counted;
    if (op->work.kind != SIM_WORK_KERNEL)
        return;
    counters->kernels++;
    counters->ns += (uint64_t)(op->end - op->start);
    counters->work.bytes_read += work->bytes_read;
    counters->work.bytes_written += work->bytes_written;
    for (int i = 0; i < SIMGPU_PRECISIONS; i++) {
        counters->work.flops[i] += work->flops[i];
        counters->work.tensor[i] += work->tensor[i];
    }
}

__attribute__((visibility("default"))) int simgpuCounters(int device, struct simgpu_counters *counters)
{
    struct sim_device *found = sim_device_at(device);
    if (!found)
        return -1;
    sim_drain();
    pthread_mutex_lock(&sim_lock);
    *counters = found->counters;
    pthread_mutex_unlock(&sim_lock);
    return 0;
}

__attribute__((visibility("default"))) const char *simgpuChip(int device)
{
    struct sim_device *found = sim_device_at(device);
    return found ? found->model->chip : NULL;
}

__attribute__((visibility("default"))) int simgpuDeviceOf(void *context)
{
    const struct sim_context *found = context;
    return found && found->magic == SIM_CONTEXT && !found->destroyed ? found->device->ordinal : -1;
}
