#include "compare/match.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/label.h"
#include "base/hash.h"
#include "base/salted.h"

enum { FUNCTOR = 256 };

/* The kernels of one side of the comparison. `taken` marks those that are already matched. */
struct pool {
    const struct ws_report_side_kernel **kernels; /* ordered by total time, longest first */
    double *launches;                             /* launches per sample (step or recording) of each kernel */
    size_t count;
    bool *taken;
    uint64_t *keys; /* each kernel's key by the current rule; 0: the kernel is taken, or has no key by this rule */
};

struct matching {
    struct pool before, after;
    struct ws_vector *pairs;
};

/* --- rules ------------------------------------------------------------------------------------- */

static uint64_t key_by_name(const struct pool *pool, size_t kernel)
{
    const char *name = pool->kernels[kernel]->name;
    return ws_hash_key(name, strlen(name));
}

/* Hashes a name without its digits. Unless with_brackets is set, also leaves out the text in < > and ( ). */
static uint64_t key_by_text(const struct pool *pool, size_t kernel, bool with_brackets)
{
    char text[8192];
    size_t length = 0, depth = 0;
    for (const char *at = pool->kernels[kernel]->name; *at && length < sizeof(text) - 4; at++) {
        bool opens = *at == '<' || *at == '(', closes = *at == '>' || *at == ')';
        depth += opens;
        if (!isdigit((unsigned char)*at) && (with_brackets || !depth))
            text[length++] = *at;
        depth -= closes && depth;
    }
    /* The kernel's class is part of the key, so that only kernels of the same class match. */
    memcpy(text + length, &pool->kernels[kernel]->class, sizeof(uint32_t));
    return length ? ws_hash_key(text, length + sizeof(uint32_t)) : 0;
}

static uint64_t key_by_numbers(const struct pool *pool, size_t kernel)
{
    return key_by_text(pool, kernel, true);
}

/* Writes the functor of a framework's wrapper kernel. The functor is the computation, such as "mul". Writes "" if
 * the kernel's name holds no functor. */
static void write_functor(const char *name, char functor[FUNCTOR])
{
    char title[4096];
    ws_kernel_label(functor, FUNCTOR, name);
    ws_kernel_title(title, sizeof(title), name);
    size_t length = strlen(functor);
    if (strncmp(title, functor, length) != 0 || strncmp(title + length, " (", 2) != 0)
        *functor = 0;
}

/* The functor, which key_by_text leaves out with the brackets, is part of the key, because it is the computation:
 * elementwise_kernel<…AddFunctor…> is not elementwise_kernel<…MulFunctor…>. */
static uint64_t key_by_stem(const struct pool *pool, size_t kernel)
{
    char functor[FUNCTOR];
    uint64_t keys[2] = { key_by_text(pool, kernel, false) };
    write_functor(pool->kernels[kernel]->name, functor);
    keys[1] = ws_hash(functor, strlen(functor));
    return keys[0] ? ws_hash_key(keys, sizeof(keys)) : 0;
}

static uint64_t key_by_shape(const struct pool *pool, size_t kernel)
{
    const struct ws_report_side_kernel *one = pool->kernels[kernel];
    uint32_t key[1 + 6] = { one->class };
    if (!one->launch[0] || !one->launch[3])
        return 0;
    memcpy(key + 1, one->launch, sizeof(one->launch));
    return ws_hash_key(key, sizeof(key));
}

/* Returns whether the two kernels' numbers of launches per sample (step or recording) differ by at most 1 %. */
static bool same_count(const struct matching *matching, size_t before, size_t after)
{
    double x = matching->before.launches[before], y = matching->after.launches[after];
    return x <= y * 1.01 && y <= x * 1.01;
}

/* Returns false if the names have different functors: such kernels compute different things. */
static bool may_be_same(const struct matching *matching, size_t before, size_t after)
{
    char x[FUNCTOR], y[FUNCTOR];
    write_functor(matching->before.kernels[before]->name, x);
    write_functor(matching->after.kernels[after]->name, y);
    return !*x || !*y || !strcmp(x, y);
}

static const struct rule {
    uint64_t (*key)(const struct pool *pool, size_t kernel);
    enum ws_pairing match;
    bool alone;      /* match two kernels only if no other unmatched kernel of either side has their key */
    bool same_count; /* match two kernels only if same_count and may_be_same are true of them */
} rules[] = {
    { key_by_name, WS_PAIRED_BY_NAME, false, false },
    { key_by_numbers, WS_PAIRED_BY_NUMBERS, false, false },
    { key_by_stem, WS_PAIRED_BY_STEM, true, true },
    { key_by_shape, WS_PAIRED_BY_SHAPE, true, true },
};

/* --- matching ---------------------------------------------------------------------------------- */

static int add_pair(struct matching *matching, const struct ws_report_side_kernel *before,
                    const struct ws_report_side_kernel *after, enum ws_pairing match)
{
    struct ws_pair *pair = ws_vector_push(matching->pairs);
    if (!pair)
        return -ENOMEM;
    *pair = (struct ws_pair){ after ? after : before, before, after, match };
    return 0;
}

/* Counts how many unmatched kernels have each key. `counts` maps a key to this number. */
static int count_keys(const struct pool *pool, struct ws_map *counts)
{
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->taken[i] || !pool->keys[i])
            continue;
        uint64_t *count = ws_salted_put(counts, pool->keys[i]);
        if (!count)
            return -ENOMEM;
        ++*count;
    }
    return 0;
}

static void compute_keys(struct pool *pool, const struct rule *rule)
{
    for (size_t i = 0; i < pool->count; i++)
        pool->keys[i] = pool->taken[i] ? 0 : rule->key(pool, i);
}

/* Links the unmatched kernels of each key into a list; the kernel with most time comes first. `heads` maps a key to
 * the first kernel of its list. next[i] is the kernel that follows kernel i. `heads` and `next` hold an index + 1, or
 * 0 for no kernel. */
static int chain(const struct pool *pool, struct ws_map *heads, uint32_t *next)
{
    for (size_t i = pool->count; i-- > 0;) {
        if (pool->taken[i] || !pool->keys[i])
            continue;
        uint64_t *head = ws_salted_put(heads, pool->keys[i]);
        if (!head)
            return -ENOMEM;
        next[i] = (uint32_t)*head;
        *head = i + 1;
    }
    return 0;
}

static bool is_alone(const struct ws_map *counts, uint64_t key)
{
    const uint64_t *count = ws_salted_get(counts, key);
    return count && *count == 1;
}

static int pair_up(struct matching *matching, const struct rule *rule, struct ws_map *heads, const uint32_t *next,
                   const struct ws_map counts[2])
{
    struct pool *before = &matching->before, *after = &matching->after;
    for (size_t i = 0; i < before->count; i++) {
        uint64_t key = before->keys[i], *head = key ? ws_salted_get(heads, key) : NULL;
        if (!head || !*head)
            continue;
        size_t other = (size_t)*head - 1;
        if (rule->alone && (!is_alone(&counts[0], key) || !is_alone(&counts[1], key)))
            continue;
        if (rule->same_count && (!same_count(matching, i, other) || !may_be_same(matching, i, other)))
            continue;
        *head = next[other];
        before->taken[i] = after->taken[other] = true;
        if (add_pair(matching, before->kernels[i], after->kernels[other], rule->match))
            return -ENOMEM;
    }
    return 0;
}

static int apply_rule(struct matching *matching, const struct rule *rule)
{
    struct ws_map heads = { 0 }, counts[2] = { { 0 }, { 0 } };
    uint32_t *next = calloc(matching->after.count + 1, sizeof(*next));
    compute_keys(&matching->before, rule);
    compute_keys(&matching->after, rule);
    int status = next ? chain(&matching->after, &heads, next) : -ENOMEM;
    if (!status && rule->alone)
        status = count_keys(&matching->before, &counts[0]) || count_keys(&matching->after, &counts[1]) ? -ENOMEM : 0;
    status = status ? status : pair_up(matching, rule, &heads, next, counts);
    ws_map_finish(&heads);
    ws_map_finish(&counts[0]);
    ws_map_finish(&counts[1]);
    free(next);
    return status;
}

struct by_time {
    const struct ws_report_side_kernel *kernel;
    double time;
};

static int match_longest_first(const void *a, const void *b)
{
    const struct by_time *x = a, *y = b;
    return x->time != y->time ? (x->time < y->time ? 1 : -1) : (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static int pool_init(struct pool *pool, const struct ws_report_side *side, enum ws_sampling sampling)
{
    const struct ws_report_side_kernel *kernels = side->kernels.data;
    size_t count = side->kernels.count;
    struct by_time *sorted = calloc(count + 1, sizeof(*sorted));
    *pool = (struct pool){ .kernels = calloc(count + 1, sizeof(*pool->kernels)),
                           .launches = calloc(count + 1, sizeof(*pool->launches)),
                           .taken = calloc(count + 1, sizeof(*pool->taken)),
                           .keys = calloc(count + 1, sizeof(*pool->keys)) };
    int status = sorted && pool->kernels && pool->launches && pool->taken && pool->keys ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++)
        if (kernels[i].per[sampling].count > 0)
            sorted[pool->count++] = (struct by_time){ &kernels[i], kernels[i].per[sampling].time.sum };
    if (!status && pool->count)
        qsort(sorted, pool->count, sizeof(*sorted), match_longest_first);
    for (size_t i = 0; i < pool->count; i++) {
        pool->kernels[i] = sorted[i].kernel;
        pool->launches[i] = sorted[i].kernel->per[sampling].count / (double)side->per[sampling].count;
    }
    free(sorted);
    return status;
}

static void pool_finish(struct pool *pool)
{
    free(pool->kernels);
    free(pool->launches);
    free(pool->taken);
    free(pool->keys);
}

int ws_pair_kernels(const struct ws_report_side *before, const struct ws_report_side *after,
                    enum ws_sampling sampling, struct ws_vector *pairs)
{
    struct matching matching = { .pairs = pairs };
    int status = pool_init(&matching.before, before, sampling) | pool_init(&matching.after, after, sampling);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !status; i++)
        status = apply_rule(&matching, &rules[i]);
    for (size_t i = 0; i < matching.before.count && !status; i++)
        if (!matching.before.taken[i])
            status = add_pair(&matching, matching.before.kernels[i], NULL, WS_UNPAIRED);
    for (size_t i = 0; i < matching.after.count && !status; i++)
        if (!matching.after.taken[i])
            status = add_pair(&matching, NULL, matching.after.kernels[i], WS_UNPAIRED);
    pool_finish(&matching.before);
    pool_finish(&matching.after);
    return status ? -ENOMEM : 0;
}
