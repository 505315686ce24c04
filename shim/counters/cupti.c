#include "shim/counters/cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/reserve.h"
#include "shim/hook/elf_lookup.h"
#include "shim/objects/streams.h"
#include "shim/state/phase.h"

enum { MOST_CONFIG = 1 << 20, MOST_DATA = 16 << 20, MOST_AVAILABILITY = 1 << 20 };

static struct ws_cupti cupti;

/* --- finding libcupti -------------------------------------------------------------------------- */

static void *open_library(const char *path, int flags)
{
    void *(*open)(const char *, int) = (void *(*)(const char *, int))elf_libc_symbol("dlopen");
    return open ? open(path, RTLD_NOW | RTLD_LOCAL | flags) : NULL;
}

/* Opens the file at this path, relative to the folder of a library that the program has loaded. */
static void *open_beside(const char *loaded, const char *relative)
{
    struct elf_object object;
    char path[PATH_MAX];
    const char *slash = elf_find_by_name(loaded, &object) && object.path ? strrchr(object.path, '/') : NULL;
    if (!slash)
        return NULL;
    int length = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - object.path), object.path, relative);
    return length > 0 && (size_t)length < sizeof(path) ? open_library(path, 0) : NULL;
}

/* Finds the libcupti that the program has loaded or would load. A libcupti in or near the folder of the program's
 * CUDA runtime is preferred to the system's libcupti. (Python's wheels have a folder for each library.) */
static void *find_library(void)
{
    static const char *const beside[] = { "libcupti.so.13", "libcupti.so.12", "../../cuda_cupti/lib/libcupti.so.13",
                                          "../../cuda_cupti/lib/libcupti.so.12",
                                          "../extras/CUPTI/lib64/libcupti.so" };
    static const char *const plain[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                         "/usr/local/cuda/lib64/libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };
    struct elf_object object;
    if (*shim_options.cupti)
        return open_library(shim_options.cupti, 0);
    void *library = elf_find_by_name("libcupti.so", &object) && object.path && *object.path
                        ? open_library(object.path, RTLD_NOLOAD)
                        : NULL;
    for (size_t i = 0; !library && i < sizeof(beside) / sizeof(beside[0]); i++)
        library = open_beside("libcudart.so", beside[i]);
    for (size_t i = 0; !library && i < sizeof(plain) / sizeof(plain[0]); i++)
        library = open_library(plain[i], 0);
    return library;
}

static const char *find_functions(void)
{
    void *(*symbol)(void *, const char *) = (void *(*)(void *, const char *))elf_libc_symbol("dlsym");
    void *library = symbol ? find_library() : NULL;
    if (!library)
        return "no libcupti was found; it comes with the CUDA toolkit and with pip's nvidia-cuda-cupti, and "
               "WALLSHIM_CUPTI names one that lies elsewhere";
#define FIND(structure, name) *(void **)&cupti.structure = symbol(library, #name);
    WS_CUPTI_FUNCTIONS(FIND)
#undef FIND
#define MISSING(structure, name) || !cupti.structure
    if (false WS_CUPTI_FUNCTIONS(MISSING))
        return "this libcupti has no range profiler, which came with CUDA 12.6; WALLSHIM_CUPTI may name a newer one";
#undef MISSING
    return NULL;
}

/* --- what libcupti answers --------------------------------------------------------------------- */

static const char *explain(const char *what, ws_CUptiResult result)
{
    static char text[128];
    switch (result) {
    case WS_CUPTI_SUCCESS:
        return NULL;
    case WS_CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return "not permitted (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): let root write 'options nvidia "
               "NVreg_RestrictProfilingToAdminUsers=0' to /etc/modprobe.d/nvidia-profiling.conf and reboot, or run "
               "with "
               "CAP_SYS_ADMIN (containers: --cap-add=SYS_ADMIN)";
    case WS_CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "not permitted on this virtual GPU: its host must allow profiling "
               "(pciPassthru0.cfg.enable_profiling=1)";
    case WS_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case WS_CUPTI_ERROR_HARDWARE_BUSY:
    case WS_CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
        return "another profiler has the counters (Nsight, DCGM, or the program's own CUPTI): stop it, or pause DCGM "
               "with dcgmi profile --pause";
    case WS_CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case WS_CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case WS_CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case WS_CUPTI_ERROR_NOT_SUPPORTED:
        return "this device or its mode (MIG, confidential computing, virtual) has none to give";
    default:
        snprintf(text, sizeof(text), "CUPTI answered %d when asked to %s", result, what);
        return text;
    }
}

/* --- the groups of metrics --------------------------------------------------------------------- */

/* Prepares a group of metrics for counting. Returns false if the chip cannot count the whole group in one pass. */
static bool prepare_group(struct cupti_group *group, const char *chip, const uint8_t *availability)
{
    struct ws_cupti_host_initialize open =
        WS_CUPTI(host_initialize, .profilerType = WS_CUPTI_PROFILER_TYPE_RANGE_PROFILER, .pChipName = chip,
                 .pCounterAvailabilityImage = availability);
    if (cupti.host_initialize(&open) || !open.pHostObject)
        return false;
    struct ws_cupti_host_add add = WS_CUPTI(host_add, .pHostObject = open.pHostObject, .ppMetricNames = group->names,
                                            .numMetrics = group->count);
    struct ws_cupti_host_config_size size = WS_CUPTI(host_config_size, .pHostObject = open.pHostObject);
    if (!cupti.host_add(&add) && !cupti.host_config_size(&size) && size.configImageSize &&
        size.configImageSize <= MOST_CONFIG)
        group->config = ws_reserve(size.configImageSize);
    struct ws_cupti_host_config config =
        WS_CUPTI(host_config, .pHostObject = open.pHostObject, .configImageSize = size.configImageSize,
                 .pConfigImage = group->config);
    struct ws_cupti_host_passes passes =
        WS_CUPTI(host_passes, .configImageSize = size.configImageSize, .pConfigImage = group->config);
    if (group->config && !cupti.host_config(&config) && !cupti.host_passes(&passes) && passes.numOfPasses == 1) {
        group->config_size = size.configImageSize;
        group->host = open.pHostObject;
        return true;
    }
    struct ws_cupti_host_deinitialize close = WS_CUPTI(host_deinitialize, .pHostObject = open.pHostObject);
    cupti.host_deinitialize(&close);
    return false;
}

/* Prepares the groups, and returns how many of them the chip can count. */
static uint32_t prepare_groups(struct cupti_session *session, const char *chip, const uint8_t *availability)
{
    uint32_t usable = 0;
    for (uint32_t i = 0; i < session->metric_count; i++) {
        const struct ws_metric *metric = &session->metrics[i];
        struct cupti_group *group = &session->groups[metric->group - 1];
        if (!group->count)
            group->first = i;
        group->names[group->count++] = metric->name.data;
        group->tensor = metric->quantity == WS_QUANTITY_TENSOR_FLOPS;
        session->group_count = metric->group;
    }
    for (uint32_t i = 0; i < session->group_count; i++) {
        bool prepared = prepare_group(&session->groups[i], chip, availability);
        usable += prepared;
        if (!prepared)
            ws_debug("counters: %s has no %s in one pass", chip,
                     session->metrics[session->groups[i].first].group_name.data);
    }
    return usable;
}

/* Asks which counters are available on the device: for newer chips, groups cannot be prepared without the answer. If
 * the user lacks the permission to read counters, this is the first call of CUPTI that fails. */
static const char *ask_availability(struct shim_context *context, uint8_t **image)
{
    struct ws_cupti_availability ask = WS_CUPTI(availability, .ctx = context->handle);
    ws_CUptiResult result = cupti.availability(&ask);
    if (!result && ask.counterAvailabilityImageSize && ask.counterAvailabilityImageSize <= MOST_AVAILABILITY) {
        ask.pCounterAvailabilityImage = *image = ws_reserve(ask.counterAvailabilityImageSize);
        result = *image ? cupti.availability(&ask) : WS_CUPTI_SUCCESS;
    }
    return explain("say which counters are free", result);
}

const char *cupti_open(struct cupti_session *session, struct shim_context *context)
{
    static bool looked;
    static const char *missing;
    uint8_t *availability = NULL;
    if (!looked) {
        looked = true;
        missing = find_functions();
    }
    if (missing)
        return missing;
    session->context = context;
    struct ws_cupti_initialize initialize = WS_CUPTI(initialize, );
    const char *why = explain("begin", cupti.initialize(&initialize));
    struct ws_cupti_chip_name chip = WS_CUPTI(chip_name, .deviceIndex = context->device - 1);
    if (!why)
        why = explain("name the chip", cupti.chip_name(&chip));
    if (!why)
        why = ask_availability(context, &availability);
    if (why)
        return why;
    session->metric_count = ws_counter_metrics(chip.pChipName, session->metrics);
    return prepare_groups(session, chip.pChipName, availability) ? NULL : "no metrics are known for this chip";
}

/* --- around a launch --------------------------------------------------------------------------- */

static ws_CUptiResult ask_size(const struct cupti_session *session, struct cupti_group *group)
{
    struct ws_cupti_range_data_size size =
        WS_CUPTI(range_data_size, .pRangeProfilerObject = session->profiler, .pMetricNames = group->names,
                 .numMetrics = group->count, .maxNumOfRanges = 1, .maxNumRangeTreeNodes = 1);
    ws_CUptiResult result = cupti.range_data_size(&size);
    group->data_size = result ? 0 : size.counterDataSize;
    return result;
}

static ws_CUptiResult make_data(struct cupti_session *session, struct cupti_group *group)
{
    ws_CUptiResult result = ask_size(session, group);
    if (!session->data)
        session->data = ws_reserve(session->data_room = MOST_DATA);
    if (result || !session->data || group->data_size > session->data_room)
        return result ? result : WS_CUPTI_ERROR_INVALID_PARAMETER;
    struct ws_cupti_range_data data = WS_CUPTI(range_data, .pRangeProfilerObject = session->profiler,
                                               .counterDataSize = group->data_size, .pCounterData = session->data);
    return cupti.range_data(&data);
}

static ws_CUptiResult configure(struct cupti_session *session, const struct cupti_group *group)
{
    struct ws_cupti_range_config config =
        WS_CUPTI(range_config, .pRangeProfilerObject = session->profiler, .configSize = group->config_size,
                 .pConfig = group->config, .counterDataImageSize = group->data_size,
                 .pCounterDataImage = session->data, .range = WS_CUPTI_UserRange, .replayMode = WS_CUPTI_UserReplay,
                 .maxRangesPerPass = 1, .numNestingLevels = 1, .minNestingLevel = 1);
    return cupti.range_config(&config);
}

/* Each launch gets a profiler object of its own. A profiler object works only for the group of metrics for which it
 * was last asked for the size of the counter data (ask_size). CUPTI 13.0 on an H200 answered CUPTI_ERROR_UNKNOWN for
 * a second group, and crashed with an object that was never asked for a size. */
static const char *enable_anew(struct cupti_session *session)
{
    struct ws_cupti_range_enable enable = WS_CUPTI(range_enable, .ctx = session->context->handle);
    cupti_disable(session);
    const char *why = explain("enable the range profiler", cupti.range_enable(&enable));
    session->profiler = why ? NULL : enable.pRangeProfilerObject;
    return why;
}

const char *cupti_begin(struct cupti_session *session, struct cupti_group *group)
{
    const char *why = enable_anew(session);
    if (why)
        return why;
    struct ws_cupti_range_start start = WS_CUPTI(range_start, .pRangeProfilerObject = session->profiler);
    struct ws_cupti_range_stop stop = WS_CUPTI(range_stop, .pRangeProfilerObject = session->profiler);
    struct ws_cupti_range_push push =
        WS_CUPTI(range_push, .pRangeProfilerObject = session->profiler, .pRangeName = "launch");
    why = explain("make room for counters", make_data(session, group));
    if (!why)
        why = explain("take a configuration", configure(session, group));
    if (!why)
        why = explain("start", cupti.range_start(&start));
    bool started = !why;
    if (!why)
        why = explain("begin a range", cupti.range_push(&push));
    if (why && started)
        cupti.range_stop(&stop);
    if (why)
        cupti_disable(session); /* other tools may need the counters */
    return why;
}

const char *cupti_end(struct cupti_session *session, const struct cupti_group *group, double *values)
{
    struct ws_cupti_range_pop pop = WS_CUPTI(range_pop, .pRangeProfilerObject = session->profiler);
    struct ws_cupti_range_stop stop = WS_CUPTI(range_stop, .pRangeProfilerObject = session->profiler);
    struct ws_cupti_range_decode decode = WS_CUPTI(range_decode, .pRangeProfilerObject = session->profiler);
    struct ws_cupti_range_count count =
        WS_CUPTI(range_count, .pCounterDataImage = session->data, .counterDataImageSize = group->data_size);
    struct ws_cupti_host_evaluate evaluate =
        WS_CUPTI(host_evaluate, .pHostObject = group->host, .pCounterDataImage = session->data,
                 .counterDataImageSize = group->data_size, .ppMetricNames = (const char **)(uintptr_t)group->names,
                 .numMetrics = group->count, .pMetricValues = values);
    const char *why = explain("end a range", cupti.range_pop(&pop));
    const char *stopped = explain("stop", cupti.range_stop(&stop));
    if (!why)
        why = stopped;
    if (!why)
        why = explain("decode", cupti.range_decode(&decode));
    if (!why)
        why = explain("count ranges", cupti.range_count(&count));
    if (!why && (count.numTotalRanges != 1 || !stop.isAllPassSubmitted))
        why = "CUPTI gave no counters for a launch";
    return why ? why : explain("evaluate", cupti.host_evaluate(&evaluate));
}

void cupti_disable(struct cupti_session *session)
{
    struct ws_cupti_range_disable disable = WS_CUPTI(range_disable, .pRangeProfilerObject = session->profiler);
    if (session->profiler)
        cupti.range_disable(&disable);
    session->profiler = NULL;
}
