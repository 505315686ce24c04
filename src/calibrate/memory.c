#include <stdio.h>
#include <string.h>

#include "calibrate/measure.h"
#include "calibrate/repeat.h"

/* Both arrays of a copy together have at least BEYOND_L2 times the size of the L2 cache. Each array has at most
 * largest_copy bytes (1 GiB), because larger arrays give the same rate. */
enum { BEYOND_L2 = 4, SIZES = 3 };
static const uint64_t largest_copy = (uint64_t)1 << 30;

struct transfer {
    const struct ws_driver *driver;
    ws_CUdeviceptr from, to; /* from is 0 for a memset */
    size_t bytes;
    ws_CUresult result;
};

static int calibrate_memory_run(void *user)
{
    struct transfer *transfer = user;
    const struct ws_driver *driver = transfer->driver;
    /* Memsets write a value other than 0: GPUs may compress memory, and zeros would then move fewer bytes. */
    transfer->result = transfer->from ? driver->copy(transfer->to, transfer->from, transfer->bytes, driver->stream)
                                      : driver->set(transfer->to, 0x9e3779b9U, transfer->bytes / 4, driver->stream);
    return transfer->result == WS_CUDA_SUCCESS ? 0 : -1;
}

static void calibrate_memory_measure(struct ws_measuring *measuring, struct transfer *transfer,
                                     struct ws_ceiling *ceiling, double budget_ns)
{
    struct ws_repeated repeated;
    ws_CUresult failed;
    double moved =
        (double)transfer->bytes * (transfer->from ? 2 : 1); /* a copy reads and writes, a memset only writes */
    if (!ws_repeat(&measuring->driver, calibrate_memory_run, transfer, moved, budget_ns, &repeated, &failed)) {
        ws_ceiling_raise(ceiling, &repeated.rate, transfer->bytes);
        return;
    }
    if (transfer->result != WS_CUDA_SUCCESS)
        failed = transfer->result;
    snprintf(ceiling->why_not, sizeof(ceiling->why_not), "the driver returned %s",
             ws_driver_error(&measuring->driver, failed));
}

/* Returns the largest array size: both arrays together take at most half of the free memory. */
static uint64_t largest(const struct ws_calibration *calibration)
{
    uint64_t size = largest_copy;
    while (size > calibration->memory_free / 4)
        size /= 2;
    return size;
}

void ws_measure_memory(struct ws_measuring *measuring, double budget_ns)
{
    struct ws_calibration *calibration = measuring->calibration;
    const struct ws_driver *driver = &measuring->driver;
    uint64_t most = largest(calibration), least = calibration->l2_bytes * BEYOND_L2 / 2;
    ws_CUdeviceptr both;
    if (most < least || driver->allocate(&both, 2 * most) != WS_CUDA_SUCCESS) {
        snprintf(calibration->copy.why_not, sizeof(calibration->copy.why_not),
                 "too little of the GPU's memory is free for arrays well beyond its L2 cache");
        calibration->write = calibration->copy;
        return;
    }
    uint64_t size = most;
    for (int i = 0; i < SIZES && size >= least; i++, size /= 2) {
        struct transfer copy = { driver, both, both + most, size, WS_CUDA_SUCCESS };
        struct transfer write = { driver, 0, both, size, WS_CUDA_SUCCESS };
        /* The memset comes first, so that the copy reads initialized memory. */
        ws_measuring_says(measuring, "memset", size >> 20, " MiB");
        calibrate_memory_measure(measuring, &write, &calibration->write, budget_ns / SIZES / 4);
        ws_measuring_says(measuring, "copy", size >> 20, " MiB");
        calibrate_memory_measure(measuring, &copy, &calibration->copy, budget_ns / SIZES * 3 / 4);
    }
    driver->free(both);
}
