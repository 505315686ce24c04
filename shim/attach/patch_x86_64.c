/* The patcher's part for x86-64: reads the first instructions of a function (its head), and writes trampolines and
 * jumps (see patch.h). */
#include <string.h>

#include "base/minmax.h"
#include "shim/attach/patch_code.h"
#include "shim/attach/patch_decoder.h"

enum {
    LONGEST = 15,          /* bytes of the longest possible instruction */
    SCAN_LIMIT = 64 << 10, /* largest size of a function, in bytes: a longer function is refused */
    OUTSIDE_LIMIT = 64,    /* at most this many instructions are scanned after a jump out of the function */
};

static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* Kinds of instructions: what an instruction addresses relative to the instruction pointer, and whether the next
 * instruction in memory runs after it. */
enum kind {
    PLAIN,         /* addresses nothing relative to the instruction pointer */
    RELATIVE,      /* has an operand in memory, relative to the instruction pointer */
    JUMP,          /* a jump to a relative target */
    CONDITION,     /* a conditional jump to a relative target: jz … */
    COUNTED,       /* loop, jrcxz …: conditional jumps that reach at most 128 bytes */
    CALL,          /* a call of a relative target */
    CALL_INDIRECT, /* a call through a register or memory */
    END,           /* returns, or jumps through a register or memory */
    FIXED,         /* cannot be moved to a trampoline */
};

/* --- what an instruction is ----------------------------------------------------------------------- */

static const ZydisDecodedOperand *relative_memory(const struct instruction *instruction)
{
    for (unsigned i = 0; i < instruction->is.operand_count; i++) {
        const ZydisDecodedOperand *operand = &instruction->operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP))
            return operand;
    }
    return NULL;
}

static const ZydisDecodedOperand *relative_target(const struct instruction *instruction)
{
    for (unsigned i = 0; i < instruction->is.operand_count; i++)
        if (instruction->operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && instruction->operands[i].imm.is_relative)
            return &instruction->operands[i];
    return NULL;
}

static bool has_opcode(const struct instruction *instruction, ZydisOpcodeMap map, unsigned first, unsigned last)
{
    return instruction->is.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && instruction->is.opcode_map == map &&
           instruction->is.opcode >= first && instruction->is.opcode <= last;
}

static enum kind kind_of_branch(const struct instruction *instruction)
{
    bool relative = relative_target(instruction);
    if (instruction->is.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return FIXED;
    /* Processors of Intel and AMD execute a relative branch differently if it has the prefix for 16-bit operands. */
    if (relative && instruction->is.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE)
        return FIXED;
    if (has_opcode(instruction, ZYDIS_OPCODE_MAP_DEFAULT, 0x70, 0x7f) ||
        has_opcode(instruction, ZYDIS_OPCODE_MAP_0F, 0x80, 0x8f))
        return CONDITION;
    if (has_opcode(instruction, ZYDIS_OPCODE_MAP_DEFAULT, 0xe0, 0xe3))
        return COUNTED;
    if (instruction->is.mnemonic == ZYDIS_MNEMONIC_JMP)
        return relative ? JUMP : END;
    if (instruction->is.mnemonic == ZYDIS_MNEMONIC_CALL)
        return relative ? CALL : CALL_INDIRECT;
    return instruction->is.mnemonic == ZYDIS_MNEMONIC_RET ? END : FIXED;
}

static enum kind kind_of(const struct instruction *instruction)
{
    const ZydisDecodedOperand *memory = relative_memory(instruction);
    if (memory && memory->mem.base == ZYDIS_REGISTER_EIP)
        return FIXED; /* the address is cut to 32 bits (address-size prefix), so the instruction cannot be moved */
    switch (instruction->is.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
        return kind_of_branch(instruction);
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_UINTR:
        return FIXED;
    default:
        break;
    }
    switch (instruction->is.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return FIXED;
    default:
        return relative_target(instruction) ? FIXED : memory ? RELATIVE : PLAIN;
    }
}

/* The address to which a relative operand points, in an instruction at address `at`. */
static uintptr_t target_of(const struct instruction *instruction, uintptr_t at)
{
    const ZydisDecodedOperand *operand = relative_target(instruction);
    int64_t distance = operand ? operand->imm.value.s : relative_memory(instruction)->mem.disp.value;
    return at + instruction->is.length + (uintptr_t)distance;
}

static bool has_target(enum kind kind, const struct instruction *instruction)
{
    return relative_target(instruction) || (kind != FIXED && relative_memory(instruction));
}

/* Does execution never fall through to the next instruction? */
static bool ends(enum kind kind, const struct instruction *instruction)
{
    return kind == JUMP || kind == END || instruction->is.mnemonic == ZYDIS_MNEMONIC_UD2 ||
           instruction->is.mnemonic == ZYDIS_MNEMONIC_HLT || instruction->is.mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* --- the head --------------------------------------------------------------------------------- */

static bool shadow_stack_in_use(void)
{
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer)); /* `pointer` stays 0 if no shadow stack is in use */
    return pointer != 0;
}

static bool uses_stack_pointer(const struct instruction *instruction)
{
    const ZydisDecodedOperand *operand = &instruction->operands[0];
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
        return operand->mem.base == ZYDIS_REGISTER_RSP || operand->mem.base == ZYDIS_REGISTER_ESP;
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->reg.value == ZYDIS_REGISTER_RSP;
}

/* The trampoline replaces a call by a push of the original return address, and a jump. The call must be the last
 * instruction of the head: its return address then lies after the head. The push changes the stack pointer, so the
 * call's operand must not use the stack pointer. If the processor's shadow stack is in use, no call can be moved,
 * because a push does not put the address onto the shadow stack. */
static bool call_can_be_moved(enum kind kind, const struct instruction *instruction, bool last)
{
    return last && !(kind == CALL_INDIRECT && uses_stack_pointer(instruction)) && !shadow_stack_in_use();
}

static enum patch_refusal judge_step(const struct instruction *instruction, bool last)
{
    enum kind kind = kind_of(instruction);
    if (kind == FIXED)
        return PATCH_FIXED_INSTRUCTION;
    if (instruction->is.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
        return PATCH_JUMP_INTO; /* other code may jump to this endbr64 through a register */
    if ((kind == CALL || kind == CALL_INDIRECT) && !call_can_be_moved(kind, instruction, last))
        return PATCH_CALL;
    return ends(kind, instruction) && !last ? PATCH_TOO_SHORT : PATCH_OK;
}

static bool decode_before(const uint8_t *at, const uint8_t *end, struct instruction *instruction)
{
    return at < end && decode_instruction(at, ws_min((size_t)(end - at), (size_t)LONGEST), instruction);
}

static enum patch_refusal read_steps(struct patch *patch, const uint8_t *end, const struct patch_text *text)
{
    struct instruction instruction;
    while (patch->length < PATCH_JUMP_SIZE) {
        const uint8_t *at = patch->place + patch->length;
        if (at >= end)
            return PATCH_TOO_SHORT;
        if (!decode_before(at, text->end, &instruction))
            return PATCH_UNKNOWN_INSTRUCTION;
        if (instruction.is.length > end - at)
            return PATCH_TOO_SHORT;
        bool last = patch->length + instruction.is.length >= PATCH_JUMP_SIZE;
        enum patch_refusal refusal = judge_step(&instruction, last);
        if (refusal)
            return refusal;
        patch->step_at[patch->steps++] = patch->length;
        patch->length = (uint8_t)(patch->length + instruction.is.length);
    }
    return PATCH_OK;
}

/* --- jumps into the head ---------------------------------------------------------------------------- */

struct scan {
    const uint8_t *entry, *end; /* start and end of the function; if its size is not known, `end` limits the scan */
    uintptr_t head_begin, head_end; /* the function's entry and its head's end: no code may jump between them */
    uintptr_t jump_begin;           /* where the patch writes its jump: no code may jump between here and head_end */
    const uint8_t *furthest;        /* highest address, inside the function, to which the jumps scanned so far lead */
    bool sized;                     /* the function's size is known */
    uint8_t *begins;                /* one bit for each byte of the function: does an instruction begin there? */
};

/* Does the instruction jump into the head, or refer to bytes of the head? Returns false if the function only calls
 * itself, or takes its own address with lea: these instructions still work after the patch. */
static bool enters(const struct scan *scan, enum kind kind, const struct instruction *instruction, uintptr_t target)
{
    bool whole = kind == CALL || instruction->is.mnemonic == ZYDIS_MNEMONIC_LEA;
    if (whole && (target == (uintptr_t)scan->entry || target == scan->jump_begin))
        return false;
    return target >= scan->head_begin && target < scan->head_end;
}

/* The function jumps to `at`, outside its own bytes. Does the code there jump back into the head? This code may be a
 * rarely used part of the function, or another function. Another function may jump to this function's entry, but not
 * past jump_begin. */
static bool outside_enters(const struct scan *scan, const uint8_t *at, const struct patch_text *text)
{
    struct instruction instruction;
    for (unsigned i = 0; i < OUTSIDE_LIMIT && at >= text->begin; i++) {
        if (!decode_before(at, text->end, &instruction))
            return false;
        enum kind kind = kind_of(&instruction);
        if (relative_target(&instruction)) {
            uintptr_t target = target_of(&instruction, (uintptr_t)at);
            if (target > scan->jump_begin && target < scan->head_end)
                return true;
        }
        if (ends(kind, &instruction))
            return false;
        at += instruction.is.length;
    }
    return false;
}

static enum patch_refusal scan_instruction(struct scan *scan, const uint8_t *at,
                                           const struct instruction *instruction, const struct patch_text *text)
{
    enum kind kind = kind_of(instruction);
    if (!has_target(kind, instruction))
        return PATCH_OK;
    uintptr_t target = target_of(instruction, (uintptr_t)at);
    if (enters(scan, kind, instruction, target))
        return PATCH_JUMP_INTO;
    if (!relative_target(instruction) || kind == CALL)
        return PATCH_OK;
    const uint8_t *place = (const uint8_t *)target;
    if (place < scan->entry || place >= scan->end) {
        if (outside_enters(scan, place, text))
            return PATCH_JUMP_INTO;
        return kind == CONDITION && !scan->sized ? PATCH_TOO_LONG : PATCH_OK;
    }
    if (scan->furthest < place)
        scan->furthest = place;
    return PATCH_OK;
}

/* Scans all instructions of the function. If the function's size is not known, the function ends at the first return
 * or jump that no earlier jump of the function skips. */
static enum patch_refusal scan_function(struct scan *scan, const struct patch_text *text)
{
    struct instruction instruction;
    for (const uint8_t *at = scan->entry; at < scan->end; at += instruction.is.length) {
        if (!decode_before(at, scan->end, &instruction))
            return PATCH_UNKNOWN_INSTRUCTION;
        enum patch_refusal refusal = scan_instruction(scan, at, &instruction, text);
        if (refusal)
            return refusal;
        scan->begins[(at - scan->entry) / 8] |= (uint8_t)(1u << (at - scan->entry) % 8);
        if (!scan->sized && ends(kind_of(&instruction), &instruction) && at >= scan->furthest) {
            scan->end = at + instruction.is.length;
            return PATCH_OK;
        }
    }
    return scan->sized ? PATCH_OK : PATCH_TOO_LONG;
}

/* Refuses the function if it jumps into the middle of an instruction: scan_function has not seen the instructions
 * that begin there. */
static enum patch_refusal scan_targets(const struct scan *scan)
{
    struct instruction instruction;
    for (const uint8_t *at = scan->entry; at < scan->end; at += instruction.is.length) {
        if (!decode_before(at, scan->end, &instruction))
            return PATCH_UNKNOWN_INSTRUCTION;
        if (!relative_target(&instruction))
            continue;
        const uint8_t *target = (const uint8_t *)target_of(&instruction, (uintptr_t)at);
        size_t offset = (size_t)(target - scan->entry);
        if (target >= scan->entry && target < scan->end && !(scan->begins[offset / 8] >> offset % 8 & 1))
            return PATCH_OVERLAP;
    }
    return PATCH_OK;
}

enum patch_refusal patch_read_head(struct patch *patch, const uint8_t *entry, size_t size,
                                   const struct patch_text *text)
{
    size_t readable = ws_min((size_t)(text->end - entry), size ? size : (size_t)SCAN_LIMIT);
    bool marked = readable >= sizeof(endbr64) && !memcmp(entry, endbr64, sizeof(endbr64));
    patch->place = (uint8_t *)entry + (marked ? sizeof(endbr64) : 0);
    patch->length = patch->steps = 0;
    enum patch_refusal refusal = read_steps(patch, entry + readable, text);
    if (refusal)
        return refusal;
    memcpy(patch->original, patch->place, patch->length);
    if (size > SCAN_LIMIT)
        return PATCH_TOO_LONG;
    static uint8_t begins[SCAN_LIMIT / 8]; /* static, because it is too large for the stack */
    memset(begins, 0, sizeof(begins));
    struct scan scan = {
        .entry = entry,
        .end = entry + readable,
        .head_begin = (uintptr_t)entry,
        .head_end = (uintptr_t)patch->place + patch->length,
        .jump_begin = (uintptr_t)patch->place,
        .sized = size,
        .begins = begins,
    };
    refusal = scan_function(&scan, text);
    return refusal ? refusal : scan_targets(&scan);
}

/* --- the trampoline ----------------------------------------------------------------------------- */

struct writer {
    uint8_t *bytes;
    uintptr_t at; /* address at which bytes[0] will be */
    size_t used, room;
    bool far; /* the distance to a target does not fit into 32 bits */
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    if (size > writer->room - writer->used) {
        writer->far = true; /* cannot happen: every head fits into its trampoline */
        return;
    }
    memcpy(writer->bytes + writer->used, bytes, size);
    writer->used += size;
}

static void put_byte(struct writer *writer, unsigned byte)
{
    uint8_t value = (uint8_t)byte;
    put(writer, &value, 1);
}

static int32_t distance32(struct writer *writer, uintptr_t from, uintptr_t to)
{
    int64_t distance = (int64_t)(to - from);
    writer->far |= distance != (int32_t)distance;
    return (int32_t)distance;
}

/* Writes the last four bytes of an instruction: the distance from the instruction's end to the target. */
static void put_distance(struct writer *writer, uintptr_t target)
{
    int32_t distance = distance32(writer, writer->at + writer->used + sizeof(distance), target);
    put(writer, &distance, sizeof(distance));
}

static void put_jump(struct writer *writer, uintptr_t target)
{
    put_byte(writer, 0xe9);
    put_distance(writer, target);
}

/* Copies an instruction. If its operand in memory is relative to the instruction pointer, the copy refers to the same
 * memory, at `target`. */
static void put_moved(struct writer *writer, const struct instruction *instruction, const uint8_t *bytes,
                      uintptr_t target)
{
    uint8_t copy[LONGEST];
    memcpy(copy, bytes, instruction->is.length);
    if (relative_memory(instruction)) {
        int32_t distance = distance32(writer, writer->at + writer->used + instruction->is.length, target);
        memcpy(copy + instruction->is.raw.disp.offset, &distance, sizeof(distance));
    }
    put(writer, copy, instruction->is.length);
}

/* loop and jrcxz reach at most 128 bytes. So the trampoline has three instructions for each of them. The first is the
 * original instruction: if its condition holds, it jumps to the third. The second is a short jump over the third. The
 * third is a jump to the original target. */
static void put_counted(struct writer *writer, const struct instruction *instruction, const uint8_t *bytes,
                        uintptr_t target)
{
    put(writer, bytes, instruction->is.raw.imm[0].offset);
    put_byte(writer, 2);
    put_byte(writer, 0xeb);
    put_byte(writer, 5);
    put_jump(writer, target);
}

/* Writes the copy of a call: a push of the return address and a jump, so that the callee returns into the original
 * function. */
static void put_call(struct writer *writer, const struct instruction *instruction, const uint8_t *bytes,
                     uintptr_t target, uintptr_t return_slot)
{
    uint8_t copy[LONGEST];
    put_byte(writer, 0xff); /* push [return_slot] */
    put_byte(writer, 0x35);
    put_distance(writer, return_slot);
    if (relative_target(instruction)) {
        put_jump(writer, target);
        return;
    }
    memcpy(copy, bytes, instruction->is.length);
    uint8_t *operand = copy + instruction->is.raw.modrm.offset;
    *operand = (uint8_t)((*operand & ~0x38) | 4 << 3); /* jmp instead of call */
    put_moved(writer, instruction, copy, target);
}

static void put_step(struct writer *writer, const struct instruction *instruction, const uint8_t *bytes, uintptr_t at,
                     uintptr_t return_slot)
{
    enum kind kind = kind_of(instruction);
    uintptr_t target = has_target(kind, instruction) ? target_of(instruction, at) : 0;
    switch (kind) {
    case JUMP:
        put_jump(writer, target);
        break;
    case CONDITION:
        put_byte(writer, 0x0f);
        put_byte(writer, 0x80 | (instruction->is.opcode & 0x0f));
        put_distance(writer, target);
        break;
    case COUNTED:
        put_counted(writer, instruction, bytes, target);
        break;
    case CALL:
    case CALL_INDIRECT:
        put_call(writer, instruction, bytes, target, return_slot);
        break;
    default:
        put_moved(writer, instruction, bytes, target);
    }
}

enum patch_refusal patch_fill_slot(struct patch *patch, struct patch_slot *slot, struct patch_slot *at,
                                   void *replacement)
{
    struct instruction instruction;
    /* Does execution go on behind the head? If so, the trampoline ends with a jump to the code behind the head. */
    bool goes_on = true;
    uintptr_t place = (uintptr_t)patch->place, behind = place + patch->length;
    struct writer island = { slot->island, (uintptr_t)at->island, 0, sizeof(slot->island), false };
    struct writer writer = { slot->trampoline, (uintptr_t)at->trampoline, 0, sizeof(slot->trampoline), false };
    struct writer jump = { patch->jump, place, 0, sizeof(patch->jump), false };
    slot->replacement = (uintptr_t)replacement;
    slot->return_address = behind;
    memset(slot->island, 0xcc, sizeof(slot->island));
    memset(slot->trampoline, 0xcc, sizeof(slot->trampoline));
    put_byte(&island, 0xff); /* jmp [replacement] */
    put_byte(&island, 0x25);
    put_distance(&island, (uintptr_t)&at->replacement);
    put_jump(&jump, (uintptr_t)at->island);
    put(&writer, endbr64, sizeof(endbr64));
    for (unsigned i = 0; i < patch->steps; i++) {
        const uint8_t *bytes = patch->original + patch->step_at[i];
        if (!decode_instruction(bytes, (size_t)patch->length - patch->step_at[i], &instruction))
            return PATCH_UNKNOWN_INSTRUCTION;
        patch->moved_at[i] = (uint8_t)writer.used;
        put_step(&writer, &instruction, bytes, place + patch->step_at[i], (uintptr_t)&at->return_address);
        enum kind kind = kind_of(&instruction);
        goes_on = !ends(kind, &instruction) && kind != CALL && kind != CALL_INDIRECT;
    }
    if (goes_on)
        put_jump(&writer, behind);
    patch->trampoline = at->trampoline;
    return island.far || writer.far || jump.far ? PATCH_RELATIVE_FAR : PATCH_OK;
}

const uint8_t *patch_jumps_to(const uint8_t *place, const struct patch_text *text)
{
    struct instruction instruction;
    if (!decode_before(place, text->end, &instruction) || kind_of(&instruction) != JUMP)
        return NULL;
    return (const uint8_t *)target_of(&instruction, (uintptr_t)place);
}
