#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/analysis.h"

/* Writes " from 1.25 s". The time has more digits than other times of a report, because the user may pass it to the
 * command as the begin or end of another window. */
static void put_edge(char text[WS_WINDOW_TEXT], const char *word, int64_t ns)
{
    double value = fabs((double)ns);
    size_t used = strlen(text);
    snprintf(text + used, WS_WINDOW_TEXT - used, " %s %s%.9g %s", word, ns < 0 ? "−" : "",
             value < 1e6   ? value / 1e3
             : value < 1e9 ? value / 1e6
                           : value / 1e9,
             value < 1e6   ? "µs"
             : value < 1e9 ? "ms"
                           : "s");
}

const char *ws_report_window_text(const struct ws_report_window *window, char text[WS_WINDOW_TEXT])
{
    *text = 0;
    if (!window)
        return text;
    snprintf(text, WS_WINDOW_TEXT, "launched");
    if (window->begin != INT64_MIN)
        put_edge(text, "from", window->begin);
    if (window->end != INT64_MAX)
        put_edge(text, window->begin != INT64_MIN ? "to" : "before", window->end);
    else
        snprintf(text + strlen(text), WS_WINDOW_TEXT - strlen(text), " on");
    size_t used = strlen(text);
    if (window->by_steps && window->first_step == window->last_step)
        snprintf(text + used, WS_WINDOW_TEXT - used, " (step %llu)", (unsigned long long)window->first_step);
    else if (window->by_steps)
        snprintf(text + used, WS_WINDOW_TEXT - used, " (steps %llu to %llu)", (unsigned long long)window->first_step,
                 (unsigned long long)window->last_step);
    return text;
}

void ws_report_print_window(const struct ws_report *report, struct ws_page *page)
{
    char text[WS_WINDOW_TEXT];
    if (report->window)
        ws_page_text(page, "Only a window of the recording: what was %s.",
                     ws_report_window_text(report->window, text));
}

json_t *ws_report_window_json(const struct ws_report_window *window)
{
    json_t *object = json_object();
    int status = object ? 0 : -1;
    if (window->begin != INT64_MIN)
        status |= ws_json_set(object, "begin_ns", window->begin);
    if (window->end != INT64_MAX)
        status |= ws_json_set(object, "end_ns", window->end);
    if (window->by_steps) {
        status |= ws_json_set(object, "first_step", (int64_t)(window->first_step & INT64_MAX));
        status |= ws_json_set(object, "last_step", (int64_t)(window->last_step & INT64_MAX));
    }
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}
