/* Fuzz target: decodes the payload of a frame. The first byte of the input is the family. The second and third are
 * the number of rows. The payload follows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/columns.h"

enum { ROWS_MAX = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ws_columns_decoder *decoder;
    if (!decoder)
        decoder = ws_columns_decoder_init(malloc(ws_columns_decoder_size(ROWS_MAX)), ROWS_MAX);
    if (size < 3)
        return 0;
    const struct ws_layout *layout = ws_layout(data[0] % WS_FAMILY_COUNT);
    uint32_t count = (data[1] | (uint32_t)data[2] << 8) % (ROWS_MAX + 1);
    char *rows = malloc((size_t)count * layout->row_size + 1);
    volatile char read = 0;
    if (!ws_columns_decode(decoder, layout, data + 3, size - 3, count, rows))
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t c = 0; c < layout->column_count; c++) {
                if (layout->columns[c].coding != WS_CODING_TEXT)
                    continue;
                const struct ws_text *text = ws_column_text(&layout->columns[c], rows + (size_t)i * layout->row_size);
                if (text->length)
                    read = (char)(read + text->data[0] + text->data[text->length - 1]);
            }
    free(rows);
    return 0;
}
