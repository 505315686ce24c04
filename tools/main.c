#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "guess.h"
#include "interrupts.h"

static void help(FILE *out)
{
    fputs("usage: wallshim COMMAND …\n\n"
          "Says which wall a CUDA program hits (compute, memory bandwidth, communication or\n"
          "overhead): what the GPUs did, when they had nothing to do, and what they waited for.\n\nCommands:\n",
          out);
    for (size_t i = 0; i < tool_command_count; i++)
        fprintf(out, "  %-10s %s\n", tool_commands[i]->name, tool_commands[i]->summary);
    fputs("\nSee also: wallshim COMMAND --help, wallshim --version, man wallshim.\n"
          "Exit status: 0 done; 1 a rule of check does not hold, or diff found a regression;\n"
          "2 wrong usage, or input that is unreadable or so far cut that it gives no verdict.\n"
          "record exits with the command's own status.\n",
          out);
}

static int no_such_command(const char *word)
{
    struct tool_guess guess = { .typed = word };
    char text[80];
    for (size_t i = 0; i < tool_command_count; i++)
        tool_guess_try(&guess, tool_commands[i]->name);
    if (!guess.best && !access(word, F_OK))
        return tool_error("%s: no such command; to read this file: wallshim report %s", word, word);
    return tool_error("%s: no such command; %s", word,
                      tool_guess_text(&guess, "", "see wallshim --help", text, sizeof(text)));
}

int main(int count, char **words)
{
    static char help_switch[] = "--help";
    struct tool_arguments arguments;
    if (count < 2) {
        help(stderr);
        return TOOL_ERROR;
    }
    if (!strcmp(words[1], "help") && count > 2) { /* help COMMAND means COMMAND --help */
        words[1] = words[2];
        words[2] = help_switch;
    }
    if (!strcmp(words[1], "--help") || !strcmp(words[1], "-h") || !strcmp(words[1], "help")) {
        help(stdout);
        return TOOL_DONE;
    }
    if (!strcmp(words[1], "--version")) {
        puts("wallshim " WS_VERSION);
        return TOOL_DONE;
    }
    for (size_t i = 0; i < tool_command_count; i++) {
        const struct tool_command *command = tool_commands[i];
        if (strcmp(words[1], command->name))
            continue;
        if (tool_wants_help(command, count - 2, words + 2)) {
            tool_help(command, stdout);
            return TOOL_DONE;
        }
        int status = tool_parse(&arguments, command, count - 2, words + 2);
        if (!command->passes_on) /* `record` runs another command and passes signals on to it */
            tool_interrupts_start();
        if (!status)
            status = command->run(&arguments);
        if (fflush(stdout) || ferror(stdout))
            status = status ? status : tool_error("standard output: cannot write everything");
        return status;
    }
    return no_such_command(words[1]);
}
