/* The options of the shim. The environment variables, the switches of `wallshim record`, its --help and the manual
 * page are all made from one table, WS_OPTIONS.
 *
 * X(field, VARIABLE, "switch", kind, "default", "least", "most", "argument", "help")
 *
 * Kinds: TEXT is a string. CHOICE is one of a table of words, stored as an enum. FLAG is 0 or 1. COUNT is a number.
 * DURATION is in nanoseconds and written as 500ms, 2s, 1m or a bare number of seconds. SIZE is in bytes and written
 * as 64M or 2G. SHARE is in millionths and written as 2% or 0.5%. "least" and "most" are the limits of a COUNT, SIZE
 * or SHARE; "" is no limit. */
#ifndef WALLSHIM_WIRE_OPTIONS_H
#define WALLSHIM_WIRE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The words that each CHOICE accepts: W(NAME in the enum, "word"). */
#define WS_BACKENDS(W) W(BACKEND_EVENTS, "events") W(BACKEND_HOST, "host")
#define WS_EVENT_PLACEMENTS(W) W(EVENTS_SAMPLED, "sampled") W(EVENTS_SHARED, "shared") W(EVENTS_IN_PAIRS, "pairs")
#define WS_GATES(W) W(GATE_OFF, "off") W(GATE_ON, "on")
#define WS_PARAMS_KEPT(W) W(PARAMS_NONE, "none") W(PARAMS_SOME, "some") W(PARAMS_ALL, "all")
#define WS_STACKS_TAKEN(W) \
    W(STACKS_NONE, "none") \
    W(STACKS_SOME, "some") W(STACKS_NATIVE, "native") W(STACKS_ALL, "all") W(STACKS_ALL_NATIVE, "all,native")
#define WS_CAPTURE_RANGES(W) W(RANGE_NONE, "none") W(RANGE_PROFILER, "profiler")
#define WS_STARTS(W) W(START_ON, "on") W(START_OFF, "off")
#define WS_LOG_CHOICES(W) W(LOG_SAYS_NOTHING, "quiet") W(LOG_SAYS_WARNINGS, "warn") W(LOG_SAYS_ALL, "debug")

#define WS_CHOICE_NAME(name, word) WS_##name,
enum ws_backend { WS_BACKENDS(WS_CHOICE_NAME) };
enum ws_event_placement { WS_EVENT_PLACEMENTS(WS_CHOICE_NAME) };
enum ws_gate { WS_GATES(WS_CHOICE_NAME) };
enum ws_params_kept { WS_PARAMS_KEPT(WS_CHOICE_NAME) };
enum ws_stacks_taken { WS_STACKS_TAKEN(WS_CHOICE_NAME) };
enum ws_capture_range { WS_CAPTURE_RANGES(WS_CHOICE_NAME) };
enum ws_start { WS_STARTS(WS_CHOICE_NAME) };
enum ws_log_choice { WS_LOG_CHOICES(WS_CHOICE_NAME) };

/* WS_CHOICES makes "word|word" from a table of words, for messages and help. */
#define WS_CHOICE_TEXT(name, word) "|" word
#define WS_CHOICES(table) (&("" table(WS_CHOICE_TEXT))[1])

#define WS_OPTIONS(X)                                                                                                \
    X(output, "WALLSHIM_OUTPUT", "output", TEXT, "%n-%p.wst", "", "", "TRACE",                                       \
      "name of the trace: %n program, %p process id, %h host, %r rank, %% a percent sign")                           \
    X(collector, "WALLSHIM_COLLECTOR", "collector", TEXT, "", "", "", "SOCKET",                                      \
      "send the trace to the wallshim-collector that listens there; it names the file")                              \
    X(collector_buffer, "WALLSHIM_COLLECTOR_BUFFER", "collector-buffer", SIZE, "8M", "64K", "1G", "SIZE",            \
      "most of the trace to keep in memory until the collector has it")                                              \
    X(backend, "WALLSHIM_BACKEND", "backend", CHOICE, "events", "", "", WS_CHOICES(WS_BACKENDS),                     \
      "where device times come from: CUDA events, or no device times (host)")                                        \
    X(event_placement, "WALLSHIM_EVENT_PLACEMENT", "event-placement", CHOICE, "sampled", "", "",                     \
      WS_CHOICES(WS_EVENT_PLACEMENTS),                                                                               \
      "where CUDA events go: around few operations (sampled), between all (shared), or around all (pairs)")          \
    X(overhead, "WALLSHIM_OVERHEAD", "overhead", SHARE, "2%", "0.1%", "100%", "PERCENT",                             \
      "with sampled events: the share of a launching thread's working time that recording may take")                 \
    X(gate, "WALLSHIM_GATE", "gate", CHOICE, "on", "", "", WS_CHOICES(WS_GATES),                                     \
      "with sampled events: hold a stream for microseconds, so that a short kernel can be measured")                 \
    X(sample, "WALLSHIM_SAMPLE", "sample", COUNT, "64", "0", "1000000000", "K",                                      \
      "with shared events: give one launch in K of each kernel and grid a pair of events; 0: never")                 \
    X(start, "WALLSHIM_START", "start", CHOICE, "on", "", "", WS_CHOICES(WS_STARTS),                                 \
      "record from the start, or (off) only once wallshim attach, or with a collector wallshim ctl, says so")        \
    X(burst, "WALLSHIM_BURST", "burst", TEXT, "", "", "", "ON/PERIOD",                                               \
      "record ON out of every PERIOD, such as 1s/30s; only count in between")                                        \
    X(params, "WALLSHIM_PARAMS", "params", CHOICE, "some", "", "", WS_CHOICES(WS_PARAMS_KEPT),                       \
      "which kernel parameters to keep; some: the first 64 launches of a kernel and grid in a second")               \
    X(stacks, "WALLSHIM_STACKS", "stacks", CHOICE, "some", "", "", WS_CHOICES(WS_STACKS_TAKEN),                      \
      "Python stacks of calls that wait, copy or allocate, and of measured launches; all: at any cost; native: of "  \
      "C, too")                                                                                                      \
    X(nvtx, "WALLSHIM_NVTX", "nvtx", FLAG, "1", "", "", "0|1", "take the ranges that the program sets with NVTX")    \
    X(delay, "WALLSHIM_DELAY", "delay", DURATION, "0", "", "", "TIME",                                               \
      "start recording this long after the first CUDA call")                                                         \
    X(duration, "WALLSHIM_DURATION", "duration", DURATION, "0", "", "", "TIME",                                      \
      "stop recording after this long; 0: never")                                                                    \
    X(max_size, "WALLSHIM_MAX_SIZE", "max-size", SIZE, "0", "", "", "SIZE",                                          \
      "stop recording when the trace is this large; 0: never")                                                       \
    X(capture_range, "WALLSHIM_CAPTURE_RANGE", "capture-range", CHOICE, "none", "", "",                              \
      WS_CHOICES(WS_CAPTURE_RANGES), "record only between cuProfilerStart and cuProfilerStop")                       \
    X(environment, "WALLSHIM_ENV", "env", FLAG, "1", "", "", "0|1",                                                  \
      "keep the variables that matter to GPU work in the trace")                                                     \
    X(redact, "WALLSHIM_REDACT", "redact", TEXT, "", "", "", "WORD,WORD…",                                           \
      "more words that mark a variable or argument as secret, besides KEY, TOKEN, SECRET, PASSWORD …")               \
    X(ring, "WALLSHIM_RING", "ring", SIZE, "4M", "4K", "4G", "SIZE", "buffer of each thread that makes CUDA calls")  \
    X(events, "WALLSHIM_EVENTS", "events", COUNT, "16384", "16", "1000000", "N", "most CUDA events of each context") \
    X(salvage, "WALLSHIM_SALVAGE", "salvage", FLAG, "1", "", "", "0|1",                                              \
      "keep what is not written yet where it outlives the program, should it be killed")                             \
    X(counters, "WALLSHIM_COUNTERS", "counters", FLAG, "0", "", "", "0|1",                                           \
      "read hardware counters of FLOPs and bytes for a few launches of each kernel, grid and block")                 \
    X(cupti, "WALLSHIM_CUPTI", "cupti", TEXT, "", "", "", "LIBRARY",                                                 \
      "the libcupti to read counters with, where it is not beside the program's CUDA")                               \
    X(health, "WALLSHIM_HEALTH", "health", COUNT, "1", "0", "10", "N",                                               \
      "samples a second of the GPUs' clocks, power and temperature, where NVML is found; 0: none")                   \
    X(log, "WALLSHIM_LOG", "log", CHOICE, "warn", "", "", WS_CHOICES(WS_LOG_CHOICES),                                \
      "how much the shim writes on stderr")

enum ws_option_kind {
    WS_OPTION_TEXT,
    WS_OPTION_CHOICE,
    WS_OPTION_FLAG,
    WS_OPTION_COUNT,
    WS_OPTION_DURATION,
    WS_OPTION_SIZE,
    WS_OPTION_SHARE
};

/* TEXT fields point to the result of getenv or to the default: nothing is copied. */
#define WS_OPTION_FIELD_TEXT const char *
#define WS_OPTION_FIELD_CHOICE uint32_t /* the value of the chosen word in the option's enumeration */
#define WS_OPTION_FIELD_FLAG bool
#define WS_OPTION_FIELD_COUNT uint64_t
#define WS_OPTION_FIELD_DURATION uint64_t
#define WS_OPTION_FIELD_SIZE uint64_t
#define WS_OPTION_FIELD_SHARE uint64_t

/* The environment variable in which `wallshim record` passes a name for the recording. The shim writes the name into
 * the traces. The name consists of random words separated by '/': one word for each nested `wallshim record`, the
 * innermost last. */
#define WS_RECORDING "WALLSHIM_RECORDING"
enum { WS_RECORDING_SIZE = 256 };

struct ws_options {
#define OPTION(field, variable, name, kind, def, least, most, argument, help) WS_OPTION_FIELD_##kind field;
    WS_OPTIONS(OPTION)
#undef OPTION
};

struct ws_option_info {
    const char *variable;
    const char *name; /* name of the switch, without dashes */
    enum ws_option_kind kind;
    const char *fallback;
    const char *least, *most; /* limits of the value, as texts; "": no limit */
    const char *argument;
    const char *help;
    size_t offset; /* offset of the field in struct ws_options */
};

extern const struct ws_option_info ws_option_table[];
extern const size_t ws_option_count;

/* The former names of one option: of its variable, of its switch, and of one of its values. They still work. */
struct ws_option_old_name {
    const char *name; /* current name of the switch */
    const char *old_variable, *old_name;
    const char *old_word, *word;
};

/* Returns the option's former names, or NULL. */
const struct ws_option_old_name *ws_option_old_name(const char *name);

/* Returns the option's value in the environment, or NULL. The environment may use the variable's former name. Stores
 * in *variable the name that the environment uses. */
const char *ws_option_in_environment(const struct ws_option_info *info, const char **variable);

/* Writes the accepted values to `text`, for messages: "SIZE, as 64M or 2G, from 4K to 4G". Returns `text`. */
const char *ws_option_takes(const struct ws_option_info *info, char *text, size_t size);

/* Parses text into one field. Returns 0, or -EINVAL with the field unchanged. */
int ws_option_set(struct ws_options *options, const struct ws_option_info *info, const char *text);

/* Sets the defaults, then reads the environment. An option whose variable does not parse keeps its default. Sets *bad
 * to the first option whose variable does not parse, or to NULL. In a setuid program the environment is ignored.
 * Allocates nothing. */
void ws_options_from_environment(struct ws_options *options, const struct ws_option_info **bad);

/* ws_parse_duration converts "500ms", "2s", "1m" or "3" (seconds) to ns. ws_parse_size converts "64M" to bytes. Both
 * return 0 or -EINVAL. */
int ws_parse_duration(const char *text, uint64_t *ns);
int ws_parse_size(const char *text, uint64_t *bytes);

/* Parses the option `burst`: "1s/30s" (record 1 s out of every 30 s) stores both times in *on and *period, in ns. ""
 * stores 0 and 0, which means always on. Returns 0 or -EINVAL. */
int ws_parse_burst(const char *text, uint64_t *on, uint64_t *period);

#endif
