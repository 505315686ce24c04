/* The command line: what every subcommand is made of. */
#ifndef WALLSHIM_TOOLS_COMMAND_H
#define WALLSHIM_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum tool_status { TOOL_DONE = 0, TOOL_RULE_BROKEN = 1, TOOL_ERROR = 2 };

/* "--name ARGUMENT" or, without an argument, "--name"; also "-l". */
struct tool_switch {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a flag */
    const char *help;
};

enum { TOOL_SWITCHES = 40, TOOL_REPEATED = 100 };

struct tool_arguments {
    const struct tool_command *command;
    const char *values[TOOL_SWITCHES];   /* by place in the switches: NULL not given; flags "" */
    const char *repeated[TOOL_REPEATED]; /* values of the switch that may be repeated, in order */
    size_t repeated_count;
    char **operands; /* what is no switch */
    size_t operand_count;
};

struct tool_command {
    const char *name;
    const char *operands; /* in the usage line: "TRACE…" */
    const char *summary;  /* one line, no full stop */
    const char *text;     /* paragraphs of --help and the manual */
    const struct tool_switch *(*switches)(size_t *count);
    const char *repeats; /* the switch that may be given several times; NULL: none */
    bool passes_on;      /* the first operand ends the switches: the rest is somebody else's command */
    int (*run)(const struct tool_arguments *arguments);
};

extern const struct tool_command *const tool_commands[];
extern const size_t tool_command_count;

extern const struct tool_command tool_record, tool_report, tool_diff, tool_check, tool_info, tool_dump, tool_export,
    tool_import, tool_roofline, tool_calibrate;

/* The value given for a switch, NULL when it was not. */
const char *tool_value(const struct tool_arguments *arguments, const char *name);

/* Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_parse(struct tool_arguments *arguments, const struct tool_command *command, int count, char **words);

void tool_help(const struct tool_command *command, FILE *out);

/* On stderr, where texts of others are shown without what a terminal would act on: as it stands, or one line after
 * "wallshim: ". */
void tool_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* tool_say; returns TOOL_ERROR. */
int tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole number of at most `most`; returns 0, or TOOL_ERROR after a line that names the switch. */
int tool_number(const char *name, const char *text, size_t most, size_t *number);

#endif
