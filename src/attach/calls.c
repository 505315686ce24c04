#include "attach/calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALL_EPOLL_PWAIT2 = 441 };

static bool is_one_of(long number, const long *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}
#define IS_ONE_OF(number, numbers) is_one_of(number, numbers, sizeof(numbers) / sizeof((numbers)[0]))

/* The list holds system calls that read, write or wait, and some that do almost nothing (getpid, clock_gettime …).
 * Calls that malloc, the loader and pthread functions make while they hold locks are left out (mmap, munmap, brk,
 * madvise, mprotect, openat, clone). These functions also call futex, which is in the list. If a thread is in a futex
 * call of one of these functions, ws_is_safe finds the function's address on the stack. */
bool ws_is_harmless_call(long number)
{
    static const long numbers[] = {
        SYS_read,     SYS_write,           SYS_readv,           SYS_writev,   SYS_pread64,       SYS_pwrite64,
        SYS_poll,     SYS_ppoll,           SYS_select,          SYS_pselect6, SYS_epoll_wait,    SYS_epoll_pwait,
        SYS_recvfrom, SYS_recvmsg,         SYS_sendto,          SYS_sendmsg,  SYS_accept,        SYS_accept4,
        SYS_ioctl,    SYS_nanosleep,       SYS_clock_nanosleep, SYS_futex,    SYS_sched_yield,   SYS_getpid,
        SYS_gettid,   SYS_rt_sigtimedwait, SYS_restart_syscall, SYS_wait4,    SYS_clock_gettime, SYS_gettimeofday,
        SYS_getppid,  SYS_recvmmsg,        SYS_sendmmsg,
    };
    return IS_ONE_OF(number, numbers);
}

static bool is_in_disk_sleep(int pid, int thread)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, thread);
    FILE *file = fopen(path, "re");
    const char *after_name = file && fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    bool sleeps = after_name && !strncmp(after_name, ") D", 3);
    if (file)
        fclose(file);
    return sleeps;
}

/* Reads /proc/PID/task/THREAD/syscall, which begins with the number of the system call, or with a word if the thread
 * is in none. Returns 0 or -errno. */
static int read_call(int pid, int thread, char text[32])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, 31);
    int error = size < 0 ? -errno : 0;
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = 0;
    return error;
}

static bool is_harmless_text(int pid, int thread, const char *text)
{
    return *text >= '0' && *text <= '9' && ws_is_harmless_call(atol(text)) && !is_in_disk_sleep(pid, thread);
}

bool ws_is_in_harmless_call(int pid, int thread)
{
    char text[32];
    return !read_call(pid, thread, text) && is_harmless_text(pid, thread, text);
}

int ws_any_is_in_harmless_call(int pid)
{
    char path[64], text[32];
    int found = -EPERM;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && found != 1 && (entry = readdir(folder));) {
        int thread = atoi(entry->d_name);
        if (thread > 0 && !read_call(pid, thread, text))
            found = is_harmless_text(pid, thread, text);
    }
    if (folder)
        closedir(folder);
    return found;
}

bool ws_answers_interrupted(long number)
{
    static const long numbers[] = { SYS_epoll_wait, SYS_epoll_pwait,  SYS_rt_sigtimedwait, SYS_semop,
                                    SYS_semtimedop, SYS_io_getevents, SYS_io_pgetevents,   SYS_msgrcv,
                                    SYS_msgsnd,     SYS_recvfrom,     SYS_recvmsg,         SYS_recvmmsg,
                                    SYS_sendto,     SYS_sendmsg,      SYS_sendmmsg,        SYS_accept,
                                    SYS_accept4,    SYS_read,         SYS_readv,           SYS_write,
                                    SYS_writev,     CALL_EPOLL_PWAIT2 };
    return IS_ONE_OF(number, numbers);
}

bool ws_has_own_mask(long number)
{
    static const long numbers[] = { SYS_ppoll,         SYS_pselect6,      SYS_epoll_pwait,
                                    SYS_io_pgetevents, CALL_EPOLL_PWAIT2, SYS_rt_sigsuspend };
    return IS_ONE_OF(number, numbers);
}
