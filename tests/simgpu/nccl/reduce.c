#include "nccl/nccl.h"

#include <string.h>

size_t nccl_type_bytes(ws_ncclEnum type)
{
    static const unsigned char bytes[] = {
        [WS_ncclInt8] = 1,    [WS_ncclUint8] = 1,    [WS_ncclInt32] = 4,      [WS_ncclUint32] = 4,
        [WS_ncclInt64] = 8,   [WS_ncclUint64] = 8,   [WS_ncclFloat16] = 2,    [WS_ncclFloat32] = 4,
        [WS_ncclFloat64] = 8, [WS_ncclBfloat16] = 2, [WS_ncclFloat8e4m3] = 1, [WS_ncclFloat8e5m2] = 1,
    };
    return type >= 0 && type < (int)sizeof(bytes) ? bytes[type] : 0;
}

static float from_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

/* Rounds to the nearest bfloat16, and to the even one if two are equally near. */
static uint16_t to_bfloat(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_half(uint16_t bits)
{
    uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float magnitude;
    if (exponent == 31) {
        uint32_t wide = 0x7f800000u | mantissa << 13;
        memcpy(&magnitude, &wide, sizeof(magnitude));
    } else if (exponent) {
        uint32_t wide = (exponent + 112) << 23 | mantissa << 13;
        memcpy(&magnitude, &wide, sizeof(magnitude));
    } else {
        magnitude = (float)mantissa / 16777216.0f;
    }
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits >= 0x7f800000)
        return sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00);
    if (bits >= 0x477ff000)
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* below the smallest normal half-precision number */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof(magnitude));
        /* rounds to a subnormal half: the last mantissa bit of this sum has the value of the half's last bit */
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, sizeof(bits));
        return sign | (uint16_t)(bits - 0x3f000000);
    }
    return sign | (uint16_t)((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
}

#define COMBINE(into, from)                                            \
    ((reduction) == WS_ncclProd  ? (into) * (from)                     \
     : (reduction) == WS_ncclMax ? ((into) > (from) ? (into) : (from)) \
     : (reduction) == WS_ncclMin ? ((into) < (from) ? (into) : (from)) \
                                 : (into) + (from))

#define PLAIN_CASE(type, kind)                                 \
    case type:                                                 \
        for (size_t i = 0; i < count; i++) {                   \
            kind *to = (kind *)into + i;                       \
            *to = (kind)COMBINE(*to, ((const kind *)from)[i]); \
        }                                                      \
        break

#define NARROW_CASE(type, widen, narrow)                                                    \
    case type:                                                                              \
        for (size_t i = 0; i < count; i++) {                                                \
            float a = widen(((uint16_t *)into)[i]), b = widen(((const uint16_t *)from)[i]); \
            ((uint16_t *)into)[i] = narrow(COMBINE(a, b));                                  \
        }                                                                                   \
        break

void nccl_reduce(void *into, const void *from, size_t count, ws_ncclEnum type, ws_ncclEnum reduction)
{
    switch (type) {
        PLAIN_CASE(WS_ncclInt8, int8_t);
        PLAIN_CASE(WS_ncclUint8, uint8_t);
        PLAIN_CASE(WS_ncclInt32, int32_t);
        PLAIN_CASE(WS_ncclUint32, uint32_t);
        PLAIN_CASE(WS_ncclInt64, int64_t);
        PLAIN_CASE(WS_ncclUint64, uint64_t);
        PLAIN_CASE(WS_ncclFloat32, float);
        PLAIN_CASE(WS_ncclFloat64, double);
        NARROW_CASE(WS_ncclFloat16, from_half, to_half);
        NARROW_CASE(WS_ncclBfloat16, from_bfloat, to_bfloat);
    default:
        break;
    }
}

#define DIVIDE_CASE(type, kind)              \
    case type:                               \
        for (size_t i = 0; i < count; i++)   \
            ((kind *)values)[i] /= (kind)by; \
        break

void nccl_divide(void *values, size_t count, ws_ncclEnum type, int by)
{
    uint16_t *narrow = values;
    switch (type) {
        DIVIDE_CASE(WS_ncclInt8, int8_t);
        DIVIDE_CASE(WS_ncclUint8, uint8_t);
        DIVIDE_CASE(WS_ncclInt32, int32_t);
        DIVIDE_CASE(WS_ncclUint32, uint32_t);
        DIVIDE_CASE(WS_ncclInt64, int64_t);
        DIVIDE_CASE(WS_ncclUint64, uint64_t);
        DIVIDE_CASE(WS_ncclFloat32, float);
        DIVIDE_CASE(WS_ncclFloat64, double);
    case WS_ncclFloat16:
        for (size_t i = 0; i < count; i++)
            narrow[i] = to_half(from_half(narrow[i]) / (float)by);
        break;
    case WS_ncclBfloat16:
        for (size_t i = 0; i < count; i++)
            narrow[i] = to_bfloat(from_bfloat(narrow[i]) / (float)by);
        break;
    default:
        break;
    }
}
