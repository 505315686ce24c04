/* Programs that are idle for long, launch all the time, or end abruptly. Tests measure how often the profiler's
 * threads run in these programs, and how soon records are in the trace file. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "threads_of.h"

static struct gpu gpu;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Prints the cost of the profiler's threads since the time `since`. `before` is the threads' cost at that time. */
static void print_cost(const char *what, struct threads_cost before, double since)
{
    struct threads_cost now = threads_cost();
    double took = seconds() - since;
    fprintf(stderr, "%s wakeups_a_second %.3f cpu_percent %.4f\n", what,
            (double)(now.switches - before.switches) / took, (double)(now.cpu_ns - before.cpu_ns) / took / 1e7);
}

static void idle(double settle, double length)
{
    spin_times(&gpu, 100, 2000);
    cuStreamSynchronize(gpu.stream);
    usleep((useconds_t)(settle * 1e6));
    struct threads_cost before = threads_cost();
    double since = seconds();
    usleep((useconds_t)(length * 1e6));
    print_cost("idle", before, since);
}

/* Prints the cost of the profiler's threads while the program launches without pause. */
static void busy(double length)
{
    struct threads_cost before = threads_cost();
    double since = seconds();
    while (seconds() - since < length)
        spin_times(&gpu, 100, 1000);
    print_cost("busy", before, since);
}

/* Launches once after a long pause, and is killed `after` seconds later. `pause` is also in seconds. */
static void killed(double pause, double after)
{
    spin_times(&gpu, 1, 2000);
    usleep((useconds_t)(pause * 1e6));
    spin_times(&gpu, 1, 2000);
    usleep((useconds_t)(after * 1e6));
    kill(getpid(), SIGKILL);
}

/* Does some work, then forbids to open files: from then on, opening a file kills the process. Sandboxes do this to
 * programs that have already opened all files that they need. */
static void no_more_files(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
    spin_times(&gpu, 50, 2000);
    usleep(50000);
    /* The filter applies to all threads of the process (TSYNC), including the profiler's. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        _exit(91);
    spin_times(&gpu, 50, 2000);
    usleep(300000);
    TRY(cuCtxSynchronize());
    kill(getpid(), SIGKILL); /* does not call exit, because the profiler's work at exit is not tested here */
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    double first = argc > 2 ? atof(argv[2]) : 0, second = argc > 3 ? atof(argv[3]) : 0;
    gpu_open(&gpu, 0);
    if (!strcmp(mode, "idle"))
        idle(first, second);
    else if (!strcmp(mode, "busy"))
        busy(first);
    else if (!strcmp(mode, "killed"))
        killed(first, second);
    else if (!strcmp(mode, "no-files"))
        no_more_files();
    else
        return unknown_mode(mode);
    return 0;
}
