/* Copies of a device by direction and kind of memory: their number, their rate, their exposed time, and advice to
 * reduce the exposed time. Exposed time of a copy is the part of its time in which neither compute nor communication
 * runs. */
#ifndef WALLSHIM_ANALYSIS_MEMORY_COPIES_H
#define WALLSHIM_ANALYSIS_MEMORY_COPIES_H

#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

enum {
    WS_COPY_SMALL = 64 * 1024,   /* bytes; a copy of fewer bytes is called small: it takes hardly more time than its
                                    launch */
    WS_COPY_LARGE = 1024 * 1024, /* bytes; copies of at least this size are large enough to reach the rate of the
                                    link */
    WS_STORM_LEAST = 8,          /* at least this many small copies in a row on one stream are called a storm */
    WS_STORM_PAUSE_NS = 100000,  /* ns; longest pause between two successive copies of a storm */
};

/* The copies of a device that have one name ("host to device, pageable"). Times are in ns. */
struct ws_copy_row {
    uint32_t name;
    uint32_t from, to; /* kinds of memory of the copies' source and destination (enum ws_space) */
    uint64_t count, bytes, small;
    uint64_t blocking;
    uint64_t timed; /* number of copies with device times */
    uint64_t timed_bytes;
    int64_t total;
    int64_t host;    /* ns that the host spent in the calls for these copies */
    int64_t exposed; /* ns of `total` in which neither compute nor communication ran; where copies and memsets
                        overlap, this time counts only for the one that ends last */
    int64_t steady;  /* part of `exposed` in steady steps; all of `exposed` if there are no steady steps */
    /* bytes per ns: the highest rate that a large copy (WS_COPY_LARGE) surely reached; the rate of a copy is computed
     * with the longest duration that the errors of the copy's times allow; 0: no large copy */
    double fastest;
};

/* Ways to reduce the exposed time of copies, called cures. Each copy is counted for exactly one cure, by its size and
 * the memory that it copies from and to. */
enum ws_copy_cure {
    WS_CURE_NONE,    /* no cure: the trace does not tell the direction of the copies */
    WS_CURE_BATCH,   /* small copies: make fewer, larger ones */
    WS_CURE_PIN,     /* copies from or to pageable memory: use pinned memory, and copy asynchronously */
    WS_CURE_INSIDE,  /* copies within a device: avoid them */
    WS_CURE_OVERLAP, /* other copies: overlap them with compute, on a stream of their own */
    WS_CURE_COUNT
};

/* Figures of the copies to which one cure applies. Only copies in steady steps count. If there are no steady steps,
 * all copies count. */
struct ws_copy_exposure {
    uint64_t count, bytes;
    int64_t exposed;
    uint32_t example; /* index in ws_process.ops of the copy that took longest on the device */
    int64_t longest;
};

struct ws_track_copies {
    struct ws_vector rows; /* struct ws_copy_row, longest total time first */
    struct ws_copy_exposure cures[WS_CURE_COUNT];
    size_t steps; /* number of steady steps */
    /* exposed time of copies within the device and of memsets, in ns: in steady steps, or in the whole recording if
     * it has no steady steps */
    int64_t inside;
    uint64_t storms;       /* number of storms: WS_STORM_LEAST or more small copies in a row on one stream */
    uint64_t storm_copies; /* number of small copies in all storms */
    uint64_t storm_bytes;
    /* ns from the start of a storm's first copy to the end of its last copy, summed over the storms */
    int64_t storm_time;
    double memory_bytes_per_ns; /* memory bandwidth of the device; 0: not known */
};

extern const struct ws_analysis ws_analysis_copies;

/* Returns the mean rate of the row's copies in bytes per ns; 0: not known. */
double ws_copy_rate(const struct ws_copy_row *row);

/* Returns the rate that the row's copies could reach, in bytes per ns. For copies within the device, this is half of
 * the memory bandwidth, because each byte is read and written. For all other copies, and if the bandwidth is not
 * known, this is row->fastest. 0: not known. */
double ws_copy_best_rate(const struct ws_track_copies *result, const struct ws_copy_row *row);

/* The functions below are in copies_report.c. */

/* Describes the kind of copy that takes most of `exposed`: "mostly host to device, pageable". `exposed` is the
 * exposed time of copies except those within the device, in ns: per steady step, or in the whole recording if there
 * are no steady steps. Writes "" if no kind takes half of `exposed`. Returns the parameter `text`. */
enum { WS_COPIES_PHRASE = 120 };
const char *ws_copies_phrase(const struct ws_track_copies *copies, int64_t exposed, char text[WS_COPIES_PHRASE]);

void ws_copies_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_copies_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
int ws_copies_advise(const struct ws_report *report, size_t subject, const void *result, struct ws_advice_list *list);

static inline bool ws_copy_is_pageable(uint32_t from, uint32_t to)
{
    return from == WS_SPACE_PAGEABLE || to == WS_SPACE_PAGEABLE;
}

#endif
