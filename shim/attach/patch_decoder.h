/* Decodes instructions with the library Zydis. The shim loads Zydis only when it attaches to a running program. */
#ifndef WALLSHIM_SHIM_ATTACH_PATCH_DECODER_H
#define WALLSHIM_SHIM_ATTACH_PATCH_DECODER_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instruction {
    ZydisDecodedInstruction is;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

bool decoder_ready(void);

/* Decodes one instruction of at most `room` bytes. Returns false if the bytes are not an instruction. */
bool decode_instruction(const uint8_t *at, size_t room, struct instruction *instruction);

#endif
