/* Checks the metrics of src/record/counters.c by libcupti's host API, which needs no GPU. libcupti must know every
 * metric that the table lists for a chip. The metrics of a group must need only one pass.
 *
 *   counters LIBCUPTI */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti.h"
#include "record/counters.h"

static struct ws_cupti cupti;

static bool open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        printf("%s\n", dlerror());
        return false;
    }
#define FIND(structure, symbol)                           \
    *(void **)&cupti.structure = dlsym(library, #symbol); \
    if (!cupti.structure) {                               \
        printf("no %s\n", #symbol);                       \
        return false;                                     \
    }
    WS_CUPTI_FUNCTIONS(FIND)
#undef FIND
    return true;
}

/* Returns the number of passes that the metrics of the host object need, or -1 if a call failed. */
static long passes_of(ws_CUpti_Host *host)
{
    struct ws_cupti_host_config_size size = WS_CUPTI(host_config_size, .pHostObject = host);
    if (cupti.host_config_size(&size))
        return -1;
    uint8_t *image = malloc(size.configImageSize);
    struct ws_cupti_host_config config =
        WS_CUPTI(host_config, .pHostObject = host, .configImageSize = size.configImageSize, .pConfigImage = image);
    struct ws_cupti_host_passes passes =
        WS_CUPTI(host_passes, .configImageSize = size.configImageSize, .pConfigImage = image);
    long count = image && !cupti.host_config(&config) && !cupti.host_passes(&passes) ? (long)passes.numOfPasses : -1;
    free(image);
    return count;
}

static bool check_group(const char *chip, const struct ws_metric *rows, uint32_t count)
{
    const char *names[WS_METRICS_IN_GROUP];
    struct ws_cupti_host_initialize open =
        WS_CUPTI(host_initialize, .profilerType = WS_CUPTI_PROFILER_TYPE_RANGE_PROFILER, .pChipName = chip);
    for (uint32_t i = 0; i < count; i++)
        names[i] = rows[i].name.data;
    int result = cupti.host_initialize(&open);
    if (result) {
        printf("FAIL: %s: no host object: %d\n", chip, result);
        return false;
    }
    struct ws_cupti_host_add add =
        WS_CUPTI(host_add, .pHostObject = open.pHostObject, .ppMetricNames = names, .numMetrics = count);
    result = cupti.host_add(&add);
    long passes = result ? -1 : passes_of(open.pHostObject);
    if (passes != 1)
        printf("FAIL: %s: %s: %ld passes, result %d\n", chip, rows->group_name.data, passes, result);
    struct ws_cupti_host_deinitialize close = WS_CUPTI(host_deinitialize, .pHostObject = open.pHostObject);
    cupti.host_deinitialize(&close);
    return passes == 1;
}

/* Returns how many groups of metrics the chip has, or -1 if a group is wrong. */
static int check_chip(const char *chip)
{
    struct ws_metric rows[WS_METRICS_MOST];
    uint32_t count = ws_counter_metrics(chip, rows);
    bool good = count < WS_METRICS_MOST;
    for (uint32_t first = 0, next; first < count; first = next) {
        for (next = first; next < count && rows[next].group == rows[first].group;)
            next++;
        good &= next - first <= WS_METRICS_IN_GROUP && check_group(chip, rows + first, next - first);
    }
    return !good ? -1 : count ? (int)rows[count - 1].group : 0;
}

int main(int argc, char **argv)
{
    static const char *const wanted[] = { "TU104", "GA100", "GA102", "AD102", "GH100", "GB100", "GB102", "GB202" };
    struct ws_cupti_host_chips chips = WS_CUPTI(host_chips, );
    int failures = 0, known = 0;
    if (argc < 2 || !open_library(argv[1]) || cupti.host_chips(&chips))
        return 1;
    for (size_t i = 0; i < chips.numChips; i++) {
        int groups = check_chip(chips.ppChipNames[i]);
        failures += groups < 0;
        known += groups > 0;
        printf("%s: %d groups of one pass each\n", chips.ppChipNames[i], groups);
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (check_chip(wanted[i]) <= 0) {
            printf("FAIL: nothing is known of %s\n", wanted[i]);
            failures++;
        }
    printf("%d chips, %d failures\n", known, failures);
    return failures || !known;
}
