#include "shim/attach/patch_decoder.h"

#include "shim/attach/patch.h"

static __typeof__(&ZydisGetVersion) get_version;
static __typeof__(&ZydisDecoderInit) decoder_init;
static __typeof__(&ZydisDecoderDecodeFull) decode_full;

static ZydisDecoder decoder;
static bool ready;

/* Has the loaded Zydis the version that this file is built for? Its structures differ between minor versions. */
static bool is_known_version(uint64_t version)
{
    return ZYDIS_VERSION_MAJOR(version) == ZYDIS_VERSION_MAJOR(ZYDIS_VERSION) &&
           ZYDIS_VERSION_MINOR(version) == ZYDIS_VERSION_MINOR(ZYDIS_VERSION);
}

enum patch_refusal patch_decoder_take(void *library, void *(*find)(void *library, const char *name))
{
    get_version = (__typeof__(get_version))find(library, "ZydisGetVersion");
    decoder_init = (__typeof__(decoder_init))find(library, "ZydisDecoderInit");
    decode_full = (__typeof__(decode_full))find(library, "ZydisDecoderDecodeFull");
    ready = get_version && decoder_init && decode_full && is_known_version(get_version()) &&
            ZYAN_SUCCESS(decoder_init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    return ready ? PATCH_OK : PATCH_NO_DECODER;
}

bool decoder_ready(void)
{
    return ready;
}

bool decode_instruction(const uint8_t *at, size_t room, struct instruction *instruction)
{
    return ready && room && ZYAN_SUCCESS(decode_full(&decoder, at, room, &instruction->is, instruction->operands));
}
