#include "collector/names.h"

#include <stdio.h>
#include <string.h>

enum { STEM_MAX = NAME_SIZE - 32 }; /* leaves room for a counter and the ending */

static bool is_plain(char letter)
{
    return letter > ' ' && letter < 0x7f && letter != '/';
}

void name_make_safe(const char *text, const char *otherwise, const char *ending, char name[NAME_SIZE])
{
    const char *slash = strrchr(text, '/');
    const char *last = slash ? slash + 1 : text;
    size_t length = strnlen(last, STEM_MAX), tail = strlen(ending);
    if (!length) {
        last = otherwise;
        length = strlen(last);
    }
    if (length > tail && !memcmp(last + length - tail, ending, tail))
        length -= tail;
    memcpy(name, last, length);
    for (size_t i = 0; i < length; i++)
        if (!is_plain(name[i]) || (!i && name[i] == '.'))
            name[i] = '_';
    snprintf(name + length, NAME_SIZE - length, "%s", ending);
}

bool name_is_plain(const char *text)
{
    size_t length = strlen(text);
    bool plain = length && length < STEM_MAX && *text != '.';
    for (; *text; text++)
        plain = plain && *text != '/' && *text != 0x7f && (unsigned char)*text >= ' ';
    return plain;
}

bool name_is_safe(const char *text)
{
    size_t length = strlen(text);
    if (!length || length >= NAME_SIZE || *text == '.')
        return false;
    for (; *text; text++)
        if (!is_plain(*text))
            return false;
    return true;
}
