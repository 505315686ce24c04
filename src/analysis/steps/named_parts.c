#include "analysis/steps/named_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/salted.h"

/* The maximum number of ranges whose names are read to find a period. */
enum { MOST_NAMES = 4096 };

/* A number n of ranges is a period if at least the share agree_share of the ranges have the same name as the range
 * that comes n ranges later. At least LEAST_AGREE pairs of names must be compared. */
enum { LEAST_AGREE = 4 };
static const double agree_share = 0.9;

/* Found steps are parts of iterations if the period of the ranges lasts more than parts_factor times as long as a
 * step. Found steps are iterations if the duration of the period differs from that of a step by less than the share
 * same_length. */
static const double parts_factor = 1.5, same_length = 0.1;

/* The ranges are used to judge found steps only if at least this share of the steps contains ranges. */
static const double steps_share = 0.5;

/* A range on the thread that launches most operations: its start (host clock, ns) and its name. */
struct named {
    int64_t begin;
    uint64_t name; /* hash of the name's text; several labels of the trace may have the same text */
};

/* What the text of a label (the name of ranges) contains. COUNTS_ITERATIONS: the number of an iteration.
 * NUMBERS_PART: the number of a part of a model. NAME: neither of these numbers. */
enum { NOT_LOOKED_AT, NAME, COUNTS_ITERATIONS, NUMBERS_PART };

/* Does the name contain the number of a part of a model, as "encoder.block.14" and "layer 3" do? In the path of a
 * module, the number follows a dot. Names of module calls ("nn.Module: Linear_3") always count. */
static bool numbers_part(const char *text)
{
    bool word = strcasestr(text, "layer") || strcasestr(text, "block");
    for (const char *at = text; *at; at++) {
        if (!isdigit((unsigned char)*at) || (at > text && isdigit((unsigned char)at[-1])))
            continue;
        if (word || (at > text + 1 && at[-1] == '.' && (isalpha((unsigned char)at[-2]) || at[-2] == '_')))
            return true;
    }
    return !strncmp(text, "nn.Module: ", 11);
}

/* Does the name contain the number of an iteration, as "batch 7" does? */
static bool counts_iterations(const char *text)
{
    static const char *const words[] = { "iter", "step", "batch", "epoch", "request", "sample", "frame", "token" };
    if (!strpbrk(text, "0123456789") || strcasestr(text, "micro"))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(text, words[i]))
            return true;
    return false;
}

/* Reads the name of a range. Returns false if the name does not help to tell parts from iterations. Names of
 * operators and functions help only if they contain the number of a part. `looks` keeps for each label what its text
 * contains (NAME, COUNTS_ITERATIONS …). */
static bool read_name(const struct ws_process *process, const struct ws_range *range, uint8_t *looks,
                      struct named *named, bool *numbered)
{
    uint32_t label = ws_entries_place(&process->labels, range->name);
    if (label == UINT32_MAX || range->kind == WS_RANGE_STEP || range->kind == WS_RANGE_COMMUNICATION)
        return false;
    const struct ws_text *text = &((const struct ws_label *)process->labels.rows.data)[label].text;
    if (looks[label] == NOT_LOOKED_AT)
        looks[label] = numbers_part(text->data)        ? NUMBERS_PART
                       : counts_iterations(text->data) ? COUNTS_ITERATIONS
                                                       : NAME;
    *numbered = looks[label] == NUMBERS_PART;
    if (!*numbered && (looks[label] != NAME || range->kind != WS_RANGE_ANNOTATION))
        return false;
    *named = (struct named){ range->host_begin, ws_salted_key(text->data, strlen(text->data)) };
    return true;
}

/* Sets *thread to the thread that launched most of the track's operations, or to 0 if no launch is known. Returns 0
 * or -ENOMEM. */
static int launching_thread(const struct ws_process *process, const struct ws_track *track, uint32_t *thread)
{
    size_t count = process->ops.threads.count, most = 0, *launches = calloc(count + 1, sizeof(*launches));
    if (!launches)
        return -ENOMEM;
    for (size_t i = 0; i < track->count; i++)
        if (ws_op_has_call(&process->ops, track->order[i]))
            launches[ws_op_thread_place(&process->ops, track->order[i])]++;
    for (size_t i = 0; i < count; i++)
        if (launches[i] > launches[most])
            most = i;
    *thread = launches[most] ? ((const uint32_t *)process->ops.threads.data)[most] : 0;
    free(launches);
    return 0;
}

/* The ranges of one thread whose names help to tell parts from iterations, in order of start. `again` lists only the
 * ranges whose names occur more than once. numbered[i] is true if the name of all[i] contains the number of a
 * part. */
struct names {
    struct named all[MOST_NAMES], again[MOST_NAMES];
    bool numbered[MOST_NAMES];
    size_t count, again_count;
};

static int named_parts_collect(const struct ws_process *process, uint32_t thread, struct names *names)
{
    const struct ws_thread_rows *ranges = ws_rows_of_thread(&process->ranges.threads, thread);
    uint8_t *looks = calloc(process->labels.rows.count + 1, 1);
    struct ws_map times = { 0 };
    int status = looks ? 0 : -ENOMEM;
    for (uint32_t i = 0; ranges && i < ranges->count && names->count < MOST_NAMES && !status; i++) {
        const struct ws_range *range = ws_range(&process->ranges, ranges->first + i);
        struct named *named = &names->all[names->count];
        if (!read_name(process, range, looks, named, &names->numbered[names->count]))
            continue;
        uint64_t *seen = ws_salted_put(&times, named->name);
        if (seen)
            ++*seen;
        else
            status = -ENOMEM;
        names->count++;
    }
    for (size_t i = 0; i < names->count && !status; i++)
        if (*ws_salted_get(&times, names->all[i].name) > 1)
            names->again[names->again_count++] = names->all[i];
    ws_map_finish(&times);
    free(looks);
    return status;
}

/* Returns the period of the names: the smallest n for which nearly all ranges (agree_share) have the same name as the
 * range that comes n ranges later. Returns 0 if there is no period. */
static size_t named_parts_period(const struct names *names)
{
    size_t count = names->again_count;
    for (size_t shift = 1; shift + LEAST_AGREE <= count; shift++) {
        size_t pairs = count - shift, most = (size_t)((1 - agree_share) * (double)pairs), differ = 0;
        for (size_t i = 0; i < pairs && differ <= most; i++)
            differ += names->again[i].name != names->again[i + shift].name;
        if (differ <= most)
            return shift;
    }
    return 0;
}

/* Returns the median time, in ns, from the start of a range to the start of the range one period later. */
static int64_t median_length(const struct names *names, size_t period)
{
    static const size_t looks = 256;
    int64_t lengths[256];
    size_t pairs = names->again_count - period, count = ws_min(pairs, looks);
    for (size_t i = 0; i < count; i++) {
        size_t at = i * pairs / count;
        lengths[i] = names->again[at + period].begin - names->again[at].begin;
    }
    qsort(lengths, count, sizeof(*lengths), ws_ascending);
    return lengths[count / 2];
}

/* Counts of found steps. `steps`: number of all steps. `named`: number of steps in which ranges begin. `changed`:
 * number of steps in which most ranges are named after numbered parts ("layer 3") that are not in the previous
 * step. */
struct within {
    size_t steps, named, changed;
};

static struct within look_within(const struct names *names, const int64_t *launches, size_t count)
{
    struct within within = { .steps = count - 1 };
    size_t at = 0, before = 0;
    for (size_t step = 0; step + 1 < count; step++) {
        while (at < names->count && names->all[at].begin < launches[step])
            at++;
        size_t first = at, new = 0;
        for (; at < names->count && names->all[at].begin < launches[step + 1]; at++) {
            bool known = false;
            for (size_t i = before; i < first && !known; i++)
                known = names->all[i].name == names->all[at].name;
            new += names->numbered[at] && !known;
        }
        within.named += at > first;
        within.changed += at > first && 2 * new > at - first;
        before = first;
    }
    return within;
}

static int add_begins(const struct names *names, size_t period, struct ws_vector *begins)
{
    for (size_t i = 0; i < names->again_count; i += period) {
        int64_t *begin = ws_vector_push(begins);
        if (!begin)
            return -ENOMEM;
        *begin = names->again[i].begin;
    }
    return 0;
}

static int named_parts_judge(const struct names *names, const int64_t *launches, size_t count,
                             enum ws_parts_answer *answer, struct ws_vector *begins)
{
    struct within within = look_within(names, launches, count);
    size_t period = named_parts_period(names);
    double found = (double)(launches[count - 1] - launches[0]) / (double)(count - 1);
    double length = period ? (double)median_length(names, period) : 0;
    if ((double)within.named < steps_share * (double)within.steps || found <= 0)
        return 0;
    if (length > parts_factor * found) {
        *answer = WS_PARTS_LONGER;
        return add_begins(names, period, begins);
    }
    if (length > (1 - same_length) * found && length < (1 + same_length) * found)
        *answer = WS_PARTS_CONFIRM;
    else if (!period && (double)within.changed > steps_share * (double)within.steps)
        *answer = WS_PARTS_ONLY;
    return 0;
}

int ws_named_parts(const struct ws_process *process, const struct ws_track *track, const int64_t *launches,
                   size_t count, enum ws_parts_answer *answer, struct ws_vector *begins)
{
    uint32_t thread;
    *answer = WS_PARTS_SILENT;
    if (!process->ranges.rows.count || count < 2)
        return 0;
    struct names *names = calloc(1, sizeof(*names));
    int status = names ? launching_thread(process, track, &thread) : -ENOMEM;
    if (!status)
        status = named_parts_collect(process, thread, names);
    if (!status && names->count)
        status = named_parts_judge(names, launches, count, answer, begins);
    free(names);
    return status;
}
