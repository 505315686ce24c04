#include "wire/pack.h"

enum {
    SAMPLES = 1024,
    /* Assumed bytes that an exception (a number too large for the planes) takes in addition to the number itself. */
    EXCEPTION_BYTES = 2,
};

void ws_encoded_end_plane(struct ws_encoded *encoded, unsigned plane)
{
    if (encoded->cut_count == WS_CUTS_MAX)
        encoded->planes.failed = true;
    else
        encoded->cuts[encoded->cut_count++] = (struct ws_encoded_cut){
            .end = (uint32_t)encoded->planes.size,
            .tag = (uint8_t)(encoded->column * 8 + plane),
        };
}

/* The possible widths of a sequence, in bytes per number. For each width, choose_width counts the numbers that do not
 * fit it. */
static const uint8_t width_choices[] = { 0, 1, 2, 3, 4, 8 };
enum { WIDTH_CHOICES = sizeof(width_choices) / sizeof(width_choices[0]) };

/* Estimates from a sample of the numbers which width takes the fewest bytes. The numbers that do not fit the width
 * become exceptions. Their bytes count double, because exceptions are slow to read. */
static unsigned choose_width(const uint64_t *numbers, uint32_t count)
{
    uint32_t step = 1 + count / SAMPLES, samples = 0, wider[WIDTH_CHOICES] = { 0 };
    for (uint32_t i = 0; i < count; i += step, samples++) {
        wider[0] += numbers[i] > 0;
        wider[1] += numbers[i] > 0xff;
        wider[2] += numbers[i] > 0xffff;
        wider[3] += numbers[i] > 0xffffff;
        wider[4] += numbers[i] > 0xffffffff;
    }
    unsigned best = WIDTH_CHOICES - 1;
    uint64_t best_cost = (uint64_t)samples * width_choices[best], exceptions_cost = 0;
    for (unsigned i = best; i-- > 0;) {
        exceptions_cost += (uint64_t)(wider[i] - wider[i + 1]) * 2 * (width_choices[i + 1] + EXCEPTION_BYTES);
        uint64_t cost = (uint64_t)samples * width_choices[i] + exceptions_cost;
        if (cost <= best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    return width_choices[best];
}

static void put_exceptions(struct ws_bytes_out *out, const uint64_t *numbers, uint32_t count, uint64_t limit)
{
    uint32_t exceptions = 0;
    for (uint32_t i = 0; limit && i < count; i++)
        exceptions += (numbers[i] & limit) != 0;
    ws_bytes_put_varint(out, exceptions);
    for (uint32_t i = 0, next = 0; exceptions; i++) {
        if (!(numbers[i] & limit))
            continue;
        ws_bytes_put_varint(out, i - next);
        ws_bytes_put_varint(out, numbers[i]);
        next = i + 1;
        exceptions--;
    }
}

void ws_pack(struct ws_encoded *to, const uint64_t *numbers, uint32_t count)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < count; i++)
        any |= numbers[i];
    unsigned width = any ? choose_width(numbers, count) : 0;
    uint64_t limit = width == 8 ? 0 : ~(uint64_t)0 << (8 * width);
    ws_bytes_put_u8(&to->head, (uint8_t)width);
    put_exceptions(&to->head, numbers, count, any & limit);
    for (unsigned plane = 0; plane < width; plane++) {
        uint8_t *bytes = ws_bytes_room(&to->planes, count);
        for (uint32_t i = 0; bytes && i < count; i++)
            bytes[i] = (uint8_t)(numbers[i] >> (8 * plane));
        ws_encoded_end_plane(to, plane);
    }
}

static void next_exception(struct ws_unpacker *unpacker, uint32_t from)
{
    unpacker->exception_at =
        unpacker->exceptions ? from + (uint32_t)ws_bytes_get_varint(&unpacker->exceptions_in) : UINT32_MAX;
}

void ws_unpack_start(struct ws_unpacker *unpacker, struct ws_bytes_in *head, struct ws_bytes_in *planes,
                     uint32_t count)
{
    *unpacker = (struct ws_unpacker){ .width = ws_bytes_get_u8(head), .count = count };
    uint64_t exceptions = ws_bytes_get_varint(head);
    if (unpacker->width > 8 || exceptions > count) {
        head->failed = true;
        return;
    }
    unpacker->exceptions_in = *head;
    unpacker->exceptions = (uint32_t)exceptions;
    uint64_t left = count;
    for (uint64_t i = 0; i < exceptions; i++) {
        uint64_t gap = ws_bytes_get_varint(head);
        ws_bytes_get_varint(head);
        if (gap >= left) {
            head->failed = true;
            return;
        }
        left -= gap + 1;
    }
    unpacker->planes = ws_bytes_take(planes, (size_t)unpacker->width * count);
    next_exception(unpacker, 0);
}

/* Widths of 0, 1, 2, and 3 or more bytes have separate loops, so that the compiler can vectorize each loop. */
static void join_planes(const struct ws_unpacker *unpacker, uint64_t *numbers, uint32_t count)
{
    const size_t stride = unpacker->count;
    const uint8_t *low = unpacker->width ? unpacker->planes + unpacker->next : NULL;
    switch (unpacker->width) {
    case 0:
        memset(numbers, 0, count * sizeof(*numbers));
        break;
    case 1:
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = low[i];
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = low[i] | (uint64_t)low[i + stride] << 8;
        break;
    default:
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = low[i] | (uint64_t)low[i + stride] << 8 | (uint64_t)low[i + 2 * stride] << 16;
        for (uint32_t plane = 3; plane < unpacker->width; plane++)
            for (uint32_t i = 0; i < count; i++)
                numbers[i] |= (uint64_t)low[i + plane * stride] << (8 * plane);
    }
}

void ws_unpack(struct ws_unpacker *unpacker, uint64_t *numbers, uint32_t count)
{
    join_planes(unpacker, numbers, count);
    uint32_t end = unpacker->next + count;
    while (unpacker->exception_at < end) {
        uint32_t at = unpacker->exception_at;
        numbers[at - unpacker->next] = ws_bytes_get_varint(&unpacker->exceptions_in);
        unpacker->exceptions--;
        next_exception(unpacker, at + 1);
    }
    unpacker->next = end;
}
