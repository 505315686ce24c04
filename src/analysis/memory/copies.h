/* Copies of a device by direction and kind of memory: their number, their rate, their exposed time, and advice to
 * reduce this time. Exposed time is time of copies in which neither compute nor communication runs. */
#ifndef WALLSHIM_ANALYSIS_MEMORY_COPIES_H
#define WALLSHIM_ANALYSIS_MEMORY_COPIES_H

#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

enum {
    WS_COPY_SMALL = 64 * 1024,   /* bytes; a smaller copy takes little longer than its launch */
    WS_COPY_LARGE = 1024 * 1024, /* bytes; larger copies run at the rate of the link */
    WS_STORM_LEAST = 8,          /* this many small copies in a row on a stream are a storm */
    WS_STORM_PAUSE_NS = 100000,  /* longest pause between two copies of a storm */
};

/* The copies of one kind, which have one name in the model. Times are in ns. */
struct ws_copy_row {
    uint32_t name;
    uint32_t from, to; /* enum ws_space */
    uint64_t count, bytes, small;
    uint64_t blocking;
    uint64_t timed; /* copies with device times */
    uint64_t timed_bytes;
    int64_t total;
    int64_t host;    /* time that the host spent in the calls */
    int64_t exposed; /* part of total outside compute and communication; where copies overlap, the time counts for the
                        copy that ends last */
    int64_t steady;  /* part of `exposed` in steady steps; all of `exposed` if there are no steps */
    double fastest;  /* bytes/ns: lower bound of the best rate of a large copy, given the errors of its times; 0: no
                        large copy */
};

/* Ways to reduce the exposed time of a copy. Each copy is counted for exactly one cure. */
enum ws_copy_cure {
    WS_CURE_NONE,    /* the trace does not give the direction */
    WS_CURE_BATCH,   /* small copies: make fewer, larger ones */
    WS_CURE_PIN,     /* copies from or to pageable memory: use pinned memory, and copy asynchronously */
    WS_CURE_INSIDE,  /* copies within a device: avoid them */
    WS_CURE_OVERLAP, /* other copies: overlap them with compute, on a stream of their own */
    WS_CURE_COUNT
};

/* Copies with one cure, in steady steps, or in the recording if there are no steps. */
struct ws_copy_exposure {
    uint64_t count, bytes;
    int64_t exposed;
    uint32_t example; /* index of the longest of these copies */
    int64_t longest;
};

struct ws_track_copies {
    struct ws_vector rows; /* struct ws_copy_row, by time, longest first */
    struct ws_copy_exposure cures[WS_CURE_COUNT];
    size_t steps;    /* number of steady steps; 0: none */
    int64_t inside;  /* exposed time of copies within the device and of memsets, in ns, in steady steps, or in the
                        recording if there are no steps */
    uint64_t storms; /* runs of small copies */
    uint64_t storm_copies; /* small copies in the runs */
    uint64_t storm_bytes;
    int64_t storm_time;         /* ns from the first copy's begin to the last one's end, summed over runs */
    double memory_bytes_per_ns; /* memory bandwidth of the device; 0: not known */
};

extern const struct ws_analysis ws_analysis_copies;

/* The mean rate in bytes per ns; 0: not known. */
double ws_copy_rate(const struct ws_copy_row *row);

/* The rate that a copy of this kind could reach, in bytes per ns. For copies within the device it is half of the
 * memory bandwidth, because each byte is read and written. For other copies it is ws_copy_row.fastest. 0: not
 * known. */
double ws_copy_best_rate(const struct ws_track_copies *result, const struct ws_copy_row *row);

/* The functions below are in copies_report.c. */

/* Describes the kind of copy that takes most of `exposed`, the exposed time of copies and memsets: "mostly host to
 * device, pageable (the host link: PCIe or C2C)". Writes "" if no kind takes half of `exposed`. Returns text. */
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
