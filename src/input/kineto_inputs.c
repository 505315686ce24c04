/* Writes the inputs of an operator as one text: "float[2,3] Scalar=1 TensorList[[2],[3]]".
 *
 * The file gives the types, the dimensions and the values of the inputs as three separate lists, in any order. Each
 * list is first stored as a text with one word per input and a space after each word. kineto_inputs_end then joins
 * the three texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/kineto.h"

enum {
    MOST = 32768,    /* maximum size of the text in bytes; a longer text is dropped */
    MOST_VALUE = 32, /* maximum size of a value in bytes; a longer value is dropped */
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

static void kineto_inputs_append(struct kineto_inputs *inputs, struct kineto_text *to, const char *text,
                                 size_t length)
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
    kineto_inputs_append(inputs, &inputs->types, length ? text : "-", length ? length : 1);
    for (size_t i = at; i < inputs->types.size; i++)
        if ((unsigned char)inputs->types.data[i] <= ' ')
            inputs->types.data[i] = '_';
    kineto_inputs_append(inputs, &inputs->types, " ", 1);
}

void kineto_take_dimensions(struct kineto_inputs *inputs, const char *text, size_t length)
{
    kineto_inputs_append(inputs, &inputs->dimensions, text, length);
}

void kineto_take_dimension(struct kineto_inputs *inputs, const char *text, size_t length)
{
    const struct kineto_text *dimensions = &inputs->dimensions;
    char last = ' ';
    if (dimensions->size)
        last = dimensions->data[dimensions->size - 1];
    if (length && last != '[' && last != ' ')
        kineto_inputs_append(inputs, &inputs->dimensions, ",", 1);
    kineto_inputs_append(inputs, &inputs->dimensions, text, length);
}

void kineto_take_value(struct kineto_inputs *inputs, const char *text, size_t length)
{
    char value[MOST_VALUE + 1];
    size_t size = 0;
    for (size_t i = 0; i < length && size <= MOST_VALUE; i++)
        if ((unsigned char)text[i] > ' ')
            value[size++] = text[i];
    if (size && size <= MOST_VALUE)
        kineto_inputs_append(inputs, &inputs->values, value, size);
    kineto_inputs_append(inputs, &inputs->values, " ", 1);
}

/* Returns whether the operator's FLOPs or bytes depend on the values of its inputs. Values are kept only for these
 * operators: values make nearly every text different, and each different text is stored in the trace. */
static bool is_decided_by_values(const struct ws_text *operator)
{
    return memmem(operator->data, operator->length, "conv", 4) ||
           memmem(operator->data, operator->length, "attention", 9);
}

static struct ws_text kineto_inputs_next_word(const struct kineto_text *text, size_t *at)
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
        struct ws_text type = kineto_inputs_next_word(&inputs->types, &type_at);
        struct ws_text dimensions = kineto_inputs_next_word(&inputs->dimensions, &dimensions_at);
        struct ws_text value = kineto_inputs_next_word(&inputs->values, &value_at);
        if (!type.length && !dimensions.length)
            break;
        if (all->size)
            kineto_inputs_append(inputs, all, " ", 1);
        kineto_inputs_append(inputs, all, type.length ? type.data : "-", type.length ? type.length : 1);
        if (dimensions.length > 2) { /* longer than "[]", so not empty */
            kineto_inputs_append(inputs, all, dimensions.data, dimensions.length);
        } else if (value.length) {
            kineto_inputs_append(inputs, all, "=", 1);
            kineto_inputs_append(inputs, all, value.data, value.length);
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
