/* The cost of the profiler's threads in this process so far. */
#ifndef WALLSHIM_TESTS_THREADS_OF_H
#define WALLSHIM_TESTS_THREADS_OF_H

#include <dirent.h>
#include <stdint.h>

#include "program.h"

struct threads_cost {
    uint64_t switches; /* number of voluntary context switches; each is followed by a wake-up */
    uint64_t cpu_ns;
};

static inline struct threads_cost threads_cost(void)
{
    struct threads_cost cost = { 0 };
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[320], line[128];
        bool ours = false;
        unsigned long long count;
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof(line), status)) {
            ours |= !strncmp(line, "Name:\twallshim", 14);
            if (ours && sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1)
                cost.switches += count;
        }
        if (status)
            fclose(status);
        /* The first number in this file is the time on a processor, ns (Linux,
         * Documentation/scheduler/sched-stats). */
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
        FILE *times = ours ? fopen(path, "r") : NULL;
        if (times && fscanf(times, "%llu", &count) == 1)
            cost.cpu_ns += count;
        if (times)
            fclose(times);
    }
    if (tasks)
        closedir(tasks);
    return cost;
}

#endif
