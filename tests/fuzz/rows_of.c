/* rows_of ROWS TRACE…: writes traces as an input of fuzz_report to standard output, at most ROWS rows of each family
 * of each trace. */
#include <stdio.h>
#include <stdlib.h>

#include "input/source.h"
#include "rows.h"
#include "wire/columns.h"

static int put_trace(const char *path, uint64_t most)
{
    struct ws_source *source;
    struct ws_block block;
    char message[512];
    uint64_t rows[WS_FAMILY_COUNT] = { 0 };
    uint8_t bytes[4096];
    int status = ws_source_open(&source, path, NULL, message, sizeof(message));
    if (status) {
        fprintf(stderr, "%s\n", message);
        return status;
    }
    while ((status = ws_source_next(source, &block, message, sizeof(message))) > 0)
        for (uint32_t i = 0; i < block.count && block.family < WS_FAMILY_COUNT; i++)
            if (rows[block.family]++ < most)
                fwrite(bytes, 1,
                       rows_put(bytes, sizeof(bytes), block.family,
                                (const char *)block.rows + (size_t)i * ws_layout(block.family)->row_size),
                       stdout);
    ws_source_close(source);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (i > 2)
            putchar(ROWS_PROCESS);
        if (put_trace(argv[i], strtoull(argv[1], NULL, 10)))
            return 1;
    }
    return argc < 3;
}
