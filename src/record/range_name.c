#include "record/range_name.h"

#include <string.h>
#include <strings.h>

#include "base/minmax.h"

enum { DIGITS_MOST = 18 }; /* every number of 18 digits fits in 64 bits */

static bool range_name_has(const char *text, size_t length, const char *word)
{
    for (size_t size = strlen(word); length >= size; text++, length--)
        if (!strncasecmp(text, word, size))
            return true;
    return false;
}

static bool ends_with(const char *text, size_t length, const char *word)
{
    size_t size = strlen(word);
    return length >= size && !strncasecmp(text + length - size, word, size);
}

/* Returns the length of the operator's name, or 0 if the text is not written by PyTorch's emit_nvtx. */
static size_t operator_length(const char *text, size_t length)
{
    const char *seq = memmem(text, length, ", seq = ", 8);
    const char *id = memmem(text, length, ", op_id = ", 10);
    const char *end = seq && (!id || seq < id) ? seq : id;
    return end ? (size_t)(end - text) : 0;
}

static bool is_nccl_call(const char *text, size_t length)
{
    static const char *const calls[] = { "ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                                         "ncclReduce",    "ncclAlltoAll",      "ncclGather",    "ncclScatter",
                                         "ncclSend",      "ncclRecv" };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (length == strlen(calls[i]) && !memcmp(text, calls[i], length))
            return true;
    return false;
}

/* Reads the digits at the end of the text as a number. Returns the number of digits, or 0 if there are too many. */
static size_t number_at_end(const char *text, size_t length, uint64_t *number)
{
    size_t digits = 0;
    *number = 0;
    while (digits < length && text[length - 1 - digits] >= '0' && text[length - 1 - digits] <= '9')
        digits++;
    for (size_t i = length - digits; i < length && digits <= DIGITS_MOST; i++)
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    return digits <= DIGITS_MOST ? digits : 0;
}

static bool is_separator(char c)
{
    return strchr(" _-:=#.[(", c) && c;
}

/* Words for things that a program numbers throughout its run. The first ITERATIONS words mean an iteration. */
static const char *const counted[] = { "iter",    "iteration", "step",  "batch", "epoch",
                                       "request", "sample",    "frame", "token" };
enum { COUNTED = sizeof(counted) / sizeof(counted[0]), ITERATIONS = 4 };

/* Does the name end with one of the first `words` words of counted[]? Names of parts of an iteration, such as "micro
 * batch 3", do not count: their numbers start again in each iteration. */
static bool ends_with_counted(const char *text, size_t length, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (ends_with(text, length, counted[i]))
            return !range_name_has(text, length, "micro");
    return false;
}

/* Excludes names such as "optimizer step" and "scheduler step": these ranges cover only the end of an iteration. */
bool ws_range_names_iteration(const char *text, size_t length)
{
    return ends_with_counted(text, length, ITERATIONS) && !range_name_has(text, length, "optim") &&
           !range_name_has(text, length, "sched");
}

/* Returns the length of the name without the number, such as "#12", or 0 if the text is not the name of a step. */
static size_t step_length(const char *text, size_t length, uint64_t *number)
{
    size_t before = length - number_at_end(text, length, number);
    bool is_step = before < length && before && text[before - 1] == '#' &&
                   (ends_with(text, before - 1, "step") || ends_with(text, before - 1, "iteration"));
    return is_step ? before - 1 : 0;
}

bool ws_range_is_step(const char *text, size_t length, uint64_t *number)
{
    uint64_t read;
    bool is_step = step_length(text, length, &read);
    if (is_step)
        *number = read;
    return is_step;
}

struct ws_range_name ws_range_name_read(const char *text, size_t length)
{
    uint64_t number;
    size_t before = operator_length(text, length);
    if (before)
        return (struct ws_range_name){ WS_RANGE_OPERATOR, before, 0 };
    if (is_nccl_call(text, length))
        return (struct ws_range_name){ WS_RANGE_COMMUNICATION, length, 0 };
    before = step_length(text, length, &number);
    if (before)
        return (struct ws_range_name){ WS_RANGE_STEP, before, number };
    before = length - number_at_end(text, length, &number);
    bool ends_so = before < length;
    while (before && is_separator(text[before - 1]))
        before--;
    if (ends_so && ends_with_counted(text, before, COUNTED))
        return (struct ws_range_name){ WS_RANGE_ANNOTATION, before, number };
    return (struct ws_range_name){ WS_RANGE_ANNOTATION, length, 0 };
}
