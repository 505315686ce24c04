/* The switches that choose a window (the only part of a recording that is read): --from, --to, and --steps with
 * numbers. */
#ifndef WALLSHIM_TOOLS_WINDOW_H
#define WALLSHIM_TOOLS_WINDOW_H

#include "analysis/windows.h"
#include "command.h"
#include "reading.h"

struct tool_window {
    enum ws_steps_choice steps;       /* where steps come from: the word given to --steps; without a word, auto */
    bool asked;                       /* the user asked for a window; false: the whole recording is read */
    struct ws_window_request request; /* the window, if `asked` is true */
    char text[96];                    /* the switches as given, for messages */
};

/* Reads these switches into *window. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_window_init(struct tool_window *window, const struct tool_arguments *arguments);

/* Does nothing if the user asked for no window. At the call, *model holds the whole recording. Finds the window in
 * this recording, and replaces *model by a model of the window alone. Call ws_windows_finish after the model is
 * destroyed. Returns 0, or TOOL_ERROR after a line on stderr; *model may then be NULL. */
int tool_window_apply(const struct tool_window *window, struct tool_reading *reading, struct ws_model **model,
                      struct ws_windows *windows, const struct ws_report_options *options, bool references_only);

#define TOOL_WINDOW_SWITCHES                                                                                    \
    { "steps", 0, "WHICH",                                                                                      \
      "where steps come from: markers of the program (marked), the order of operations (found), markers where " \
      "there are any (auto, the default), or none. Or only the steps with these numbers: A-B, A-, -B or A. A "  \
      "word and numbers may be given in two --steps" },                                                         \
        { "from", 0, "TIME",                                                                                    \
          "read only what was launched from TIME on, such as 500ms, 2s or 1.5; counted from the begin of the "  \
          "first operation on a device. Calls and operations count where the host made the call, also if they " \
          "run later" },                                                                                        \
    {                                                                                                           \
        "to", 0, "TIME", "read only what was launched before TIME"                                              \
    }

#endif
