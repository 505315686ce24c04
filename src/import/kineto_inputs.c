/* What an operator was given, as one text: "float[2,3] Scalar=1 TensorList[[2],[3]]".
 *
 * Types, dimensions and values come as lists, in any order; here each becomes words with a space after it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/kineto.h"

enum {
    MOST = 32768,    /* bytes; a longer description is left out */
    MOST_VALUE = 32, /* bytes of a value; of a longer one nothing is kept */
};

int kineto_append(struct kineto_text *to, const char *text, size_t length)
{
    if (to->capacity - to->size < length) {
        size_t capacity = (to->size + length) * 2;
        char *data = realloc(to->data, capacity);
        if (!data)
            return -ENOMEM;
        to->data = data;
        to->capacity = capacity;
    }
    if (length)
        memcpy(to->data + to->size, text, length);
    to->size += length;
    return 0;
}

static void append(struct kineto_inputs *inputs, struct kineto_text *to, const char *text, size_t length)
{
    if (to->size + length > MOST)
        inputs->too_long = true;
    else if (kineto_append(to, text, length))
        inputs->failed = true;
}

void kineto_inputs_begin(struct kineto_inputs *inputs)
{
    inputs->types.size = inputs->dimensions.size = inputs->values.size = 0;
    inputs->too_long = false;
}

void kineto_take_type(struct kineto_inputs *inputs, const char *text, size_t length)
{
    size_t at = inputs->types.size;
    append(inputs, &inputs->types, length ? text : "-", length ? length : 1);
    for (size_t i = at; i < inputs->types.size; i++)
        if ((unsigned char)inputs->types.data[i] <= ' ')
            inputs->types.data[i] = '_';
    append(inputs, &inputs->types, " ", 1);
}

void kineto_take_dimensions(struct kineto_inputs *inputs, const char *text, size_t length)
{
    append(inputs, &inputs->dimensions, text, length);
}

void kineto_take_dimension(struct kineto_inputs *inputs, const char *text, size_t length)
{
    const struct kineto_text *dimensions = &inputs->dimensions;
    char last = ' ';
    if (dimensions->size)
        last = dimensions->data[dimensions->size - 1];
    if (length && last != '[' && last != ' ')
        append(inputs, &inputs->dimensions, ",", 1);
    append(inputs, &inputs->dimensions, text, length);
}

void kineto_take_value(struct kineto_inputs *inputs, const char *text, size_t length)
{
    char value[MOST_VALUE + 1];
    size_t size = 0;
    for (size_t i = 0; i < length && size <= MOST_VALUE; i++)
        if ((unsigned char)text[i] > ' ')
            value[size++] = text[i];
    if (size && size <= MOST_VALUE)
        append(inputs, &inputs->values, value, size);
    append(inputs, &inputs->values, " ", 1);
}

/* Values make texts of their own, so they are kept for the operators whose work they decide. */
static bool is_decided_by_values(const struct ws_text *operator)
{
    return memmem(operator->data, operator->length, "conv", 4) ||
           memmem(operator->data, operator->length, "attention", 9);
}

static struct ws_text next_word(const struct kineto_text *text, size_t *at)
{
    const char *end = *at < text->size ? memchr(text->data + *at, ' ', text->size - *at) : NULL;
    if (!end)
        return (struct ws_text){ "", 0 };
    struct ws_text word = { text->data + *at, (uint32_t)((size_t)(end - text->data) - *at) };
    *at += word.length + 1;
    return word;
}

struct ws_text kineto_inputs_end(struct kineto_inputs *inputs, const struct ws_text *operator)
{
    size_t type_at = 0, dimensions_at = 0, value_at = 0;
    struct kineto_text *all = &inputs->all;
    all->size = 0;
    if (inputs->values.size && !is_decided_by_values(operator))
        inputs->values.size = 0;
    while (!inputs->too_long && !inputs->failed) {
        struct ws_text type = next_word(&inputs->types, &type_at);
        struct ws_text dimensions = next_word(&inputs->dimensions, &dimensions_at);
        struct ws_text value = next_word(&inputs->values, &value_at);
        if (!type.length && !dimensions.length)
            break;
        if (all->size)
            append(inputs, all, " ", 1);
        append(inputs, all, type.length ? type.data : "-", type.length ? type.length : 1);
        if (dimensions.length > 2) { /* more than [] */
            append(inputs, all, dimensions.data, dimensions.length);
        } else if (value.length) {
            append(inputs, all, "=", 1);
            append(inputs, all, value.data, value.length);
        }
    }
    return (struct ws_text){ all->data ? all->data : "", inputs->too_long ? 0 : (uint32_t)all->size };
}

void kineto_inputs_finish(struct kineto_inputs *inputs)
{
    free(inputs->types.data);
    free(inputs->dimensions.data);
    free(inputs->values.data);
    free(inputs->all.data);
}
