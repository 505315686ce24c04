#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static const int64_t quiet_ns = 500000000, interval_ns = 100000000;

void tool_progress_start(struct tool_progress *progress)
{
    *progress = (struct tool_progress){ .started = isatty(STDERR_FILENO) ? ws_clock_ns() : 0 };
}

void tool_progress_say(struct tool_progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (!progress->started || !total)
        return;
    int64_t now = ws_clock_ns();
    if (now - progress->started < quiet_ns || now - progress->shown < interval_ns)
        return;
    progress->shown = now;
    fprintf(stderr, "\r%s %3.0f %%\033[K", what, 100.0 * (double)done / (double)total);
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
}
