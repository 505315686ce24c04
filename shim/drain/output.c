#include "shim/drain/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shim/drain/compression.h"
#include "shim/drain/file_thread.h"
#include "shim/drain/secrets.h"
#include "shim/drain/trace_name.h"
#include "shim/hook/driver_calls.h"
#include "shim/hook/elf_lookup.h"
#include "shim/state/live.h"
#include "shim/state/phase.h"
#include "shim/state/program.h"

#ifndef WALLSHIM_VERSION
#error "the build says which version this is"
#endif

extern char **environ;

enum { NAMES_TRIED = 1000 };

/* --- the name ---------------------------------------------------------------------------------- */

/* The process's rank, from a variable that its launcher sets: torchrun, Open MPI, MPICH and Intel MPI, or Slurm. */
static char rank[64] = "0";
static bool rank_is_known;

static void keep_rank(void)
{
    static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = secure_getenv(variables[i]);
        if (value) {
            snprintf(rank, sizeof(rank), "%s", value);
            rank_is_known = true;
            return;
        }
    }
}

static bool choose_name(char *path, size_t capacity)
{
    struct utsname host;
    struct trace_name_parts parts = {
        .program = program_name(), .host = uname(&host) ? "host" : host.nodename, .rank = rank, .pid = (int)getpid()
    };
    return trace_name_expand(shim_options.output, &parts, path, capacity);
}

/* --- what the trace says about the program ------------------------------------------------------ */

static void add_meta(struct output *output, const char *key, const char *value)
{
    struct ws_meta row = { .key = { key, (uint32_t)strlen(key) }, .value = { value, (uint32_t)strlen(value) } };
    ws_encoder_add(output->encoder, WS_FAMILY_meta, &row);
}

void output_say(struct output *output, const char *key, const char *value)
{
    add_meta(output, key, value);
}

static void add_number(struct output *output, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", value);
    add_meta(output, key, text);
}

static void add_command_line(struct output *output)
{
    static char text[16384 + 64];
    size_t size;
    const char *arguments = program_arguments(&size);
    secrets_command_line(text, sizeof(text), arguments, size, shim_options.redact);
    add_meta(output, "command_line", size ? text : program_name());
}

/* Does the trace keep this environment variable? The trace keeps variables that matter to GPU work, and variables
 * that identify the process within a job. */
static bool is_wanted(const char *variable)
{
    static const char *const prefixes[] = { "CUDA_",       "NVIDIA_",      "NCCL_",       "CUBLAS", "CUDNN_",
                                            "TORCH_",      "PYTORCH_",     "TRITON_",     "XLA_",   "JAX_",
                                            "OMP_",        "WALLSHIM_",    "SLURM_",      "RANK=",  "LOCAL_RANK=",
                                            "WORLD_SIZE=", "MASTER_ADDR=", "LD_PRELOAD=", "SIMGPU_" };
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* The environment variables that the trace keeps, each zero-terminated. The shim keeps a copy, because the program
 * may change its environment while the drain writes the trace. */
static char environment[64 << 10];
static size_t environment_used;

/* Identifies the run of `wallshim record` that started the program. `wallshim record` recognizes its own traces in a
 * folder by this text. */
static char recording[WS_RECORDING_SIZE];

static void keep_environment(void)
{
    const char *name = secure_getenv(WS_RECORDING);
    snprintf(recording, sizeof(recording), "%s", name ? name : "");
    environment_used = 0;
    for (char **at = environ; shim_options.environment && at && *at; at++) {
        size_t length = strlen(*at) + 1;
        if (!strchr(*at, '=') || !is_wanted(*at) || !strncmp(*at, WS_RECORDING "=", sizeof(WS_RECORDING)) ||
            length > sizeof(environment) - environment_used)
            continue;
        memcpy(environment + environment_used, *at, length);
        environment_used += length;
    }
}

static void add_environment(struct output *output)
{
    static char value[sizeof(environment)];
    char key[256];
    for (const char *at = environment; at < environment + environment_used; at += strlen(at) + 1) {
        const char *equals = strchr(at, '=');
        snprintf(key, sizeof(key), "env.%.*s", (int)(equals - at), at);
        *value = 0;
        if (secrets_named(at, (size_t)(equals - at), shim_options.redact))
            snprintf(value, sizeof(value), "***");
        else
            secrets_append(value, 0, sizeof(value), equals + 1, shim_options.redact);
        add_meta(output, key, value);
    }
}

static bool add_library(const struct elf_object *object, void *data)
{
    static const char *const wanted[] = { "libcuda.so",  "libcudart.so", "libcublas.so",    "libcublasLt.so",
                                          "libcudnn.so", "libnccl.so",   "libtorch_cuda.so" };
    const char *slash = strrchr(object->path, '/');
    const char *file = slash ? slash + 1 : object->path;
    char real[4096], key[64];
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strncmp(file, wanted[i], strlen(wanted[i])))
            continue;
        /* The path may be a symbolic link. The name of the file that it points to has the whole version. */
        ssize_t length = readlink(object->path, real, sizeof(real) - 1);
        real[length > 0 ? length : 0] = 0;
        snprintf(key, sizeof(key), "library.%.*s", (int)(strlen(wanted[i]) - 3), wanted[i]);
        add_meta(data, key, length > 0 ? real : object->path);
    }
    return true;
}

static void describe(struct output *output)
{
    /* The names that FORMAT.md defines. */
    static const char *const backends[] = { [WS_BACKEND_EVENTS] = "events", [WS_BACKEND_HOST] = "host" };
    static const char *const placements[] = {
        [WS_EVENTS_SAMPLED] = "sampled", [WS_EVENTS_SHARED] = "marks", [WS_EVENTS_IN_PAIRS] = "pairs"
    };
    struct utsname host;
    struct timespec wall;
    char text[64];
    int version = 0;
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t monotonic = ws_clock_ns();
    add_meta(output, "program", program_name());
    add_command_line(output);
    add_number(output, "pid", getpid());
    add_number(output, "parent_pid", getppid());
    add_meta(output, "rank", rank);
    if (!uname(&host)) {
        add_meta(output, "host", host.nodename);
        add_meta(output, "kernel", host.release);
    }
    if (*recording)
        add_meta(output, "recording", recording);
    add_meta(output, "wallshim_version", WALLSHIM_VERSION);
    if (driver.driver_version && driver.driver_version(&version) == WS_CUDA_SUCCESS) {
        snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
        add_meta(output, "driver_version", text);
    }
    add_meta(output, "backend", backends[shim_options.backend]);
    if (shim_options.backend == WS_BACKEND_EVENTS) {
        add_meta(output, "marks", placements[shim_options.event_placement]);
        add_number(output, "sample", (long long)shim_options.sample);
        if (shim_one_queue)
            add_meta(output, "queues", "1");
    }
    if (*shim_options.burst)
        add_meta(output, "burst", shim_options.burst);
    /* The trace has the time of both clocks at the same moment, so that traces of several hosts can be aligned. */
    add_number(output, "start_monotonic_ns", monotonic);
    add_number(output, "start_realtime_ns", (long long)wall.tv_sec * 1000000000 + wall.tv_nsec);
    elf_each(add_library, output);
    add_environment(output);
}

/* --- opening and closing ----------------------------------------------------------------------- */

/* Relative names are relative to the program's current directory, which may change before the drain opens the
 * file. */
static bool make_absolute(char *path, size_t capacity)
{
    char folder[4096];
    size_t length = strlen(path);
    if (*path == '/')
        return true;
    if (!getcwd(folder, sizeof(folder)))
        return false;
    size_t more = strlen(folder) + 1;
    if (length + more >= capacity)
        return false;
    memmove(path + more, path, length + 1);
    memcpy(path, folder, more - 1);
    path[more - 1] = '/';
    return true;
}

/* Uses statx, because the symbols of stat differ between versions of glibc. */
static bool is_file(const char *path)
{
    struct statx found;
    return !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) && S_ISREG(found.stx_mode);
}

/* Creates the file. If a regular file of this name exists already, tries other names: process ids repeat, above all
 * in containers. If anything else has this name (/dev/null), no other name is tried. */
static int create_file(void *data)
{
    struct output *output = data;
    static char wanted[sizeof(output->path)];
    memcpy(wanted, output->path, sizeof(wanted));
    for (unsigned attempt = 0; attempt < NAMES_TRIED; attempt++) {
        if (!trace_name_next(wanted, attempt, output->path, sizeof(output->path)))
            return -ENAMETOOLONG;
        int error = ws_file_sink_open(&output->file, output->path);
        if (error != -EEXIST || !is_file(output->path))
            return error;
    }
    return -EEXIST;
}

int output_create(struct output *output)
{
    keep_rank();
    if (!choose_name(output->path, sizeof(output->path)) || !make_absolute(output->path, sizeof(output->path)))
        return -ENAMETOOLONG;
    if (link_init(&output->link, shim_options.collector, shim_options.collector_buffer)) {
        ws_warn("WALLSHIM_COLLECTOR: this path is too long for a socket; the trace goes to a file");
        *output->link.path = 0;
    }
    keep_environment();
    return 0;
}

const char *output_place(const struct output *output)
{
    return output->collected ? output->link.path : output->path;
}

/* --- writing, in the file thread --------------------------------------------------------------- */

static void begin_live(struct output *output)
{
    if (shim_options.salvage && file_thread_has_table() && is_file(output->path))
        live_file_begin(&output->live, output->path);
}

static void end_live(struct output *output)
{
    live_end();
    live_file_end(&output->live);
}

static int begin_writing(void *data)
{
    struct output *output = data;
    output->live.fd = -1;
    int refused = *output->link.path ? link_start(&output->link, rank_is_known ? rank : "", output->path) : -ENOENT;
    output->broken = 0;
    output->collected = !refused;
    if (!refused)
        return 0;
    int error = output->broken = create_file(output);
    if (!error)
        begin_live(output);
    if (!error && output->link.refused)
        link_say(&output->link, "the collector at %s refuses this trace: %s; the trace goes to %s", output->link.path,
                 ws_channel_reason_text(output->link.reason), output->path);
    else if (!error && *output->link.path)
        link_say(&output->link, "no collector at %s: %s; the trace goes to %s", output->link.path, strerror(-refused),
                 output->path);
    return error;
}

static void remove_file(struct output *output)
{
    ws_file_sink_close(&output->file);
    if (is_file(output->path))
        unlink(output->path);
}

/* The collector has taken nothing, so all of the trace is still here: puts it into a file. If that fails, the trace
 * goes nowhere: later frames in a file without its header would be of no use. */
static int change_to_file(struct output *output)
{
    struct collector_link *link = &output->link;
    bool whole = !link->begin && link->end <= link->capacity;
    int error = whole ? create_file(output) : -EINVAL;
    bool created = whole && !error;
    if (created)
        error = ws_file_sink_write(&output->file, link->kept, link->end);
    if (created && error)
        remove_file(output);
    link_say(link, "the collector at %s %s%s; the trace goes to %s%s%s", link->path,
             link->refused ? "refuses this trace: " : "does not answer",
             link->refused ? ws_channel_reason_text(link->reason) : "", output->path, error ? ": " : "",
             error ? strerror(-error) : "");
    live_leave();
    link_end(link);
    output->collected = false;
    output->broken = error;
    return error;
}

struct write {
    struct output *output;
    const void *bytes;
    size_t size;
};

static int write_bytes(void *data)
{
    const struct write *write = data;
    struct output *output = write->output;
    if (output->broken)
        return output->broken;
    if (output->link.state == LINK_UNUSED)
        return ws_file_sink_write(&output->file, write->bytes, write->size);
    int status = link_write(&output->link, write->bytes, write->size);
    if (link_is_hopeless(&output->link, false)) {
        int error = change_to_file(output);
        status = status ? status : error;
    }
    return status;
}

static int stop_writing(void *data)
{
    struct output *output = data;
    end_live(output);
    if (output->broken)
        return output->broken;
    if (output->link.state == LINK_UNUSED)
        return ws_file_sink_close(&output->file);
    int status = link_finish(&output->link);
    if (link_is_hopeless(&output->link, true)) {
        int error = change_to_file(output);
        return error ? error : ws_file_sink_close(&output->file);
    }
    link_end(&output->link);
    return status;
}

/* Leaves nothing behind: no rows were written. */
static int abandon(void *data)
{
    struct output *output = data;
    end_live(output);
    if (output->link.state != LINK_UNUSED)
        link_end(&output->link);
    else if (!output->broken)
        remove_file(output);
    return 0;
}

static int write_rows(void *data)
{
    struct output *output = data;
    link_keep(&output->link);
    live_grow(output->live.fd);
    return ws_encoder_flush(output->encoder);
}

static int write_end(void *data)
{
    struct output *output = data;
    int error = ws_encoder_finish(output->encoder), stop_error = stop_writing(output);
    /* The collector's lack has been said, also if the encoder's end did not fit either. */
    return error && stop_error != -ECONNABORTED ? error : stop_error;
}

/* --- for the drain ----------------------------------------------------------------------------- */

/* Has the file thread run work(data), then prints what that has to say: the file thread has closed its stderr. */
static int work_and_say(struct output *output, int (*work)(void *), void *data)
{
    int status = file_thread_do(work, data);
    if (*output->link.message)
        ws_warn("%s", output->link.message);
    *output->link.message = 0;
    return status;
}

/* The encoder's ws_sink_write: the file thread does the writing. */
static int write_out(void *sink, const void *bytes, size_t size)
{
    struct write write = { .output = sink, .bytes = bytes, .size = size };
    return file_thread_do(write_bytes, &write);
}

int output_begin(struct output *output)
{
    struct ws_encoder_options options = { .compressor = compression(), .write = write_out, .sink = output };
    file_thread_start();
    int error = work_and_say(output, begin_writing, output);
    if (!error && (error = ws_encoder_create(&output->encoder, &options)))
        file_thread_do(abandon, output);
    if (error)
        file_thread_end();
    else
        describe(output);
    return error;
}

int output_flush(struct output *output)
{
    return work_and_say(output, write_rows, output);
}

static int hear(void *data)
{
    struct output *output = data;
    link_keep(&output->link);
    return link_is_hopeless(&output->link, false) ? change_to_file(output) : 0;
}

bool output_hear(struct output *output, bool records, struct link_wishes *wishes)
{
    if (output->link.state == LINK_UNUSED) /* only work that the drain waits for changes it */
        return false;
    output->link.recording = records;
    work_and_say(output, hear, output);
    *wishes = output->link.wishes;
    output->link.wishes = (struct link_wishes){ 0 };
    return true;
}

struct telling {
    struct output *output;
    uint32_t number;
    const uint8_t *bytes;
    size_t size;
};

static int tell(void *data)
{
    const struct telling *telling = data;
    link_tell_progress(&telling->output->link, telling->number, telling->bytes, telling->size);
    return 0;
}

void output_tell_progress(struct output *output, uint32_t number, const uint8_t *bytes, size_t size)
{
    struct telling telling = { output, number, bytes, size };
    if (output->link.state != LINK_UNUSED)
        work_and_say(output, tell, &telling);
}

int output_close(struct output *output)
{
    int error = work_and_say(output, write_end, output);
    ws_encoder_destroy(output->encoder);
    output->encoder = NULL;
    file_thread_end();
    return error;
}
