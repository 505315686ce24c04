/* Programs that reach a resource limit of their process (setrlimit), before their first CUDA call or later. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "program.h"

static struct gpu gpu;

static void limit(int resource, rlim_t value)
{
    struct rlimit limits = { value, value };
    if (setrlimit(resource, &limits))
        _exit(91);
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1)
        _exit(92);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void work(int times)
{
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, times, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
}

/* No file may grow beyond 4 KiB. A write beyond this size raises SIGXFSZ, whose default action ends the program. */
static void file_size(void)
{
    limit(RLIMIT_FSIZE, 4096);
    gpu_open(&gpu, 0);
    for (int i = 0; i < 20; i++)
        work(500);
    int file = open("own.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(STDOUT_FILENO, "own write: %zd\n", write(file, "own\n", 4));
    close(file);
}

/* The limit on file sizes is so small that only this program's own output fits. */
static void tiny_files(void)
{
    limit(RLIMIT_FSIZE, 128);
    gpu_open(&gpu, 0);
    work(2000);
}

static void memory(void)
{
    gpu_open(&gpu, 0);
    limit(RLIMIT_AS, address_space() + (1 << 20));
    work(2000);
    void *large = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    dprintf(STDOUT_FILENO, "mmap: %s\n", large == MAP_FAILED ? strerror(errno) : "given");
}

/* The program uses up all descriptors between the creation of the context and the first launch. */
static void descriptors(void)
{
    gpu_open(&gpu, 0);
    limit(RLIMIT_NOFILE, 64);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
    work(2000);
}

/* Returns the value, in KiB, of the line `name` of /proc/self/status. */
static long status(const char *name)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, name, strlen(name)))
            value = atol(line + strlen(name) + 1);
    if (file)
        fclose(file);
    return value;
}

/* The program locks all its memory, before its first CUDA call or after some work. The shim's own memory must not be
 * locked with it, because locked memory is resident. The check's limit on the growth of resident memory includes the
 * driver's memory. */
static void locked(bool early)
{
    enum { DRIVER_KIB = 20 << 10, RECORDER_KIB = 16 << 10 };
    if (early && mlockall(MCL_CURRENT | MCL_FUTURE))
        _exit(91);
    long before = status("VmRSS");
    gpu_open(&gpu, 0);
    work(2000);
    usleep(300000);
    if (!early && mlockall(MCL_CURRENT | MCL_FUTURE))
        _exit(91);
    work(2000);
    long grown = status("VmRSS") - before;
    if (getenv("SHOW"))
        dprintf(STDERR_FILENO, "before %ld KiB, grown by %ld, locked %ld\n", before, grown, status("VmLck"));
    dprintf(STDOUT_FILENO, "resident: %s\n", grown < DRIVER_KIB + RECORDER_KIB ? "in bounds" : "too much");
}

static void *start_work(void *unused)
{
    (void)unused;
    cuCtxSetCurrent(gpu.context);
    return (void *)(intptr_t)spin_times(&gpu, 10, 2000);
}

/* The limit on `resource` is only a little above what the program needs. The program must get its memory and threads
 * as it does without the shim. */
static void little(int resource, size_t now)
{
    enum { MIB = 1 << 20, ROOM = 256, OWN = 80, THREADS = 4 };
    pthread_attr_t attributes;
    pthread_t thread;
    size_t had = 0, started = 0;
    limit(resource, now + (size_t)ROOM * MIB);
    gpu_open(&gpu, 0);
    work(2000);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, MIB);
    /* Runs one thread at a time, because the C library may create a heap (malloc arena) for each thread that runs at
     * the same time. */
    for (size_t i = 0; i < THREADS; i++)
        if (!pthread_create(&thread, &attributes, start_work, NULL)) {
            pthread_join(thread, NULL);
            started++;
        }
    for (; mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; had++)
        ;
    if (getenv("SHOW"))
        dprintf(STDERR_FILENO, "%zu MiB to be had\n", had);
    dprintf(STDOUT_FILENO, "threads: %zu, memory: %s\n", started, had >= OWN ? "enough" : "too little");
}

/* The limit on address space leaves no room for another thread's stack when CUDA is first used, but plenty of room
 * later. */
static void no_thread(void)
{
    enum { ROOM = 700 << 10 };
    MUST(cuInit(0));
    size_t before = address_space();
    struct rlimit limits = { before + ROOM, RLIM_INFINITY };
    if (setrlimit(RLIMIT_AS, &limits))
        _exit(91);
    gpu_open(&gpu, 0);
    work(2000);
    limits.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_AS, &limits))
        _exit(91);
    work(2000);
    if (getenv("SHOW"))
        dprintf(STDERR_FILENO, "%zu KiB more\n", (address_space() - before) >> 10);
    dprintf(STDOUT_FILENO, "taken: %s\n", address_space() - before <= ROOM ? "no more than there was" : "more");
}

static void close_all(void)
{
    for (int i = 3; i < 1024; i++)
        close(i);
}

static void write_own(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 50; i++) {
        if (write(file, "0123456789abcdef0123456789abcdef\n", 33) != 33)
            _exit(93);
        spin_times(&gpu, 100, 2000);
        if (i % 10 == 0)
            usleep(100000);
    }
    close(file);
}

/* Closes every descriptor that the program has not opened itself, as daemons do, and writes a file. The shim must
 * write nothing into this file. */
static void closed_descriptors(void)
{
    gpu_open(&gpu, 0);
    work(2000);
    usleep(300000);
    close_all();
    write_own("own.txt");
    work(100);
}

static void closed_before(void)
{
    close_all();
    gpu_open(&gpu, 0);
    write_own("own.txt");
    work(100);
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "file-size"))
        file_size();
    else if (!strcmp(mode, "tiny-files"))
        tiny_files();
    else if (!strcmp(mode, "memory"))
        memory();
    else if (!strcmp(mode, "descriptors"))
        descriptors();
    else if (!strcmp(mode, "locked") || !strcmp(mode, "locked-later"))
        locked(!mode[strlen("locked")]);
    else if (!strcmp(mode, "no-thread"))
        no_thread();
    else if (!strcmp(mode, "address-space"))
        little(RLIMIT_AS, address_space());
    else if (!strcmp(mode, "data"))
        little(RLIMIT_DATA, (size_t)status("VmData") << 10);
    else if (!strcmp(mode, "closed-descriptors"))
        closed_descriptors();
    else if (!strcmp(mode, "closed-before"))
        closed_before();
    else
        return unknown_mode(mode);
    return 0;
}
