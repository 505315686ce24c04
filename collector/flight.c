#include "collector/flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/dictionary.h"

enum {
    CLOCKS_KEPT = 64,    /* newest frames of clock comparisons, kept at any age to convert device times */
    DICTIONARY_PART = 2, /* divisor: dictionaries may take half of flight_memory.each, a process's share */
};

static bool is_dictionary(uint32_t family)
{
    return family < WS_FAMILY_FIRST_DATA || family == WS_FAMILY_metric || family == WS_FAMILY_code ||
           family == WS_FAMILY_frame;
}

/* --- frames ------------------------------------------------------------------------------------- */

static void frame_release(struct flight_memory *memory, struct flight_frame *frame)
{
    if (--frame->holders)
        return;
    memory->used -= sizeof(*frame) + frame->size;
    free(frame);
}

static size_t cost_of(const struct flight_frame *frame)
{
    return sizeof(*frame) + frame->size;
}

static void drop_first(struct flight *flight, uint32_t family)
{
    struct flight_list *list = &flight->lists[family];
    struct flight_frame *frame = list->first;
    list->first = frame->next;
    if (!list->first)
        list->last = NULL;
    list->bytes -= cost_of(frame);
    flight->bytes -= cost_of(frame);
    flight->dictionary_bytes -= is_dictionary(family) ? cost_of(frame) : 0;
    frame_release(flight->memory, frame);
}

static void append(struct flight *flight, uint32_t family, struct flight_frame *frame)
{
    struct flight_list *list = &flight->lists[family];
    if (list->last)
        list->last->next = frame;
    else
        list->first = frame;
    list->last = frame;
    list->bytes += cost_of(frame);
    flight->bytes += cost_of(frame);
    flight->dictionary_bytes += is_dictionary(family) ? cost_of(frame) : 0;
}

static struct flight_frame *make_frame(struct flight *flight, const uint8_t *unit, size_t size, uint64_t now_ms)
{
    struct flight_frame *frame = malloc(sizeof(*frame) + size);
    if (!frame)
        return NULL;
    *frame =
        (struct flight_frame){ .number = flight->frames, .came_ms = now_ms, .holders = 1, .size = (uint32_t)size };
    memcpy(frame->bytes, unit, size);
    flight->memory->used += cost_of(frame);
    return frame;
}

/* --- bounds ------------------------------------------------------------------------------------- */

/* Returns the family (kind of record) whose frames take most memory. Its frames are dropped first. So the many calls
 * of a program that polls in a loop for the end of some work do not push out the records of that work. */
static uint32_t largest_family(const struct flight *flight)
{
    uint32_t largest = WS_FAMILY_op;
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        if (!is_dictionary(family) && flight->lists[family].bytes > flight->lists[largest].bytes)
            largest = family;
    return largest;
}

/* Drops the oldest frame of the family whose frames take most memory. Drops no dictionaries. Returns false if there
 * is nothing to drop. */
static bool shrink(struct flight *flight)
{
    uint32_t family = largest_family(flight);
    if (!flight->lists[family].first)
        return false;
    flight->cut_ms = flight->lists[family].first->came_ms;
    drop_first(flight, family);
    return true;
}

static bool shrink_largest(struct flight_memory *memory)
{
    struct flight *largest = memory->first;
    for (struct flight *flight = memory->first; flight; flight = flight->next)
        if (flight->bytes - flight->dictionary_bytes > largest->bytes - largest->dictionary_bytes)
            largest = flight;
    return largest && shrink(largest);
}

/* Makes room for a dictionary frame by dropping the oldest frames of kernel parameters (family params), which
 * operations can do without. */
static bool make_room_for_names(struct flight *flight, size_t size)
{
    const struct flight_memory *memory = flight->memory;
    while (flight->dictionary_bytes + size > memory->each / DICTIONARY_PART) {
        if (!flight->lists[WS_FAMILY_params].first)
            return false;
        drop_first(flight, WS_FAMILY_params);
        flight->unnamed++;
    }
    return true;
}

static bool make_room(struct flight *flight, size_t size)
{
    struct flight_memory *memory = flight->memory;
    while (flight->bytes + size > memory->each && shrink(flight))
        ;
    while (memory->used + size > memory->limit && shrink_largest(memory))
        ;
    return flight->bytes + size <= memory->each && memory->used + size <= memory->limit;
}

void flight_tick(struct flight *flight)
{
    uint64_t window = flight->memory->window_ms;
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++) {
        struct flight_list *list = &flight->lists[family];
        if (is_dictionary(family) || family == WS_FAMILY_clock)
            continue;
        while (list->first && list->last->came_ms - list->first->came_ms > window)
            drop_first(flight, family);
    }
}

/* Drops clock comparisons that came more than window_ms before the newest one, but always keeps the last CLOCKS_KEPT.
 * An idle program sends them seconds apart, so few of them come within window_ms. */
static void drop_old_clocks(struct flight *flight)
{
    const struct flight_list *list = &flight->lists[WS_FAMILY_clock];
    unsigned count = 0;
    for (const struct flight_frame *frame = list->first; frame; frame = frame->next)
        count++;
    for (; count > CLOCKS_KEPT && list->last->came_ms - list->first->came_ms > flight->memory->window_ms; count--)
        drop_first(flight, WS_FAMILY_clock);
}

/* --- for the clients ---------------------------------------------------------------------------- */

struct flight *flight_create(struct flight_memory *memory)
{
    struct flight *flight = calloc(1, sizeof(*flight));
    if (!flight)
        return NULL;
    flight->memory = memory;
    flight->next = memory->first;
    memory->first = flight;
    return flight;
}

void flight_destroy(struct flight *flight)
{
    if (!flight)
        return;
    struct flight **link = &flight->memory->first;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        while (flight->lists[family].first)
            drop_first(flight, family);
    free(flight);
}

int flight_add(struct flight *flight, const uint8_t *unit, size_t size, uint64_t now_ms)
{
    struct ws_frame_header header;
    if (!flight->has_header) {
        memcpy(flight->header, unit, sizeof(flight->header));
        flight->has_header = true;
        return 0;
    }
    /* Skip repeated dictionary frames, the footer and the trailer (the end of a trace). flight_write writes a footer
     * and a trailer of its own. */
    if (size < WS_FRAME_HEADER_SIZE || !ws_frame_header_read(unit, &header) || header.flags & WS_FRAME_REPEAT ||
        header.family == WS_FAMILY_FOOTER)
        return 0;
    if (header.family >= WS_FAMILY_COUNT) {
        flight->unsupported++;
        return 0;
    }
    size_t cost = sizeof(struct flight_frame) + size;
    bool names = is_dictionary(header.family);
    if ((names && !make_room_for_names(flight, cost)) || !make_room(flight, cost)) {
        flight->unnamed += names;
        flight->cut_ms = names ? flight->cut_ms : now_ms;
        return 0;
    }
    struct flight_frame *frame = make_frame(flight, unit, size, now_ms);
    if (!frame)
        return -ENOMEM;
    flight->frames++;
    append(flight, header.family, frame);
    if (header.family == WS_FAMILY_clock)
        drop_old_clocks(flight);
    return 0;
}

/* --- for a dump --------------------------------------------------------------------------------- */

static void hold(struct flight_view *view, struct flight_frame *frame)
{
    frame->holders++;
    view->frames[view->count++] = frame;
}

/* Puts frames of dictionaries first, because other frames refer to them. All other frames keep the order in which
 * they came. */
static void collect(struct flight *flight, struct flight_view *view)
{
    struct flight_frame *next[WS_FAMILY_COUNT];
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++) {
        next[family] = is_dictionary(family) ? NULL : flight->lists[family].first;
        for (struct flight_frame *frame = flight->lists[family].first; is_dictionary(family) && frame;
             frame = frame->next)
            hold(view, frame);
    }
    for (;;) {
        uint32_t oldest = WS_FAMILY_COUNT;
        for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
            if (next[family] && (oldest == WS_FAMILY_COUNT || next[family]->number < next[oldest]->number))
                oldest = family;
        if (oldest == WS_FAMILY_COUNT)
            return;
        hold(view, next[oldest]);
        next[oldest] = next[oldest]->next;
    }
}

static void find_span(const struct flight *flight, struct flight_view *view)
{
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++) {
        const struct flight_list *list = &flight->lists[family];
        if (is_dictionary(family) || family == WS_FAMILY_clock || !list->first)
            continue;
        if (!view->oldest_ms || list->first->came_ms < view->oldest_ms)
            view->oldest_ms = list->first->came_ms;
        if (list->last->came_ms > view->newest_ms)
            view->newest_ms = list->last->came_ms;
    }
    view->cut = flight->cut_ms && flight->cut_ms + flight->memory->window_ms > view->newest_ms;
}

int flight_look(struct flight *flight, struct flight_view *view)
{
    size_t count = 0;
    *view = (struct flight_view){ .memory = flight->memory, .unnamed = flight->unnamed };
    if (!flight->has_header)
        return -ENODATA;
    flight_tick(flight);
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        for (const struct flight_frame *frame = flight->lists[family].first; frame; frame = frame->next)
            count++;
    view->frames = malloc((count + 1) * sizeof(struct flight_frame *));
    if (!view->frames)
        return -ENOMEM;
    memcpy(view->header, flight->header, sizeof(view->header));
    collect(flight, view);
    find_span(flight, view);
    return 0;
}

void flight_release(struct flight_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        frame_release(view->memory, view->frames[i]);
    free(view->frames);
    view->frames = NULL;
    view->count = 0;
}
