/* The live memory of a recording holds all data that is not in the trace file yet. The live memory is a file in RAM
 * (memfd or /dev/shm) that the program maps as shared memory. If the program is killed, another process completes the
 * trace from the live memory (trace/salvage.h).
 *
 * The live memory consists of:
 * - struct ws_live;
 * - the dictionary: a log of the rows that describe what other rows refer to by id (streams, kernels, threads …),
 *   written by the program's threads;
 * - the journal: a log of all other rows that were added since the last flush of the trace file, written by the drain
 *   (the shim's thread that writes the trace);
 * - the threads' rings;
 * - the operations that wait for their device times;
 * - the bytes of the trace that the collector has not confirmed yet, if the trace goes to a collector.
 *
 * Offsets are relative to the start of the live memory. A reader copies and checks every value before using it. */
#ifndef WALLSHIM_RECORD_LIVE_H
#define WALLSHIM_RECORD_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

#define WS_LIVE_MAGIC "wallshim live 4" /* 16 bytes with the final 0 */

enum {
    WS_LIVE_PATH = 4096 + 8,
    WS_LIVE_PARTS = 4096,
    WS_LIVE_TABLES = 64, /* entries of arrays that are indexed by family: at least the number of families */
};

/* A log of rows (wire/row_log.h). */
struct ws_live_log {
    _Atomic uint64_t head; /* bytes written since the start */
    _Atomic uint64_t tail; /* bytes before this position are in the trace file */
    uint64_t offset, size; /* start and bytes of the log's memory; `size` is a power of two */
};

enum ws_live_kind { WS_LIVE_FREE, WS_LIVE_RING, WS_LIVE_WAITING };

/* A part of the live memory: a thread's ring, or operations that wait for their device times. */
struct ws_live_part {
    _Atomic uint32_t kind;          /* enum ws_live_kind; written after the other fields */
    uint32_t thread;                /* for rings: the thread's id in the trace */
    uint64_t offset;                /* start of the part in the live memory */
    _Atomic uint64_t size;          /* bytes of the part */
    uint64_t ring;                  /* for rings: offset of struct ws_ring */
    uint64_t slots, slots_size;     /* offset and bytes of the ring's slots, or of the waiting operations */
    _Atomic uint64_t stated;        /* for rings: how much of ws_ring.lost the trace's family `loss` already counts */
    _Atomic uint64_t stated_nested; /* for rings: how much of ws_ring.nested family `loss` already counts */
};

/* The state at a flush. Rows added before the flush are in the trace file. */
struct ws_live_flush {
    uint64_t bytes;                 /* size of the trace file */
    uint64_t journal;               /* head of the log `journal` */
    uint64_t not_logged;            /* value of ws_live.not_logged; the rows counted in it are in the trace file */
    uint32_t table[WS_LIVE_TABLES]; /* by family: number of dictionary rows in the file */
};

/* Two points in time, each in clock ticks (base/clock.h) and on CLOCK_MONOTONIC. With them, a reader of the live
 * memory converts ticks to ns. */
struct ws_live_clock {
    uint64_t ticks[2];
    int64_t ns[2];
};

struct ws_live {
    char magic[16];
    uint64_t size;             /* bytes of the live memory */
    uint32_t row_size, stride; /* sizeof(struct ws_op); bytes from one waiting operation to the next */
    uint32_t first, families;  /* offset of struct ws_op in a waiting operation; number of record families */
    uint32_t ticks_are_ns;
    _Atomic uint32_t file_id;  /* file_id of the trace (wire/frame.h); 0: the trace is not started */
    _Atomic uint32_t flushed;  /* index of the valid element of `flush` */
    _Atomic uint32_t compared; /* index of the valid element of `clock` */
    _Atomic uint32_t ended;    /* 1: the program has finished the trace, but the collector may lack its last bytes */
    _Atomic uint32_t left;     /* 1: the program called _exit, _Exit or quick_exit: nobody killed it */
    _Atomic uint32_t own_file; /* 1: the collector took nothing, so the program wrote the whole trace to a file */
    struct ws_live_flush flush[2];
    struct ws_live_clock clock[2];
    struct ws_live_log dictionary, journal;
    _Atomic uint64_t not_logged; /* number of rows missing in the log `dictionary`: it was full or not yet created */
    _Atomic uint64_t not_shared; /* number of threads whose ring is outside this memory, for lack of room */
    /* Buffer of trace bytes that the collector may lack, at offset `kept`. The byte at offset x of the trace is at
     * x % kept_size in the buffer. kept_size 0: no collector. */
    uint64_t kept, kept_size;
    _Atomic uint64_t kept_begin, kept_end;
    struct ws_live_part parts[WS_LIVE_PARTS];
    /* link: path of the symbolic link beside the trace that points to this memory. mounts: number of the mount
     * namespace in which the path is valid; 0: unknown. */
    uint64_t mounts;
    char link[WS_LIVE_PATH];
};

#endif
