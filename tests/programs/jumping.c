/* Calls that are left by a jump: what the thread does afterwards is its own again. */
#include <setjmp.h>

#include "program.h"

extern jmp_buf *jump_out;

static struct gpu gpu;

static void leave_a_call(int frames)
{
    volatile char deeper[256] = { 0 };
    if (frames)
        leave_a_call(frames - 1);
    else
        cuStreamQuery(gpu.stream);
    (void)deeper[0];
}

int main(void)
{
    jmp_buf around;
    gpu_open(&gpu, 0);
    jump_out = &around;
    for (volatile int i = 0; i < 100; i++) {
        if (!setjmp(around))
            leave_a_call(i % 8);
        spin(gpu.spin, gpu.stream, 2000);
    }
    jump_out = NULL;
    TRY(cuStreamQuery(gpu.stream));
    TRY(cuStreamSynchronize(gpu.stream));
    return 0;
}
