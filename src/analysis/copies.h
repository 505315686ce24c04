/* Copies of a device by direction and kind of memory: how many, how fast, and how much of their time nothing else
 * hides, and what that could be won by.
 */
#ifndef WALLSHIM_ANALYSIS_COPIES_H
#define WALLSHIM_ANALYSIS_COPIES_H

#include <stdint.h>

#include "analysis/registry.h"
#include "base/vector.h"

enum {
    WS_COPY_SMALL = 64 * 1024,   /* bytes; below, what a copy costs is its launch */
    WS_COPY_LARGE = 1024 * 1024, /* bytes; from here on its rate is the link's */
    WS_STORM_LEAST = 8,          /* small copies in a row on a stream */
    WS_STORM_PAUSE_NS = 100000,  /* from the end of one to the begin of the next, at most */
};

/* One kind of copy: a name of the model. */
struct ws_copy_row {
    uint32_t name;
    uint32_t from, to; /* enum ws_space */
    uint64_t count, bytes, small;
    uint64_t blocking;
    uint64_t timed; /* of count: those with device times */
    uint64_t timed_bytes;
    int64_t total;
    int64_t host;    /* of the host, in the calls */
    int64_t exposed; /* of total: outside compute, outside communication; where copies overlap, of the longest */
    int64_t steady;  /* of exposed, in steady steps; all where there are none */
    double fastest;  /* bytes/ns of a large one; 0: there is none */
};

/* What could be done about exposed time. Every copy is in one of them. */
enum ws_copy_cure {
    WS_CURE_NONE,    /* what the trace does not say the direction of */
    WS_CURE_BATCH,   /* small: fewer, larger ones */
    WS_CURE_PIN,     /* from or to pageable memory: pinned, asynchronous */
    WS_CURE_INSIDE,  /* within a device: not made at all */
    WS_CURE_OVERLAP, /* beside compute: on a stream of its own, ahead of its use */
    WS_CURE_COUNT
};

/* In steady steps, or in all where there are none. */
struct ws_copy_exposure {
    uint64_t count, bytes;
    int64_t exposed;
    uint32_t example; /* operation: the longest of them */
    int64_t longest;
};

struct ws_track_copies {
    struct ws_vector rows; /* struct ws_copy_row, by time, longest first */
    struct ws_copy_exposure cures[WS_CURE_COUNT];
    size_t steps;          /* steady ones; 0: there are none */
    uint64_t storms;       /* runs of small copies */
    uint64_t storm_copies; /* in them */
    uint64_t storm_bytes;
    int64_t storm_time;         /* from the begin of each one's first copy to the end of its last */
    double memory_bytes_per_ns; /* of the device; 0: not known */
};

extern const struct ws_analysis ws_analysis_copies;

/* Bytes a nanosecond; 0: not known. */
double ws_copy_rate(const struct ws_copy_row *row);

/* What such a copy could reach: within the device half of its memory's bandwidth, for each byte is read and written;
 * else the rate of the fastest large copy of the kind in the trace. 0: not known. */
double ws_copy_best_rate(const struct ws_track_copies *result, const struct ws_copy_row *row);

/* How a report shows them: copies_report.c. */

/* Which copies most of this time is, of exposed copies and memsets: "mostly host to device, pageable (the host link:
 * PCIe or C2C)"; "" where no kind of them is half of it. Returns text. */
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
