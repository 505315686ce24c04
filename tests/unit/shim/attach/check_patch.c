#include "check_patch.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

struct decoded {
    ZydisDecodedInstruction is;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    const uint8_t *bytes;
    uintptr_t at;
};

static bool decode(const uint8_t *bytes, size_t room, uintptr_t at, struct decoded *decoded)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    decoded->bytes = bytes;
    decoded->at = at;
    return room && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, room, &decoded->is, decoded->operands));
}

/* The absolute address that the instruction's relative operand stands for, or 0 if the instruction has no such
 * operand. */
static uintptr_t absolute(const struct decoded *decoded)
{
    for (unsigned i = 0; i < decoded->is.operand_count; i++) {
        ZyanU64 address;
        const ZydisDecodedOperand *operand = &decoded->operands[i];
        bool relative = operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative;
        relative |= operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
                    (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP);
        if (relative && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&decoded->is, operand, decoded->at, &address)))
            return (uintptr_t)address;
    }
    return 0;
}

static bool is_branch(const struct decoded *decoded, ZydisMnemonic mnemonic, uintptr_t target)
{
    return decoded->is.mnemonic == mnemonic && decoded->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
           absolute(decoded) == target;
}

static bool same_operand(const ZydisDecodedOperand *one, const ZydisDecodedOperand *other)
{
    if (one->type != other->type || one->size != other->size || one->actions != other->actions ||
        one->encoding != other->encoding || one->element_type != other->element_type)
        return false;
    switch (one->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return one->reg.value == other->reg.value;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return one->imm.is_relative == other->imm.is_relative &&
               (one->imm.is_relative || one->imm.value.u == other->imm.value.u);
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return one->mem.segment == other->mem.segment && one->mem.base == other->mem.base &&
               one->mem.index == other->mem.index && one->mem.scale == other->mem.scale &&
               one->mem.type == other->mem.type &&
               (one->mem.base == ZYDIS_REGISTER_RIP || one->mem.disp.value == other->mem.disp.value);
    default:
        return false;
    }
}

/* Whether two instructions have equal operands. Relative operands are compared by the absolute addresses that they
 * stand for. */
static bool same_operands(const struct decoded *one, const struct decoded *other)
{
    if (one->is.operand_count != other->is.operand_count || absolute(one) != absolute(other))
        return false;
    for (unsigned i = 0; i < one->is.operand_count; i++)
        if (!same_operand(&one->operands[i], &other->operands[i]))
            return false;
    return true;
}

/* Whether two instructions have equal bytes, except for the bytes that hold a relative distance. */
static bool same_bytes(const struct decoded *one, const struct decoded *other)
{
    bool relative = absolute(one) != 0;
    for (unsigned i = 0; i < one->is.length; i++) {
        unsigned distance_at = one->is.raw.disp.offset;
        if (one->bytes[i] != other->bytes[i] && !(relative && i >= distance_at && i < distance_at + 4))
            return false;
    }
    return one->is.length == other->is.length;
}

static bool same(const struct decoded *one, const struct decoded *other)
{
    return one->is.mnemonic == other->is.mnemonic && same_operands(one, other) && same_bytes(one, other);
}

struct cursor {
    const struct patch_slot *slot, *at;
    size_t used;
};

static bool next(struct cursor *cursor, struct decoded *decoded)
{
    size_t room = sizeof(cursor->slot->trampoline) - cursor->used;
    uintptr_t at = (uintptr_t)cursor->at->trampoline + cursor->used;
    if (!decode(cursor->slot->trampoline + cursor->used, room, at, decoded))
        return false;
    cursor->used += decoded->is.length;
    return true;
}

static bool is_counted(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_LOOP || mnemonic == ZYDIS_MNEMONIC_LOOPE || mnemonic == ZYDIS_MNEMONIC_LOOPNE ||
           mnemonic == ZYDIS_MNEMONIC_JRCXZ || mnemonic == ZYDIS_MNEMONIC_JECXZ;
}

static const char *check_counted(struct cursor *cursor, const struct decoded *original)
{
    struct decoded counted, skip, jump;
    if (!next(cursor, &counted) || !next(cursor, &skip) || !next(cursor, &jump))
        return "loop: no three instructions";
    uintptr_t behind = jump.at + jump.is.length;
    bool right = is_branch(&counted, original->is.mnemonic, jump.at) &&
                 is_branch(&skip, ZYDIS_MNEMONIC_JMP, behind) &&
                 is_branch(&jump, ZYDIS_MNEMONIC_JMP, absolute(original)) &&
                 counted.is.address_width == original->is.address_width;
    return right ? NULL : "loop: another count or target";
}

static const char *check_call(struct cursor *cursor, const struct decoded *original)
{
    struct decoded push, jump;
    if (!next(cursor, &push) || !next(cursor, &jump))
        return "call: no two instructions";
    if (push.is.mnemonic != ZYDIS_MNEMONIC_PUSH || push.operands[0].mem.base != ZYDIS_REGISTER_RIP ||
        absolute(&push) != (uintptr_t)&cursor->at->return_address)
        return "call: pushes another return address";
    if (cursor->slot->return_address != original->at + original->is.length)
        return "call: returns elsewhere";
    if (jump.is.mnemonic != ZYDIS_MNEMONIC_JMP || absolute(&jump) != absolute(original) ||
        !same_operand(&jump.operands[0], &original->operands[0]))
        return "call: another target";
    return original->operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                   original->operands[0].mem.base == ZYDIS_REGISTER_RSP
               ? "call: through the stack that the push moved"
               : NULL;
}

static const char *check_step(struct cursor *cursor, const struct decoded *original)
{
    struct decoded moved;
    if (is_counted(original->is.mnemonic))
        return check_counted(cursor, original);
    if (original->is.mnemonic == ZYDIS_MNEMONIC_CALL)
        return check_call(cursor, original);
    if (!next(cursor, &moved))
        return "cannot be decoded again";
    if (original->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && original->operands[0].imm.is_relative)
        return is_branch(&moved, original->is.mnemonic, absolute(original)) ? NULL : "a branch to another target";
    return same(original, &moved) ? NULL : "another instruction";
}

const char *check_patch(const struct patch *patch, const struct patch_slot *slot, const struct patch_slot *at)
{
    struct cursor cursor = { slot, at, 0 };
    struct decoded original, moved;
    unsigned offset = 0;
    if (!next(&cursor, &moved) || moved.is.mnemonic != ZYDIS_MNEMONIC_ENDBR64)
        return "the trampoline does not begin with endbr64";
    for (unsigned i = 0; i < patch->steps; i++) {
        uintptr_t place = (uintptr_t)patch->place + offset;
        if (patch->step_at[i] != offset || patch->moved_at[i] != cursor.used)
            return "the steps are not where they should be";
        if (!decode(patch->original + offset, (size_t)patch->length - offset, place, &original))
            return "the original cannot be decoded";
        const char *wrong = check_step(&cursor, &original);
        if (wrong)
            return wrong;
        offset += original.is.length;
    }
    if (offset != patch->length || offset < PATCH_JUMP_SIZE)
        return "the head has another length";
    bool ended = original.is.mnemonic == ZYDIS_MNEMONIC_JMP || original.is.mnemonic == ZYDIS_MNEMONIC_RET ||
                 original.is.mnemonic == ZYDIS_MNEMONIC_CALL;
    if (!ended &&
        !(next(&cursor, &moved) && is_branch(&moved, ZYDIS_MNEMONIC_JMP, (uintptr_t)patch->place + patch->length)))
        return "does not go on behind the head";
    if (!decode(patch->jump, sizeof(patch->jump), (uintptr_t)patch->place, &moved) ||
        !is_branch(&moved, ZYDIS_MNEMONIC_JMP, (uintptr_t)at->island))
        return "the jump does not lead to the island";
    if (!decode(slot->island, sizeof(slot->island), (uintptr_t)at->island, &moved) ||
        moved.is.mnemonic != ZYDIS_MNEMONIC_JMP || absolute(&moved) != (uintptr_t)&at->replacement)
        return "the island does not lead to the replacement";
    return NULL;
}

/* --- jumps ------------------------------------------------------------------------------------ */

struct visit {
    const struct patch *patch;
    const uint8_t *entry;
    size_t size;
    uint8_t *seen;
    const char *wrong;
};

static bool goes_on(const struct decoded *decoded)
{
    switch (decoded->is.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
        return false;
    default:
        return true;
    }
}

static void visit(struct visit *visited, size_t offset)
{
    struct decoded decoded;
    for (; offset < visited->size && !visited->seen[offset] && !visited->wrong; offset += decoded.is.length) {
        visited->seen[offset] = 1;
        if (!decode(visited->entry + offset, visited->size - offset, (uintptr_t)visited->entry + offset, &decoded))
            return;
        bool relative =
            decoded.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && decoded.operands[0].imm.is_relative;
        uintptr_t target = relative ? absolute(&decoded) : 0, entry = (uintptr_t)visited->entry;
        bool calls_entry = decoded.is.mnemonic == ZYDIS_MNEMONIC_CALL &&
                           (target == entry || target == (uintptr_t)visited->patch->place);
        if (relative && !calls_entry && target >= entry &&
            target < (uintptr_t)visited->patch->place + visited->patch->length)
            visited->wrong = "the function jumps into its head";
        if (relative && target >= entry && target < entry + visited->size)
            visit(visited, target - entry);
        if (!goes_on(&decoded))
            return;
    }
}

const char *check_jumps(const struct patch *patch, const uint8_t *entry, size_t size)
{
    struct visit visited = { patch, entry, size, calloc(1, size), NULL };
    if (visited.seen)
        visit(&visited, 0);
    free(visited.seen);
    return visited.wrong;
}
