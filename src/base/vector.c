#include "base/vector.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

enum { LARGE = 1 << 20 }; /* bytes; vector_reserve gives a larger array four times the needed capacity */

static int vector_reserve(struct ws_vector *vector, size_t count)
{
    if (count <= vector->capacity)
        return 0;
    size_t capacity = vector->capacity ? vector->capacity : 16;
    while (capacity < count) {
        if (capacity > SIZE_MAX / 8 / vector->size)
            return -ENOMEM;
        capacity *= 2;
    }
    size_t used = vector->count * vector->size;
    void *data = NULL;
    /* Unused pages of a large array take no memory, but moving the array takes time. So vector_reserve reserves four
     * times the needed capacity. */
    if (capacity * vector->size > LARGE) {
        data = ws_pages_grow(vector->data, used, 4 * capacity * vector->size);
        capacity *= data ? 4 : 1;
    }
    if (!data)
        data = ws_pages_grow(vector->data, used, capacity * vector->size);
    if (!data)
        return -ENOMEM;
    vector->data = data;
    vector->capacity = capacity;
    return 0;
}

void *ws_vector_push(struct ws_vector *vector)
{
    if (ws_vector_reach(vector, vector->count + 1))
        return NULL;
    return (char *)vector->data + (vector->count - 1) * vector->size;
}

int ws_vector_reach(struct ws_vector *vector, size_t count)
{
    if (count <= vector->count)
        return 0;
    if (vector_reserve(vector, count))
        return -ENOMEM;
    memset((char *)vector->data + vector->count * vector->size, 0, (count - vector->count) * vector->size);
    vector->count = count;
    return 0;
}

void ws_vector_finish(struct ws_vector *vector)
{
    free(vector->data);
    *vector = (struct ws_vector){ .size = vector->size };
}
