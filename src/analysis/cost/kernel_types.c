#include "analysis/cost/kernel_types.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name;
    char mangled; /* letter of the type in mangled C++ names; 0: the type is a class, which has no letter */
    uint8_t bytes;
    enum ws_element element;
} types[] = {
    { "float", 'f', 4, WS_ELEMENT_FP32 },       { "double", 'd', 8, WS_ELEMENT_FP64 },
    { "Half", 0, 2, WS_ELEMENT_FP16 },          { "__half", 0, 2, WS_ELEMENT_FP16 },
    { "half_t", 0, 2, WS_ELEMENT_FP16 },        { "BFloat16", 0, 2, WS_ELEMENT_BF16 },
    { "__nv_bfloat16", 0, 2, WS_ELEMENT_BF16 }, { "bfloat16_t", 0, 2, WS_ELEMENT_BF16 },
    { "Float8_e4m3fn", 0, 1, WS_ELEMENT_FP8 },  { "Float8_e5m2", 0, 1, WS_ELEMENT_FP8 },
    { "bool", 'b', 1, WS_ELEMENT_OTHER },       { "char", 'c', 1, WS_ELEMENT_OTHER },
    { "signed char", 'a', 1, WS_ELEMENT_INT8 }, { "unsigned char", 'h', 1, WS_ELEMENT_OTHER },
    { "short", 's', 2, WS_ELEMENT_OTHER },      { "int", 'i', 4, WS_ELEMENT_OTHER },
    { "long", 'l', 8, WS_ELEMENT_OTHER },       { "long long", 'x', 8, WS_ELEMENT_OTHER },
};

static struct ws_kernel_type type_named(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length))
            return (struct ws_kernel_type){ types[i].bytes, types[i].element };
    return (struct ws_kernel_type){ 0 };
}

/* Reads "c10::BFloat16, float, (int)8>": the types between commas, without namespaces. */
static uint32_t plain_types(const char *at, struct ws_kernel_type found[WS_KERNEL_TYPES])
{
    uint32_t count = 0;
    while (count < WS_KERNEL_TYPES) {
        at += strspn(at, " ");
        if (*at == '(' && strchr(at, ')'))
            at = strchr(at, ')') + 1;
        size_t length = strcspn(at, ",<>()");
        const char *start = at, *end = at + length;
        if (start == end)
            break;
        for (const char *colon = start; colon + 1 < end; colon++)
            if (colon[0] == ':' && colon[1] == ':')
                start = colon + 2;
        while (end > start && end[-1] == ' ')
            end--;
        found[count++] = type_named(start, (size_t)(end - start));
        if (at[length] != ',')
            break;
        at += length + 1;
    }
    return count;
}

/* Reads "8BFloat16": the number is the length of the name. Returns the end of the name, or NULL. */
static const char *mangled_word(const char *at, const char **word, size_t *length)
{
    size_t number = 0;
    while (isdigit((unsigned char)*at) && number < 1000)
        number = number * 10 + (size_t)(*at++ - '0');
    if (!number || strnlen(at, number) < number)
        return NULL;
    *word = at;
    *length = number;
    return at + number;
}

/* Skips "S4_", which stands for an earlier part of the name. */
static const char *substitution(const char *at)
{
    if (*at != 'S')
        return NULL;
    for (at++; isdigit((unsigned char)*at) || isupper((unsigned char)*at);)
        at++;
    return *at == '_' ? at + 1 : NULL;
}

/* Reads a class: "13__nv_bfloat16", "N3c108BFloat16E". */
static const char *mangled_class(const char *at, struct ws_kernel_type *type)
{
    const char *word = NULL;
    size_t length = 0;
    bool nested = *at == 'N';
    at += nested;
    if (nested && substitution(at))
        at = substitution(at);
    do
        at = mangled_word(at, &word, &length);
    while (nested && at && isdigit((unsigned char)*at));
    if (!at || (nested && *at != 'E'))
        return NULL;
    *type = type_named(word, length);
    return at + nested;
}

/* Reads a list of types in a mangled name. We assume that a substitution ("S4_") stands for the last class that was
 * read, because a list has only one class that is an element type. */
static uint32_t mangled_types(const char *at, struct ws_kernel_type found[WS_KERNEL_TYPES])
{
    struct ws_kernel_type class = { 0 };
    uint32_t count = 0;
    while (at && *at && *at != 'E' && count < WS_KERNEL_TYPES) {
        struct ws_kernel_type type = { 0 };
        if (*at == 'L') { /* L begins a number, such as Li128E */
            at = strchr(at, 'E');
            at = at ? at + 1 : NULL;
        } else if (*at == 'S') {
            at = substitution(at);
            type = class;
        } else if (*at == 'N' || isdigit((unsigned char)*at)) {
            at = mangled_class(at, &type);
            class = type;
        } else {
            for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
                if (types[i].mangled == *at)
                    type = (struct ws_kernel_type){ types[i].bytes, types[i].element };
            at = type.bytes ? at + 1 : NULL;
        }
        if (at)
            found[count++] = type;
    }
    return count;
}

uint32_t ws_kernel_types(const char *list, bool mangled, struct ws_kernel_type found[WS_KERNEL_TYPES])
{
    return mangled ? mangled_types(list, found) : plain_types(list, found);
}
