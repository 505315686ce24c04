/* A growing array of fixed-size elements. In an empty vector all fields but `size` are 0:
 *
 *     struct ws_vector gaps = WS_VECTOR(struct gap); */
#ifndef WALLSHIM_BASE_VECTOR_H
#define WALLSHIM_BASE_VECTOR_H

#include <stddef.h>

struct ws_vector {
    void *data;
    size_t count;
    size_t capacity;
    size_t size; /* bytes per element */
};

#define WS_VECTOR(type) ((struct ws_vector){ .size = sizeof(type) })

/* Appends one zeroed element and returns it, or NULL when memory runs out. The address is valid until the next
 * push. */
void *ws_vector_push(struct ws_vector *vector);

/* Grows the vector to at least count elements; new elements are zeroed. Returns 0 or -ENOMEM. */
int ws_vector_reach(struct ws_vector *vector, size_t count);

/* Frees the elements. The vector is empty afterwards. */
void ws_vector_finish(struct ws_vector *vector);

#endif
