/* Packs a sequence of numbers into byte planes: the lowest bytes of all numbers, then the second bytes of all
 * numbers, and so on. The number of planes is chosen so that most of the numbers fit. A number with more bytes than
 * there are planes is listed as an exception. Planes compress well, and a reader needs no branch per number. */
#ifndef WALLSHIM_WIRE_PACK_H
#define WALLSHIM_WIRE_PACK_H

#include <stdint.h>

#include "base/bytes.h"

/* The destination of encoded columns. The head takes small items; the buffer `planes` takes byte planes and texts.
 * Large planes are compressed separately, because each plane has its own distribution of bytes. */
enum {
    WS_CUTS_MAX = 512,
    WS_CUT_TAGS = 256,
};

struct ws_encoded_cut {
    uint32_t end; /* end of a plane, as an offset in the buffer `planes` */
    uint8_t tag;  /* column * 8 + number of the plane; the same plane has the same tag in every frame of a family */
};

struct ws_encoded {
    struct ws_bytes_out head;
    struct ws_bytes_out planes;
    uint8_t column; /* index of the column that is being encoded */
    uint32_t cut_count;
    struct ws_encoded_cut cuts[WS_CUTS_MAX];
};

/* Marks the end of byte plane number `plane` of the current column. */
void ws_encoded_end_plane(struct ws_encoded *encoded, unsigned plane);

/* The maximum size of `count` packed numbers, in head and planes together. */
static inline size_t ws_pack_bound(uint32_t count)
{
    return (size_t)count * 8 + 8;
}

void ws_pack(struct ws_encoded *to, const uint64_t *numbers, uint32_t count);

/* The unread rest of a packed sequence. */
struct ws_unpacker {
    uint32_t width;
    uint32_t count;
    const uint8_t *planes; /* byte planes of all numbers, lowest bytes first: `width` planes of `count` bytes */
    uint32_t next;         /* index of the next number to read */
    uint32_t exceptions;   /* number of exceptions (numbers of more than `width` bytes) not read yet */
    uint32_t exception_at;
    struct ws_bytes_in exceptions_in;
};

/* Checks a packed sequence of `count` numbers and moves head and planes past it. Marks head or planes as failed if
 * the sequence is invalid. */
void ws_unpack_start(struct ws_unpacker *unpacker, struct ws_bytes_in *head, struct ws_bytes_in *planes,
                     uint32_t count);

/* Skips the next `count` numbers and returns true if they are all 0. Otherwise does nothing and returns false. */
static inline bool ws_unpack_zeros(struct ws_unpacker *unpacker, uint32_t count)
{
    if (unpacker->width || unpacker->exception_at < unpacker->next + count)
        return false;
    unpacker->next += count;
    return true;
}

/* Reads the next `count` numbers. At least `count` numbers must be unread. */
void ws_unpack(struct ws_unpacker *unpacker, uint64_t *numbers, uint32_t count);

#endif
