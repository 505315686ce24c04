#include "shim/drain/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/drain/secrets.h"
#include "shim/hook/driver_calls.h"
#include "shim/hook/elf_lookup.h"
#include "shim/state/phase.h"
#include "shim/state/program.h"

#ifndef WALLSHIM_VERSION
#error "the build says which version this is"
#endif

extern char **environ;

static void add_number(struct output *output, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", value);
    output_say(output, key, text);
}

static void add_command_line(struct output *output)
{
    static char text[16384 + 64];
    size_t size;
    const char *arguments = program_arguments(&size);
    secrets_command_line(text, sizeof(text), arguments, size, shim_options.redact);
    output_say(output, "command_line", size ? text : program_name());
}

/* Does the trace keep this environment variable? The trace keeps variables that matter to GPU work, and variables
 * that identify the process within a job. */
static bool is_wanted(const char *variable)
{
    static const char *const prefixes[] = { "CUDA_",       "NVIDIA_",      "NCCL_",       "CUBLAS",  "CUDNN_",
                                            "TORCH_",      "PYTORCH_",     "TRITON_",     "XLA_",    "JAX_",
                                            "OMP_",        "WALLSHIM_",    "SLURM_",      "RANK=",   "LOCAL_RANK=",
                                            "WORLD_SIZE=", "MASTER_ADDR=", "LD_PRELOAD=", "SIMGPU_", "NVTX_" };
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

/* The environment variables that the trace keeps, each zero-terminated. The shim keeps a copy, because the program
 * may change its environment while the drain writes the trace. */
static char environment[64 << 10];
static size_t environment_used;

/* Identifies the run of `wallshim record` that started the program; "": the program was started without it.
 * `wallshim record` recognizes the traces of its own programs in a folder by this text. */
static char recording[WS_RECORDING_SIZE];

void describe_keep_environment(void)
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
        output_say(output, key, value);
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
        /* The library's path may be a symbolic link. The name of the file to which it points has the library's whole
         * version. */
        ssize_t length = readlink(object->path, real, sizeof(real) - 1);
        real[length > 0 ? length : 0] = 0;
        snprintf(key, sizeof(key), "library.%.*s", (int)(strlen(wanted[i]) - 3), wanted[i]);
        output_say(data, key, length > 0 ? real : object->path);
    }
    return true;
}

void describe_program(struct output *output, const char *rank)
{
    /* The texts that stand in the trace for the values of these options, as FORMAT.md defines them. */
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
    output_say(output, "program", program_name());
    add_command_line(output);
    add_number(output, "pid", getpid());
    add_number(output, "parent_pid", getppid());
    output_say(output, "rank", rank);
    if (!uname(&host)) {
        output_say(output, "host", host.nodename);
        output_say(output, "kernel", host.release);
    }
    if (*recording)
        output_say(output, "recording", recording);
    output_say(output, "wallshim_version", WALLSHIM_VERSION);
    if (driver.driver_version && driver.driver_version(&version) == WS_CUDA_SUCCESS) {
        snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
        output_say(output, "driver_version", text);
    }
    output_say(output, "backend", backends[shim_options.backend]);
    if (shim_options.backend == WS_BACKEND_EVENTS) {
        output_say(output, "marks", placements[shim_options.event_placement]);
        add_number(output, "sample", (long long)shim_options.sample);
        if (shim_one_queue)
            output_say(output, "queues", "1");
    }
    if (*program_other_injection())
        output_say(output, "nvtx_tool", program_other_injection());
    if (*shim_options.burst)
        output_say(output, "burst", shim_options.burst);
    /* The time of the monotonic and the real-time clock at the same moment. With these, traces of several hosts can
     * be aligned. */
    add_number(output, "start_monotonic_ns", monotonic);
    add_number(output, "start_realtime_ns", (long long)wall.tv_sec * 1000000000 + wall.tv_nsec);
    elf_each(add_library, output);
    add_environment(output);
}
