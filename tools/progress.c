#include "progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static const int64_t quiet_ns = 500000000, interval_ns = 100000000;

static volatile sig_atomic_t is_shown;

void tool_progress_start(struct tool_progress *progress)
{
    *progress = (struct tool_progress){ .started = isatty(STDERR_FILENO) ? ws_clock_ns() : 0 };
}

/* Is it time to show the progress line (again)? If so, notes that the line is shown. */
static bool progress_is_due(struct tool_progress *progress)
{
    int64_t now = progress->started ? ws_clock_ns() : 0;
    if (now - progress->started < quiet_ns || now - progress->shown < interval_ns)
        return false;
    progress->shown = now;
    is_shown = 1;
    return true;
}

void tool_progress_say(struct tool_progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (total && progress_is_due(progress))
        fprintf(stderr, "\r%s %3.0f %%\033[K", what, 100.0 * (double)done / (double)total);
}

void tool_progress_count(struct tool_progress *progress, const char *what, uint64_t bytes)
{
    if (progress_is_due(progress))
        fprintf(stderr, "\r%s %.0f MB\033[K", what, (double)bytes / 1e6);
}

void tool_progress_show(void *user, uint64_t done, uint64_t total)
{
    tool_progress_say(user, "reading…", done, total);
}

void tool_progress_end(struct tool_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = 0;
    is_shown = 0;
}

void tool_progress_clear(void)
{
    static const char clear[] = "\r\033[K";
    if (is_shown && write(STDERR_FILENO, clear, sizeof(clear) - 1) < 0)
        is_shown = 0;
}
