/* A sequence of numbers as planes of bytes: all lowest bytes, then all second bytes, and so on for as
 * many planes as most numbers need. The few larger ones are listed as exceptions. Planes compress
 * well and are read without a branch a number.
 */
#ifndef WALLSHIM_WIRE_PACK_H
#define WALLSHIM_WIRE_PACK_H

#include <stdint.h>

#include "base/bytes.h"

/* Where encoded columns go: small things to the head, planes and texts to the planes. Each plane is
 * compressed by itself, because each has its own distribution. */
enum {
    WS_CUTS_MAX = 512,
    WS_CUT_TAGS = 256,
};

struct ws_encoded_cut {
    uint32_t end; /* of a plane, in planes */
    uint8_t tag;  /* which plane of which column: the same in every frame of a family */
};

struct ws_encoded {
    struct ws_bytes_out head;
    struct ws_bytes_out planes;
    uint8_t column; /* the one being encoded */
    uint32_t cut_count;
    struct ws_encoded_cut cuts[WS_CUTS_MAX];
};

/* Ends a plane of the current column. */
void ws_encoded_end_plane(struct ws_encoded *encoded, unsigned plane);

/* Bytes that packing `count` numbers can take in head and planes together. */
static inline size_t ws_pack_bound(uint32_t count)
{
    return (size_t)count * 8 + 8;
}

void ws_pack(struct ws_encoded *to, const uint64_t *numbers, uint32_t count);

/* What is left of a packed sequence. */
struct ws_unpacker {
    uint32_t width;
    uint32_t count;
    const uint8_t *planes; /* `width` planes of `count` bytes */
    uint32_t next;         /* number of the next one */
    uint32_t exceptions;   /* still to come */
    uint32_t exception_at;
    struct ws_bytes_in exceptions_in;
};

/* Checks a packed sequence of `count` numbers and takes it off head and planes; these are marked
 * failed if it is not right. */
void ws_unpack_start(struct ws_unpacker *unpacker, struct ws_bytes_in *head, struct ws_bytes_in *planes,
                     uint32_t count);

/* Passes over the next `count` numbers if they are all 0; else does nothing and returns false. */
static inline bool ws_unpack_zeros(struct ws_unpacker *unpacker, uint32_t count)
{
    if (unpacker->width || unpacker->exception_at < unpacker->next + count)
        return false;
    unpacker->next += count;
    return true;
}

/* The next `count` numbers: no more than are left. */
void ws_unpack(struct ws_unpacker *unpacker, uint64_t *numbers, uint32_t count);

#endif
