/* The flight recorder keeps the last frames (blocks of records) of each trace in memory, until a dump writes them to
 * files (dump.h).
 *
 * Frames of dictionaries are kept, because later frames need them. Of every other family (kind of record), the flight
 * recorder keeps the frames of the last seconds before the family's newest frame, not before now. So the last work of
 * a process that stands still is kept. Memory is limited for each process and for all processes together. If the
 * memory does not suffice, the oldest frames are dropped. */
#ifndef WALLSHIM_COLLECTOR_FLIGHT_H
#define WALLSHIM_COLLECTOR_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "wire/frame.h"

/* A frame as it came. `holders` counts its users: the flight recorder, and each dump with this frame that another
 * thread is writing. */
struct flight_frame {
    struct flight_frame *next;
    uint64_t number; /* frames of a trace are numbered in the order in which they came */
    uint64_t came_ms;
    unsigned holders;
    uint32_t size;
    uint8_t bytes[];
};

struct flight_list {
    struct flight_frame *first, *last;
    size_t bytes;
};

struct flight;

/* All flight recorders of a collector. */
struct flight_memory {
    /* A frame is dropped if it came more than this before the newest frame of its family. 0: no flight recorder. */
    uint64_t window_ms;
    size_t each;        /* limit of bytes for one process */
    size_t limit, used; /* bytes of all processes; `used` includes frames that only a dump still holds */
    struct flight *first;
};

struct flight {
    struct flight *next;
    struct flight_memory *memory;
    struct flight_list lists[WS_FAMILY_COUNT];
    uint8_t header[WS_FILE_HEADER_SIZE];
    bool has_header;
    uint64_t frames; /* number of frames stored so far */
    size_t bytes, dictionary_bytes;
    /* Arrival time of the newest frame that was dropped or refused for lack of memory, in ms of uv_now(); 0: none.
     * Dictionary frames do not count. */
    uint64_t cut_ms;
    uint64_t unnamed;     /* number of dictionary frames that were refused or dropped for lack of memory */
    uint64_t unsupported; /* number of frames of unknown families, from newer shims */
};

/* Returns NULL if there is no memory. */
struct flight *flight_create(struct flight_memory *memory);
void flight_destroy(struct flight *flight);

/* Adds a unit of a trace (its header, a frame or its trailer). The caller has checked the unit's checksums. Returns 0
 * or -ENOMEM. */
int flight_add(struct flight *flight, const uint8_t *unit, size_t size, uint64_t now_ms);

/* To be called about once a second. Drops frames that came more than window_ms before the newest frame of their
 * family. Does not drop dictionaries and clock comparisons. */
void flight_tick(struct flight *flight);

/* A snapshot of a flight recorder's frames, in the order of a trace file. */
struct flight_view {
    struct flight_memory *memory;
    uint8_t header[WS_FILE_HEADER_SIZE];
    struct flight_frame **frames;
    size_t count;
    /* Arrival times of the first and the last of these frames, in ms of uv_now(); dictionaries and clock comparisons
     * do not count. 0: none. */
    uint64_t oldest_ms, newest_ms;
    bool cut;         /* frames within the window were dropped for lack of memory (flight.cut_ms) */
    uint64_t unnamed; /* number of dictionary frames dropped for lack of memory */
};

/* Takes a snapshot. Returns 0; -ENODATA: no part of the trace has come yet; or -ENOMEM. */
int flight_look(struct flight *flight, struct flight_view *view);
void flight_release(struct flight_view *view);

/* Writes a complete trace with a footer. `say` are texts to add to the table `meta` of the trace: key, value, …,
 * NULL. `path` must not exist yet. May run in another thread. Returns 0 or -errno. */
int flight_write(const struct flight_view *view, const char *path, const char *const *say);

#endif
