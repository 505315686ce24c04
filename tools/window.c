#include "window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/options.h"

/* Reads the value of a --steps that is a word (auto, marked, found or none). Returns false if the text is none of
 * these words. */
static bool read_word(const char *text, enum ws_steps_choice *choice)
{
    static const char *const names[] = { [WS_STEPS_AUTO] = "auto",
                                         [WS_STEPS_ONLY_MARKED] = "marked",
                                         [WS_STEPS_ONLY_FOUND] = "found",
                                         [WS_STEPS_NOT_ASKED] = "none" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(text, names[i])) {
            *choice = (enum ws_steps_choice)i;
            return true;
        }
    }
    return false;
}

/* Reads the number at *at, if there is one, and moves *at past the number. Returns false if the number is too
 * large. */
static bool read_step(const char **at, uint64_t *number)
{
    char *end;
    if (**at < '0' || **at > '9')
        return true;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return !errno;
}

/* Reads numbers of steps: A-B, A-, -B or A. */
static bool read_steps(const char *text, struct ws_window_request *request)
{
    const char *at = text;
    request->by_steps = true;
    request->first_step = 0;
    request->last_step = UINT64_MAX;
    if (!strcmp(text, "-") || !read_step(&at, &request->first_step))
        return false;
    if (!*at && at != text)
        request->last_step = request->first_step;
    else if (*at++ != '-' || !read_step(&at, &request->last_step))
        return false;
    return !*at && request->first_step <= request->last_step;
}

/* Reads the values of all --steps: at most one word, and at most one range of numbers. */
static int take_steps(struct tool_window *window, const struct tool_arguments *arguments)
{
    bool has_word = false;
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *text = arguments->given[i].value;
        if (strcmp(arguments->given[i].name, "steps") != 0)
            continue;
        if (!has_word && read_word(text, &window->steps))
            has_word = true;
        else if (!window->asked && read_steps(text, &window->request))
            window->asked = true;
        else
            return tool_error(
                "--steps %s: give auto, marked, found or none; or numbers, as 3-5, 3-, -5 or 3; each once", text);
        if (window->asked && !*window->text)
            snprintf(window->text, sizeof(window->text), "--steps %s", text);
    }
    if (window->asked && window->steps == WS_STEPS_NOT_ASKED)
        return tool_error("%s: there are no steps to choose from with --steps none", window->text);
    return 0;
}

/* Reads --from or --to. Returns 0, or TOOL_ERROR after a line on stderr. */
static int take_time(struct tool_window *window, const struct tool_arguments *arguments, const char *name,
                     int64_t *time)
{
    const char *text = tool_value(arguments, name);
    size_t used = strlen(window->text);
    uint64_t ns;
    if (!text)
        return 0;
    if (ws_parse_duration(text, &ns) || ns > (uint64_t)WS_TIME_MOST)
        return tool_error("--%s %s: give a time, such as 500ms, 2s or 1.5 (seconds)", name, text);
    if (window->request.by_steps)
        return tool_error("--%s %s: give either a time or numbers of steps", name, text);
    snprintf(window->text + used, sizeof(window->text) - used, "%s--%s %s", used ? " " : "", name, text);
    window->asked = true;
    *time = (int64_t)ns;
    return 0;
}

int tool_window_init(struct tool_window *window, const struct tool_arguments *arguments)
{
    *window = (struct tool_window){ .request = { .from = INT64_MIN, .to = INT64_MAX } };
    struct ws_window_request *request = &window->request;
    int status = take_steps(window, arguments);
    status = status ? status : take_time(window, arguments, "from", &request->from);
    status = status ? status : take_time(window, arguments, "to", &request->to);
    if (!status && request->from >= request->to)
        return tool_error("%s: ends before it begins", window->text);
    if (request->from == 0) /* time 0 is the start of the first operation, but its launch call was earlier */
        request->from = INT64_MIN;
    return status;
}

int tool_window_apply(const struct tool_window *window, struct tool_reading *reading, struct ws_model **model,
                      struct ws_windows *windows, const struct ws_report_options *options, bool references_only)
{
    struct ws_report *whole;
    char message[512];
    if (!window->asked)
        return 0;
    tool_progress_end(&reading->progress); /* removes the progress line, because an error may follow on stderr */
    int status = ws_report_create(&whole, *model, &ws_window_analyses, options);
    if (status)
        return tool_error("out of memory");
    status = ws_windows_init(windows, whole, &window->request, message, sizeof(message));
    ws_report_destroy(whole);
    ws_model_destroy(*model);
    *model = NULL;
    if (status)
        return tool_error("%s: %s: %s", reading->traces->paths[0], window->text, message);
    return tool_read_windows(reading, model, windows->list, windows->count, references_only);
}
