/* The structures among a kernel's parameters, as far as they are kept and as they lie in its parameter block: 64-bit
 * words in the order of their offsets, device addresses in them replaced by WS_IMAGE_ADDRESS (family params has these
 * by themselves), so that launches that differ by their buffers alone have the same image. Parameters of 1, 2, 4 or 8
 * bytes are 0 in it.
 *
 * As a column: u16 number of the first word, u16 how many, a bit for each that is set where the word differs from the
 * third before it (the first three: from 0), then these words. Tables of PyTorch's repeat after 24 bytes where they
 * are not filled. */
#ifndef WALLSHIM_RECORD_PARAM_IMAGE_H
#define WALLSHIM_RECORD_PARAM_IMAGE_H

#include <stdint.h>

#include "record/record.h"

#define WS_IMAGE_ADDRESS UINT64_MAX

enum {
    WS_IMAGE_WORDS = 512, /* a parameter block of 4 KiB, the most before CUDA 12.1 */
    WS_IMAGE_TEXT = 4 + WS_IMAGE_WORDS / 8 + 8 * WS_IMAGE_WORDS,
};

struct ws_param_image {
    uint32_t first, count; /* the words that are known, by number in the block */
    uint64_t words[WS_IMAGE_WORDS];
};

/* Returns the length of the column. first + count must not be more than WS_IMAGE_WORDS. */
uint32_t ws_image_encode(char text[WS_IMAGE_TEXT], const uint64_t *words, uint32_t first, uint32_t count);

/* Returns 0, or -EINVAL where the column says what cannot be; an empty one is an image of no words. Words that are
 * not known are left as they are. */
int ws_image_decode(struct ws_param_image *image, const struct ws_text *text);

#endif
