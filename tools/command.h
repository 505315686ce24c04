/* The command line, and the structure of a subcommand. */
#ifndef WALLSHIM_TOOLS_COMMAND_H
#define WALLSHIM_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum tool_status { TOOL_DONE = 0, TOOL_RULE_BROKEN = 1, TOOL_ERROR = 2 };

/* A switch of the command line: "--name ARGUMENT", or "--name" without an argument. It may have a short form, such as
 * "-l". */
struct tool_switch {
    const char *name;
    char letter;          /* letter of the short form, such as -l; 0: there is no short form */
    const char *argument; /* name of the argument in --help; NULL: the switch is a flag, without an argument */
    const char *help;
};

enum { TOOL_SWITCHES = 40, TOOL_REPEATED = 100, TOOL_GIVEN = 200 };

struct tool_arguments {
    const struct tool_command *command;
    /* Value of each switch, by its index in the command's list `switches`. NULL: the switch was not given. "": the
     * switch is a flag and was given. */
    const char *values[TOOL_SWITCHES];
    const char *repeated[TOOL_REPEATED]; /* values of the switch that may be repeated, in order */
    size_t repeated_count;
    struct {
        const char *name, *value;
    } given[TOOL_GIVEN]; /* all switches on the command line, in order */
    size_t given_count;
    char **operands; /* words that are not switches */
    size_t operand_count;
};

struct tool_command {
    const char *name;
    const char *operands; /* the operands, as the usage line shows them: "TRACE…" */
    const char *summary;  /* one line without a full stop */
    const char *text;     /* paragraphs of --help and the manual */
    const struct tool_switch *(*switches)(size_t *count);
    /* returns the former name of a switch, or NULL if the switch has none; NULL: no switch has a former name */
    const char *(*old_name)(const char *name);
    const char *repeats; /* name of the switch that may be repeated; NULL: none */
    bool passes_on;      /* switches end at the first operand; the rest is the command to run */
    int (*run)(const struct tool_arguments *arguments);
};

extern const struct tool_command *const tool_commands[];
extern const size_t tool_command_count;

extern const struct tool_command tool_record, tool_attach, tool_detach, tool_doctor, tool_report, tool_diff,
    tool_check, tool_info, tool_dump, tool_export, tool_import, tool_roofline, tool_calibrate, tool_ctl;

/* Returns the value of the switch with this name; NULL: the switch was not given. */
const char *tool_value(const struct tool_arguments *arguments, const char *name);

/* Reads the words of a command line into *arguments. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_parse(struct tool_arguments *arguments, const struct tool_command *command, int count, char **words);

/* Does the command line ask for help? Words after "--", or after the first word of a command to run, do not count. */
bool tool_wants_help(const struct tool_command *command, int count, char **words);

void tool_help(const struct tool_command *command, FILE *out);

/* tool_put prints the text on stderr. tool_say prints a line on stderr that begins with "wallshim: ". Both turn
 * characters that are not printable into '?'. */
void tool_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints like tool_say. Returns TOOL_ERROR. */
int tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Converts the text to a whole number of at most `most`. Returns 0, or TOOL_ERROR after a line on stderr that names
 * the switch. */
int tool_number(const char *name, const char *text, size_t most, size_t *number);

#endif
