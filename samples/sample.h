/* Functions that the C samples share: they open a device, load the kernels of kernels.ptx and launch them. If a
 * driver call fails, they print one line on stderr and end the program. */
#ifndef WALLSHIM_SAMPLES_SAMPLE_H
#define WALLSHIM_SAMPLES_SAMPLE_H

#include "driver.h"

#include <stddef.h>
#include <stdint.h>

/* Exit status if the machine lacks something that a sample needs. After a failed call the status is another one, so
 * that tests can tell the two cases apart. */
#define SAMPLE_UNABLE 77

#define CHECK(call) sample_check((call), #call)
void sample_check(CUresult result, const char *call);

/* Ends the program with SAMPLE_UNABLE when there are fewer devices than `count`. */
void sample_need_devices(int count);

void sample_open(int device);
void sample_close(void);

CUdeviceptr sample_floats(size_t count);              /* zeroes */
CUdeviceptr sample_random(size_t count, float bound); /* uniform in ±bound, the same in every run */
uint32_t sample_next_random(void);
uint32_t sample_checksum(CUdeviceptr address, size_t count); /* FNV-1a over the bytes of count floats */
float sample_read(CUdeviceptr address);

/* `parameters` points to the parameters' values, as for cuLaunchKernel. */
void sample_launch(const char *kernel, const unsigned grid[2], const unsigned block[2], CUstream stream,
                   void **parameters);

#define PARAMETERS(...) ((void *[]){ __VA_ARGS__ })
#define LAUNCH(kernel, grid_x, grid_y, block_x, block_y, stream, ...)                                             \
    sample_launch(kernel, (const unsigned[2]){ grid_x, grid_y }, (const unsigned[2]){ block_x, block_y }, stream, \
                  PARAMETERS(__VA_ARGS__))

/* Launches with the grids that the kernels of kernels.cu expect: at least n threads in x (POINTWISE), a block for
 * each row (ROWS), a thread for each of m × n elements (PRODUCT), one block (REDUCTION). The pointers to the
 * parameters' values come last. */
#define POINTWISE(kernel, n, stream, ...) LAUNCH(kernel, ((n) + 255) / 256, 1, 256, 1, stream, __VA_ARGS__)
#define ROWS(kernel, rows, stream, ...) LAUNCH(kernel, rows, 1, 256, 1, stream, __VA_ARGS__)
#define PRODUCT(kernel, m, n, stream, ...) \
    LAUNCH(kernel, ((n) + 15) / 16, ((m) + 15) / 16, 16, 16, stream, __VA_ARGS__)
#define REDUCTION(kernel, stream, ...) LAUNCH(kernel, 1, 1, 256, 1, stream, __VA_ARGS__)

#endif
