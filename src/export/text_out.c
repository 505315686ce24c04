#include "export/text_out.h"

#include <errno.h>
#include <string.h>

enum { NUMBER_DIGITS = 24 };

void ws_text_out_init(struct ws_text_out *out, FILE *file)
{
    out->file = file;
    out->used = 0;
    out->error = 0;
}

static void flush(struct ws_text_out *out)
{
    if (!out->error && fwrite(out->buffer, 1, out->used, out->file) != out->used)
        out->error = errno ? errno : EIO;
    out->used = 0;
}

static void put_bytes(struct ws_text_out *out, const char *bytes, size_t count)
{
    while (count) {
        if (out->used == sizeof(out->buffer))
            flush(out);
        size_t room = sizeof(out->buffer) - out->used, part = count < room ? count : room;
        memcpy(out->buffer + out->used, bytes, part);
        out->used += part;
        bytes += part;
        count -= part;
    }
}

void ws_put(struct ws_text_out *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

void ws_put_unsigned(struct ws_text_out *out, uint64_t number)
{
    char digits[NUMBER_DIGITS];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    put_bytes(out, digits + at, sizeof(digits) - at);
}

static uint64_t size_of(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

void ws_put_number(struct ws_text_out *out, int64_t number)
{
    if (number < 0)
        ws_put(out, "-");
    ws_put_unsigned(out, size_of(number));
}

void ws_put_micros(struct ws_text_out *out, int64_t ns)
{
    uint64_t size = size_of(ns);
    char fraction[] = { '.', (char)('0' + size / 100 % 10), (char)('0' + size / 10 % 10), (char)('0' + size % 10) };
    if (ns < 0)
        ws_put(out, "-");
    ws_put_unsigned(out, size / 1000);
    put_bytes(out, fraction, sizeof(fraction));
}

/* Bytes of the well-formed character at text, 0 when there is none. */
static size_t character(const unsigned char *text)
{
    static const struct {
        unsigned char first, last, second_least, second_most, length;
    } forms[] = {
        { 0x01, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last)
            continue;
        if (forms[i].length > 1 && (text[1] < forms[i].second_least || text[1] > forms[i].second_most))
            return 0;
        for (size_t at = 2; at < forms[i].length; at++)
            if ((text[at] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

void ws_put_json_text(struct ws_text_out *out, const char *text)
{
    char escape[8];
    put_bytes(out, "\"", 1);
    while (*text) {
        size_t length = character((const unsigned char *)text);
        if (!length) {
            ws_put(out, "\\ufffd");
            text++;
        } else if (length == 1 && ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\' || *text == 0x7f)) {
            snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)*text++);
            ws_put(out, escape);
        } else {
            put_bytes(out, text, length);
            text += length;
        }
    }
    put_bytes(out, "\"", 1);
}

int ws_text_out_finish(struct ws_text_out *out)
{
    flush(out);
    return -out->error;
}
