/* Fat binaries: several images of the same code, plain or compressed. The first ELF image is used; without one, the
 * first PTX. The architecture does not matter, because no code is executed. */
#include "engine/engine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_PTX = 1, KIND_ELF = 2, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* from the end of this header to the next entry */
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t architecture, name, name_bytes;
    uint64_t flags, unused, plain_bytes;
};

/* Adds the further bytes of an LZ4 length to *length. After each byte of 255, one more byte of the length follows. */
static bool long_length(const unsigned char **at, const unsigned char *end, size_t *length)
{
    unsigned char byte;
    do {
        if (*at >= end)
            return false;
        byte = *(*at)++;
        *length += byte;
    } while (byte == 255);
    return true;
}

/* Unpacks one LZ4 block. Returns whether the block unpacks to exactly `room` bytes. */
static bool unpack_lz4(const unsigned char *at, size_t bytes, char *to, size_t room)
{
    const unsigned char *end = at + bytes;
    size_t done = 0;
    while (at < end) {
        unsigned token = *at++;
        size_t literals = token >> 4, match = (token & 15) + 4;
        if (literals == 15 && !long_length(&at, end, &literals))
            return false;
        if (literals > (size_t)(end - at) || literals > room - done)
            return false;
        memcpy(to + done, at, literals);
        at += literals;
        done += literals;
        if (end - at < 2)
            break;
        size_t distance = at[0] | (size_t)at[1] << 8;
        at += 2;
        if (match == 19 && !long_length(&at, end, &match))
            return false;
        if (!distance || distance > done || match > room - done)
            return false;
        for (size_t i = 0; i < match; i++, done++)
            to[done] = to[done - distance];
    }
    return done == room;
}

/* Opens libzstd only when an image needs it, so that the simulated driver does not depend on it. */
static bool unpack_zstd(const unsigned char *from, size_t bytes, char *to, size_t room)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    size_t (*decompress)(void *, size_t, const void *, size_t) = NULL;
    if (library)
        *(void **)&decompress = dlsym(library, "ZSTD_decompress");
    if (!decompress) {
        sim_log("a compressed image needs libzstd.so.1, which is not here");
        return false;
    }
    return decompress(to, room, from, bytes) == room;
}

static ws_CUresult read_entry(const struct fatbin_entry *entry, struct sim_module *into)
{
    const unsigned char *data = (const unsigned char *)entry + entry->header_bytes;
    size_t bytes = entry->bytes;
    char *plain = NULL;
    ws_CUresult result = WS_CUDA_ERROR_INVALID_IMAGE;
    if (entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) {
        bytes = entry->plain_bytes;
        plain = malloc(bytes + 1);
        bool done = plain && (entry->flags & FLAG_ZSTD ? unpack_zstd : unpack_lz4)(data, entry->compressed_bytes,
                                                                                   plain, bytes);
        if (!done)
            goto end;
        plain[bytes] = '\0';
        data = (const unsigned char *)plain;
    }
    if (entry->kind == KIND_ELF)
        result = sim_image_elf(data, into);
    else
        result = sim_image_ptx((const char *)data, strnlen((const char *)data, bytes), into);
end:
    free(plain);
    return result;
}

ws_CUresult sim_image_fatbin(const unsigned char *image, struct sim_module *into)
{
    const struct fatbin_header *header = (const struct fatbin_header *)image;
    const unsigned char *first = image + header->header_bytes, *end = first + header->bytes;
    for (int kind = KIND_ELF; kind >= KIND_PTX; kind--)
        for (const unsigned char *at = first; (size_t)(end - at) >= sizeof(struct fatbin_entry);) {
            const struct fatbin_entry *entry = (const struct fatbin_entry *)at;
            if (entry->header_bytes + entry->bytes > (uint64_t)(end - at) || !entry->header_bytes)
                return WS_CUDA_ERROR_INVALID_IMAGE;
            if (entry->kind == kind)
                return read_entry(entry, into);
            at += entry->header_bytes + entry->bytes;
        }
    return WS_CUDA_ERROR_INVALID_IMAGE;
}
