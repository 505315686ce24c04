/* A growing array of fixed-size elements. All zero but for size is an empty vector:
 *
 *     struct ws_vector gaps = WS_VECTOR(struct gap);
 */
#ifndef WALLSHIM_BASE_VECTOR_H
#define WALLSHIM_BASE_VECTOR_H

#include <stddef.h>

struct ws_vector {
    void *data;
    size_t count;
    size_t capacity;
    size_t size; /* bytes of an element */
};

#define WS_VECTOR(type) ((struct ws_vector){ .size = sizeof(type) })

/* Room for one element more, as bytes of 0; NULL when memory is out. Valid until the next push. */
void *ws_vector_push(struct ws_vector *vector);

/* Makes count at least this, new elements as bytes of 0. Returns 0 or -ENOMEM. */
int ws_vector_reach(struct ws_vector *vector, size_t count);

/* Accepts a vector that is empty. */
void ws_vector_finish(struct ws_vector *vector);

#endif
