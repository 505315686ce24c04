/* The image of a kernel's structure parameters, as stored in a trace: 64-bit words of the parameter block, in the
 * order of their offsets. WS_IMAGE_ADDRESS replaces each device address, so that launches that differ only in their
 * buffers have equal images. Column `words` of family `params` holds the addresses. Parameters of 1, 2, 4 or 8 bytes
 * are 0 in the image.
 *
 * Layout of column `structures` of family `params`: u16 number of the first word; u16 number of words; one bit per
 * word; the words whose bit is set. A word's bit is set if the word differs from the word three words before it.
 * Words before the first count as zeros. The distance is three words because unused entries in PyTorch's tables
 * repeat every 24 bytes. */
#ifndef WALLSHIM_RECORD_PARAM_IMAGE_H
#define WALLSHIM_RECORD_PARAM_IMAGE_H

#include <stdint.h>

#include "record/record.h"

#define WS_IMAGE_ADDRESS UINT64_MAX

enum {
    WS_IMAGE_WORDS = 512, /* a parameter block of 4 KiB, the limit before CUDA 12.1 */
    WS_IMAGE_TEXT = 4 + WS_IMAGE_WORDS / 8 + 8 * WS_IMAGE_WORDS,
};

struct ws_param_image {
    uint32_t first, count; /* number of the first known word of the block; number of known words */
    uint64_t words[WS_IMAGE_WORDS];
};

/* Writes the column `structures`, and returns its length in bytes. first + count must not exceed WS_IMAGE_WORDS. */
uint32_t ws_image_encode(char text[WS_IMAGE_TEXT], const uint64_t *words, uint32_t first, uint32_t count);

/* Returns 0, or -EINVAL for an invalid column. An empty column is an image without words. Words outside the image
 * keep their old values. */
int ws_image_decode(struct ws_param_image *image, const struct ws_text *text);

#endif
