#include "shim/stacks/cfi.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"

/* The formats of unwind tables are described in the DWARF standard, section "Call Frame Information", and in the
 * Linux Standard Base, section "Exception Frames". The register numbers below come from the x86-64 ABI. */
enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RA = 16 };

enum { REMEMBERED_MOST = 8 };

/* Encodings of pointers in unwind tables (DW_EH_PE_…). An encoding combines a format and the address to which the
 * pointer is relative. */
enum {
    AS_POINTER = 0x00,
    AS_U4 = 0x03,
    AS_U8 = 0x04,
    AS_S4 = 0x0b,
    AS_S8 = 0x0c,
    AS_FORMAT = 0x0f,
    TO_ITSELF = 0x10, /* relative to the pointer's own address */
    TO_HEADER = 0x30,
    TO_MASK = 0x70,
    INDIRECT = 0x80,
};

/* Instructions of unwind tables (DW_CFA_…). ADVANCE, OFFSET and RESTORE have an operand in their low 6 bits. */
enum {
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    SET_LOCATION = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    IN_REGISTER = 0x09,
    REMEMBER = 0x0a,
    RECALL = 0x0b,
    FRAME = 0x0c,
    FRAME_REGISTER = 0x0d,
    FRAME_OFFSET = 0x0e,
    FRAME_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_SIGNED = 0x11,
    FRAME_SIGNED = 0x12,
    FRAME_OFFSET_SIGNED = 0x13,
    VALUE_OFFSET = 0x14,
    VALUE_OFFSET_SIGNED = 0x15,
    VALUE_EXPRESSION = 0x16,
    ARGUMENTS_SIZE = 0x2e,
};

/* Operations of expressions in unwind tables (DW_OP_…). */
enum { OP_DEREF = 0x06, OP_BP_PLUS = 0x76 };

/* --- bytes --------------------------------------------------------------------------------------- */

static uint64_t number(struct ws_bytes_in *from, unsigned size)
{
    uint64_t value = 0; /* little-endian */
    ws_bytes_get(from, &value, size);
    return value;
}

static int64_t signed_varint(struct ws_bytes_in *from)
{
    const uint8_t *begin = from->at;
    uint64_t value = ws_bytes_get_varint(from);
    unsigned bits = 7 * (unsigned)(from->at - begin);
    bool is_negative = bits && bits < 64 && value >> (bits - 1) & 1;
    return (int64_t)(is_negative ? value | ~(uint64_t)0 << bits : value);
}

/* Moves `from` past its next `size` bytes, and returns these bytes as an input to read from. */
static struct ws_bytes_in part(struct ws_bytes_in *from, uint64_t size)
{
    const uint8_t *bytes = ws_bytes_take(from, size);
    return (struct ws_bytes_in){ bytes, bytes ? bytes + size : NULL, !bytes };
}

static uint64_t pointer(struct ws_bytes_in *from, uint8_t encoding)
{
    uintptr_t itself = (uintptr_t)from->at;
    uint64_t value = 0;
    switch (encoding & AS_FORMAT) {
    case AS_POINTER:
    case AS_U8:
    case AS_S8:
        value = number(from, 8);
        break;
    case AS_U4:
        value = number(from, 4);
        break;
    case AS_S4:
        value = (uint64_t)(int64_t)(int32_t)number(from, 4);
        break;
    default:
        from->failed = true;
    }
    if (encoding & INDIRECT || ((encoding & TO_MASK) && (encoding & TO_MASK) != TO_ITSELF))
        from->failed = true;
    return encoding & TO_ITSELF ? value + itself : value;
}

/* --- rows ------------------------------------------------------------------------------------------ */

enum saved { SAVED_NOT, SAVED_AT_FRAME, SAVED_AT_BP, SAVED_UNDEFINED, SAVED_ELSEWHERE };

struct place {
    enum saved how;
    int64_t offset;
};

/* The unwind rules for one instruction of the function: how to find the function's frame, and where the caller's
 * frame pointer (bp) and the return address (ra) are saved. */
struct row {
    enum cfi_frame frame;
    int64_t frame_offset;
    struct place bp, ra;
};

struct program {
    struct row row, initial; /* initial: the rules after the CIE's instructions, which many functions share */
    struct row remembered[REMEMBERED_MOST];
    unsigned remembered_count;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t encoding; /* DW_EH_PE_… of pointers to code */
    bool is_signal;
    uintptr_t location;
};

static void set_place(struct row *row, uint64_t reg, struct place place)
{
    if (reg == REGISTER_BP)
        row->bp = place;
    else if (reg == REGISTER_RA)
        row->ra = place;
}

static void restore_place(struct program *program, uint64_t reg)
{
    set_place(&program->row, reg, reg == REGISTER_BP ? program->initial.bp : program->initial.ra);
}

static void set_frame_register(struct row *row, uint64_t reg)
{
    row->frame = reg == REGISTER_SP ? CFI_FROM_SP : reg == REGISTER_BP ? CFI_FROM_BP : CFI_UNKNOWN;
}

/* Reads the expression "frame pointer + offset" or, if is_word is set, "the word at frame pointer + offset". Returns
 * false for any other expression. */
static bool read_expression(struct ws_bytes_in text, bool is_word, int64_t *offset)
{
    if (number(&text, 1) != OP_BP_PLUS)
        return false;
    *offset = signed_varint(&text);
    return (!is_word || number(&text, 1) == OP_DEREF) && !text.failed && text.at == text.end;
}

static void frame_expression(struct row *row, struct ws_bytes_in text)
{
    row->frame = read_expression(text, true, &row->frame_offset) ? CFI_AT_BP : CFI_UNKNOWN;
}

static struct place place_expression(struct ws_bytes_in text)
{
    struct place place = { SAVED_AT_BP, 0 };
    if (!read_expression(text, false, &place.offset))
        place.how = SAVED_ELSEWHERE;
    return place;
}

/* Executes an unwind instruction whose first operand is a register. */
static void about_register(struct program *program, struct ws_bytes_in *from, uint8_t instruction)
{
    struct row *row = &program->row;
    uint64_t reg = ws_bytes_get_varint(from);
    struct place place = { SAVED_ELSEWHERE, 0 };
    switch (instruction) {
    case OFFSET_EXTENDED:
        place = (struct place){ SAVED_AT_FRAME, (int64_t)ws_bytes_get_varint(from) * program->data_factor };
        break;
    case OFFSET_SIGNED:
        place = (struct place){ SAVED_AT_FRAME, signed_varint(from) * program->data_factor };
        break;
    case RESTORE_EXTENDED:
        restore_place(program, reg);
        return;
    case UNDEFINED:
        place.how = SAVED_UNDEFINED;
        break;
    case SAME_VALUE:
        place.how = SAVED_NOT;
        break;
    case IN_REGISTER:
    case VALUE_OFFSET:
        ws_bytes_get_varint(from);
        break;
    case VALUE_OFFSET_SIGNED:
        signed_varint(from);
        break;
    case EXPRESSION:
        place = place_expression(part(from, ws_bytes_get_varint(from)));
        break;
    case VALUE_EXPRESSION:
        part(from, ws_bytes_get_varint(from));
        break;
    case FRAME:
        set_frame_register(row, reg);
        row->frame_offset = (int64_t)ws_bytes_get_varint(from);
        return;
    case FRAME_SIGNED:
        set_frame_register(row, reg);
        row->frame_offset = signed_varint(from) * program->data_factor;
        return;
    case FRAME_REGISTER:
        set_frame_register(row, reg);
        return;
    default:
        from->failed = true;
    }
    set_place(row, reg, place);
}

static void execute(struct program *program, struct ws_bytes_in *from)
{
    struct row *row = &program->row;
    uint8_t instruction = (uint8_t)number(from, 1), low = instruction & 0x3f;
    switch (instruction & 0xc0) {
    case ADVANCE:
        program->location += low * program->code_factor;
        return;
    case OFFSET:
        set_place(row, low,
                  (struct place){ SAVED_AT_FRAME, (int64_t)ws_bytes_get_varint(from) * program->data_factor });
        return;
    case RESTORE:
        restore_place(program, low);
        return;
    default:
        break;
    }
    switch (instruction) {
    case NOP:
        return;
    case SET_LOCATION:
        program->location = pointer(from, program->encoding);
        return;
    case ADVANCE_1:
        program->location += number(from, 1) * program->code_factor;
        return;
    case ADVANCE_2:
        program->location += number(from, 2) * program->code_factor;
        return;
    case ADVANCE_4:
        program->location += number(from, 4) * program->code_factor;
        return;
    case REMEMBER:
        from->failed |= program->remembered_count == REMEMBERED_MOST;
        if (!from->failed)
            program->remembered[program->remembered_count++] = *row;
        return;
    case RECALL:
        from->failed |= !program->remembered_count;
        if (!from->failed)
            *row = program->remembered[--program->remembered_count];
        return;
    case FRAME_OFFSET:
        row->frame_offset = (int64_t)ws_bytes_get_varint(from);
        return;
    case FRAME_OFFSET_SIGNED:
        row->frame_offset = signed_varint(from) * program->data_factor;
        return;
    case FRAME_EXPRESSION:
        frame_expression(row, part(from, ws_bytes_get_varint(from)));
        return;
    case ARGUMENTS_SIZE:
        ws_bytes_get_varint(from);
        return;
    default:
        about_register(program, from, instruction);
    }
}

/* Executes unwind instructions until program->row has the rules for the code at `pc`. Returns false if an instruction
 * is not supported. */
static bool run(struct program *program, struct ws_bytes_in from, uintptr_t pc)
{
    while (from.at < from.end && !from.failed) {
        struct row before = program->row;
        execute(program, &from);
        if (program->location > pc) {
            program->row = before;
            break;
        }
    }
    return !from.failed;
}

/* --- entries --------------------------------------------------------------------------------------- */

/* Returns the bytes of the .eh_frame entry at `at`, without its length field. */
static struct ws_bytes_in entry_at(const struct cfi_table *table, const uint8_t *at)
{
    struct ws_bytes_in all = { at, table->high, at < table->low || at > table->high }, none = { at, at, true };
    if (all.failed)
        return none;
    uint64_t length = number(&all, 4);
    struct ws_bytes_in entry = part(&all, length);
    return all.failed || length < 4 ? none : entry;
}

/* Reads the fields that the letters of the CIE's augmentation string (such as "zPLR") announce. */
static void read_augmentation(struct program *program, struct ws_bytes_in *cie, const char *letters)
{
    struct ws_bytes_in data = part(cie, ws_bytes_get_varint(cie));
    for (letters++; *letters; letters++) {
        switch (*letters) {
        case 'R':
            program->encoding = (uint8_t)number(&data, 1);
            break;
        case 'P': /* the personality routine: not needed, so its pointer is skipped */
            pointer(&data, (uint8_t)number(&data, 1) & AS_FORMAT);
            break;
        case 'L':
            number(&data, 1);
            break;
        case 'S':
            program->is_signal = true;
            break;
        default:
            cie->failed = true;
        }
    }
    cie->failed |= data.failed;
}

/* Reads a CIE (an entry of .eh_frame that many functions share), and executes its instructions. */
static bool read_common(struct program *program, struct ws_bytes_in cie)
{
    if (number(&cie, 4) != 0) /* 0 marks a CIE */
        return false;
    uint8_t version = (uint8_t)number(&cie, 1);
    const char *letters = (const char *)cie.at;
    while (number(&cie, 1) && !cie.failed)
        ;
    program->code_factor = ws_bytes_get_varint(&cie);
    program->data_factor = signed_varint(&cie);
    uint64_t return_register = version == 1 ? number(&cie, 1) : ws_bytes_get_varint(&cie);
    if (cie.failed || (version != 1 && version != 3) || return_register != REGISTER_RA ||
        (*letters && *letters != 'z'))
        return false;
    if (*letters)
        read_augmentation(program, &cie, letters);
    if (cie.failed || !run(program, cie, UINTPTR_MAX))
        return false;
    program->initial = program->row;
    return true;
}

/* Looks up pc in the sorted table of .eh_frame_hdr. Returns the entry (FDE) of the last function that starts at or
 * before pc, or NULL. */
static const uint8_t *search(const struct cfi_table *table, uintptr_t pc)
{
    struct ws_bytes_in from = { table->header, table->high,
                                table->header < table->low || table->header > table->high };
    if (from.failed || number(&from, 1) != 1 || number(&from, 1) != (TO_ITSELF | AS_S4) ||
        number(&from, 1) != AS_U4 || number(&from, 1) != (TO_HEADER | AS_S4)) /* the encodings that all linkers use */
        return NULL;
    number(&from, 4); /* skips the address of .eh_frame */
    uint64_t count = number(&from, 4);
    if (from.failed || (uint64_t)(from.end - from.at) / 8 < count)
        return NULL;
    const uint8_t *rows = from.at;
    /* address of the function's first instruction, and address of the function's FDE; both relative to the header */
    int32_t row[2];
    int64_t wanted = (int64_t)(pc - (uintptr_t)table->header);
    uint64_t low = 0, high = count;
    while (low < high) { /* finds the first row of the table whose function starts after pc */
        uint64_t middle = low + (high - low) / 2;
        memcpy(row, rows + 8 * middle, sizeof(row));
        if (row[0] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    memcpy(row, rows + 8 * (low - 1), sizeof(row));
    uintptr_t entry = (uintptr_t)table->header + (uintptr_t)(intptr_t)row[1];
    return (const uint8_t *)entry;
}

/* Finds the unwind rules for the instruction at pc, and leaves them in program->row. */
static bool read_entry(struct program *program, const struct cfi_table *table, uintptr_t pc)
{
    const uint8_t *at = search(table, pc);
    if (!at)
        return false;
    struct ws_bytes_in fde = entry_at(table, at);
    const uint8_t *mark = fde.at;
    uint64_t back = number(&fde, 4);
    if (fde.failed || back > (uint64_t)(mark - table->low) || !read_common(program, entry_at(table, mark - back)))
        return false;
    uintptr_t begin = pointer(&fde, program->encoding);
    uint64_t size = pointer(&fde, program->encoding & AS_FORMAT);
    part(&fde, ws_bytes_get_varint(&fde)); /* skips the augmentation data */
    if (fde.failed || pc < begin || pc - begin >= size)
        return false;
    program->location = begin;
    return run(program, fde, pc);
}

static bool fits(int64_t offset)
{
    return offset == (int32_t)offset;
}

static struct cfi_rule rule_of(const struct row *row)
{
    static const uint8_t bp[] = { [SAVED_NOT] = CFI_BP_SAME,
                                  [SAVED_AT_FRAME] = CFI_BP_FROM_FRAME,
                                  [SAVED_AT_BP] = CFI_BP_FROM_BP,
                                  [SAVED_UNDEFINED] = CFI_BP_LOST,
                                  [SAVED_ELSEWHERE] = CFI_BP_LOST };
    struct cfi_rule rule = { .frame = (uint8_t)row->frame, .bp = bp[row->bp.how] };
    if (row->ra.how == SAVED_UNDEFINED)
        return (struct cfi_rule){ .frame = CFI_OUTERMOST };
    if (row->ra.how != SAVED_AT_FRAME || row->ra.offset != -(int64_t)sizeof(uintptr_t) || !fits(row->frame_offset) ||
        !fits(row->bp.offset))
        return (struct cfi_rule){ .frame = CFI_UNKNOWN };
    rule.frame_offset = (int32_t)row->frame_offset;
    rule.bp_offset = (int32_t)row->bp.offset;
    return rule;
}

struct cfi_rule cfi_find(const struct cfi_table *table, uintptr_t pc)
{
    struct program program = { 0 };
    if (!table->header || !read_entry(&program, table, pc))
        return (struct cfi_rule){ .frame = CFI_UNKNOWN };
    return program.is_signal ? (struct cfi_rule){ .frame = CFI_SIGNAL } : rule_of(&program.row);
}
