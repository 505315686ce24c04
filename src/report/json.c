#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"

int ws_json_set(json_t *object, const char *key, int64_t value)
{
    return json_object_set_new(object, key, json_integer(value)) ? -ENOMEM : 0;
}

int ws_json_set_real(json_t *object, const char *key, double value)
{
    return value > 0 && isfinite(value) && json_object_set_new(object, key, json_real(value)) ? -ENOMEM : 0;
}

json_t *ws_json_amount(double value)
{
    return value < 9e18 ? json_integer((json_int_t)(value + 0.5)) : json_real(value);
}

int ws_json_set_amount(json_t *object, const char *key, double value)
{
    return value > 0 && json_object_set_new(object, key, ws_json_amount(value)) ? -ENOMEM : 0;
}

json_t *ws_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    /* Invalid UTF-8: replace each byte that is not ASCII. */
    char *copy = strdup(text);
    if (!copy)
        return NULL;
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = json_string(copy);
    free(copy);
    return string;
}
