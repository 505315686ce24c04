/* A program to which `wallshim attach` cannot attach. It prints "ready", and waits until its standard input ends.
 *
 * - attachable: nothing hinders; the test changes its limits, or what attaching needs
 * - attachable seccomp, undumpable: it has a seccomp filter, or other processes may not trace it
 * - attachable busy: its only thread makes no system call
 * - attachable within LIBRARY: its only thread is in the loader, because LIBRARY's constructor waits
 *   (libraries/hindering.c)
 * - attachable loads LIBRARY: another thread is there, and holds the loader's lock until standard input ends
 * - attachable vfork: a thread is in vfork until standard input ends, and cannot be stopped
 * - attachable load FILE: it has loaded the library FILE
 * - attachable map FILE: it has mapped FILE, which is not a library
 * - attachable memory FILE: it has loaded FILE from a memory file, as attach loads the shim
 * - attachable_static: it is a static program (built with STATIC), without the driver */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef STATIC
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>

#include "program.h"
#endif

/* Installs a seccomp filter that allows everything. Another process sees only that there is a filter, not what it
 * allows. */
static int filter(void)
{
    struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
    struct sock_fprog program = { 1, &allow };
    return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) || prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program);
}

static void say_ready(void)
{
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        _exit(1);
}

static void wait_for_end(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

#ifndef STATIC
static void *load_main(void *path)
{
    if (!dlopen(path, RTLD_NOW))
        exit(1);
    return NULL;
}

/* vfork's child shares the memory of this thread, which does not run until the child has ended. */
static void *vfork_main(void *unused)
{
    (void)unused;
    if (!vfork()) {
        say_ready();
        wait_for_end();
        _exit(0);
    }
    return NULL;
}

/* Keeps the program alive after its standard input has ended. */
static void rest_beside(void *(*thread_main)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, argument))
        exit(1);
    for (;;)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void load_from_memory(const char *library)
{
    char path[64];
    int from = open(library, O_RDONLY), file = memfd_create("wallshim", 0);
    if (from < 0 || file < 0 || sendfile(file, from, NULL, 1 << 30) <= 0)
        exit(1);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    load_main(path);
}

static void map_file(const char *path)
{
    int file = open(path, O_RDONLY);
    if (file < 0 || mmap(NULL, (size_t)lseek(file, 0, SEEK_END), PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)
        exit(1);
}

static void hinder(const char *mode, char *library)
{
    if (!strcmp(mode, "busy")) {
        say_ready();
        for (volatile unsigned turn = 0;; turn++)
            ;
    }
    if (!strcmp(mode, "within") || !strcmp(mode, "load"))
        load_main(library);
    else if (!strcmp(mode, "loads"))
        rest_beside(load_main, library);
    else if (!strcmp(mode, "vfork"))
        rest_beside(vfork_main, NULL);
    else if (!strcmp(mode, "map"))
        map_file(library);
    else if (!strcmp(mode, "memory"))
        load_from_memory(library);
}
#endif

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
#ifndef STATIC
    int version;
    cuDriverGetVersion(&version);
    hinder(mode, argv[argc - 1]);
#endif
    if (!strcmp(mode, "seccomp") && filter())
        return 1;
    if (!strcmp(mode, "undumpable") && prctl(PR_SET_DUMPABLE, 0L))
        return 1;
    say_ready();
    wait_for_end();
    return 0;
}
