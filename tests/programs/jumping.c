/* Calls that are left by a jump: what the thread does afterwards is its own again. */
#include <setjmp.h>

#include "program.h"

extern jmp_buf *jump_out, *jump_out_of_launch;

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

/* Every other launch is left, and nothing of it reaches the stream. */
static void leave_launches(void)
{
    jmp_buf around;
    for (volatile int i = 0; i < 50; i++) {
        jump_out_of_launch = &around;
        if (!setjmp(around))
            spin(gpu.spin, gpu.stream, 2000);
        jump_out_of_launch = NULL;
        spin(gpu.spin, gpu.stream, 2000);
    }
    TRY(cuStreamSynchronize(gpu.stream));
}

int main(int argc, char **argv)
{
    jmp_buf around;
    gpu_open(&gpu, 0);
    if (!strcmp(mode_of(argc, argv), "launches")) {
        leave_launches();
        return 0;
    }
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
