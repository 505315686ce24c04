/* Bounded reading and writing of little-endian bytes.
 *
 * A read or write past the end only sets `failed`. A failed read gives zeros. Every later call fails too, so callers
 * need to check `failed` only once, at the end. */
#ifndef WALLSHIM_BASE_BYTES_H
#define WALLSHIM_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "wallshim runs on little-endian machines only, as CUDA does"
#endif

enum { WS_VARINT_MAX = 10 }; /* maximum number of bytes of a varint, a number in LEB128 (below) */

struct ws_bytes_out {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

struct ws_bytes_in {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

/* Maps integers near 0, positive or negative, to small unsigned integers: 0 -1 1 -2 … → 0 1 2 3 … */
static inline uint64_t ws_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^
           (0 - ((uint64_t)value >> 63)); /* a signed 64-bit shift would not vectorize, because AVX2 has none */
}

static inline int64_t ws_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Reserves the next `size` bytes for the caller to fill. Returns their address, or NULL if they do not fit. */
static inline uint8_t *ws_bytes_room(struct ws_bytes_out *out, size_t size)
{
    if (out->failed || out->capacity - out->size < size) {
        out->failed = true;
        return NULL;
    }
    uint8_t *room = out->data + out->size;
    out->size += size;
    return room;
}

static inline void ws_bytes_put(struct ws_bytes_out *out, const void *bytes, size_t size)
{
    uint8_t *room = ws_bytes_room(out, size);
    if (room && size)
        memcpy(room, bytes, size);
}

static inline void ws_bytes_put_u8(struct ws_bytes_out *out, uint8_t value)
{
    ws_bytes_put(out, &value, sizeof(value));
}

/* LEB128: seven bits per byte, lowest first. The top bit is set in every byte but the last. */
static inline void ws_bytes_put_varint(struct ws_bytes_out *out, uint64_t value)
{
    uint8_t bytes[WS_VARINT_MAX];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    ws_bytes_put(out, bytes, size);
}

/* Returns the next `size` bytes and moves past them. Returns NULL if fewer bytes are left. */
static inline const uint8_t *ws_bytes_take(struct ws_bytes_in *in, size_t size)
{
    if (in->failed || (size_t)(in->end - in->at) < size) {
        in->failed = true;
        return NULL;
    }
    const uint8_t *bytes = in->at;
    in->at += size;
    return bytes;
}

static inline void ws_bytes_get(struct ws_bytes_in *in, void *to, size_t size)
{
    const uint8_t *bytes = ws_bytes_take(in, size);
    if (bytes)
        memcpy(to, bytes, size);
    else
        memset(to, 0, size);
}

static inline uint8_t ws_bytes_get_u8(struct ws_bytes_in *in)
{
    const uint8_t *byte = ws_bytes_take(in, 1);
    return byte ? *byte : 0;
}

/* Reads a number in LEB128. Returns 0 if the bytes end early or the number does not fit 64 bits. */
static inline uint64_t ws_bytes_get_varint(struct ws_bytes_in *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !in->failed; shift += 7) {
        uint64_t byte = ws_bytes_get_u8(in);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80 && !(shift == 63 && byte > 1))
            return in->failed ? 0 : value;
    }
    in->failed = true;
    return 0;
}

#endif
