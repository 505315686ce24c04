#include "shim/calls/params.h"

#include <stddef.h>
#include <string.h>

#include "abi/cuda.h"
#include "record/param_image.h"
#include "shim/objects/functions.h"
#include "shim/objects/memory.h"
#include "shim/objects/thread.h"

/* At most MOST_ADDRESSES addresses of one launch are kept. An address in the image of structures is kept only if
 * fewer than MOST_IN_STRUCTURES addresses have been kept before. So even after a structure with a long list of
 * tensors, there is room for parameters that are pointers. */
enum { MOST_ADDRESSES = 16, MOST_IN_STRUCTURES = 12 };

struct words {
    struct ws_param_word word[WS_RING_PARAM_WORDS];
    unsigned count, addresses;
    /* the image (param_image.h) has the block's words `first` to `end` - 1; `end` 0: there is no image */
    unsigned first, end;
    bool telling; /* the image has words that are neither addresses nor 0; other images are not kept */
    /* index: the word's number in the block; only elements `first` to `end` - 1 are set */
    uint64_t image[WS_IMAGE_WORDS];
};

static void add(struct words *words, unsigned offset, unsigned size, bool address, uint64_t value)
{
    if (words->count == WS_RING_PARAM_WORDS || (address && words->addresses == MOST_ADDRESSES))
        return;
    words->word[words->count++] = (struct ws_param_word){
        .offset = (uint16_t)offset, .size = (uint8_t)size, .address = address, .value = value
    };
    words->addresses += address;
}

/* Looks at the aligned words of a structure, or of a block with unknown layout, and keeps the words that look like
 * device addresses. */
static void add_addresses(struct words *words, const char *block, unsigned offset, size_t size)
{
    unsigned skip = (8 - offset % 8) % 8;
    for (size_t at = skip; at + 8 <= size && offset + at <= UINT16_MAX; at += 8) {
        uint64_t value;
        memcpy(&value, block + at, sizeof(value));
        if (memory_is_device_address(value))
            add(words, offset + (unsigned)at, 8, true, value);
    }
}

/* Copies this part of a structure into the image, and adds the device addresses in the part to the kept words. */
static void add_image(struct words *words, const char *value, unsigned offset, size_t size)
{
    size_t first = offset / 8, end = (offset + size + 7) / 8;
    if (!words->end)
        words->first = words->end = (unsigned)first;
    while (words->end < end)
        words->image[words->end++] = 0;
    memcpy((char *)words->image + offset, value, size);
    for (size_t i = first; i < end; i++) {
        bool whole = 8 * i >= offset && 8 * i + 8 <= offset + size;
        if (whole && memory_is_device_address(words->image[i])) {
            if (words->addresses < MOST_IN_STRUCTURES)
                add(words, (unsigned)(8 * i), 8, true, words->image[i]);
            words->image[i] = WS_IMAGE_ADDRESS;
        } else {
            words->telling = words->telling || words->image[i];
        }
    }
}

/* Keeps a structure parameter. Only the first image_words words of the parameter block go into the image. From the
 * part of the structure behind these words, only the device addresses are kept. */
static void add_structure(struct words *words, const char *value, unsigned offset, size_t size, size_t image_words)
{
    size_t most = 8 * image_words > offset ? 8 * image_words - offset : 0, within = size < most ? size : most;
    if (within)
        add_image(words, value, offset, within);
    if (within < size)
        add_addresses(words, value + within, offset + (unsigned)within, size - within);
}

static void add_param(struct words *words, const char *value, struct function_param param, size_t image_words)
{
    uint64_t scalar = 0;
    if (param.size != 1 && param.size != 2 && param.size != 4 && param.size != 8) {
        add_structure(words, value, param.offset, param.size, image_words);
        return;
    }
    memcpy(&scalar, value, param.size);
    add(words, param.offset, param.size, param.size == 8 && memory_is_device_address(scalar), scalar);
}

/* Returns the parameter block to which `extra` of cuLaunchKernel points, and sets *size to the block's size in bytes.
 * Returns NULL if `extra` points to no block. */
static const char *block_of(void **extra, size_t *size)
{
    const char *block = NULL;
    *size = 0;
    for (; extra && *extra != WS_CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == WS_CU_LAUNCH_PARAM_BUFFER_POINTER)
            block = extra[1];
        else if (*extra == WS_CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            *size = *(const size_t *)extra[1];
        else
            return NULL;
    }
    return block;
}

void params_keep(struct shim_thread *thread, const struct thread_params *given, const struct ws_ring_op *described)
{
    const struct function_layout *layout = function_layout(given->function);
    void **params = given->params;
    struct ws_ring_op operation = *described;
    struct words words;
    words.count = words.addresses = words.first = words.end = 0;
    words.telling = false;
    size_t size = 0;
    const char *block = params ? NULL : block_of(given->extra, &size);
    for (uint32_t i = 0; i < layout->count; i++) {
        struct function_param param = layout->params[i];
        if (params && params[i])
            add_param(&words, params[i], param, layout->image_words);
        else if (block && (size_t)param.offset + param.size <= size)
            add_param(&words, block + param.offset, param, layout->image_words);
    }
    if (block && !layout->count)
        add_addresses(&words, block, 0, size);
    uint64_t first = words.first;
    unsigned image = words.telling ? words.end - words.first : 0, of_image = image ? image + 1 : 0;
    unsigned slots = ws_ring_params_slots(words.count, of_image);
    if (slots > thread->ring.mask / 2) { /* the smallest rings have no room for an image: the record gets none */
        image = of_image = 0;
        slots = ws_ring_params_slots(words.count, 0);
    }
    if (!words.count && !image)
        return;
    struct ws_ring_params *record = ws_ring_reserve(&thread->ring, slots + 1);
    if (!record)
        return;
    record->header = (struct ws_ring_header){
        .kind = WS_RING_PARAMS,
        .slots = (uint8_t)slots,
        .detail = (uint16_t)(words.count | of_image << WS_RING_PARAM_IMAGE),
        .shape = given->function,
    };
    memcpy(record->words, words.word, words.count * sizeof(words.word[0]));
    if (image) {
        memcpy(record->words + words.count, &first, sizeof(first));
        memcpy((char *)(record->words + words.count) + sizeof(first), words.image + first, image * sizeof(first));
    }
    operation.inner |= WS_RING_OP_HAS_PARAMS;
    memcpy((char *)record + (size_t)slots * WS_RING_SLOT, &operation, sizeof(operation));
    ws_ring_commit(&thread->ring, slots);
}
