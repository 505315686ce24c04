/* The live memory of a recording: all that the trace file does not hold yet. It lies in a file without a disk (memfd
 * or /dev/shm) that the program maps and shares. If the program is killed, another process completes the trace from
 * the live memory (trace/salvage.h).
 *
 * Parts: this structure; a log of dictionary rows, written by the program's threads; a log of all other rows since
 * the last flush, written by the drain; the threads' rings; the operations that wait for their device times; and the
 * bytes that a collector has not taken yet. Offsets count from the begin of the file. A reader copies and checks
 * every value before it uses it. */
#ifndef WALLSHIM_RECORD_LIVE_H
#define WALLSHIM_RECORD_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

#define WS_LIVE_MAGIC "wallshim live 1" /* 16 bytes with the final 0 */

enum {
    WS_LIVE_PARTS = 4096,
    WS_LIVE_TABLES = 64, /* at least the number of families */
};

/* A log of rows (wire/row_log.h). */
struct ws_live_log {
    _Atomic uint64_t head; /* bytes written since the start */
    _Atomic uint64_t tail; /* bytes that are not needed any more */
    uint64_t offset, size; /* of its memory; size is a power of two */
};

enum ws_live_kind { WS_LIVE_FREE, WS_LIVE_RING, WS_LIVE_WAITING };

struct ws_live_part {
    _Atomic uint32_t kind; /* enum ws_live_kind, written last */
    uint32_t thread;       /* rings: the thread's id in the trace */
    uint64_t offset;       /* of the whole part */
    _Atomic uint64_t size;
    uint64_t ring;              /* rings: offset of struct ws_ring */
    uint64_t slots, slots_size; /* offset and bytes of the ring's slots, or of the waiting operations */
    _Atomic uint64_t stated;    /* rings: lost records that the trace states already */
};

/* The state at a flush: everything before it is in the trace file. */
struct ws_live_flush {
    uint64_t bytes;                 /* size of the trace file */
    uint64_t journal;               /* head of the journal */
    uint64_t not_logged;            /* dictionary rows that had found no room in their log; they are in the file */
    uint32_t table[WS_LIVE_TABLES]; /* by family: number of dictionary rows in the file */
};

/* Two comparisons of the processor's counter with CLOCK_MONOTONIC. */
struct ws_live_clock {
    uint64_t ticks[2];
    int64_t ns[2];
};

struct ws_live {
    char magic[16];
    uint64_t size;             /* of the file */
    uint32_t row_size, stride; /* waiting operations: size of struct ws_op, and from one operation to the next */
    uint32_t first, families;  /* waiting operations: offset of the first struct ws_op; number of families */
    uint32_t ticks_are_ns;
    _Atomic uint32_t file_id;  /* of the trace (wire/frame.h); 0: there was no flush yet */
    _Atomic uint32_t flushed;  /* which of `flush` is valid */
    _Atomic uint32_t compared; /* which of `clock` is valid */
    _Atomic uint32_t ended;    /* the trace is complete: nothing to salvage */
    struct ws_live_flush flush[2];
    struct ws_live_clock clock[2];
    struct ws_live_log dictionary, journal;
    _Atomic uint64_t not_logged; /* dictionary rows that found no room in their log */
    _Atomic uint64_t not_shared; /* threads whose ring found no room here */
    /* Bytes of the trace that a collector may lack; the byte at offset x of the trace is at x % kept_size. */
    uint64_t kept, kept_size;
    _Atomic uint64_t kept_begin, kept_end;
    struct ws_live_part parts[WS_LIVE_PARTS];
};

#endif
