/* The flight recorder: the last frames of each trace, in memory, until a dump writes them to files (dump.h).
 *
 * Frames of dictionaries stay, as later frames need them. Of every other family, those frames stay that came within
 * the last seconds before its newest one. So a process that stands still keeps what it did last. Memory is bounded
 * for each process and for all together: where it does not suffice, the oldest frames go. */
#ifndef WALLSHIM_COLLECTOR_FLIGHT_H
#define WALLSHIM_COLLECTOR_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "wire/frame.h"

/* A frame as it came. A dump holds frames while another thread writes them. */
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
    uint64_t window_ms; /* how long frames stay */
    size_t each;        /* bytes of one process at most */
    size_t limit, used; /* bytes of all together; `used` has the frames that a dump holds, too */
    struct flight *first;
};

struct flight {
    struct flight *next;
    struct flight_memory *memory;
    struct flight_list lists[WS_FAMILY_COUNT];
    uint8_t header[WS_FILE_HEADER_SIZE];
    bool has_header;
    uint64_t frames; /* that ever came */
    size_t bytes, dictionary_bytes;
    uint64_t cut_ms;      /* when the newest frame came that memory had no room for; 0: none */
    uint64_t unnamed;     /* frames of dictionaries that memory had no room for */
    uint64_t unsupported; /* frames of families that only newer shims know */
};

/* Returns NULL if there is no memory. */
struct flight *flight_create(struct flight_memory *memory);
void flight_destroy(struct flight *flight);

/* Takes a unit of a trace, whose checksums are right (stream.h). Returns 0 or -ENOMEM. */
int flight_add(struct flight *flight, const uint8_t *unit, size_t size, uint64_t now_ms);

/* To be called about once a second: forgets what is older than the window. */
void flight_tick(struct flight *flight);

/* The frames at one moment, in the order in which a trace has them. */
struct flight_view {
    struct flight_memory *memory;
    uint8_t header[WS_FILE_HEADER_SIZE];
    struct flight_frame **frames;
    size_t count;
    uint64_t oldest_ms, newest_ms; /* when they came, but for those of names and clocks; 0: there are none */
    bool cut;                      /* memory had no room for all frames of the window, */
    uint64_t unnamed;              /* and not for these frames of names */
};

/* Returns 0; -ENODATA: nothing has come yet; or -ENOMEM. */
int flight_look(struct flight *flight, struct flight_view *view);
void flight_release(struct flight_view *view);

/* Writes a trace that readers take as any other: it has a footer, and `say` as further rows of family meta (key,
 * value, …, NULL). path: of a new file, which may not exist. May run in a thread of its own. Returns 0 or -errno. */
int flight_write(const struct flight_view *view, const char *path, const char *const *say);

#endif
