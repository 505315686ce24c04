/* Fuzz target: the input is set as the value of each of the shim's options, one after the other. */
#include <stdint.h>
#include <string.h>

#include "wire/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];
    struct ws_options options;
    if (size >= sizeof(text))
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    for (size_t i = 0; i < ws_option_count; i++)
        ws_option_set(&options, &ws_option_table[i], text);
    return 0;
}
