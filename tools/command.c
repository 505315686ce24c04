#include "command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "guess.h"

static void command_put(const char *before, const char *format, va_list arguments, const char *after)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    ws_make_printable(text);
    fprintf(stderr, "%s%s%s", before, text, after);
    free(text);
}

void tool_put(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    command_put("", format, arguments, "");
    va_end(arguments);
}

void tool_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    command_put("wallshim: ", format, arguments, "\n");
    va_end(arguments);
}

int tool_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    command_put("wallshim: ", format, arguments, "\n");
    va_end(arguments);
    return TOOL_ERROR;
}

int tool_number(const char *name, const char *text, size_t most, size_t *number)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value > most)
        return tool_error("--%s %s: give a whole number of at most %zu", name, text, most);
    *number = (size_t)value;
    return 0;
}

const char *tool_value(const struct tool_arguments *arguments, const char *name)
{
    size_t count;
    const struct tool_switch *switches = arguments->command->switches(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(switches[i].name, name))
            return arguments->values[i];
    return NULL;
}

/* Is the word "NAME" or "NAME=VALUE"? Sets *value to the text after '=', if there is one. */
static bool names(const char *name, const char *word, const char **value)
{
    size_t length = strlen(name);
    if (strncmp(word, name, length) || (word[length] && word[length] != '='))
        return false;
    if (word[length])
        *value = word + length + 1;
    return true;
}

/* Is the word this switch, in its long or short form? Sets *value to the text after '=' or after the letter; NULL:
 * there is no such text. */
static bool names_switch(const struct tool_command *command, const struct tool_switch *candidate, const char *word,
                         const char **value)
{
    const char *old_name = command->old_name ? command->old_name(candidate->name) : NULL;
    *value = NULL;
    if (word[1] != '-') {
        *value = word[1] && word[2] ? word + 2 : NULL;
        return candidate->letter && word[1] == candidate->letter;
    }
    return names(candidate->name, word + 2, value) || (old_name && names(old_name, word + 2, value));
}

static int no_such_switch(const struct tool_command *command, const char *word)
{
    size_t count;
    const struct tool_switch *switches = command->switches(&count);
    char name[64], text[80], help[80];
    const char *begin = word + strspn(word, "-");
    struct tool_guess guess = { .typed = name };
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "="), begin);
    for (size_t i = 0; i < count; i++)
        tool_guess_try(&guess, switches[i].name);
    snprintf(help, sizeof(help), "see wallshim %s --help", command->name);
    return tool_error("%s: no such switch; %s", word, tool_guess_text(&guess, "--", help, text, sizeof(text)));
}

/* Reads the switch at words[*at] and its argument. Moves *at to the last word read. */
static int take_switch(struct tool_arguments *arguments, int count, char **words, int *at)
{
    const char *word = words[*at], *value;
    size_t switch_count;
    const struct tool_command *command = arguments->command;
    const struct tool_switch *switches = command->switches(&switch_count);
    for (size_t i = 0; i < switch_count; i++) {
        if (!names_switch(command, &switches[i], word, &value))
            continue;
        if (!switches[i].argument && value)
            return tool_error("--%s takes no argument", switches[i].name);
        if (switches[i].argument && !value) {
            if (*at + 1 >= count)
                return tool_error("%s needs %s; see wallshim %s --help", word, switches[i].argument, command->name);
            value = words[++*at];
        }
        arguments->values[i] = switches[i].argument ? value : "";
        if (arguments->given_count == TOOL_GIVEN)
            return tool_error("more than %d switches", TOOL_GIVEN);
        arguments->given[arguments->given_count].name = switches[i].name;
        arguments->given[arguments->given_count++].value = arguments->values[i];
        if (!command->repeats || strcmp(command->repeats, switches[i].name) != 0)
            return 0;
        if (arguments->repeated_count == TOOL_REPEATED)
            return tool_error("--%s: given more than %d times", command->repeats, TOOL_REPEATED);
        arguments->repeated[arguments->repeated_count++] = value;
        return 0;
    }
    return no_such_switch(command, word);
}

/* Is `word` a switch that takes the next word as its argument? */
static bool takes_next_word(const struct tool_command *command, const char *word)
{
    size_t count;
    const char *value;
    const struct tool_switch *switches = command->switches(&count);
    for (size_t i = 0; i < count && word[0] == '-'; i++)
        if (names_switch(command, &switches[i], word, &value))
            return switches[i].argument && !value;
    return false;
}

bool tool_wants_help(const struct tool_command *command, int count, char **words)
{
    bool is_argument = false;
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h"))
            return true;
        if (!strcmp(words[i], "--") || (command->passes_on && words[i][0] != '-' && !is_argument))
            return false;
        is_argument = !is_argument && takes_next_word(command, words[i]);
    }
    return false;
}

int tool_parse(struct tool_arguments *arguments, const struct tool_command *command, int count, char **words)
{
    *arguments = (struct tool_arguments){ .command = command, .operands = words };
    bool switches = true;
    for (int at = 0; at < count; at++) {
        char *word = words[at];
        if (switches && !strcmp(word, "--")) {
            switches = false;
        } else if (switches && word[0] == '-' && word[1]) {
            int status = take_switch(arguments, count, words, &at);
            if (status)
                return status;
        } else {
            arguments->operands[arguments->operand_count++] = word;
            switches = switches && !command->passes_on;
        }
    }
    arguments->operands[arguments->operand_count] = NULL;
    return 0;
}

/* Prints words from column `indent` on, wrapped at column 80. A newline in the text ends a line. */
static void command_put_wrapped(FILE *out, const char *text, int indent)
{
    int at = indent;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (at > indent && at + 1 + (int)length > 80) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", (int)length, text);
        at += (int)length;
        text += length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        text += *text != 0;
    }
    fputc('\n', out);
}

/* Returns how many terminal columns a UTF-8 text takes, if it has no wide characters. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void tool_help(const struct tool_command *command, FILE *out)
{
    size_t count;
    const struct tool_switch *switches = command->switches(&count);
    fprintf(out, "usage: wallshim %s%s%s%s\n\n", command->name, count ? " [SWITCHES]" : "",
            *command->operands ? " " : "", command->operands);
    command_put_wrapped(out, command->text, 0);
    if (count)
        fputs("\nSwitches:\n", out);
    for (size_t i = 0; i < count; i++) {
        char left[64];
        char letter[8] = "    ";
        if (switches[i].letter)
            snprintf(letter, sizeof(letter), "-%c, ", switches[i].letter);
        snprintf(left, sizeof(left), "  %s--%s%s%s", letter, switches[i].name, switches[i].argument ? " " : "",
                 switches[i].argument ? switches[i].argument : "");
        if (columns_of(left) > 28)
            fprintf(out, "%s\n%*s", left, 30, "");
        else
            fprintf(out, "%s%*s", left, 30 - columns_of(left), "");
        command_put_wrapped(out, switches[i].help, 30);
    }
}
