#include "record/param_image.h"

#include <errno.h>
#include <string.h>

enum { PERIOD = 3 };

uint32_t ws_image_encode(char text[WS_IMAGE_TEXT], const uint64_t *words, uint32_t first, uint32_t count)
{
    uint16_t head[2] = { (uint16_t)first, (uint16_t)count };
    unsigned char *bits = (unsigned char *)text + sizeof(head);
    uint32_t at = (uint32_t)sizeof(head) + (count + 7) / 8;
    memcpy(text, head, sizeof(head));
    memset(bits, 0, (count + 7) / 8);
    for (uint32_t i = 0; i < count; i++) {
        if (words[i] == (i >= PERIOD ? words[i - PERIOD] : 0))
            continue;
        bits[i / 8] |= (unsigned char)(1 << i % 8);
        memcpy(text + at, &words[i], sizeof(words[i]));
        at += sizeof(words[i]);
    }
    return at;
}

int ws_image_decode(struct ws_param_image *image, const struct ws_text *text)
{
    uint16_t head[2];
    image->first = image->count = 0;
    if (!text->length)
        return 0;
    if (text->length < sizeof(head))
        return -EINVAL;
    memcpy(head, text->data, sizeof(head));
    uint32_t first = head[0], count = head[1], at = (uint32_t)sizeof(head) + (count + 7) / 8;
    if (first + count > WS_IMAGE_WORDS || at > text->length)
        return -EINVAL;
    const unsigned char *bits = (const unsigned char *)text->data + sizeof(head);
    uint64_t *words = image->words + first;
    for (uint32_t i = 0; i < count; i++) {
        words[i] = i >= PERIOD ? words[i - PERIOD] : 0;
        if (!(bits[i / 8] >> i % 8 & 1))
            continue;
        if (text->length - at < sizeof(words[i]))
            return -EINVAL;
        memcpy(&words[i], text->data + at, sizeof(words[i]));
        at += sizeof(words[i]);
    }
    image->first = first;
    image->count = count;
    return at == text->length ? 0 : -EINVAL;
}
