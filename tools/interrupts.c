#include "interrupts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGXCPU, SIGPIPE };

enum { COUNT = sizeof(signals) / sizeof(signals[0]) };

/* The signal handler reads these paths. Other code changes the paths only while the handler's signals are blocked. */
static char file[PATH_MAX], folder[PATH_MAX], scratch[PATH_MAX];
static unsigned scratch_count;

/* Removes the folder of temporary files, with its files. Does not use stdio, because a signal handler must not. */
static void remove_scratch(void)
{
    size_t length = strlen(scratch);
    for (unsigned i = 0; i < scratch_count && length + 16 < PATH_MAX; i++) {
        char digits[16], *at = digits + sizeof(digits) - 1;
        unsigned number = i;
        *at = 0;
        do
            *--at = (char)('0' + number % 10);
        while (number /= 10);
        scratch[length] = '/';
        memcpy(scratch + length + 1, at, strlen(at) + 1);
        unlink(scratch);
        scratch[length] = 0;
    }
    rmdir(scratch);
}

static void interrupts_end(int number)
{
    sigset_t this_one;
    if (*file)
        unlink(file);
    if (*folder)
        rmdir(folder);
    if (*scratch)
        remove_scratch();
    tool_progress_clear();
    signal(number, SIG_DFL);
    sigemptyset(&this_one);
    sigaddset(&this_one, number);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &this_one, NULL);
}

static void interrupts_fill(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < COUNT; i++)
        sigaddset(set, signals[i]);
}

void tool_interrupts_start(void)
{
    struct sigaction action = { .sa_handler = interrupts_end, .sa_flags = SA_RESTART }, before;
    interrupts_fill(&action.sa_mask);
    for (size_t i = 0; i < COUNT; i++)
        if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
}

void tool_interrupts_hold(sigset_t *before)
{
    sigset_t held;
    interrupts_fill(&held);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void tool_interrupts_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void interrupts_keep(char place[PATH_MAX], const char *path)
{
    sigset_t before;
    tool_interrupts_hold(&before);
    int size = snprintf(place, PATH_MAX, "%s", path ? path : "");
    if (size >= PATH_MAX) /* a path that is cut off could be the path of another file */
        *place = 0;
    tool_interrupts_release(&before);
}

void tool_interrupts_file(const char *path)
{
    interrupts_keep(file, path);
}

void tool_interrupts_folder(const char *path)
{
    interrupts_keep(folder, path);
}

void tool_interrupts_scratch(const char *path, unsigned count)
{
    sigset_t before;
    tool_interrupts_hold(&before);
    interrupts_keep(scratch, path);
    scratch_count = count;
    tool_interrupts_release(&before);
}
