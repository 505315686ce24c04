#include "model/tensors.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum ws_element element;
    uint32_t bytes;
} types[] = {
    { "c10::BFloat16", WS_ELEMENT_BF16, 2 },
    { "c10::Half", WS_ELEMENT_FP16, 2 },
    { "float", WS_ELEMENT_FP32, 4 },
    { "double", WS_ELEMENT_FP64, 8 },
    { "c10::Float8_e4m3fn", WS_ELEMENT_FP8, 1 },
    { "c10::Float8_e4m3fnuz", WS_ELEMENT_FP8, 1 },
    { "c10::Float8_e5m2", WS_ELEMENT_FP8, 1 },
    { "c10::Float8_e5m2fnuz", WS_ELEMENT_FP8, 1 },
    { "signed_char", WS_ELEMENT_INT8, 1 },
    { "unsigned_char", WS_ELEMENT_OTHER, 1 },
    { "bool", WS_ELEMENT_OTHER, 1 },
    { "short_int", WS_ELEMENT_OTHER, 2 },
    { "int", WS_ELEMENT_OTHER, 4 },
    { "long_int", WS_ELEMENT_OTHER, 8 },
    { "c10::complex<float>", WS_ELEMENT_OTHER, 8 },
    { "c10::complex<double>", WS_ELEMENT_OTHER, 16 },
};

static void parse_type(struct ws_tensor *tensor, const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, text, length)) {
            tensor->element = types[i].element;
            tensor->element_bytes = types[i].bytes;
        }
}

/* Parses "[2,3]". Returns false for all other texts, for example for a list of tensors. */
static bool parse_sizes(struct ws_tensor *tensor, const char *text, const char *end)
{
    const char *at = text + 1;
    if (at < end && *at == ']')
        return true;
    while (at < end && tensor->rank < WS_TENSOR_RANK) {
        double size = 0;
        const char *first = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            size = size * 10 + (*at - '0');
        if (at == first || at == end || (*at != ',' && *at != ']'))
            return false;
        tensor->size[tensor->rank++] = size;
        tensor->elements *= size;
        if (*at++ == ']')
            return true;
    }
    return false;
}

/* Parses "2", "0.5" or "False". Returns the end of the parsed text, or NULL for anything else. */
static const char *parse_value(struct ws_tensor *tensor, const char *text, const char *end)
{
    double value = 0, unit = 1, sign = 1;
    const char *at = text;
    if (end - at >= 4 && !memcmp(at, "True", 4)) {
        tensor->value[tensor->values++] = 1;
        return at + 4;
    }
    if (end - at >= 5 && !memcmp(at, "False", 5)) {
        tensor->value[tensor->values++] = 0;
        return at + 5;
    }
    if (at < end && *at == '-') {
        sign = -1;
        at++;
    }
    const char *first = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (*at - '0');
    if (at == first)
        return NULL;
    if (at < end && *at == '.') {
        tensor->fraction = true;
        for (at++; at < end && *at >= '0' && *at <= '9'; at++)
            value += (*at - '0') * (unit /= 10);
    }
    tensor->value[tensor->values++] = sign * value;
    return at;
}

/* Parses "[2,2]" or a single value. */
static void parse_values(struct ws_tensor *tensor, const char *text, const char *end)
{
    bool list = text < end && *text == '[';
    const char *at = parse_value(tensor, text + list, end);
    while (list && at && at < end && *at == ',' && tensor->values < WS_TENSOR_VALUES)
        at = parse_value(tensor, at + 1, end);
    bool whole = at && (list ? at + 1 == end && *at == ']' : at == end);
    if (!whole)
        tensor->values = 0;
}

size_t ws_tensors_parse(const struct ws_text *inputs, struct ws_tensor tensors[WS_TENSORS])
{
    const char *at = inputs->data, *end = inputs->data + inputs->length;
    size_t count = 0;
    while (at < end && count < WS_TENSORS) {
        const char *stop = memchr(at, ' ', (size_t)(end - at));
        const char *next = stop ? stop : end, *equals = memchr(at, '=', (size_t)(next - at));
        const char *word_end = equals ? equals : next, *open = memchr(at, '[', (size_t)(word_end - at));
        struct ws_tensor *tensor = &tensors[count++];
        *tensor = (struct ws_tensor){ 0 };
        parse_type(tensor, at, (size_t)((open ? open : word_end) - at));
        tensor->elements = 1; /* without brackets: a scalar */
        bool sized = !open || parse_sizes(tensor, open, word_end);
        if (equals)
            parse_values(tensor, equals + 1, next);
        for (uint32_t i = 0; i < tensor->rank; i++) /* checks every size: if one is 0, so is `elements` */
            sized = sized && tensor->size[i] < 1e15;
        tensor->known = sized && tensor->element_bytes && tensor->elements < 1e15;
        at = stop ? stop + 1 : end;
    }
    return count;
}
