/* wallshim-collector: takes the traces of many processes, over a Unix socket, into one folder a job. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/say.h"
#include "collector/server.h"
#include "wire/channel.h"
#include "wire/options.h"

enum { DONE = 0, ERROR = 2 };

static const char usage[] =
    "usage: wallshim-collector --listen unix:PATH --dir DIR [SWITCHES]\n\n"
    "Takes the traces of programs that run with WALLSHIM_COLLECTOR=unix:PATH, and writes\n"
    "them to DIR/JOB, beside manifest.json. To read a job: wallshim report DIR/JOB\n\n"
    "Switches:\n"
    "  --listen unix:PATH  the socket; its folder is made if there is none, and must be yours alone\n"
    "  --dir DIR           folder of the jobs\n"
    "  --job NAME          put all traces into this job; else the job's launcher names it\n"
    "  --max-size SIZE     largest trace of one process, as 64M or 2G; 16G by default; 0: any\n"
    "  --while-input       end when standard input has ended and the last program has gone\n"
    "  --help, --version\n\n"
    "Ends by SIGTERM or SIGINT. Exit status: 0 done; 2 wrong usage, or it cannot listen or write there.\n";

static const struct option switches[] = {
    { "listen", required_argument, NULL, 'l' }, { "dir", required_argument, NULL, 'd' },
    { "job", required_argument, NULL, 'j' },    { "max-size", required_argument, NULL, 's' },
    { "while-input", no_argument, NULL, 'w' },  { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },      { NULL, 0, NULL, 0 },
};

/* Returns -1 if the collector is to run, else the exit status. */
static int parse(int count, char **words, struct server_options *options)
{
    for (int letter; (letter = getopt_long(count, words, "h", switches, NULL)) != -1;) {
        switch (letter) {
        case 'l':
            options->path = ws_channel_path(optarg);
            break;
        case 'd':
            options->folder = optarg;
            break;
        case 'j':
            options->job = optarg;
            break;
        case 's':
            if (ws_parse_size(optarg, &options->size_limit)) {
                say("--max-size %s: give a size, as 64M or 2G", optarg);
                return ERROR;
            }
            break;
        case 'w':
            options->while_input = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return DONE;
        case 'v':
            puts("wallshim-collector " WS_VERSION);
            return DONE;
        default: /* getopt_long has said why */
            return ERROR;
        }
    }
    if (optind < count || !options->path || !*options->path || !options->folder) {
        say("give --listen unix:PATH and --dir DIR, and nothing else; see wallshim-collector --help");
        return ERROR;
    }
    return -1;
}

int main(int count, char **words)
{
    struct server_options options = { .size_limit = (uint64_t)16 << 30 };
    int status = parse(count, words, &options);
    if (status >= 0)
        return fflush(stdout) ? ERROR : status;
    if (!options.size_limit)
        options.size_limit = UINT64_MAX;
    return server_run(&options) ? ERROR : DONE;
}
