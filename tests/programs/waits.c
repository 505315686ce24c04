/* Waits of every kind for the device, of which one fails. end_to_end/waits.py looks at their records. */
#include "program.h"

enum { KERNEL_NS = 20000000 };

static struct gpu gpu;

static void launch(ws_CUstream stream)
{
    MUST(spin(gpu.spin, stream, KERNEL_NS));
}

int main(void)
{
    ws_CUstream unused;
    ws_CUevent event;
    ws_CUgraph graph;
    gpu_open(&gpu, 0);
    MUST(cuStreamCreate(&unused, 0));
    MUST(cuEventCreate(&event, 0));
    for (int i = 0; i < 2; i++) {
        launch(gpu.stream);
        MUST(cuStreamSynchronize(gpu.stream));
    }
    MUST(cuStreamSynchronize(unused));
    launch(NULL);
    MUST(cuStreamSynchronize(NULL));
    launch(gpu.stream);
    MUST(cuEventRecord(event, gpu.stream));
    MUST(cuEventSynchronize(event));
    launch(gpu.stream);
    MUST(cuCtxSynchronize());
    MUST(cuStreamBeginCapture_v2(gpu.stream, 2));
    cuStreamSynchronize(gpu.stream); /* fails: the stream is being captured */
    cuStreamEndCapture(gpu.stream, &graph);
    launch(gpu.stream);
    MUST(cuStreamSynchronize(gpu.stream));
    return 0;
}
