#include "wire/columns.h"

#include <errno.h>

#include "base/minmax.h"
#include "wire/frame.h"
#include "wire/predict.h"

/* The decoder works on blocks of rows, one column of a block after the other, so that the block stays in the L1
 * cache. Therefore each column keeps its state from one block to the next. */
enum { BLOCK_ROWS = 256 };

/* The state of a SLOTS column. A slot is the index of a value among the column's distinct values in this frame. */
struct key_column {
    uint32_t used;
    uint32_t seen;             /* number of different slots in the rows decoded so far */
    uint64_t *distinct;        /* the distinct values, by slot */
    ws_slot slots[BLOCK_ROWS]; /* slot of each row of this block */
    struct ws_history history;
    struct ws_predictor predictor;
};

struct decoding {
    const struct ws_column *column;
    struct ws_column_place place; /* memory of the column's value in the first row of the block */
    uint8_t coding;
    /* LENGTH: the column's memory holds differences until a GAP column, decoded later, turns them into values. */
    bool kept_length;
    struct ws_unpacker unpacker;
    uint64_t bias;
    uint8_t shift;
    uint64_t before;
    struct key_column *key;
    uint64_t *remembered; /* for each key (by its slot): the value or difference in the last row with this key */
    uint32_t seen;
    const struct ws_column *base;
    struct ws_column_place base_place;
    struct key_column *group; /* GAP: the column that holds each row's group */
    /* For each distinct value (slot) of the group column: its group; NULL: each value is a group of its own. */
    const ws_slot *groups;
    uint64_t *ends; /* for each group: the base column's value in the last row decoded so far */
    struct ws_bytes_in texts;
};

struct ws_columns_decoder {
    uint32_t max_rows;
    const struct ws_layout *layout;
    const struct ws_column_place *places; /* for each column: memory of its value in the first row of the frame */
    uint32_t count;
    unsigned used;
    struct decoding decodings[WS_COLUMNS_MAX];
    int8_t decoding_of[WS_COLUMNS_MAX]; /* for each column: index in `decodings`; -1: the payload lacks the column */
    unsigned keys_used;
    struct key_column keys[WS_KEY_COLUMNS_MAX];
    uint64_t numbers[BLOCK_ROWS];
    uint64_t *arena; /* memory for all arrays whose size depends on the frame */
    size_t arena_used;
};

/* A GAP column needs three numbers of 64 bits per slot (distinct value). Columns of all other codings need fewer. */
static size_t arena_capacity(uint32_t max_rows)
{
    return (size_t)WS_COLUMNS_MAX * 3 * (max_rows + 1);
}

size_t ws_columns_decoder_size(uint32_t max_rows)
{
    return sizeof(struct ws_columns_decoder) + arena_capacity(max_rows) * sizeof(uint64_t);
}

struct ws_columns_decoder *ws_columns_decoder_init(void *memory, uint32_t max_rows)
{
    struct ws_columns_decoder *decoder = memory;
    decoder->max_rows = max_rows;
    decoder->arena = (uint64_t *)(decoder + 1);
    return decoder;
}

static uint64_t *arena_take(struct ws_columns_decoder *decoder, uint32_t numbers)
{
    uint64_t *place = decoder->arena + decoder->arena_used;
    decoder->arena_used += numbers;
    return place;
}

/* ---- starting each column; errors mark the input as failed ---- */

static bool refer_key(struct ws_columns_decoder *decoder, uint8_t column, struct key_column **key)
{
    if (column >= decoder->layout->column_count || decoder->decoding_of[column] < 0)
        return false;
    const struct decoding *other = &decoder->decodings[decoder->decoding_of[column]];
    *key = other->key;
    return other->coding == WS_CODING_SLOTS;
}

static void start_slots(struct ws_columns_decoder *decoder, struct decoding *decoding, struct ws_bytes_in *head,
                        struct ws_bytes_in *planes)
{
    uint64_t used = ws_bytes_get_varint(head);
    if (decoder->keys_used == WS_KEY_COLUMNS_MAX || used > decoder->count || (used == 0) != (decoder->count == 0)) {
        head->failed = true;
        return;
    }
    struct key_column *key = decoding->key = &decoder->keys[decoder->keys_used++];
    key->used = (uint32_t)used;
    key->seen = 0;
    key->distinct = arena_take(decoder, key->used);
    memset(key->slots, 0, sizeof(key->slots));
    if (used > 1) {
        ws_unpack_start(&decoding->unpacker, head, planes, decoder->count);
        memset(&key->predictor, 0, sizeof(key->predictor));
        key->history = (struct ws_history){ 0 };
    }
    struct ws_unpacker distinct;
    ws_unpack_start(&distinct, head, planes, key->used);
    if (head->failed || planes->failed)
        return;
    ws_unpack(&distinct, key->distinct, key->used);
    uint64_t value = 0;
    for (uint32_t i = 0; i < key->used; i++)
        key->distinct[i] = value += (uint64_t)ws_unzigzag(key->distinct[i]);
}

/* Reads the group of each distinct value of the group column. */
static void start_groups(struct ws_columns_decoder *decoder, struct decoding *decoding, struct ws_bytes_in *head,
                         struct ws_bytes_in *planes)
{
    uint32_t values = decoding->group->used;
    struct ws_unpacker unpacker;
    ws_slot *groups = (ws_slot *)arena_take(decoder, values / 4 + 1);
    decoding->groups = groups;
    ws_unpack_start(&unpacker, head, planes, values);
    for (uint32_t done = 0; done < values && !head->failed && !planes->failed;) {
        uint32_t some = values - done < BLOCK_ROWS ? values - done : BLOCK_ROWS;
        ws_unpack(&unpacker, decoder->numbers, some);
        for (uint32_t i = 0; i < some; i++) {
            groups[done + i] = (ws_slot)decoder->numbers[i];
            head->failed |= decoder->numbers[i] >= values;
        }
        done += some;
    }
}

static void start_gap(struct ws_columns_decoder *decoder, struct decoding *decoding, uint8_t base, uint8_t group,
                      struct ws_bytes_in *head, struct ws_bytes_in *planes)
{
    const struct ws_layout *layout = decoder->layout;
    if (base >= layout->column_count || decoder->decoding_of[base] < 0 ||
        !refer_key(decoder, group, &decoding->group)) {
        head->failed = true;
        return;
    }
    struct decoding *length = &decoder->decodings[decoder->decoding_of[base]];
    if (length->coding != WS_CODING_LENGTH || length->base != decoding->column || length->kept_length) {
        head->failed = true;
        return;
    }
    length->kept_length = true;
    decoding->base = length->column;
    bool grouped = ws_bytes_get_u8(head);
    uint64_t start = (uint64_t)ws_unzigzag(ws_bytes_get_varint(head));
    if (grouped)
        start_groups(decoder, decoding, head, planes);
    decoding->ends = arena_take(decoder, decoding->group->used);
    for (uint32_t i = 0; i < decoding->group->used; i++)
        decoding->ends[i] = start;
}

static void start_numbers(struct ws_columns_decoder *decoder, struct decoding *decoding, const uint8_t entry[5],
                          struct ws_bytes_in *head, struct ws_bytes_in *planes)
{
    const struct ws_layout *layout = decoder->layout;
    uint8_t base = entry[2];
    if (decoding->coding == WS_CODING_LENGTH) {
        if (base >= layout->column_count || layout->columns[base].coding == WS_CODING_TEXT) {
            head->failed = true;
            return;
        }
        decoding->base = &layout->columns[base];
    }
    if (decoding->coding == WS_CODING_GAP)
        start_gap(decoder, decoding, base, entry[4], head, planes);
    if (decoding->coding != WS_CODING_PLAIN && decoding->coding != WS_CODING_DELTA) {
        if (head->failed || !refer_key(decoder, entry[3], &decoding->key)) {
            head->failed = true;
            return;
        }
        decoding->remembered = arena_take(decoder, decoding->key->used);
    }
    decoding->bias = (uint64_t)ws_unzigzag(ws_bytes_get_varint(head));
    decoding->shift = ws_bytes_get_u8(head);
    head->failed |= decoding->shift > 63;
    ws_unpack_start(&decoding->unpacker, head, planes, decoder->count);
}

static void start_column(struct ws_columns_decoder *decoder, const uint8_t entry[5], struct ws_bytes_in *head,
                         struct ws_bytes_in *planes)
{
    const struct ws_column *column = &decoder->layout->columns[entry[0]];
    uint8_t coding = entry[1];
    bool is_text = column->coding == WS_CODING_TEXT;
    if (decoder->decoding_of[entry[0]] >= 0 || coding >= WS_CODING_COUNT || is_text != (coding == WS_CODING_TEXT)) {
        head->failed = true;
        return;
    }
    struct decoding *decoding = &decoder->decodings[decoder->used];
    *decoding = (struct decoding){ .column = column, .coding = coding };
    if (is_text) {
        ws_unpack_start(&decoding->unpacker, head, planes, decoder->count);
        decoding->texts = *planes;
    } else if (coding == WS_CODING_SLOTS) {
        start_slots(decoder, decoding, head, planes);
    } else {
        start_numbers(decoder, decoding, entry, head, planes);
    }
    decoder->decoding_of[entry[0]] = (int8_t)decoder->used++;
}

/* Reads the description of the columns. Returns 0 or -EBADMSG. */
static int start(struct ws_columns_decoder *decoder, const uint8_t *payload, size_t size)
{
    struct ws_bytes_in head = { .at = payload, .end = payload + size }, planes;
    uint32_t head_size;
    ws_bytes_get(&head, &head_size, sizeof(head_size));
    planes = head;
    if (!ws_bytes_take(&planes, head_size))
        return -EBADMSG;
    head.end = planes.at;
    unsigned columns = ws_bytes_get_u8(&head);
    for (unsigned i = 0; i < columns; i++) {
        uint8_t entry[5];
        uint32_t sizes[2];
        ws_bytes_get(&head, entry, sizeof(entry));
        ws_bytes_get(&head, sizes, sizeof(sizes));
        struct ws_bytes_in column_head = head, column_planes = planes;
        if (!ws_bytes_take(&head, sizes[0]) || !ws_bytes_take(&planes, sizes[1]))
            return -EBADMSG;
        column_head.end = head.at;
        column_planes.end = planes.at;
        if (entry[0] >= decoder->layout->column_count)
            continue;
        start_column(decoder, entry, &column_head, &column_planes);
        if (column_head.failed || column_planes.failed)
            return -EBADMSG;
    }
    return 0;
}

/* Checks that each LENGTH column comes after its base column. Does not check the LENGTH columns whose differences a
 * GAP column later turns into values (kept_length). */
static bool lengths_have_bases(const struct ws_columns_decoder *decoder)
{
    for (unsigned i = 0; i < decoder->used; i++) {
        const struct decoding *decoding = &decoder->decodings[i];
        if (decoding->coding != WS_CODING_LENGTH || decoding->kept_length)
            continue;
        int base = decoder->decoding_of[decoding->base - decoder->layout->columns];
        if (base < 0 || base >= (int)i)
            return false;
        const struct decoding *other = &decoder->decodings[base];
        if (other->coding == WS_CODING_LENGTH && other->kept_length)
            return false;
    }
    return true;
}

/* ---- one column of one block ---- */

static int decode_slots(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    struct key_column *key = decoding->key;
    if (key->used == 1) {
        key->seen = 1;
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = key->distinct[0];
        return 0;
    }
    ws_unpack(&decoding->unpacker, numbers, count);
    const uint64_t *distinct = key->distinct;
    const uint32_t used = key->used;
    uint32_t seen = key->seen;
    struct ws_history history = key->history;
    for (uint32_t i = 0; i < count; i++) {
        ws_slot *guess = ws_predictor_guess(&key->predictor, history);
        uint64_t slot = numbers[i] ? seen + 1 - numbers[i] : *guess;
        if (slot > seen || slot >= used)
            return -EBADMSG;
        seen += slot == seen;
        key->slots[i] = (ws_slot)slot;
        numbers[i] = distinct[slot];
        history = ws_predictor_learn(history, guess, (uint32_t)slot);
    }
    key->seen = seen;
    key->history = history;
    return 0;
}

static void add_remembered(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    const ws_slot *slots = decoding->key->slots;
    uint64_t *remembered = decoding->remembered, before = decoding->before;
    uint32_t seen = decoding->seen;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = slots[i];
        if (slot == seen)
            remembered[seen++] = before;
        remembered[slot] = before = numbers[i] += remembered[slot];
    }
    decoding->seen = seen;
    decoding->before = before;
}

/* Decodes a block in which every residual is 0 and no key is new. Most blocks are like this, because most columns
 * rarely vary. */
static void decode_without_residuals(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    const ws_slot *slots = decoding->key->slots;
    const uint64_t *remembered = decoding->remembered;
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = remembered[slots[i]];
    decoding->before = numbers[count - 1];
}

static void add_before(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    uint64_t before = decoding->before;
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = before += numbers[i];
    decoding->before = before;
}

/* Turns the gaps in `numbers` into start times, and the lengths in the base column into end times. */
static void join_gaps(const struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    const ws_slot *slots = decoding->group->slots, *groups = decoding->groups;
    const struct ws_column base = *decoding->base;
    char *field = decoding->base_place.at;
    uint64_t *ends = decoding->ends;
    for (uint32_t i = 0; i < count; i++, field += decoding->base_place.stride) {
        uint32_t group = groups ? groups[slots[i]] : slots[i];
        uint64_t begin = numbers[i] + ends[group];
        uint64_t end = begin + ws_column_load_field(&base, field);
        numbers[i] = begin;
        memcpy(field, &end, base.width); /* little-endian: the low half comes first */
        ends[group] = base.width == sizeof(uint64_t) ? end : ws_column_load_field(&base, field);
    }
}

/* Decodes values from residuals. Does not add the values of base columns. */
static void decode_residuals(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    const uint64_t bias = decoding->bias;
    const unsigned shift = decoding->shift;
    if (!ws_unpack_zeros(&decoding->unpacker, count)) {
        ws_unpack(&decoding->unpacker, numbers, count);
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = bias + ((uint64_t)ws_unzigzag(numbers[i]) << shift);
    } else if (!bias && decoding->key && decoding->seen == decoding->key->seen) {
        decode_without_residuals(decoding, numbers, count);
        return;
    } else {
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = bias;
    }
    if (decoding->key)
        add_remembered(decoding, numbers, count);
    else if (decoding->coding == WS_CODING_DELTA)
        add_before(decoding, numbers, count);
}

static void decode_numbers(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    decode_residuals(decoding, numbers, count);
    if (decoding->coding == WS_CODING_GAP) {
        join_gaps(decoding, numbers, count);
    } else if (decoding->coding == WS_CODING_LENGTH && !decoding->kept_length) {
        const char *field = decoding->base_place.at;
        for (uint32_t i = 0; i < count; i++, field += decoding->base_place.stride)
            numbers[i] += ws_column_load_field(decoding->base, field);
    }
}

static int decode_texts(struct decoding *decoding, uint64_t *numbers, uint32_t count)
{
    char *field = decoding->place.at;
    ws_unpack(&decoding->unpacker, numbers, count);
    for (uint32_t i = 0; i < count; i++, field += decoding->place.stride) {
        const uint8_t *bytes = ws_bytes_take(&decoding->texts, numbers[i]);
        if (!bytes)
            return -EBADMSG;
        *(struct ws_text *)(void *)field = (struct ws_text){ (const char *)bytes, (uint32_t)numbers[i] };
    }
    return 0;
}

/* The loops are unrolled, because they take a third of the decoding time. Without unrolling, half of the loops' time
 * went into the loop counter. */
static void store_all(const struct decoding *decoding, const uint64_t *numbers, uint32_t count)
{
    char *field = decoding->place.at;
    size_t stride = decoding->place.stride;
    if (decoding->column->width == sizeof(uint64_t)) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++)
            memcpy(field + i * stride, &numbers[i], sizeof(uint64_t));
    } else {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < count; i++)
            memcpy(field + i * stride, &numbers[i], sizeof(uint32_t));
    }
}

static struct ws_column_place place_of(const struct ws_columns_decoder *decoder, const struct ws_column *column,
                                       uint32_t row)
{
    struct ws_column_place place = decoder->places[column - decoder->layout->columns];
    place.at = (char *)place.at + row * place.stride;
    return place;
}

static int decode_block(struct ws_columns_decoder *decoder, uint32_t first, uint32_t count)
{
    uint64_t *numbers = decoder->numbers;
    for (unsigned i = 0; i < decoder->used; i++) {
        struct decoding *decoding = &decoder->decodings[i];
        int status = 0;
        decoding->place = place_of(decoder, decoding->column, first);
        if (decoding->base)
            decoding->base_place = place_of(decoder, decoding->base, first);
        if (decoding->coding == WS_CODING_TEXT) {
            status = decode_texts(decoding, numbers, count);
        } else {
            if (decoding->coding == WS_CODING_SLOTS)
                status = decode_slots(decoding, numbers, count);
            else
                decode_numbers(decoding, numbers, count);
            store_all(decoding, numbers, count);
        }
        if (status)
            return status;
    }
    return 0;
}

/* Sets the columns that the payload lacks to 0. */
static void clear_absent(const struct ws_columns_decoder *decoder)
{
    for (unsigned i = 0; i < decoder->layout->column_count; i++) {
        char *field = decoder->places[i].at;
        for (uint32_t row = 0; row < decoder->count && decoder->decoding_of[i] < 0; row++)
            memset(field + row * decoder->places[i].stride, 0, decoder->layout->columns[i].width);
    }
}

int ws_columns_decode_into(struct ws_columns_decoder *decoder, const struct ws_layout *layout, const uint8_t *payload,
                           size_t size, uint32_t count, const struct ws_column_place *places)
{
    if (count > decoder->max_rows)
        return -EBADMSG;
    decoder->layout = layout;
    decoder->places = places;
    decoder->count = count;
    decoder->used = decoder->keys_used = 0;
    decoder->arena_used = 0;
    memset(decoder->decoding_of, -1, sizeof(decoder->decoding_of));
    int status = start(decoder, payload, size);
    if (status || !lengths_have_bases(decoder))
        return -EBADMSG;
    clear_absent(decoder);
    for (uint32_t done = 0; done < count && !status;) {
        uint32_t some = ws_min(count - done, BLOCK_ROWS);
        status = decode_block(decoder, done, some);
        done += some;
    }
    return status;
}

int ws_columns_decode(struct ws_columns_decoder *decoder, const struct ws_layout *layout, const uint8_t *payload,
                      size_t size, uint32_t count, void *rows)
{
    struct ws_column_place places[WS_COLUMNS_MAX];
    for (unsigned i = 0; i < layout->column_count; i++)
        places[i] = (struct ws_column_place){ (char *)rows + layout->columns[i].offset, layout->row_size };
    return ws_columns_decode_into(decoder, layout, payload, size, count, places);
}
