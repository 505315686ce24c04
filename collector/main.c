/* wallshim-collector: receives the traces of many processes, and writes them into one folder per job. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/address.h"
#include "collector/names.h"
#include "collector/say.h"
#include "collector/server.h"
#include "wire/channel.h"
#include "wire/options.h"

enum { DONE = 0, ERROR = 2, SLOW_MOST = 1000 };
enum { JOB_RELAYED_MAX = sizeof(((struct ws_channel_hello *)0)->job) - 1 };

static const char usage[] =
    "usage: wallshim-collector --listen unix:PATH --dir DIR [SWITCHES]\n\n"
    "Takes the traces of programs that run with WALLSHIM_COLLECTOR=unix:PATH, and writes\n"
    "them to DIR/JOB, beside manifest.json. To read a job: wallshim report DIR/JOB\n\n"
    "Switches:\n"
    "  --listen unix:PATH  the socket; its folder is made if there is none, and must be yours alone\n"
    "  --listen HOST:PORT  for other collectors, over TCP; may be given beside the socket, or without it\n"
    "  --relay HOST:PORT   send all traces on to the collector that listens there\n"
    "  --tls-cert FILE, --tls-key FILE, --tls-ca FILE\n"
    "                      for --relay and --listen HOST:PORT: our certificate, its key, and the authorities\n"
    "                      that the other side's certificate must come from; without them only the loopback\n"
    "  --dir DIR           folder of the jobs; it and those above are made if there are none\n"
    "  --job NAME          put all traces into this job; else the job's launcher names it\n"
    "  --max-size SIZE     largest trace of one process, as 64M or 2G; 16G by default; 0: any\n"
    "  --max-job SIZE      largest job, and\n"
    "  --max-all SIZE      largest sum of all jobs; 0, the default: any\n"
    "  --max-age TIME      remove traces that were not written to for so long, as 12h or 30d; 0: never\n"
    "                      These three remove the oldest traces that have ended.\n"
    "  --patience TIME     end a connection on which a frame does not come whole in this time; 1m by default\n"
    "  --flight TIME       write no traces, but keep the last seconds of each in memory, as 30s or 2m, until\n"
    "                      wallshim ctl dump has them written to a folder in the job's\n"
    "  --flight-size SIZE  memory for one process at most; 64M by default\n"
    "  --hang TIME         say when launched work has not moved for so long, and dump what --flight keeps;\n"
    "                      1m by default with --flight; 0: never\n"
    "  --slow-step K       with --flight: dump when a step takes K times the median, as 3 or 2.5\n"
    "  --metrics WHERE serve live figures for Prometheus at unix:PATH or HOST:PORT (loopback only)\n"
    "  --metrics-public    let --metrics listen on an address that other machines can reach\n"
    "  --while-input       end when standard input has ended and the last program has gone\n"
    "  --help, --version\n\n"
    "Ends by SIGTERM or SIGINT. Exit status: 0 done; 2 wrong usage, or it cannot listen or write there.\n";

static const struct option switches[] = {
    { "listen", required_argument, NULL, 'l' },   { "relay", required_argument, NULL, 'r' },
    { "tls-cert", required_argument, NULL, 'c' }, { "tls-key", required_argument, NULL, 'k' },
    { "tls-ca", required_argument, NULL, 'C' },   { "dir", required_argument, NULL, 'd' },
    { "job", required_argument, NULL, 'j' },      { "max-size", required_argument, NULL, 's' },
    { "max-job", required_argument, NULL, 'J' },  { "max-all", required_argument, NULL, 'A' },
    { "max-age", required_argument, NULL, 'a' },  { "patience", required_argument, NULL, 'p' },
    { "flight", required_argument, NULL, 'f' },   { "flight-size", required_argument, NULL, 'F' },
    { "hang", required_argument, NULL, 'H' },     { "slow-step", required_argument, NULL, 'S' },
    { "metrics", required_argument, NULL, 'm' },  { "metrics-public", no_argument, NULL, 'M' },
    { "while-input", no_argument, NULL, 'w' },    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'v' },        { NULL, 0, NULL, 0 },
};

static int wrong(const char *name, const char *value, const char *allowed)
{
    say("--%s %s: %s; see wallshim-collector --help", name, value, allowed);
    return ERROR;
}

static int take_size(const char *name, const char *value, uint64_t *size)
{
    return ws_parse_size(value, size) ? wrong(name, value, "give a size, as 64M or 2G") : -1;
}

static int take_time(const char *name, const char *value, uint64_t *ns)
{
    return ws_parse_duration(value, ns) ? wrong(name, value, "give a time, as 90s, 5m, 12h or 30d") : -1;
}

static int take_factor(const char *name, const char *value, double *factor)
{
    char *end;
    *factor = strtod(value, &end);
    return end != value && !*end && *factor > 1 && *factor <= SLOW_MOST
               ? -1
               : wrong(name, value, "give a number above 1, as 3 or 2.5");
}

/* Accepts unix:PATH, PATH and HOST:PORT. A text of the form HOST:PORT without a slash is taken as an address, not as
 * a path. */
static int take_listen(struct server_options *options)
{
    char host[ADDRESS_HOST_SIZE];
    if (strncmp(optarg, "unix:", 5) != 0 && !strchr(optarg, '/') && address_split(optarg, host)) {
        options->address = optarg;
        return -1;
    }
    options->path = ws_channel_path(optarg);
    return *options->path ? -1 : wrong("listen", optarg, "give unix:PATH, the path of a socket");
}

/* Handles one switch. Returns -1 to go on, else the exit status. */
static int take_switch(int letter, struct server_options *options)
{
    switch (letter) {
    case 'l':
        return take_listen(options);
    case 'r':
        options->relay = optarg;
        return -1;
    case 'c':
        options->tls.certificate = optarg;
        return -1;
    case 'k':
        options->tls.key = optarg;
        return -1;
    case 'C':
        options->tls.authority = optarg;
        return -1;
    case 'd':
        options->folder = optarg;
        return *optarg ? -1 : wrong("dir", "''", "give a folder");
    case 'j':
        options->job = optarg;
        return name_is_plain(optarg)
                   ? -1
                   : wrong("job", optarg, "give a name without a slash or a first dot, of at most 127 bytes");
    case 's':
        return take_size("max-size", optarg, &options->size_limit);
    case 'J':
        return take_size("max-job", optarg, &options->quota.job_bytes);
    case 'A':
        return take_size("max-all", optarg, &options->quota.all_bytes);
    case 'a':
        return take_time("max-age", optarg, &options->quota.age_ns);
    case 'p':
        return take_time("patience", optarg, &options->patience_ns);
    case 'f':
        return take_time("flight", optarg, &options->flight_ns);
    case 'F':
        return take_size("flight-size", optarg, &options->flight_size);
    case 'H':
        return take_time("hang", optarg, &options->hang_ns);
    case 'S':
        return take_factor("slow-step", optarg, &options->slow_factor);
    case 'm':
        options->metrics = optarg;
        return -1;
    case 'M':
        options->metrics_for_all = true;
        return -1;
    case 'w':
        options->while_input = true;
        return -1;
    case 'h':
        fputs(usage, stdout);
        return DONE;
    case 'v':
        puts("wallshim-collector " WS_VERSION);
        return DONE;
    default: /* getopt_long has printed the reason */
        return ERROR;
    }
}

/* Checks whether --relay, --listen HOST:PORT and the --tls switches fit together. Returns false after a line on
 * stderr. */
static bool network_is_right(const struct server_options *options)
{
    const struct tls_files *tls = &options->tls;
    int files = !!tls->certificate + !!tls->key + !!tls->authority;
    if (files && files < 3)
        say("--tls-%s is missing: give --tls-cert, --tls-key and --tls-ca together", !tls->certificate ? "cert"
                                                                                     : !tls->key       ? "key"
                                                                                                       : "ca");
    else if (files && !options->relay && !options->address)
        say("--tls-cert %s: this is for --relay or --listen HOST:PORT, and neither is given", tls->certificate);
    else if (options->relay && options->flight_ns)
        say("--relay %s: with --flight there are no files to send", options->relay);
    else if (options->relay && options->job && strlen(options->job) > JOB_RELAYED_MAX)
        say("--job %s: with --relay, give a name of at most %d bytes", options->job, JOB_RELAYED_MAX);
    else
        return true;
    return false;
}

/* Returns -1 if the collector is to run, else the exit status. */
static int parse(int count, char **words, struct server_options *options)
{
    int status = -1;
    for (int letter; status < 0 && (letter = getopt_long(count, words, "h", switches, NULL)) != -1;)
        status = take_switch(letter, options);
    if (status >= 0)
        return status;
    if (optind < count)
        say("%s: there is nothing to be given but switches; see wallshim-collector --help", words[optind]);
    else if (!options->path && !options->address)
        say("--listen is missing: give --listen unix:PATH, the socket for the programs");
    else if (!options->folder)
        say("--dir is missing: give --dir DIR, the folder for the jobs");
    else if (options->slow_factor > 0 && !options->flight_ns)
        say("--slow-step: this dumps what --flight keeps; give --flight TIME as well");
    else if (network_is_right(options))
        return -1;
    return ERROR;
}

int main(int count, char **words)
{
    struct server_options options = { .size_limit = (uint64_t)16 << 30,
                                      .patience_ns = 60 * UINT64_C(1000000000),
                                      .flight_size = 64 << 20,
                                      .hang_ns = UINT64_MAX };
    int status = parse(count, words, &options);
    if (status >= 0)
        return fflush(stdout) ? ERROR : status;
    if (!options.size_limit)
        options.size_limit = UINT64_MAX;
    if (options.hang_ns == UINT64_MAX) /* --hang was not given */
        options.hang_ns = options.flight_ns ? 60 * UINT64_C(1000000000) : 0;
    return server_run(&options) ? ERROR : DONE;
}
