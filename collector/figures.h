/* Live figures: what the processes do whose traces come in, counted from the records in their frames. Only with
 * --metrics; without it, no frame is decoded.
 *
 * Nothing that a client says is believed. Ids outside their tables and times that cannot be are left out and counted.
 * Memory is bounded: so many processes, so many devices, and FIGURES_MEMORY for all tables together. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_H
#define WALLSHIM_COLLECTOR_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/figures_device.h"
#include "collector/figures_waits.h"
#include "record/record.h"
#include "trace/payload.h"
#include "wire/columns.h"

enum {
    FIGURES_PROCESSES_MAX = 256,
    FIGURES_DEVICES_MAX = 1024, /* of all processes together */
    FIGURES_KEPT_MS = 300000,   /* how long the figures of an ended process stay */
    FIGURES_LABEL_SIZE = 65,    /* of a text from a client, with its final 0 */
};

/* The figures of one process. A process that connects again goes on in them. */
struct figures_process {
    struct figures_process *next;
    struct figures *all;
    char job[FIGURES_LABEL_SIZE], host[FIGURES_LABEL_SIZE], rank[FIGURES_LABEL_SIZE];
    pid_t pid;
    unsigned streams;  /* connections that are open */
    uint64_t ended_ms; /* when the last one ended */
    struct figures_device *devices;
    struct figures_waits waits;
    uint64_t records[WS_FAMILY_COUNT];
    uint64_t lost[WS_LOSS_COUNT + 1]; /* the last: reasons that only newer shims know */
    uint64_t salvaged, refused_bytes, trace_bytes;
    uint64_t untrusted; /* records with ids or times that cannot be */
};

struct figures {
    struct figures_process *first;
    unsigned count, device_count;
    struct figures_memory memory;      /* of all tables */
    uint64_t now_ms;                   /* of the last figures_tick, or of figures_create */
    uint64_t records[WS_FAMILY_COUNT]; /* of all processes, also of those that are forgotten */
    uint64_t untracked;                /* connections that found FIGURES_PROCESSES_MAX processes */
    uint64_t undecoded;                /* frames that could not be decoded */
    uint64_t skipped;                  /* frames that were not decoded, as the budget was spent */
    int64_t budget_ns, budget_at;      /* time to decode; since when it grows */
    /* Working memory for one frame. */
    struct ws_payload payload;
    struct ws_buffer rows, decoder_memory;
    struct ws_columns_decoder *decoder;
    uint32_t decoder_rows;
};

/* Who sends a trace. */
struct figures_source {
    const char *job, *host, *rank;
    pid_t pid;
    bool here;        /* the process runs on this machine, so its times are of our clock */
    int64_t earliest; /* here: when the process began, in ns of CLOCK_MONOTONIC; 0: not known */
};

struct figures *figures_create(uint64_t now_ms);
void figures_destroy(struct figures *figures);

/* To be called about once a second. Sweeps what has settled, and forgets processes that ended long ago. */
void figures_tick(struct figures *figures, uint64_t now_ms);

/* Counts records that were taken from the memory of a process that has ended. Accepts NULL. */
void figures_salvage(struct figures *figures, const struct figures_source *source, uint64_t records);

/* The following functions belong to one connection. They do nothing if `stream` is NULL. */
struct figures_stream;

/* Returns NULL if `figures` is NULL, there are too many processes, or memory runs out. */
struct figures_stream *figures_open(struct figures *figures, const struct figures_source *source);

/* Takes the dictionaries and clocks out of the first `size` bytes of a trace file, for a client that goes on in it.
 * Other records were counted when they came. */
void figures_resume(struct figures_stream *stream, int file, uint64_t size);

/* Takes a unit of a trace, whose checksums are right (stream.h). */
void figures_add(struct figures_stream *stream, const uint8_t *unit, size_t size);

void figures_refuse(struct figures_stream *stream, uint64_t bytes);
void figures_close(struct figures_stream *stream);

/* Returns the process's figures of the device, or NULL if there are too many. `uuid`: as the driver gives it. */
struct figures_device *figures_device_of(struct figures_process *process, const char *uuid);

#endif
