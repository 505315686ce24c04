/* The UUID of a GPU, in the form nvidia-smi prints. */
#ifndef WALLSHIM_BASE_UUID_H
#define WALLSHIM_BASE_UUID_H

enum { WS_UUID_SIZE = 48 };

/* Writes the 16 bytes of a UUID as "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx". */
static inline void ws_format_uuid(char text[WS_UUID_SIZE], const void *bytes)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *at = text;
    for (const char *prefix = "GPU-"; *prefix;)
        *at++ = *prefix++;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[from[i] >> 4];
        *at++ = digits[from[i] & 15];
    }
    *at = 0;
}

#endif
