#include "compare/match.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

/* The kernels of one side that have no partner yet. */
struct pool {
    const struct ws_side *side;
    const struct ws_side_kernel *kernels;
    size_t count;
    bool *taken;
    uint64_t *keys; /* of the rule that is being tried; 0: cannot be matched by it */
};

struct matching {
    struct pool before, after;
    struct ws_vector *pairs;
};

static const char *name_of(const struct pool *pool, size_t kernel)
{
    return ws_model_name(pool->side->report->model, pool->kernels[kernel].name)->text;
}

/* Never 0, which is no key. */
static uint64_t key_of(const void *bytes, size_t size)
{
    uint64_t hash = ws_hash(bytes, size);
    return hash ? hash : 1;
}

/* --- rules ------------------------------------------------------------------------------------- */

static uint64_t key_by_name(const struct pool *pool, size_t kernel)
{
    const char *name = name_of(pool, kernel);
    return key_of(name, strlen(name));
}

/* A name without its digits, and without what stands in < > and ( ) unless that is wanted. */
static uint64_t key_by_text(const struct pool *pool, size_t kernel, bool with_brackets)
{
    char text[8192];
    size_t length = 0, depth = 0;
    for (const char *at = name_of(pool, kernel); *at && length < sizeof(text) - 4; at++) {
        bool opens = *at == '<' || *at == '(', closes = *at == '>' || *at == ')';
        depth += opens;
        if (!isdigit((unsigned char)*at) && (with_brackets || !depth))
            text[length++] = *at;
        depth -= closes && depth;
    }
    /* A class is part of what must be the same. */
    memcpy(text + length, &pool->kernels[kernel].class, sizeof(uint32_t));
    return length ? key_of(text, length + sizeof(uint32_t)) : 0;
}

static uint64_t key_by_numbers(const struct pool *pool, size_t kernel)
{
    return key_by_text(pool, kernel, true);
}

static uint64_t key_by_stem(const struct pool *pool, size_t kernel)
{
    return key_by_text(pool, kernel, false);
}

static uint64_t key_by_shape(const struct pool *pool, size_t kernel)
{
    const struct ws_side_kernel *one = &pool->kernels[kernel];
    const struct ws_shape *row = one->shape ? &one->shape->row : NULL;
    if (!row || row->kind != WS_OP_KERNEL || !row->grid_x || !row->block_x)
        return 0;
    uint32_t key[] = { one->class, row->grid_x, row->grid_y, row->grid_z, row->block_x, row->block_y, row->block_z };
    return key_of(key, sizeof(key));
}

/* Launches a step within 1 % of each other. */
static bool same_count(const struct matching *matching, size_t before, size_t after)
{
    double x = (double)matching->before.kernels[before].count * (double)matching->after.side->samples;
    double y = (double)matching->after.kernels[after].count * (double)matching->before.side->samples;
    return x <= y * 1.01 && y <= x * 1.01;
}

static const struct rule {
    uint64_t (*key)(const struct pool *pool, size_t kernel);
    enum ws_pairing match;
    bool alone;      /* only where there is one on each side */
    bool same_count; /* and they are launched as often */
} rules[] = {
    { key_by_name, WS_PAIRED_BY_NAME, false, false },
    { key_by_numbers, WS_PAIRED_BY_NUMBERS, false, false },
    { key_by_stem, WS_PAIRED_BY_STEM, true, true },
    { key_by_shape, WS_PAIRED_BY_SHAPE, true, true },
};

/* --- matching ---------------------------------------------------------------------------------- */

static int add_pair(struct matching *matching, const struct ws_side_kernel *before,
                    const struct ws_side_kernel *after, enum ws_pairing match)
{
    struct ws_pair *pair = ws_vector_push(matching->pairs);
    if (!pair)
        return -ENOMEM;
    *pair = (struct ws_pair){ before, after, match };
    return 0;
}

/* How many of the pool's kernels without partner have each key. */
static int count_keys(const struct pool *pool, struct ws_map *counts)
{
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->taken[i] || !pool->keys[i])
            continue;
        uint64_t *count = ws_map_put(counts, pool->keys[i]);
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

/* Kernels of one key stand in a chain, longest first: heads by key, and who comes after each. */
static int chain(const struct pool *pool, struct ws_map *heads, uint32_t *next)
{
    for (size_t i = pool->count; i-- > 0;) {
        if (pool->taken[i] || !pool->keys[i])
            continue;
        uint64_t *head = ws_map_put(heads, pool->keys[i]);
        if (!head)
            return -ENOMEM;
        next[i] = (uint32_t)*head;
        *head = i + 1;
    }
    return 0;
}

static bool is_alone(const struct ws_map *counts, uint64_t key)
{
    const uint64_t *count = ws_map_get(counts, key);
    return count && *count == 1;
}

static int pair_up(struct matching *matching, const struct rule *rule, struct ws_map *heads, const uint32_t *next,
                   const struct ws_map counts[2])
{
    struct pool *before = &matching->before, *after = &matching->after;
    for (size_t i = 0; i < before->count; i++) {
        uint64_t key = before->keys[i], *head = key ? ws_map_get(heads, key) : NULL;
        if (!head || !*head)
            continue;
        size_t other = (size_t)*head - 1;
        if (rule->alone && (!is_alone(&counts[0], key) || !is_alone(&counts[1], key)))
            continue;
        if (rule->same_count && !same_count(matching, i, other))
            continue;
        *head = next[other];
        before->taken[i] = after->taken[other] = true;
        if (add_pair(matching, &before->kernels[i], &after->kernels[other], rule->match))
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

static int pool_init(struct pool *pool, const struct ws_side *side)
{
    *pool = (struct pool){ side, side->kernels.data, side->kernels.count,
                           calloc(side->kernels.count + 1, sizeof(*pool->taken)),
                           calloc(side->kernels.count + 1, sizeof(*pool->keys)) };
    return pool->taken && pool->keys ? 0 : -ENOMEM;
}

static void pool_finish(struct pool *pool)
{
    free(pool->taken);
    free(pool->keys);
}

int ws_pair_kernels(const struct ws_side *before, const struct ws_side *after, struct ws_vector *pairs)
{
    struct matching matching = { .pairs = pairs };
    int status = pool_init(&matching.before, before) | pool_init(&matching.after, after);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !status; i++)
        status = apply_rule(&matching, &rules[i]);
    for (size_t i = 0; i < matching.before.count && !status; i++)
        if (!matching.before.taken[i])
            status = add_pair(&matching, &matching.before.kernels[i], NULL, WS_UNPAIRED);
    for (size_t i = 0; i < matching.after.count && !status; i++)
        if (!matching.after.taken[i])
            status = add_pair(&matching, NULL, &matching.after.kernels[i], WS_UNPAIRED);
    pool_finish(&matching.before);
    pool_finish(&matching.after);
    return status ? -ENOMEM : 0;
}
