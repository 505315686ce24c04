#include "export/text_out.h"

#include <errno.h>
#include <string.h>

#include "base/minmax.h"
#include "base/printable.h"

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
        size_t room = sizeof(out->buffer) - out->used, part = ws_min(count, room);
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

void ws_put_json_text(struct ws_text_out *out, const char *text)
{
    char escape[WS_JSON_ESCAPE];
    put_bytes(out, "\"", 1);
    while (*text) {
        uint32_t code;
        size_t length = ws_character(text, &code);
        if (!length) {
            ws_put(out, "\\ufffd");
        } else if (*text == '"' || *text == '\\' || !ws_is_printable(code)) {
            ws_json_escape(escape, code);
            ws_put(out, escape);
        } else {
            put_bytes(out, text, length);
        }
        text += length ? length : 1;
    }
    put_bytes(out, "\"", 1);
}

int ws_text_out_finish(struct ws_text_out *out)
{
    flush(out);
    return -out->error;
}
