/* Writes the manual page and the shells' completions from the tables that define the command itself, so that the
 * manual and the command cannot disagree: make_manual man|bash|zsh >FILE */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "wire/options.h"

/* --- the manual page --------------------------------------------------------------------------- */

/* Prints the text for roff: escapes what roff would interpret, and begins a new paragraph at each newline. */
static void put_roff(const char *text)
{
    bool line_begins = true;
    for (; *text; text++) {
        if (line_begins && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        line_begins = *text == '\n';
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\n')
            fputs("\n.PP\n", stdout);
        else
            putchar(*text);
    }
}

static void put_switch(const struct tool_switch *one)
{
    fputs(".TP\n", stdout);
    if (one->letter)
        printf("\\fB\\-%c\\fR, ", one->letter);
    fputs("\\fB\\-\\-", stdout);
    put_roff(one->name);
    fputs("\\fR", stdout);
    if (one->argument) {
        fputs(" \\fI", stdout);
        put_roff(one->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_roff(one->help);
    putchar('\n');
}

static void put_command(const struct tool_command *command)
{
    size_t count;
    const struct tool_switch *switches = command->switches(&count);
    fputs(".SS \"wallshim ", stdout);
    put_roff(command->name);
    printf("%s ", count ? " [SWITCHES]" : "");
    put_roff(command->operands);
    fputs("\"\n", stdout);
    put_roff(command->text);
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        put_switch(&switches[i]);
}

static void put_environment(void)
{
    fputs(".SH ENVIRONMENT\nThe library reads these; \\fBwallshim record\\fR sets them from its switches.\n", stdout);
    for (size_t i = 0; i < ws_option_count; i++) {
        const struct ws_option_info *info = &ws_option_table[i];
        printf(".TP\n\\fB%s\\fR=\\fI", info->variable);
        put_roff(info->argument);
        fputs("\\fR\n", stdout);
        put_roff(info->help);
        if (*info->fallback) {
            fputs(" (default: ", stdout);
            put_roff(info->fallback);
            if (*info->least && *info->most)
                printf("; %s to %s", info->least, info->most);
            putchar(')');
        }
        putchar('\n');
    }
    fputs(".TP\n\\fBWALLSHIM_LIBRARY\\fR=\\fIPATH\\fR\nwhere \\fBwallshim record\\fR finds libwallshim.so, if not "
          "beside "
          "the program\n"
          ".TP\n\\fBCOLUMNS\\fR\nwidth of reports\n"
          ".TP\n\\fBTMPDIR\\fR\nfolder for copies of pipes and unpacked files (default: /tmp)\n"
          ".TP\n\\fBNO_COLOR\\fR\nset to anything: reports have no colour\n",
          stdout);
}

static void put_manual(const char *version)
{
    printf(".TH WALLSHIM 1 \"\" \"wallshim %s\" \"User Commands\"\n", version);
    fputs(".SH NAME\nwallshim \\- say which wall a CUDA program hits: compute, memory bandwidth, communication or "
          "overhead\n.SH SYNOPSIS\n",
          stdout);
    for (size_t i = 0; i < tool_command_count; i++) {
        size_t count;
        tool_commands[i]->switches(&count);
        printf("%s\\fBwallshim %s\\fR%s ", i ? ".br\n" : "", tool_commands[i]->name,
               count ? " [\\fISWITCHES\\fR]" : "");
        put_roff(tool_commands[i]->operands);
        putchar('\n');
    }
    fputs(".br\n\\fBLD_PRELOAD=\\fR\\fI/path/\\fR\\fBlibwallshim.so\\fR \\fICOMMAND\\fR…\n"
          ".SH DESCRIPTION\nThe library libwallshim.so is preloaded into an unmodified CUDA program. It records what "
          "the "
          "program asks of its GPUs, and when that ran. The command wallshim runs programs with the library and "
          "reports on the recordings. Neither needs root or the CUDA toolkit.\n.SH COMMANDS\n",
          stdout);
    for (size_t i = 0; i < tool_command_count; i++)
        put_command(tool_commands[i]);
    fputs(".PP\nEvery command has \\fB\\-\\-help\\fR. \\fBwallshim \\-\\-version\\fR prints the version.\n", stdout);
    put_environment();
    fputs(
        ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\na rule of \\fBwallshim check\\fR does not "
        "hold, or \\fBwallshim diff \\-\\-fail\\-on\\-regression\\fR found one\n.TP\n2\nwrong usage, unreadable "
        "input, or a cut trace of which too little is left for a verdict; standard error says "
        "which\n.PP\n\\fBwallshim record\\fR exits with the command's own status, or with 128 + N when signal N "
        "ended "
        "it, 127 when there is no such command, 126 when it cannot be run.\n"
        ".SH EXAMPLES\n.nf\nwallshim record \\-\\- python train.py\nwallshim report\n"
        "wallshim report \\-\\-json train\\-4242.wst\n"
        "wallshim diff before.wst after.wst\n"
        "wallshim report trace.json.gz\n"
        "wallshim report ranks.tar.gz\n"
        "ssh host cat trace.json.zst | wallshim report \\-\n"
        "wallshim import ranks/ \\-o job\n"
        "wallshim check \\-\\-rule 'busy >= 80 %' \\-\\-rule 'step_time.p95 < 45 ms' train\\-4242.wst\n"
        "wallshim export \\-\\-format chrome train\\-4242.wst \\-o train.json\n"
        "wallshim calibrate\nwallshim report \\-\\-gpu calibrated train\\-4242.wst\n.fi\n"
        ".SH FILES\n.TP\n\\fINAME\\fR.wst\nthe trace of one process; a folder of traces can be a job of several "
        "processes\n"
        ".TP\n\\fINAME\\fR.json, \\fINAME\\fR.json.gz\na trace of the PyTorch profiler (Kineto)\n"
        ".TP\n\\fINAME\\fR.pftrace\nthe same as a Perfetto trace\n"
        ".TP\n$TMPDIR/wallshim\\-*, /tmp/wallshim\\-*\ncopies of pipes and unpacked files while a command runs\n"
        ".TP\n\\fINAME\\fR.sqlite\nan export of Nsight Systems: nsys export \\-\\-type sqlite\n"
        ".TP\n$XDG_DATA_HOME/wallshim/gpus, ~/.local/share/wallshim/gpus\nwhat \\fBwallshim calibrate\\fR measured, "
        "a file for each GPU\n",
        stdout);
}

/* --- completions ------------------------------------------------------------------------------- */

static void put_words(const struct tool_command *command)
{
    size_t count;
    const struct tool_switch *switches = command->switches(&count);
    for (size_t i = 0; i < count; i++) {
        printf("--%s ", switches[i].name);
        if (switches[i].letter)
            printf("-%c ", switches[i].letter);
    }
    fputs("--help", stdout);
}

static void put_bash(void)
{
    fputs("# bash completion for wallshim\n_wallshim() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} words\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"",
          stdout);
    for (size_t i = 0; i < tool_command_count; i++)
        printf("%s ", tool_commands[i]->name);
    fputs("--help --version\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n", stdout);
    for (size_t i = 0; i < tool_command_count; i++) {
        printf("    %s) words=\"", tool_commands[i]->name);
        put_words(tool_commands[i]);
        fputs("\" ;;\n", stdout);
    }
    fputs("    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
          "    *) [ \"${COMP_WORDS[1]}\" = record ] && COMPREPLY=($(compgen -c -- \"$word\"))\n"
          "       COMPREPLY+=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
          "complete -o filenames -F _wallshim wallshim\n",
          stdout);
}

/* Prints the text for zsh's function _arguments: with spaces in place of the characters that _arguments
 * interprets. */
static void put_zsh_text(const char *text)
{
    for (; *text; text++)
        putchar(strchr("[]:'\"\\", *text) ? ' ' : *text);
}

static void put_zsh(void)
{
    fputs("#compdef wallshim\nlocal -a commands\ncommands=(\n", stdout);
    for (size_t i = 0; i < tool_command_count; i++) {
        printf("    '%s:", tool_commands[i]->name);
        put_zsh_text(tool_commands[i]->summary);
        fputs("'\n", stdout);
    }
    fputs(")\nif (( CURRENT == 2 )); then\n    _describe command commands\n    return\nfi\n"
          "local command=$words[2]\nshift words\n(( CURRENT-- ))\ncase $command in\n",
          stdout);
    for (size_t i = 0; i < tool_command_count; i++) {
        size_t count;
        const struct tool_switch *switches = tool_commands[i]->switches(&count);
        printf("%s)\n    _arguments \\\n", tool_commands[i]->name);
        for (size_t j = 0; j < count; j++) {
            printf("        '--%s[", switches[j].name);
            put_zsh_text(switches[j].help);
            fputs("]", stdout);
            if (switches[j].argument) {
                fputs(":", stdout);
                put_zsh_text(switches[j].argument);
                fputs(":_files", stdout);
            }
            fputs("' \\\n", stdout);
        }
        fputs(tool_commands[i]->passes_on ? "        '*::command:_normal'\n    ;;\n"
                                          : "        '*:trace:_files'\n    ;;\n",
              stdout);
    }
    fputs("esac\n", stdout);
}

int main(int count, char **words)
{
    const char *what = count == 3 ? words[1] : "";
    if (!strcmp(what, "man"))
        put_manual(words[2]);
    else if (!strcmp(what, "bash"))
        put_bash();
    else if (!strcmp(what, "zsh"))
        put_zsh();
    else
        return 2;
    return fflush(stdout) ? 2 : 0;
}
