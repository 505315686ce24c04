/* A growing array of fixed-size elements. All zero but for size is an empty vector:
 *
 *     struct ws_vector gaps = WS_VECTOR(struct gap);
 */
#ifndef WALLSHIM_BASE_VECTOR_H
#define WALLSHIM_BASE_VECTOR_H

#include <stddef.h>
#include <string.h>

struct ws_vector {
    void *data;
    size_t count;
    size_t capacity;
    size_t size; /* bytes of an element */
};

#define WS_VECTOR(type) ((struct ws_vector){ .size = sizeof(type) })

/* Makes room for so many elements. Returns 0 or -ENOMEM. */
int ws_vector_reserve(struct ws_vector *vector, size_t count);

/* Makes count at least this, new elements as bytes of 0. Returns 0 or -ENOMEM. */
int ws_vector_reach(struct ws_vector *vector, size_t count);

/* Room for one element more, as bytes of 0; NULL when memory is out. Valid until the next push. */
static inline void *ws_vector_push(struct ws_vector *vector)
{
    if (vector->count == vector->capacity && ws_vector_reserve(vector, vector->count + 1))
        return NULL;
    return memset((char *)vector->data + vector->count++ * vector->size, 0, vector->size);
}

/* Accepts a vector that is empty. */
void ws_vector_finish(struct ws_vector *vector);

#endif
