#include "reading.h"

#include "manifest.h"

static void reading_show_progress(void *user, uint64_t done, uint64_t total)
{
    struct tool_reading *reading = user;
    tool_progress_show(&reading->progress, done, total);
}

static bool leave_out(void *user, size_t index, const char *why)
{
    struct tool_reading *reading = user;
    tool_progress_end(&reading->progress);
    return tool_trace_left_out(reading->traces, index, why);
}

static int read_model(struct tool_reading *reading, struct ws_model **model)
{
    const struct tool_traces *traces = reading->traces;
    char message[512];
    tool_progress_start(&reading->progress);
    if (!ws_model_create(model, (const char *const *)traces->paths, traces->count, &reading->options, message,
                         sizeof(message)))
        return tool_manifest_apply(*model) ? tool_error("out of memory") : 0;
    tool_progress_end(&reading->progress);
    return tool_error("%s", message);
}

int tool_read(struct tool_reading *reading, struct ws_model **model, const struct tool_traces *traces,
              bool references_only)
{
    *reading = (struct tool_reading){ .traces = traces };
    reading->options = (struct ws_model_options){ .progress = reading_show_progress,
                                                  .user = reading,
                                                  .leave_out = leave_out,
                                                  .references_only = references_only,
                                                  .files = (const char *const *)traces->files };
    return read_model(reading, model);
}

int tool_read_windows(struct tool_reading *reading, struct ws_model **model, const struct ws_window *windows,
                      size_t count, bool references_only)
{
    tool_progress_end(&reading->progress);
    reading->options.windows = windows;
    reading->options.window_count = count;
    reading->options.references_only = references_only;
    return read_model(reading, model);
}
