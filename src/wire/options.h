/* What can be asked of the shim: one table for the environment variables, for the switches of
 * `wallshim record`, for --help and for the manual page.
 *
 * X(field, VARIABLE, "switch", kind, "default", "least", "most", "argument", "help")
 *
 * Kinds: TEXT a string; FLAG 0 or 1; COUNT a number; DURATION nanoseconds, written 500ms, 2s, 1m or a
 * bare number of seconds; SIZE bytes, written 64M, 2G. A TEXT whose argument is words with | between
 * them takes one of these. COUNT and SIZE lie between least and most, where these are given.
 */
#ifndef WALLSHIM_WIRE_OPTIONS_H
#define WALLSHIM_WIRE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_OPTIONS(X)                                                                                               \
    X(output, "WALLSHIM_OUTPUT", "output", TEXT, "%n-%p.wst", "", "", "TRACE",                                      \
      "name of the trace; %n program, %p process id, %h host, %r rank, %% a percent sign")                          \
    X(backend, "WALLSHIM_BACKEND", "backend", TEXT, "events", "", "", "events|host",                                \
      "where device times come from: CUDA events, or none at all (host)")                                           \
    X(marks, "WALLSHIM_MARKS", "marks", TEXT, "marks", "", "", "marks|pairs",                                       \
      "events around every operation (pairs), or one between operations (marks)")                                   \
    X(sample, "WALLSHIM_SAMPLE", "sample", COUNT, "64", "0", "1000000000", "K",                                     \
      "with marks: a pair of its own for one launch in K of each kernel and grid; 0 never")                         \
    X(burst, "WALLSHIM_BURST", "burst", TEXT, "", "", "", "ON/PERIOD",                                              \
      "record ON out of every PERIOD (as 1s/30s) and only count in between")                                        \
    X(params, "WALLSHIM_PARAMS", "params", TEXT, "some", "", "", "none|some|all",                                   \
      "kernel parameters kept: none, those of the first 64 launches of a kernel and grid a second, or all")         \
    X(delay, "WALLSHIM_DELAY", "delay", DURATION, "0", "", "", "TIME",                                              \
      "start recording so long after the first CUDA call")                                                          \
    X(duration, "WALLSHIM_DURATION", "duration", DURATION, "0", "", "", "TIME",                                     \
      "stop recording after so long; 0 never")                                                                      \
    X(max_size, "WALLSHIM_MAX_SIZE", "max-size", SIZE, "0", "", "", "SIZE",                                         \
      "stop recording when the trace is so large; 0 never")                                                         \
    X(capture_range, "WALLSHIM_CAPTURE_RANGE", "capture-range", TEXT, "none", "", "", "none|profiler",              \
      "record only between cuProfilerStart and cuProfilerStop")                                                     \
    X(environment, "WALLSHIM_ENV", "env", FLAG, "1", "", "", "0|1",                                                 \
      "keep the part of the environment that matters to GPU work in the trace")                                     \
    X(redact, "WALLSHIM_REDACT", "redact", TEXT, "", "", "", "WORD,WORD…",                                          \
      "more words that mark an environment variable or argument as secret, beside KEY, TOKEN, SECRET, PASSWORD …")  \
    X(ring, "WALLSHIM_RING", "ring", SIZE, "4M", "4K", "4G", "SIZE", "buffer of each thread that makes CUDA calls") \
    X(events, "WALLSHIM_EVENTS", "events", COUNT, "16384", "16", "1000000", "N",                                    \
      "CUDA events held in each context at most")                                                                   \
    X(counters, "WALLSHIM_COUNTERS", "counters", FLAG, "0", "", "", "0|1",                                          \
      "read hardware counters of FLOPs and bytes around a few launches of each kernel, grid and block")             \
    X(cupti, "WALLSHIM_CUPTI", "cupti", TEXT, "", "", "", "LIBRARY",                                                \
      "the libcupti to read counters through, where it is not found beside the program's CUDA")                     \
    X(log, "WALLSHIM_LOG", "log", TEXT, "warn", "", "", "quiet|warn|debug", "what the shim may say on stderr")

enum ws_option_kind { WS_OPTION_TEXT, WS_OPTION_FLAG, WS_OPTION_COUNT, WS_OPTION_DURATION, WS_OPTION_SIZE };

/* TEXT fields point to what getenv gave or to the default: nothing is copied. */
#define WS_OPTION_FIELD_TEXT const char *
#define WS_OPTION_FIELD_FLAG bool
#define WS_OPTION_FIELD_COUNT uint64_t
#define WS_OPTION_FIELD_DURATION uint64_t
#define WS_OPTION_FIELD_SIZE uint64_t

/* The variable by which `wallshim record` gives what it runs a name, which the shim writes into the traces: random
 * words with / between them, one for each record around the program, the innermost last. */
#define WS_RECORDING "WALLSHIM_RECORDING"
enum { WS_RECORDING_SIZE = 256 };

struct ws_options {
#define OPTION(field, variable, name, kind, def, least, most, argument, help) WS_OPTION_FIELD_##kind field;
    WS_OPTIONS(OPTION)
#undef OPTION
};

struct ws_option_info {
    const char *variable;
    const char *name; /* of the switch, without dashes */
    enum ws_option_kind kind;
    const char *fallback;
    const char *least, *most; /* "": not bounded */
    const char *argument;
    const char *help;
    size_t offset; /* of the field in struct ws_options */
};

extern const struct ws_option_info ws_option_table[];
extern const size_t ws_option_count;

/* What the option takes, for messages: "SIZE, as 64M or 2G, from 4K to 4G". Returns text. */
const char *ws_option_takes(const struct ws_option_info *info, char *text, size_t size);

/* Sets one field from text. Returns 0, or -EINVAL and leaves the field as it was. */
int ws_option_set(struct ws_options *options, const struct ws_option_info *info, const char *text);

/* Defaults, then the environment. A value that does not parse keeps the default; the first such
 * variable is named in *bad (NULL when all is well). In a program that runs with more rights than its user
 * the environment says nothing. Allocates nothing. */
void ws_options_from_environment(struct ws_options *options, const struct ws_option_info **bad);

/* "500ms", "2s", "1m", "3" (seconds) → ns; "64M" → bytes. Return 0 or -EINVAL. */
int ws_parse_duration(const char *text, uint64_t *ns);
int ws_parse_size(const char *text, uint64_t *bytes);

/* "1s/30s" → on and period in ns; "" gives 0 0 (always on). Returns 0 or -EINVAL. */
int ws_parse_burst(const char *text, uint64_t *on, uint64_t *period);

#endif
