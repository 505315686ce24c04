#include "base/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t ws_character(const char *text, uint32_t *code)
{
    static const struct {
        unsigned char first, last, second_least, second_most, length;
    } forms[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    const unsigned char *byte = (const unsigned char *)text;
    uint32_t number = byte[0];
    size_t length = number && number < 0x80;
    for (size_t i = 0; number >= 0x80 && i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (byte[0] < forms[i].first || byte[0] > forms[i].last)
            continue;
        if (byte[1] < forms[i].second_least || byte[1] > forms[i].second_most)
            return 0;
        length = forms[i].length;
        number = byte[0] & (0x7fu >> length);
        for (size_t at = 1; at < length; at++) {
            if ((byte[at] & 0xc0) != 0x80)
                return 0;
            number = number << 6 | (byte[at] & 0x3f);
        }
        break;
    }
    if (code)
        *code = number;
    return length;
}

bool ws_is_printable(uint32_t code)
{
    /* Ranges of code points that are not printable, sorted. */
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        { 0, 0x1f },        { 0x7f, 0x9f },     { 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },
        { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
        { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
        { 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
    };
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && code >= hidden[i].first; i++)
        if (code <= hidden[i].last)
            return false;
    return true;
}

void ws_make_printable(char *text)
{
    char *to = text;
    while (*text) {
        uint32_t code;
        size_t length = ws_character(text, &code);
        if (length && ws_is_printable(code)) {
            memmove(to, text, length);
            to += length;
        } else {
            *to++ = '?';
        }
        text += length ? length : 1;
    }
    *to = 0;
}

void ws_json_escape(char escape[WS_JSON_ESCAPE], uint32_t code)
{
    if (code < 0x10000)
        snprintf(escape, WS_JSON_ESCAPE, "\\u%04" PRIx32, code);
    else
        snprintf(escape, WS_JSON_ESCAPE, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10 & 0x3ff),
                 0xdc00 + (code & 0x3ff));
}
