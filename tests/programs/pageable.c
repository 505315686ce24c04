/* Copies from and to pageable memory, with a short kernel before each copy. The calls are asynchronous, but block the
 * host because the memory is pageable.
 *
 *   pageable COPIES BYTES */
#include "program.h"

int main(int argc, char **argv)
{
    struct gpu gpu;
    ws_CUdeviceptr memory;
    if (argc != 3)
        return unknown_mode("");
    int copies = atoi(argv[1]);
    size_t bytes = strtoul(argv[2], NULL, 10);
    char *host = calloc(1, bytes);
    if (!host)
        return 1;
    gpu_open(&gpu, 0);
    MUST(cuMemAlloc_v2(&memory, bytes));
    for (int i = 0; i < copies; i++) {
        MUST(spin(gpu.spin, gpu.stream, 20000));
        MUST(cuMemcpyHtoDAsync_v2(memory, host, bytes, gpu.stream));
        MUST(spin(gpu.spin, gpu.stream, 20000));
        MUST(cuStreamSynchronize(gpu.stream));
        MUST(cuMemcpyDtoHAsync_v2(host, memory, bytes, gpu.stream));
    }
    MUST(cuStreamSynchronize(gpu.stream));
    free(host);
    return 0;
}
