#include "analysis/kernels/matmul_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Parts of kernels' names, in lower case. A part listed in `tensor` tells that the kernel runs on tensor cores. A
 * part listed in `ordinary` tells that the kernel runs on CUDA cores. A kernel whose name has parts of both tables
 * runs on tensor cores. */
static const char *const tensor[] = { "tensorop", "tensor8x8x4", "tensor16x8x", "s884",      "h884",       "d884",
                                      "s1688",    "h1688",       "s16816",      "h16816",    "s16832",     "i8816",
                                      "i16832",   "s161616",     "884cudnn",    "1688cudnn", "16816cudnn", "gmma",
                                      "hmma",     "imma",        "dmma",        "wmma",      "umma",       "tcgen05",
                                      "nvjet",    "_warpgroup",  "_mi16x16x",   "_mi32x32x", "_mi4x4x",    "_xdl",
                                      "xdlops",   "gtcx",        "flash_fwd",   "flash_bwd", "flashattn",  "fmhasm" };
static const char *const ordinary[] = { "simt",         "ffma",         "sgemm",
                                        "dgemm",        "hgemm",        "cgemm",
                                        "zgemm",        "gemv",         "gemmsn_",
                                        "gemmk1_",      "scudnn",       "dot_kernel",
                                        "igemm_int8",   "dgrad_engine", "wgrad_alg0_engine",
                                        "dgrad2d_alg1", "wgrad2d_alg" };

static bool has_one_of(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* Returns the number after a word: 8 for the word "_align" in "…_align8". Returns 0 if the word is absent, or if the
 * number exceeds 64. */
static uint32_t number_behind(const char *name, const char *word)
{
    const char *at = strstr(name, word);
    unsigned long number = at ? strtoul(at + strlen(word), NULL, 10) : 0;
    return number <= 64 ? (uint32_t)number : 0;
}

static bool is_letter_of_operand(char letter)
{
    return letter == 'n' || letter == 't';
}

/* Reads which operands are transposed, from two letters n or t that form a word of their own: "_tn_". */
static void find_operands(const char *name, struct ws_matmul_name *found)
{
    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_'))
        if (is_letter_of_operand(at[1]) && is_letter_of_operand(at[2]) && !isalnum((unsigned char)at[3])) {
            found->a = at[1];
            found->b = at[2];
            return;
        }
    /* In Tensile's names, l is the index over which the product sums. A is transposed if l is A's first index. B is
     * transposed if l is not B's first index. */
    const char *a = strstr(name, "_ali"), *b = strstr(name, "_bl");
    if (strncmp(name, "cijk_", 5) != 0)
        return;
    found->a = a ? 't' : 'n';
    found->b = b ? 'n' : 't';
}

/* Parts of names, in lower case, that tell the type of an operand. The first entry whose part occurs in a name
 * counts. Smaller types come first in the table, because a name may also hold the type of the result, which is often
 * larger than the operands' type. */
static const struct {
    const char *part;
    float bytes;
} elements[] = {
    { "fp4", 0.5F },    { "int4", 0.5F }, { "uint4", 0.5F }, { "4bit", 0.5F }, { "awq", 0.5F }, { "gptq", 0.5F },
    { "marlin", 0.5F }, { "_w4", 0.5F },  { "q4_", 0.5F },   { "fp8", 1 },     { "e4m3", 1 },   { "e5m2", 1 },
    { "int8", 1 },      { "i8816", 1 },   { "_f8", 1 },      { "_i8", 1 },     { "q8_", 1 },    { "bf16", 2 },
    { "f16", 2 },       { "fp16", 2 },    { "half", 2 },     { "_bbs", 2 },    { "_hhs", 2 },   { "hgemm", 2 },
};

static float element_of(const char *name)
{
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
        if (strstr(name, elements[i].part))
            return elements[i].bytes;
    return 0;
}

/* Reads the tile (the part of the result that a block computes) in a name. The tile, such as "64x32", stands after
 * "_", after Tensile's "_mt" or after "_tilesize". Returns the smaller of its two numbers. Returns 0 if the name has
 * no tile. */
static uint32_t tile_of(const char *name)
{
    enum { LEAST = 8, MOST = 512 };
    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
        const char *digits = at + 1;
        char *end;
        if (!strncmp(digits, "mt", 2))
            digits += 2;
        else if (!strncmp(digits, "tilesize", 8))
            digits += 8;
        if (!isdigit((unsigned char)*digits))
            continue;
        unsigned long first = strtoul(digits, &end, 10);
        if (*end != 'x' || !isdigit((unsigned char)end[1]))
            continue;
        unsigned long second = strtoul(end + 1, NULL, 10);
        if (first >= LEAST && second >= LEAST && first <= MOST && second <= MOST)
            return (uint32_t)(first < second ? first : second);
    }
    return 0;
}

bool ws_matmul_has_few_rows(const struct ws_matmul_name *matmul)
{
    enum { FEW = 32 };
    return matmul->vector || (matmul->cores != WS_MATMUL_CORES_ORDINARY && matmul->tile && matmul->tile <= FEW);
}

struct ws_matmul_name ws_matmul_name(const char *kernel)
{
    struct ws_matmul_name found = { 0 };
    char name[512];
    size_t i = 0;
    for (; kernel[i] && i + 1 < sizeof(name); i++)
        name[i] = (char)tolower((unsigned char)kernel[i]);
    name[i] = 0;
    if (has_one_of(name, tensor, sizeof(tensor) / sizeof(tensor[0])))
        found.cores = WS_MATMUL_CORES_TENSOR;
    else if (has_one_of(name, ordinary, sizeof(ordinary) / sizeof(ordinary[0])))
        found.cores = WS_MATMUL_CORES_ORDINARY;
    found.load = number_behind(name, "_align");
    if (!found.load)
        found.load = number_behind(name, "_ldg");
    found.tile = tile_of(name);
    found.element = element_of(name);
    found.vector = strstr(name, "gemv") != NULL;
    find_operands(name, &found);
    return found;
}
