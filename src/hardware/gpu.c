#include "hardware/gpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hardware/gpus.h"

#define P(core, tensor)            \
    {                              \
        (core) * 1e3, (tensor)*1e3 \
    }
#define ROW(name, major, minor, sms, mhz, l2, memory, bandwidth, fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, \
            source)                                                                                            \
    { name,   major, minor, sms, mhz, l2, memory, bandwidth, { fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4 }, \
      source, NULL,  0,     NULL },

static const struct ws_gpu gpus[] = { WS_GPUS(ROW) };
enum { GPUS = sizeof(gpus) / sizeof(gpus[0]) };

static const struct {
    const char *name;
    uint32_t bits;
} precisions[WS_PRECISION_COUNT] = {
#define PRECISION(name, text, bits) { text, bits },
    WS_PRECISIONS(PRECISION)
#undef PRECISION
};

/* Returns the next word of the text: a run of letters and digits. Returns NULL if no word is left. */
static const char *gpu_next_word(const char *text, size_t *length)
{
    while (*text && !isalnum((unsigned char)*text))
        text++;
    for (*length = 0; isalnum((unsigned char)text[*length]); ++*length)
        ;
    return *length ? text : NULL;
}

static bool has_word(const char *text, const char *word, size_t length)
{
    size_t other;
    for (const char *at = gpu_next_word(text, &other); at; at = gpu_next_word(at + other, &other))
        if (other == length && !strncasecmp(at, word, length))
            return true;
    return false;
}

static size_t count_words(const char *text)
{
    size_t count = 0, length;
    for (const char *word = gpu_next_word(text, &length); word; word = gpu_next_word(word + length, &length))
        count++;
    return count;
}

/* Returns how many words of the first text are in the second. */
static size_t words_in(const char *words, const char *text)
{
    size_t count = 0, length;
    for (const char *word = gpu_next_word(words, &length); word; word = gpu_next_word(word + length, &length))
        count += has_word(text, word, length);
    return count;
}

bool ws_gpu_is_amd(const char *name)
{
    static const char *const words[] = { "AMD", "Instinct", "Radeon" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (has_word(name, words[i], strlen(words[i])))
            return true;
    return !strncmp(name, "MI", 2) && isdigit((unsigned char)name[2]);
}

static uint64_t gpu_distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Returns whether the word is the size of the device's memory, such as 40GB. Sizes in names are rounded, and the
 * driver keeps some memory for itself, so 40GB fits a device with 39.4 GiB. */
static bool gpu_is_size(const char *word, size_t length, uint64_t memory_gib)
{
    char *unit;
    uint64_t size = strtoull(word, &unit, 10);
    return size && unit + 2 == word + length && !strncasecmp(unit, "GB", 2) &&
           gpu_distance(size, memory_gib) <= size / 16;
}

/* Returns how many words of a row's name fit the device. The rows are those of the table gpus.h. */
static size_t gpu_words_fit(const struct ws_gpu *gpu, const struct ws_gpu_facts *facts)
{
    size_t count = 0, length;
    uint64_t memory = facts->memory_bytes >> 30;
    for (const char *word = gpu_next_word(gpu->name, &length); word; word = gpu_next_word(word + length, &length))
        count += has_word(facts->name, word, length) || gpu_is_size(word, length, memory);
    return count;
}

/* Finds the rows of the table gpus.h whose words all fit the device. Returns the row with most words. Of rows with
 * equally many words, returns the row with the nearest memory size. */
static const struct ws_gpu *find_by_name(const struct ws_gpu_facts *facts)
{
    const struct ws_gpu *best = NULL;
    size_t best_words = 0;
    uint64_t memory = facts->memory_bytes >> 30;
    for (const struct ws_gpu *gpu = gpus; facts->name && gpu < gpus + GPUS; gpu++) {
        size_t words = gpu_words_fit(gpu, facts);
        if (words < count_words(gpu->name) || words < best_words)
            continue;
        if (!best || words > best_words ||
            (memory && gpu_distance(gpu->memory_gib, memory) < gpu_distance(best->memory_gib, memory))) {
            best = gpu;
            best_words = words;
        }
    }
    return best;
}

/* Finds a chip of the device's compute capability. That chip and the device probably do the same number of FLOPs per
 * SM and clock cycle. GeForce chips are matched only with each other: with fp32 accumulation their tensor cores have
 * half the rate of professional chips. */
static const struct ws_gpu *find_sibling(const struct ws_gpu_facts *facts)
{
    bool geforce = facts->name && has_word(facts->name, "GeForce", strlen("GeForce"));
    if (!facts->cc_major || (facts->name && ws_gpu_is_amd(facts->name)))
        return NULL;
    for (const struct ws_gpu *gpu = gpus; gpu < gpus + GPUS; gpu++)
        if (gpu->cc_major == facts->cc_major && gpu->cc_minor == facts->cc_minor && !ws_gpu_is_amd(gpu->name) &&
            has_word(gpu->name, "GeForce", strlen("GeForce")) == geforce)
            return gpu;
    return NULL;
}

/* Finds an AMD GPU by its capability, compute units and memory size. No two AMD rows of the table are equal in all
 * three. AMD's runtime gives an empty name if its table of names is not installed, as in many containers. */
static const struct ws_gpu *find_by_figures(const struct ws_gpu_facts *facts)
{
    uint64_t memory = facts->memory_bytes >> 30;
    if (facts->name && *facts->name)
        return NULL;
    for (const struct ws_gpu *gpu = gpus; gpu < gpus + GPUS; gpu++)
        if (ws_gpu_is_amd(gpu->name) && gpu->cc_major == facts->cc_major && gpu->cc_minor == facts->cc_minor &&
            gpu->sms == facts->sms && gpu_distance(gpu->memory_gib, memory) <= gpu->memory_gib / 32)
            return gpu;
    return NULL;
}

enum ws_gpu_match ws_gpu_find(const struct ws_gpu_facts *facts, struct ws_gpu *gpu)
{
    const struct ws_gpu *found = find_by_name(facts);
    if (found) {
        *gpu = *found;
        return WS_GPU_BY_NAME;
    }
    found = find_by_figures(facts);
    if (found) {
        *gpu = *found;
        return WS_GPU_BY_FIGURES;
    }
    found = find_sibling(facts);
    if (!found || !facts->sms || !facts->clock_khz)
        return WS_GPU_UNKNOWN;
    *gpu = *found;
    double scale = (double)facts->sms / found->sms * (facts->clock_khz / 1e3) / found->boost_mhz;
    for (int precision = 0; precision < WS_PRECISION_COUNT; precision++)
        for (int unit = 0; unit < WS_CORES_COUNT; unit++)
            gpu->flops_per_ns[precision][unit] *= scale;
    gpu->name = facts->name;
    gpu->sms = facts->sms;
    gpu->boost_mhz = facts->clock_khz / 1000;
    gpu->l2_mib = 0;
    gpu->memory_gib = (uint32_t)(facts->memory_bytes >> 30);
    /* Double data rate: two transfers per clock and wire. */
    gpu->bytes_per_ns = 2.0 * (facts->memory_clock_khz / 1e6) * (facts->memory_bus_bits / 8.0);
    return WS_GPU_BY_CAPABILITY;
}

/* Returns the row of the table whose name shares most words with the text. Skips a row if its name and the text each
 * have a word that the other lacks. If several rows share equally many words with the text, returns the row with the
 * fewest words. */
const struct ws_gpu *ws_gpu_named(const char *text)
{
    const struct ws_gpu *best = NULL;
    size_t asked = count_words(text), best_common = 0;
    for (const struct ws_gpu *gpu = gpus; gpu < gpus + GPUS; gpu++) {
        size_t common = words_in(gpu->name, text), own = count_words(gpu->name);
        if (!common || (common < own && common < asked))
            continue;
        if (common > best_common || (common == best_common && own < count_words(best->name))) {
            best = gpu;
            best_common = common;
        }
    }
    return best;
}

const struct ws_gpu *ws_gpu_table(size_t *count)
{
    *count = GPUS;
    return gpus;
}

double ws_gpu_peak(const struct ws_gpu *gpu, enum ws_precision precision)
{
    const double *units = gpu->flops_per_ns[precision];
    return units[WS_CORES_TENSOR] > units[WS_CORES_ORDINARY] ? units[WS_CORES_TENSOR] : units[WS_CORES_ORDINARY];
}

double ws_gpu_ridge(const struct ws_gpu *gpu, enum ws_precision precision)
{
    return gpu->bytes_per_ns > 0 ? ws_gpu_peak(gpu, precision) / gpu->bytes_per_ns : 0;
}

bool ws_gpu_peak_is_measured(const struct ws_gpu *gpu, enum ws_precision precision)
{
    return gpu->measured >> precision & 1;
}

bool ws_gpu_bandwidth_is_measured(const struct ws_gpu *gpu)
{
    return gpu->measured & WS_GPU_MEASURED_BYTES;
}

static double gpu_larger(double a, double b)
{
    return a > b ? a : b;
}

double ws_gpu_limit(const struct ws_gpu *gpu, enum ws_precision precision)
{
    return gpu_larger(ws_gpu_peak(gpu, precision), gpu->sheet ? ws_gpu_peak(gpu->sheet, precision) : 0);
}

double ws_gpu_bandwidth_limit(const struct ws_gpu *gpu)
{
    return gpu_larger(gpu->bytes_per_ns, gpu->sheet ? gpu->sheet->bytes_per_ns : 0);
}

const char *ws_precision_name(enum ws_precision precision)
{
    return precisions[precision].name;
}

uint32_t ws_precision_bits(enum ws_precision precision)
{
    return precisions[precision].bits;
}

enum ws_precision ws_precision_named(const char *text)
{
    int precision = 0;
    while (precision < WS_PRECISION_COUNT && strcasecmp(precisions[precision].name, text) != 0)
        precision++;
    return (enum ws_precision)precision;
}
