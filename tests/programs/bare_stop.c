/* Measures the shortest pause that `wallshim attach` can cause: stops all threads of a process, as attach does, and
 * lets them continue at once, again and again. For each stop, measures the longest time that a thread stood still.
 * Prints the median and the 99th percentile of these times, in µs.
 *
 * bare_stop PID TIMES */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "attach/stop.h"

static int by_time(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static int64_t stop_once(int pid)
{
    static struct ws_stopped_all all;
    struct ws_urgent urgent;
    ws_urgent_begin(&urgent);
    int error = ws_stop_all(pid, 0, 200000000, &all);
    int64_t stood = ws_let_go_all(&all);
    ws_urgent_end(&urgent);
    return error ? error : stood;
}

int main(int argc, char **argv)
{
    int pid = argc > 2 ? atoi(argv[1]) : 0, times = argc > 2 ? atoi(argv[2]) : 0;
    int64_t *stood = times > 0 ? malloc((size_t)times * sizeof(*stood)) : NULL;
    if (!stood)
        return 2;
    for (int i = 0; i < times; i++) {
        stood[i] = stop_once(pid);
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    qsort(stood, (size_t)times, sizeof(*stood), by_time);
    int middle = times / 2, high = times * 99 / 100;
    printf("%.0f us in the median, %.0f us at the 99th percentile\n", (double)stood[middle] / 1e3,
           (double)stood[high] / 1e3);
    int failed = stood[0] < 0;
    free(stood);
    return failed;
}
