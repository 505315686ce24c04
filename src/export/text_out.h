/* Writes text to a file fast: through a buffer, and with code of its own for the few number formats that exports
 * need. */
#ifndef WALLSHIM_EXPORT_TEXT_OUT_H
#define WALLSHIM_EXPORT_TEXT_OUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ws_text_out {
    FILE *file;
    size_t used;
    int error; /* errno of the first failed write */
    char buffer[64 * 1024];
};

void ws_text_out_init(struct ws_text_out *out, FILE *file);

void ws_put(struct ws_text_out *out, const char *text);
void ws_put_number(struct ws_text_out *out, int64_t number);
void ws_put_unsigned(struct ws_text_out *out, uint64_t number);

/* Writes ns as µs without rounding: 1234567 → 1234.567. */
void ws_put_micros(struct ws_text_out *out, int64_t ns);

/* Writes a JSON string. Invalid UTF-8 becomes U+FFFD. */
void ws_put_json_text(struct ws_text_out *out, const char *text);

/* Returns 0, or -errno of the first failure. */
int ws_text_out_finish(struct ws_text_out *out);

#endif
