/* Makes programmatic dependent launches: dependent CHAINS LENGTH. Each chain is an ordinary launch and then LENGTH
 * launches whose kernels may begin before the previous kernel has ended. All launches are on one stream, and the
 * program waits for this stream after each chain. */
#include "program.h"

ws_CUresult cuLaunchKernelEx(const ws_CUlaunchConfig *config, ws_CUfunction function, void **parameters,
                             void **extra);

int main(int argc, char **argv)
{
    struct gpu gpu;
    int chains = argc > 1 ? atoi(argv[1]) : 10, length = argc > 2 ? atoi(argv[2]) : 5;
    uint64_t ns = 10000;
    void *parameters[] = { &ns };
    ws_CUlaunchAttribute attribute = { .id = WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION };
    attribute.value.programmaticStreamSerializationAllowed = 1;
    gpu_open(&gpu, 0);
    ws_CUlaunchConfig config = { 1, 1, 1, 32, 1, 1, 0, gpu.stream, &attribute, 1 };
    for (int chain = 0; chain < chains; chain++) {
        spin(gpu.spin, gpu.stream, ns);
        for (int i = 0; i < length; i++)
            MUST(cuLaunchKernelEx(&config, gpu.spin, parameters, NULL));
        MUST(cuStreamSynchronize(gpu.stream));
    }
    return 0;
}
