/* A server for scripts/bench: requests INTERVAL_US LAUNCHES KERNEL_NS FILE. It answers a request every INTERVAL_US
 * (0: one after the other). A request launches LAUNCHES kernels of KERNEL_NS and waits for them. The server prints
 * "ready", and ends at SIGTERM. FILE then holds, for each request, when it began (CLOCK_MONOTONIC) and how long it
 * took, both in ns, as pairs of int64_t. Needs the simulated GPU, where a kernel's parameter is its duration. */
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "program.h"

enum { REQUESTS_MOST = 4000000 };

static struct gpu gpu;
static atomic_bool over;
static int64_t (*requests)[2];

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec time = { ns / 1000000000, ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
        ;
}

static void answer(int launches, uint64_t kernel_ns)
{
    for (int i = 0; i < launches; i++)
        MUST(spin(gpu.spin, gpu.stream, kernel_ns));
    MUST(cuStreamSynchronize(gpu.stream));
}

static void end(int signal)
{
    (void)signal;
    over = true;
}

int main(int count, char **words)
{
    if (count != 5)
        return 2;
    int64_t interval = atoll(words[1]) * 1000, due;
    size_t answered = 0;
    signal(SIGTERM, end);
    gpu_open(&gpu, 0);
    requests = calloc(REQUESTS_MOST, sizeof(*requests));
    if (!requests)
        return 1;
    puts("ready");
    fflush(stdout);
    for (due = now(); !over && answered < REQUESTS_MOST; due += interval) {
        if (interval)
            sleep_until(due);
        int64_t began = now();
        answer(atoi(words[2]), strtoull(words[3], NULL, 10));
        requests[answered][0] = began;
        requests[answered++][1] = now() - began;
    }
    FILE *file = fopen(words[4], "wb");
    bool written = file && fwrite(requests, sizeof(*requests), answered, file) == answered;
    return file && !fclose(file) && written ? 0 : 1;
}
