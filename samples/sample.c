#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of kernels.ptx, which kernels_ptx.S puts into the program. */
extern const char sample_kernels[];

#define MOST_KERNELS 32

static CUdevice device;
static CUmodule module;
static struct {
    const char *name;
    CUfunction function;
} kernels[MOST_KERNELS];

void sample_check(CUresult result, const char *call)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", call, name ? name : "unknown error");
    exit(EXIT_FAILURE);
}

void sample_need_devices(int count)
{
    int found = 0;
    if (cuInit(0) == CUDA_SUCCESS)
        CHECK(cuDeviceGetCount(&found));
    if (found >= count)
        return;
    fprintf(stderr, "this sample needs %d GPU%s, found %d\n", count, count == 1 ? "" : "s", found);
    exit(SAMPLE_UNABLE);
}

void sample_open(int ordinal)
{
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, sample_kernels));
}

void sample_close(void)
{
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
}

CUdeviceptr sample_floats(size_t count)
{
    CUdeviceptr address;
    CHECK(cuMemAlloc(&address, count * sizeof(float)));
    CHECK(cuMemsetD32(address, 0, count));
    return address;
}

/* A xorshift32 generator, because the samples must not depend on the C library's generator. */
uint32_t sample_next_random(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

CUdeviceptr sample_random(size_t count, float bound)
{
    CUdeviceptr address;
    float *values = malloc(count * sizeof(*values));
    if (!values) {
        fputs("out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < count; i++)
        values[i] = bound * ((float)(sample_next_random() >> 8) / 8388608.0f - 1.0f);
    CHECK(cuMemAlloc(&address, count * sizeof(float)));
    CHECK(cuMemcpyHtoD(address, values, count * sizeof(float)));
    free(values);
    return address;
}

uint32_t sample_checksum(CUdeviceptr address, size_t count)
{
    uint32_t hash = 2166136261u;
    float *values = malloc(count * sizeof(*values));
    const unsigned char *bytes = (const unsigned char *)values;
    if (!values) {
        fputs("out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    CHECK(cuMemcpyDtoH(values, address, count * sizeof(*values)));
    for (size_t i = 0; i < count * sizeof(*values); i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    free(values);
    return hash;
}

float sample_read(CUdeviceptr address)
{
    float value;
    CHECK(cuMemcpyDtoH(&value, address, sizeof(value)));
    return value;
}

static CUfunction find_kernel(const char *name)
{
    for (size_t i = 0; i < MOST_KERNELS; i++) {
        if (!kernels[i].name) {
            CHECK(cuModuleGetFunction(&kernels[i].function, module, name));
            kernels[i].name = name;
        }
        if (!strcmp(kernels[i].name, name))
            return kernels[i].function;
    }
    fprintf(stderr, "too many kernels: %s\n", name);
    exit(EXIT_FAILURE);
}

void sample_launch(const char *kernel, const unsigned grid[2], const unsigned block[2], CUstream stream,
                   void **parameters)
{
    CHECK(
        cuLaunchKernel(find_kernel(kernel), grid[0], grid[1], 1, block[0], block[1], 1, 0, stream, parameters, NULL));
}
