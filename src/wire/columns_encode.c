#include "wire/columns.h"
#include "wire/frame.h"
#include "wire/predict.h"

struct hash_entry {
    uint64_t value;
    uint32_t stamp; /* value of encoder->stamp when this entry was filled. An entry with an older stamp counts as
                       empty, so the table need not be cleared for each column */
    uint32_t slot;
};

/* One SLOTS column of the frame. A slot is the index of a value among the column's distinct values in this frame. */
struct key_column {
    int column; /* index of the column in the layout */
    uint32_t used;
    ws_slot *slots;     /* for each row: the slot of its value */
    uint64_t *distinct; /* the distinct values, by slot */
};

struct ws_columns_encoder {
    uint32_t max_rows;
    uint32_t stamp;
    size_t hash_mask;
    struct hash_entry *hash;
    uint64_t *numbers;
    uint64_t *remembered; /* for each key (by its slot): the value or difference in the last row with this key */
    uint64_t *ends;       /* for each group: the base column's value in the last row encoded so far */
    uint64_t *group_ids;
    ws_slot *groups; /* for each distinct value (slot) of the group column: its group */
    unsigned keys_used;
    struct key_column keys[WS_KEY_COLUMNS_MAX];
    struct ws_predictor predictor;
};

static size_t hash_size(uint32_t max_rows)
{
    size_t size = 16;
    while (size < (size_t)max_rows * 2)
        size *= 2;
    return size;
}

size_t ws_columns_encoder_size(uint32_t max_rows)
{
    return sizeof(struct ws_columns_encoder) + hash_size(max_rows) * sizeof(struct hash_entry) +
           (size_t)max_rows *
               ((4 + WS_KEY_COLUMNS_MAX) * sizeof(uint64_t) + (1 + WS_KEY_COLUMNS_MAX) * sizeof(ws_slot));
}

struct ws_columns_encoder *ws_columns_encoder_init(void *memory, uint32_t max_rows)
{
    struct ws_columns_encoder *encoder = memory;
    encoder->max_rows = max_rows;
    encoder->hash_mask = hash_size(max_rows) - 1;
    encoder->hash = (struct hash_entry *)(encoder + 1);
    uint64_t *numbers = (uint64_t *)(encoder->hash + encoder->hash_mask + 1);
    encoder->numbers = numbers;
    encoder->remembered = numbers += max_rows;
    encoder->ends = numbers += max_rows;
    encoder->group_ids = numbers += max_rows;
    for (size_t i = 0; i < WS_KEY_COLUMNS_MAX; i++)
        encoder->keys[i].distinct = numbers += max_rows;
    ws_slot *slots = (ws_slot *)(numbers + max_rows);
    encoder->groups = slots;
    for (size_t i = 0; i < WS_KEY_COLUMNS_MAX; i++)
        encoder->keys[i].slots = slots += max_rows;
    return encoder;
}

size_t ws_columns_bound(const struct ws_layout *layout, uint32_t rows, size_t text)
{
    /* A SLOTS or GAP column packs two sequences. 64 bytes are enough for everything else in a column's head, and
     * another 64 for the start of the payload. */
    return 64 + layout->column_count * (2 * ws_pack_bound(rows) + 64) + text;
}

/* ---- SLOTS ---- */

static void new_stamp(struct ws_columns_encoder *encoder)
{
    if (++encoder->stamp)
        return;
    memset(encoder->hash, 0, (encoder->hash_mask + 1) * sizeof(*encoder->hash));
    encoder->stamp = 1;
}

/* Returns the value's slot (its index among the distinct values). A new value gets the next slot. */
static uint32_t find_slot(struct ws_columns_encoder *encoder, uint64_t value, uint64_t *distinct, uint32_t *used)
{
    for (size_t at = ws_map_hash(value) & encoder->hash_mask;; at = (at + 1) & encoder->hash_mask) {
        struct hash_entry *entry = &encoder->hash[at];
        if (entry->stamp != encoder->stamp) {
            *entry = (struct hash_entry){ value, encoder->stamp, *used };
            distinct[*used] = value;
            return (*used)++;
        }
        if (entry->value == value)
            return entry->slot;
    }
}

static void pack_distinct(struct ws_columns_encoder *encoder, const struct key_column *key, struct ws_encoded *to)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < key->used; i++) {
        encoder->numbers[i] = ws_zigzag((int64_t)(key->distinct[i] - before));
        before = key->distinct[i];
    }
    ws_pack(to, encoder->numbers, key->used);
}

static void encode_slots(struct ws_columns_encoder *encoder, const struct ws_layout *layout, uint32_t index,
                         const char *row, uint32_t count, struct ws_encoded *to)
{
    struct key_column *key = &encoder->keys[encoder->keys_used++];
    const struct ws_column column = layout->columns[index];
    struct ws_predictor *predictor = &encoder->predictor;
    struct ws_history history = { 0 };
    uint64_t *numbers = encoder->numbers, *distinct = key->distinct;
    ws_slot *slots = key->slots;
    uint32_t used = 0;
    memset(predictor, 0, sizeof(*predictor));
    new_stamp(encoder);
    for (uint32_t i = 0; i < count; i++, row += layout->row_size) {
        uint64_t value = ws_column_load(&column, row);
        ws_slot *guess = ws_predictor_guess(predictor, history);
        uint32_t slot = *guess, seen = used;
        if (slot < seen && distinct[slot] == value) {
            numbers[i] = 0;
        } else {
            slot = find_slot(encoder, value, distinct, &used);
            numbers[i] = 1 + seen - slot; /* a new value is coded as 1, because its slot is `seen` */
        }
        slots[i] = (ws_slot)slot;
        history = ws_predictor_learn(history, guess, slot);
    }
    key->column = (int)index;
    key->used = used;
    ws_bytes_put_varint(&to->head, used);
    if (used > 1)
        ws_pack(to, encoder->numbers, count);
    pack_distinct(encoder, key, to);
}

/* ---- residuals ---- */

static const struct key_column *columns_encode_key_of(const struct ws_columns_encoder *encoder, uint32_t column)
{
    for (unsigned i = 0; i < encoder->keys_used; i++)
        if (encoder->keys[i].column == (int)column)
            return &encoder->keys[i];
    return NULL; /* not reached: layout.c puts a key column before the columns that use it */
}

/* Replaces each number by its difference from the number remembered for its key. */
static void to_residuals(uint64_t *numbers, uint32_t count, const ws_slot *slots, uint64_t *remembered)
{
    uint64_t before = 0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = slots[i];
        uint64_t value = numbers[i];
        if (slot == seen)
            remembered[seen++] = before;
        numbers[i] = value - remembered[slot];
        remembered[slot] = before = value;
    }
}

/* Returns the residual that more than half of the rows have, or 0 if it finds no such residual. For example,
 * correlation ids mostly grow by 1. */
static uint64_t majority(const uint64_t *numbers, uint32_t count)
{
    uint64_t candidate = count ? numbers[count / 2] : 0;
    uint32_t votes = 0;
    if (!candidate || (numbers[count / 4] != candidate && numbers[count - count / 4 - 1] != candidate))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        votes += numbers[i] == candidate;
    return votes > count / 2 ? candidate : 0;
}

static void pack_residuals(uint64_t *numbers, uint32_t count, struct ws_encoded *to)
{
    uint64_t bias = majority(numbers, count), any = 0;
    for (uint32_t i = 0; i < count; i++)
        any |= numbers[i] -= bias;
    /* Drop common trailing zero bits: clocks often tick in steps of a power of two. */
    unsigned shift = any ? (unsigned)__builtin_ctzll(any) : 0;
    if (shift)
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = (uint64_t)((int64_t)numbers[i] >> shift);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = ws_zigzag((int64_t)numbers[i]);
    ws_bytes_put_varint(&to->head, ws_zigzag((int64_t)bias));
    ws_bytes_put_u8(&to->head, (uint8_t)shift);
    ws_pack(to, numbers, count);
}

static void to_deltas(uint64_t *numbers, uint32_t count)
{
    for (uint32_t i = count; i-- > 1;)
        numbers[i] -= numbers[i - 1];
}

/* Loads the column's numbers. Returns whether they vary. */
static bool load_column(uint64_t *numbers, const struct ws_layout *layout, const struct ws_column *column,
                        const char *row, uint32_t count)
{
    const size_t stride = layout->row_size;
    uint64_t first = count ? ws_column_load(column, row) : 0, differences = 0;
    if (column->width == sizeof(uint64_t))
        for (uint32_t i = 0; i < count; i++) {
            memcpy(&numbers[i], row + i * stride + column->offset, sizeof(numbers[i]));
            differences |= numbers[i] ^ first;
        }
    else
        for (uint32_t i = 0; i < count; i++) {
            numbers[i] = ws_column_load(column, row + i * stride);
            differences |= numbers[i] ^ first;
        }
    return differences;
}

static void load_lengths(uint64_t *numbers, const struct ws_layout *layout, const struct ws_column *column,
                         const char *row, uint32_t count)
{
    /* With local copies of the descriptions of both columns, the compiler need not reload them after each store. */
    const struct ws_column end = *column, base = layout->columns[column->base];
    const size_t stride = layout->row_size;
    for (uint32_t i = 0; i < count; i++, row += stride)
        numbers[i] = ws_column_load(&end, row) - ws_column_load(&base, row);
}

/* Numbers the groups in the order of first appearance among the key's values. Packs, for each of these values, the
 * number of its group. Returns how many groups there are. */
static uint32_t put_groups(struct ws_columns_encoder *encoder, const struct key_column *key,
                           const struct ws_map *groups, struct ws_encoded *to)
{
    uint32_t used = 0;
    new_stamp(encoder);
    for (uint32_t i = 0; i < key->used; i++) {
        const uint64_t *group = groups ? ws_map_get(groups, key->distinct[i]) : NULL;
        encoder->groups[i] = (ws_slot)find_slot(encoder, group ? *group : 0, encoder->group_ids, &used);
        encoder->numbers[i] = encoder->groups[i];
    }
    ws_pack(to, encoder->numbers, key->used);
    return used;
}

/* Codes each start time as the time since the end of the previous row in its group. */
static void encode_gaps(struct ws_columns_encoder *encoder, const struct ws_layout *layout,
                        const struct ws_column *column, const char *row, uint32_t count, const struct ws_map *groups,
                        struct ws_encoded *to)
{
    const struct key_column *key = columns_encode_key_of(encoder, column->group);
    const struct ws_column begin = *column, end = layout->columns[column->base];
    const size_t stride = layout->row_size;
    uint32_t used = key->used;
    uint64_t start = count ? ws_column_load(column, row) : 0;
    ws_bytes_put_u8(&to->head, column->grouped);
    ws_bytes_put_varint(&to->head, ws_zigzag((int64_t)start));
    if (column->grouped)
        used = put_groups(encoder, key, groups, to);
    const ws_slot *slots = key->slots, *group_of = column->grouped ? encoder->groups : NULL;
    uint64_t *numbers = encoder->numbers, *ends = encoder->ends;
    for (uint32_t i = 0; i < used; i++)
        ends[i] = start;
    for (uint32_t i = 0; i < count; i++, row += stride) {
        uint32_t group = group_of ? group_of[slots[i]] : slots[i];
        numbers[i] = ws_column_load(&begin, row) - ends[group];
        ends[group] = ws_column_load(&end, row);
    }
}

/* Returns the coding used. A DELTA or LAST column that does not vary is stored as PLAIN. Its constant value becomes
 * the bias, which the decoder adds to every residual. */
static uint8_t encode_numbers(struct ws_columns_encoder *encoder, const struct ws_layout *layout,
                              const struct ws_column *column, const void *rows, uint32_t count,
                              const struct ws_map *groups, struct ws_encoded *to)
{
    uint64_t *numbers = encoder->numbers;
    uint8_t coding = column->coding;
    if (coding == WS_CODING_LENGTH)
        load_lengths(numbers, layout, column, rows, count);
    else if (coding == WS_CODING_GAP)
        encode_gaps(encoder, layout, column, rows, count, groups, to);
    else if (!load_column(numbers, layout, column, rows, count))
        coding = WS_CODING_PLAIN;
    if (coding == WS_CODING_DELTA)
        to_deltas(numbers, count);
    else if (coding != WS_CODING_PLAIN)
        to_residuals(numbers, count, columns_encode_key_of(encoder, column->key)->slots, encoder->remembered);
    pack_residuals(numbers, count, to);
    return coding;
}

static void encode_texts(struct ws_columns_encoder *encoder, const struct ws_layout *layout,
                         const struct ws_column *column, const char *rows, uint32_t count, struct ws_encoded *to)
{
    const char *row = rows;
    for (uint32_t i = 0; i < count; i++, row += layout->row_size)
        encoder->numbers[i] = ws_column_text(column, row)->length;
    ws_pack(to, encoder->numbers, count);
    row = rows;
    for (uint32_t i = 0; i < count; i++, row += layout->row_size)
        ws_bytes_put(&to->planes, ws_column_text(column, row)->data, ws_column_text(column, row)->length);
    ws_encoded_end_plane(to, 7);
}

/* ---- frames ---- */

static void encode_column(struct ws_columns_encoder *encoder, const struct ws_layout *layout, uint32_t index,
                          const void *rows, uint32_t count, const struct ws_map *groups, struct ws_encoded *to)
{
    const struct ws_column *column = &layout->columns[index];
    const uint8_t entry[] = { (uint8_t)index, column->coding, column->base, column->key, column->group };
    uint32_t sizes[2] = { 0 };
    uint8_t coding = column->coding;
    to->column = (uint8_t)index;
    ws_bytes_put(&to->head, entry, sizeof(entry));
    size_t sizes_at = to->head.size, planes_at = to->planes.size;
    ws_bytes_put(&to->head, sizes, sizeof(sizes));
    if (column->coding == WS_CODING_TEXT)
        encode_texts(encoder, layout, column, rows, count, to);
    else if (column->coding == WS_CODING_SLOTS)
        encode_slots(encoder, layout, index, rows, count, to);
    else
        coding = encode_numbers(encoder, layout, column, rows, count, groups, to);
    if (to->head.failed || to->planes.failed)
        return;
    to->head.data[sizes_at - sizeof(entry) + 1] = coding;
    sizes[0] = (uint32_t)(to->head.size - sizes_at - sizeof(sizes));
    sizes[1] = (uint32_t)(to->planes.size - planes_at);
    memcpy(to->head.data + sizes_at, sizes, sizeof(sizes));
}

void ws_columns_encode(struct ws_columns_encoder *encoder, const struct ws_layout *layout, const void *rows,
                       uint32_t count, const struct ws_map *groups, struct ws_encoded *to)
{
    encoder->keys_used = 0;
    ws_bytes_put_u8(&to->head, (uint8_t)layout->column_count);
    /* GAP columns come last, because the decoder needs the decoded LENGTH columns to decode them. */
    for (int gaps = 0; gaps < 2; gaps++)
        for (uint32_t i = 0; i < layout->column_count; i++)
            if ((layout->columns[i].coding == WS_CODING_GAP) == gaps)
                encode_column(encoder, layout, i, rows, count, groups, to);
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
            int64_t time = (int64_t)ws_column_load(column, row);
            *first = time < *first ? time : *first;
            *last = time > *last ? time : *last;
        }
    }
}
