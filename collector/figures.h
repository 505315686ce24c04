/* Live figures are numbers on the processes that send traces, such as busy times of their devices. They are counted
 * from the records in the frames (blocks of records) that come in. The collector decodes frames only with --metrics
 * or --slow-step.
 *
 * Clients are not trusted. Records with too large ids or impossible times do not enter the figures; only their number
 * is counted. The numbers of processes and devices are limited. FIGURES_MEMORY_MAX limits the memory of all tables
 * together. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_H
#define WALLSHIM_COLLECTOR_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/figures_device.h"
#include "collector/figures_waits.h"
#include "collector/rhythm.h"
#include "record/record.h"
#include "trace/payload.h"
#include "wire/columns.h"

enum {
    FIGURES_PROCESSES_MAX = 256,
    FIGURES_DEVICES_MAX = 1024, /* most devices of all processes together */
    FIGURES_KEPT_MS = 300000,   /* how long the figures of an ended process stay */
    FIGURES_LABEL_SIZE = 65,    /* most bytes of a text from a client, with its final 0 */
};

/* The figures of one process. If the process reconnects, counting goes on in the same figures. */
struct figures_process {
    struct figures_process *next;
    struct figures *all;
    char job[FIGURES_LABEL_SIZE], host[FIGURES_LABEL_SIZE], rank[FIGURES_LABEL_SIZE];
    pid_t pid;
    unsigned streams;  /* number of its open connections */
    uint64_t ended_ms; /* when the last connection ended, in ms of uv_now() */
    struct figures_device *devices;
    struct figures_waits waits;
    uint64_t records[WS_FAMILY_COUNT];
    uint64_t lost[WS_LOSS_COUNT + 1]; /* lost records by enum ws_loss_reason; last entry: for unknown reasons */
    uint64_t salvaged, refused_bytes, trace_bytes;
    uint64_t untrusted;  /* number of records with impossible ids, times or sizes */
    uint64_t slow_steps; /* number of slow steps; counted only if figures.slow_factor is set */
};

struct figures {
    struct figures_process *first;
    unsigned count, device_count;
    struct figures_memory memory; /* budget of all tables, buffers and rings of the live figures */
    uint64_t now_ms;              /* the time at the last figures_tick, or else at figures_create */
    double slow_factor; /* a step is slow if it takes this many times the median; 0: slow steps are not looked for */
    int64_t longest_step_ns;
    uint64_t records[WS_FAMILY_COUNT]; /* records of all processes, including removed ones, by family */
    uint64_t untracked; /* number of connections without figures: there were too many processes, or no memory */
    uint64_t undecoded; /* number of frames that could not be decoded */
    uint64_t skipped;   /* number of frames that were not decoded because budget_ns was spent */
    /* How many ns decoding may still take, and when that number was last increased, in ns of CLOCK_MONOTONIC. */
    int64_t budget_ns, budget_at;
    /* Buffers for decoding one frame. */
    struct ws_payload payload;
    struct ws_buffer rows, decoder_memory;
    struct ws_columns_decoder *decoder;
    uint32_t decoder_rows;
};

/* Who sends a trace. */
struct figures_source {
    const char *job, *host, *rank;
    pid_t pid;
    bool here;        /* the process runs on this machine, so its CLOCK_MONOTONIC is also the collector's */
    int64_t earliest; /* if `here`: when the process started, in ns of CLOCK_MONOTONIC; 0: not known */
};

struct figures *figures_create(uint64_t now_ms);
void figures_destroy(struct figures *figures);

/* To be called about once a second. Counts the buffered operations of each device that are so old that hardly any
 * earlier operation can still come (figures_device.h). Removes processes that ended FIGURES_KEPT_MS ago. */
void figures_tick(struct figures *figures, uint64_t now_ms);

/* Counts records that were salvaged from the live memory of a process after its end. `figures` may be NULL. */
void figures_salvage(struct figures *figures, const struct figures_source *source, uint64_t records);

/* A figures_stream is one connection of a process to the live figures. Its functions do nothing if `stream` is
 * NULL. */
struct figures_stream;

/* Starts to count for a new connection. Returns NULL if `figures` is NULL, there are too many processes, or memory
 * runs out. */
struct figures_stream *figures_open(struct figures *figures, const struct figures_source *source);

/* To be called for a client that continues a trace file. Reads the dictionaries (records that later records refer to
 * by id) and the clock comparisons in the first `size` bytes of the file. The other records in these bytes were
 * counted when they came. */
void figures_resume(struct figures_stream *stream, int file, uint64_t size);

/* Counts the records of a unit of the trace (its header, a frame or its trailer). The caller has checked the unit's
 * checksums. */
void figures_add(struct figures_stream *stream, const uint8_t *unit, size_t size);

/* Returns true if a slow step of the stream has ended since this function was last called. Sets *step to the latest
 * slow step. */
bool figures_slow_step(struct figures_stream *stream, struct rhythm_step *step);

void figures_refuse(struct figures_stream *stream, uint64_t bytes);
void figures_close(struct figures_stream *stream);

/* Returns the process's figures of the device with this UUID, after adding them if necessary. A text that is no UUID
 * stands for an unknown device. Returns NULL if there are too many devices or memory runs out. */
struct figures_device *figures_device_of(struct figures_process *process, const char *uuid);

#endif
