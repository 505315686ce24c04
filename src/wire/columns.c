#include "wire/columns.h"

#include <errno.h>

#include "base/map.h"

enum {
    KEY_COLUMNS_MAX = 4, /* SLOTS columns of one family */
    PREDICTOR_BITS = 13,
    EXCEPTION_BYTES = 2, /* of an exception's position and length, when choosing a width */
};

typedef uint16_t slot_number; /* of a value among the frame's distinct ones: WS_FRAME_ROWS_MAX fit */

struct hash_entry {
    uint64_t value;
    uint32_t stamp; /* of the frame that put it: saves clearing the table */
    uint32_t slot;
};

struct ws_columns_scratch {
    uint32_t max_rows;
    uint32_t stamp;
    size_t hash_mask;
    uint64_t *symbols;
    uint64_t *distinct; /* values by slot */
    uint64_t *last;     /* by slot: what LAST and AFTER_LAST remember */
    slot_number *slots[KEY_COLUMNS_MAX];
    int8_t slots_of[WS_COLUMNS_MAX]; /* column → index in slots, or -1 */
    unsigned slots_used;
    struct hash_entry *hash;
    slot_number predictor[1 << PREDICTOR_BITS];
};

static size_t hash_size(uint32_t max_rows)
{
    size_t size = 16;
    while (size < (size_t)max_rows * 2)
        size *= 2;
    return size;
}

size_t ws_columns_scratch_size(uint32_t max_rows)
{
    return sizeof(struct ws_columns_scratch) + hash_size(max_rows) * sizeof(struct hash_entry) +
           (size_t)max_rows * (3 * sizeof(uint64_t) + KEY_COLUMNS_MAX * sizeof(slot_number));
}

struct ws_columns_scratch *ws_columns_scratch_init(void *memory, uint32_t max_rows)
{
    struct ws_columns_scratch *scratch = memory;
    *scratch = (struct ws_columns_scratch){ .max_rows = max_rows, .hash_mask = hash_size(max_rows) - 1 };
    scratch->hash = (struct hash_entry *)(scratch + 1);
    scratch->symbols = (uint64_t *)(scratch->hash + scratch->hash_mask + 1);
    scratch->distinct = scratch->symbols + max_rows;
    scratch->last = scratch->distinct + max_rows;
    scratch->slots[0] = (slot_number *)(scratch->last + max_rows);
    for (size_t i = 1; i < KEY_COLUMNS_MAX; i++)
        scratch->slots[i] = scratch->slots[i - 1] + max_rows;
    return scratch;
}

size_t ws_columns_bound(const struct ws_layout *layout, uint32_t rows, size_t text)
{
    /* SLOTS may take two numbers a row; a packed number takes 8 bytes at most. */
    return 8 + layout->column_count * ((size_t)rows * 16 + 64) + text;
}

static uint64_t load(const struct ws_column *column, const void *row)
{
    const char *field = (const char *)row + column->offset;
    if (column->width == sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, field, sizeof(value));
        return value;
    }
    uint32_t narrow;
    memcpy(&narrow, field, sizeof(narrow));
    return column->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static void store(const struct ws_column *column, void *row, uint64_t value)
{
    char *field = (char *)row + column->offset;
    if (column->width == sizeof(uint64_t)) {
        memcpy(field, &value, sizeof(value));
    } else {
        uint32_t narrow = (uint32_t)value;
        memcpy(field, &narrow, sizeof(narrow));
    }
}

/* ---- numbers: planes of bytes, with exceptions ---- */

static unsigned byte_width(uint64_t symbol)
{
    return symbol ? (64 - (unsigned)__builtin_clzll(symbol) + 7) / 8 : 0;
}

/* The number of planes that costs least; exceptions count double, because they are slow to read. */
static unsigned choose_width(const uint64_t *symbols, uint32_t count)
{
    uint64_t of_width[9] = { 0 };
    for (uint32_t i = 0; i < count; i++)
        of_width[byte_width(symbols[i])]++;
    uint64_t best_cost = (uint64_t)count * 8;
    unsigned best = 8;
    uint64_t exceptions_cost = 0;
    for (unsigned width = 8; width-- > 0;) {
        exceptions_cost += of_width[width + 1] * 2 * (width + 1 + EXCEPTION_BYTES);
        if (count * (uint64_t)width + exceptions_cost <= best_cost) {
            best_cost = count * (uint64_t)width + exceptions_cost;
            best = width;
        }
    }
    return best;
}

static void pack(struct ws_bytes_out *out, const uint64_t *symbols, uint32_t count)
{
    unsigned width = choose_width(symbols, count);
    uint64_t limit = width == 8 ? 0 : ~(uint64_t)0 << (8 * width);
    uint32_t exceptions = 0;
    for (uint32_t i = 0; i < count; i++)
        exceptions += (symbols[i] & limit) != 0;
    ws_bytes_put_u8(out, (uint8_t)width);
    ws_bytes_put_varint(out, exceptions);
    for (uint32_t i = 0, next = 0; exceptions; i++) {
        if (!(symbols[i] & limit))
            continue;
        ws_bytes_put_varint(out, i - next);
        ws_bytes_put_varint(out, symbols[i]);
        next = i + 1;
        exceptions--;
    }
    for (unsigned plane = 0; plane < width; plane++) {
        uint8_t *bytes = ws_bytes_room(out, count);
        for (uint32_t i = 0; bytes && i < count; i++)
            bytes[i] = (uint8_t)(symbols[i] >> (8 * plane));
    }
}

static void unpack(struct ws_bytes_in *in, uint64_t *symbols, uint32_t count)
{
    unsigned width = ws_bytes_get_u8(in);
    uint64_t exceptions = ws_bytes_get_varint(in);
    struct ws_bytes_in exceptions_in = *in;
    if (width > 8 || exceptions > count) {
        in->failed = true;
        return;
    }
    for (uint64_t i = 0; i < exceptions; i++) {
        ws_bytes_get_varint(in);
        ws_bytes_get_varint(in);
    }
    memset(symbols, 0, count * sizeof(*symbols));
    for (unsigned plane = 0; plane < width; plane++) {
        const uint8_t *bytes = ws_bytes_take(in, count);
        for (uint32_t i = 0; bytes && i < count; i++)
            symbols[i] |= (uint64_t)bytes[i] << (8 * plane);
    }
    uint64_t at = 0;
    for (uint64_t i = 0; i < exceptions && !in->failed; i++, at++) {
        uint64_t gap = ws_bytes_get_varint(&exceptions_in);
        if (gap >= count - at) {
            in->failed = true;
            return;
        }
        at += gap;
        symbols[at] = ws_bytes_get_varint(&exceptions_in);
    }
}

/* ---- SLOTS: few values that take turns ---- */

struct predictor {
    slot_number *table;
    uint32_t before; /* the slots of the two rows before */
    uint32_t two_before;
};

static slot_number *predicted(const struct predictor *predictor)
{
    uint32_t hash = (predictor->before * 0x9e3779b1u) ^ (predictor->two_before * 0x85ebca77u);
    return &predictor->table[hash >> (32 - PREDICTOR_BITS)];
}

static void predictor_learn(struct predictor *predictor, slot_number *place, uint32_t slot)
{
    *place = (slot_number)slot;
    predictor->two_before = predictor->before;
    predictor->before = slot;
}

static struct predictor predictor_start(struct ws_columns_scratch *scratch)
{
    memset(scratch->predictor, 0, sizeof(scratch->predictor));
    return (struct predictor){ .table = scratch->predictor };
}

/* The value's slot, a new one if it has none. */
static uint32_t find_slot(struct ws_columns_scratch *scratch, uint64_t value, uint32_t *used)
{
    size_t at = ws_map_hash(value) & scratch->hash_mask;
    for (;; at = (at + 1) & scratch->hash_mask) {
        struct hash_entry *entry = &scratch->hash[at];
        if (entry->stamp != scratch->stamp) {
            *entry = (struct hash_entry){ value, scratch->stamp, *used };
            scratch->distinct[*used] = value;
            return (*used)++;
        }
        if (entry->value == value)
            return entry->slot;
    }
}

static void new_stamp(struct ws_columns_scratch *scratch)
{
    if (++scratch->stamp)
        return;
    memset(scratch->hash, 0, (scratch->hash_mask + 1) * sizeof(*scratch->hash));
    scratch->stamp = 1;
}

/* Differences between neighbours, in place. */
static void to_deltas(uint64_t *values, uint32_t count)
{
    for (uint32_t i = count; i-- > 1;)
        values[i] = ws_zigzag((int64_t)(values[i] - values[i - 1]));
    if (count)
        values[0] = ws_zigzag((int64_t)values[0]);
}

static void encode_slots(const struct ws_layout *layout, const struct ws_column *column, const void *rows,
                         uint32_t count, struct ws_columns_scratch *scratch, struct ws_bytes_out *out)
{
    slot_number *slots = scratch->slots[scratch->slots_used];
    struct predictor predictor = predictor_start(scratch);
    uint32_t used = 0;
    new_stamp(scratch);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = load(column, (const char *)rows + (size_t)i * layout->row_size);
        slot_number *guess = predicted(&predictor);
        uint32_t slot = *guess, seen = used;
        if (slot >= used || scratch->distinct[slot] != value) {
            slot = find_slot(scratch, value, &used);
            scratch->symbols[i] = 1 + seen - slot; /* a new value gives 1 */
        } else {
            scratch->symbols[i] = 0;
        }
        slots[i] = (slot_number)slot;
        predictor_learn(&predictor, guess, slot);
    }
    scratch->slots_of[column - layout->columns] = (int8_t)scratch->slots_used++;
    ws_bytes_put_varint(out, used);
    if (used > 1)
        pack(out, scratch->symbols, count);
    to_deltas(scratch->distinct, used);
    pack(out, scratch->distinct, used);
}

static void decode_slots(struct ws_bytes_in *in, uint32_t count, slot_number *slots,
                         struct ws_columns_scratch *scratch)
{
    uint64_t distinct = ws_bytes_get_varint(in);
    if (distinct > count || !distinct != !count) {
        in->failed = true;
        return;
    }
    if (distinct > 1) {
        struct predictor predictor = predictor_start(scratch);
        unpack(in, scratch->symbols, count);
        uint32_t seen = 0;
        for (uint32_t i = 0; i < count && !in->failed; i++) {
            slot_number *guess = predicted(&predictor);
            uint64_t symbol = scratch->symbols[i];
            uint64_t slot = symbol ? seen + 1 - symbol : *guess;
            in->failed = slot > seen || slot >= distinct;
            seen += slot == seen;
            slots[i] = (slot_number)slot;
            predictor_learn(&predictor, guess, (uint32_t)slot);
        }
    } else {
        memset(slots, 0, count * sizeof(*slots));
    }
    unpack(in, scratch->distinct, (uint32_t)distinct);
    uint64_t value = 0;
    for (uint64_t i = 0; i < distinct; i++) {
        value += (uint64_t)ws_unzigzag(scratch->distinct[i]);
        scratch->distinct[i] = value;
    }
}

/* ---- residuals ---- */

/* What a column's prediction stands on, the same for both directions. */
struct prediction {
    const struct ws_column *base; /* AFTER…: the column it follows */
    const slot_number *slots;     /* …LAST: the key's slots */
    uint64_t *last;
    uint32_t seen;   /* slots met so far */
    uint64_t before; /* the row before's */
    bool plain;
};

static inline uint64_t *remembered(struct prediction *prediction, uint32_t i)
{
    if (!prediction->slots)
        return &prediction->before;
    uint32_t slot = prediction->slots[i];
    if (slot == prediction->seen) {
        prediction->last[slot] = prediction->before;
        prediction->seen++;
    }
    return &prediction->last[slot];
}

static inline void remember(struct prediction *prediction, uint64_t *place, uint64_t value)
{
    *place = value;
    prediction->before = prediction->plain ? 0 : value;
}

/* The value that most residuals have, or 0 if there is none: correlations grow by 1. */
static uint64_t majority(const uint64_t *values, uint32_t count)
{
    uint64_t candidate = values[count / 2];
    uint32_t votes = 0;
    for (uint32_t i = 0; i < count; i++)
        votes += values[i] == candidate;
    return votes > count / 2 ? candidate : 0;
}

static void encode_numbers(const struct ws_layout *layout, const struct ws_column *column, const void *rows,
                           uint32_t count, struct prediction prediction, uint64_t *symbols, struct ws_bytes_out *out)
{
    const char *row = rows;
    for (uint32_t i = 0; i < count; i++, row += layout->row_size) {
        uint64_t value = load(column, row) - (prediction.base ? load(prediction.base, row) : 0);
        uint64_t *place = remembered(&prediction, i);
        symbols[i] = value - *place;
        remember(&prediction, place, prediction.plain ? 0 : value);
    }
    uint64_t bias = count ? majority(symbols, count) : 0;
    for (uint32_t i = 0; i < count; i++)
        symbols[i] = ws_zigzag((int64_t)(symbols[i] - bias));
    ws_bytes_put_varint(out, ws_zigzag((int64_t)bias));
    pack(out, symbols, count);
}

static void decode_numbers(struct ws_bytes_in *in, const struct ws_layout *layout, const struct ws_column *column,
                           uint32_t count, struct prediction prediction, uint64_t *symbols, void *rows)
{
    uint64_t bias = (uint64_t)ws_unzigzag(ws_bytes_get_varint(in));
    unpack(in, symbols, count);
    char *row = rows;
    for (uint32_t i = 0; i < count; i++, row += layout->row_size) {
        uint64_t *place = remembered(&prediction, i);
        uint64_t value = *place + bias + (uint64_t)ws_unzigzag(symbols[i]);
        remember(&prediction, place, prediction.plain ? 0 : value);
        store(column, row, value + (prediction.base ? load(prediction.base, row) : 0));
    }
}

/* ---- texts ---- */

static struct ws_text *text_of(const struct ws_column *column, const void *row)
{
    return (struct ws_text *)((uintptr_t)row + column->offset);
}

static void encode_texts(const struct ws_layout *layout, const struct ws_column *column, const void *rows,
                         uint32_t count, uint64_t *symbols, struct ws_bytes_out *out)
{
    const char *row = rows;
    for (uint32_t i = 0; i < count; i++, row += layout->row_size)
        symbols[i] = text_of(column, row)->length;
    pack(out, symbols, count);
    row = rows;
    for (uint32_t i = 0; i < count; i++, row += layout->row_size)
        ws_bytes_put(out, text_of(column, row)->data, text_of(column, row)->length);
}

static void decode_texts(struct ws_bytes_in *in, const struct ws_layout *layout, const struct ws_column *column,
                         uint32_t count, uint64_t *symbols, void *rows)
{
    unpack(in, symbols, count);
    char *row = rows;
    for (uint32_t i = 0; i < count && !in->failed; i++, row += layout->row_size) {
        const uint8_t *bytes = ws_bytes_take(in, symbols[i]);
        *text_of(column, row) = (struct ws_text){ (const char *)bytes, bytes ? (uint32_t)symbols[i] : 0 };
    }
}

/* ---- frames ---- */

static bool coding_has_key(uint8_t coding)
{
    return coding == WS_CODING_LAST || coding == WS_CODING_AFTER_LAST;
}

static bool coding_has_base(uint8_t coding)
{
    return coding == WS_CODING_AFTER || coding == WS_CODING_AFTER_LAST;
}

static void scratch_start(struct ws_columns_scratch *scratch)
{
    memset(scratch->slots_of, -1, sizeof(scratch->slots_of));
    scratch->slots_used = 0;
}

static struct prediction prediction_of(const struct ws_layout *layout, const struct ws_column *coding,
                                       struct ws_columns_scratch *scratch)
{
    struct prediction prediction = { .last = scratch->last, .plain = coding->coding == WS_CODING_PLAIN };
    if (coding_has_base(coding->coding))
        prediction.base = &layout->columns[coding->base];
    if (coding_has_key(coding->coding))
        prediction.slots = scratch->slots[scratch->slots_of[coding->key]];
    return prediction;
}

void ws_columns_encode(const struct ws_layout *layout, const void *rows, uint32_t count,
                       struct ws_columns_scratch *scratch, struct ws_bytes_out *out)
{
    scratch_start(scratch);
    ws_bytes_put_varint(out, layout->column_count);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        const uint8_t head[] = { column->coding, column->base, column->key };
        uint32_t size = 0;
        ws_bytes_put(out, head, sizeof(head));
        size_t size_at = out->size;
        ws_bytes_put(out, &size, sizeof(size));
        if (column->coding == WS_CODING_TEXT)
            encode_texts(layout, column, rows, count, scratch->symbols, out);
        else if (column->coding == WS_CODING_SLOTS)
            encode_slots(layout, column, rows, count, scratch, out);
        else
            encode_numbers(layout, column, rows, count, prediction_of(layout, column, scratch), scratch->symbols,
                           out);
        if (out->failed)
            return;
        size = (uint32_t)(out->size - size_at - sizeof(size));
        memcpy(out->data + size_at, &size, sizeof(size));
    }
}

/* Does the coding a frame names for a column make sense, so that decoding may follow it blindly? */
static bool coding_valid(const struct ws_layout *layout, uint32_t index, const struct ws_column *coding,
                         const struct ws_columns_scratch *scratch)
{
    bool is_text = layout->columns[index].coding == WS_CODING_TEXT;
    if (coding->coding >= WS_CODING_COUNT || is_text != (coding->coding == WS_CODING_TEXT))
        return false;
    if (coding->coding == WS_CODING_SLOTS && scratch->slots_used == KEY_COLUMNS_MAX)
        return false;
    if (coding_has_base(coding->coding) &&
        (coding->base >= index || layout->columns[coding->base].coding == WS_CODING_TEXT))
        return false;
    return !coding_has_key(coding->coding) || (coding->key < index && scratch->slots_of[coding->key] >= 0);
}

static void decode_column(struct ws_bytes_in *in, const struct ws_layout *layout, uint32_t index,
                          const struct ws_column *coding, uint32_t count, struct ws_columns_scratch *scratch,
                          void *rows)
{
    const struct ws_column *column = &layout->columns[index];
    if (coding->coding == WS_CODING_TEXT) {
        decode_texts(in, layout, column, count, scratch->symbols, rows);
    } else if (coding->coding == WS_CODING_SLOTS) {
        slot_number *slots = scratch->slots[scratch->slots_used];
        decode_slots(in, count, slots, scratch);
        scratch->slots_of[index] = (int8_t)scratch->slots_used++;
        char *row = rows;
        for (uint32_t i = 0; i < count && !in->failed; i++, row += layout->row_size)
            store(column, row, scratch->distinct[slots[i]]);
    } else {
        decode_numbers(in, layout, column, count, prediction_of(layout, coding, scratch), scratch->symbols, rows);
    }
}

int ws_columns_decode(const struct ws_layout *layout, const uint8_t *payload, size_t size, uint32_t count,
                      struct ws_columns_scratch *scratch, void *rows)
{
    struct ws_bytes_in in = { .at = payload, .end = payload + size };
    if (count > scratch->max_rows)
        return -EBADMSG;
    scratch_start(scratch);
    memset(rows, 0, (size_t)count * layout->row_size);
    uint64_t columns = ws_bytes_get_varint(&in);
    for (uint64_t i = 0; i < columns && i < layout->column_count; i++) {
        struct ws_column coding = { .coding = ws_bytes_get_u8(&in) };
        coding.base = ws_bytes_get_u8(&in);
        coding.key = ws_bytes_get_u8(&in);
        uint32_t column_size;
        ws_bytes_get(&in, &column_size, sizeof(column_size));
        struct ws_bytes_in column_in = { .at = in.at };
        ws_bytes_take(&in, column_size);
        if (in.failed || !coding_valid(layout, (uint32_t)i, &coding, scratch))
            return -EBADMSG;
        column_in.end = in.at;
        decode_column(&column_in, layout, (uint32_t)i, &coding, count, scratch, rows);
        if (column_in.failed)
            return -EBADMSG;
    }
    return in.failed ? -EBADMSG : 0;
}

void ws_columns_host_range(const struct ws_layout *layout, const void *rows, uint32_t count, int64_t *first,
                           int64_t *last)
{
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (uint32_t c = 0; c < layout->column_count; c++) {
        const struct ws_column *column = &layout->columns[c];
        if (strncmp(column->name, "host_", 5))
            continue;
        const char *row = rows;
        for (uint32_t i = 0; i < count; i++, row += layout->row_size) {
            int64_t time = (int64_t)load(column, row);
            *first = time < *first ? time : *first;
            *last = time > *last ? time : *last;
        }
    }
}
