#include "model/sparse.h"

#include <errno.h>

int ws_sparse_add(struct ws_sparse *sparse, size_t row, uint64_t value)
{
    if (!sparse->words.size)
        *sparse = (struct ws_sparse){ WS_VECTOR(struct ws_sparse_word), WS_VECTOR(uint64_t) };
    size_t known = sparse->words.count;
    if (ws_vector_reach(&sparse->words, row / 64 + 1))
        return -ENOMEM;
    struct ws_sparse_word *words = sparse->words.data;
    for (size_t i = known; i < sparse->words.count; i++)
        words[i].before = sparse->values.count;
    uint64_t *place = ws_vector_push(&sparse->values);
    if (!place)
        return -ENOMEM;
    *place = value;
    words[row / 64].has |= 1ULL << row % 64;
    return 0;
}

size_t ws_sparse_next(const struct ws_sparse *sparse, size_t row)
{
    const struct ws_sparse_word *words = sparse->words.data;
    for (size_t i = row / 64; i < sparse->words.count; i++) {
        uint64_t has = i == row / 64 ? words[i].has & ~0ULL << row % 64 : words[i].has;
        if (has)
            return i * 64 + (size_t)__builtin_ctzll(has);
    }
    return SIZE_MAX;
}

void ws_sparse_finish(struct ws_sparse *sparse)
{
    ws_vector_finish(&sparse->words);
    ws_vector_finish(&sparse->values);
}
