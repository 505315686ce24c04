#include "analysis/period_cut.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A step may begin with what comes once in this share of the segments, or in so many fewer than the best. */
static const double once_at_least = 0.8, once_less = 0.25;

/* What speaks for a begin: the idle time before it as a share of the step, up to half; and, as if it were
 * such a share, that it is a copy from the host, that it follows the optimizer, that it is told by its own
 * name. */
static const double most_idle = 0.5, for_copy = 0.05, for_update = 0.02, for_name = 0.02, for_once = 0.05;

/* A step is like the others where it has this share of the names they all have, and this many times
 * their operations. */
static const double like_names = 0.7, least_like = 0.5, most_like = 1.6;

/* A segment of several times the operations, within this share of one, lacks boundaries between. */
static const double fits = 0.2;
static const double least_to_fill = 8;

static const uint16_t in_all = (uint16_t)(0.9 * UINT16_MAX);

/* How a gram comes in the typical segments. */
struct mark {
    uint32_t segment; /* seen last in, + 1 */
    bool again;       /* in that one */
    uint16_t name;
    uint32_t once; /* segments */
    uint32_t after_update;
    double idle; /* before it, where it comes first in a segment */
};

struct marks {
    struct mark *of_gram; /* WS_GRAMS of them */
    uint32_t segments;
    double time; /* of all of them */
};

static void note(struct mark *mark, uint32_t name, uint32_t segment, double idle, bool after_update)
{
    if (mark->segment == segment + 1) {
        mark->once -= !mark->again;
        mark->again = true;
        return;
    }
    mark->segment = segment + 1;
    mark->again = false;
    mark->name = (uint16_t)name;
    mark->once++;
    mark->idle += idle;
    mark->after_update += after_update;
}

static int64_t begin_of(const struct ws_period_text *text, size_t place)
{
    return text->source->ops->begin[text->source->order[place]];
}

static uint32_t lane_of(const struct ws_period_text *text, size_t place)
{
    return text->source->lanes[text->source->ops->shape[text->source->order[place]]];
}

static void note_segment(const struct ws_period_text *text, uint32_t from, uint32_t to, struct marks *marks)
{
    for (uint32_t place = from; place < to; place++) {
        if (lane_of(text, place) != text->lane)
            continue;
        double idle = ws_idle_ns(text->idle[place]);
        bool after =
            place && ws_text_hint(text, place - 1) == WS_HINT_UPDATE && ws_text_hint(text, place) != WS_HINT_UPDATE;
        uint32_t name = ws_text_name(text, place);
        note(&marks->of_gram[name], name, marks->segments, idle, after);
        note(&marks->of_gram[ws_text_pair(text, place)], name, marks->segments, idle, after);
    }
    marks->time += (double)(begin_of(text, to) - begin_of(text, from));
    marks->segments++;
}

static double merit(const struct ws_period_text *text, const struct marks *marks, uint32_t gram)
{
    const struct mark *mark = &marks->of_gram[gram];
    double segments = marks->segments, once = mark->once / segments;
    double idle = marks->time > 0 ? mark->idle / marks->time : 0;
    double sum = fmin(idle, most_idle) + for_update * mark->after_update / segments;
    if (gram < WS_PERIOD_NAMES)
        sum += for_name;
    if (text->source->hints[mark->name] == WS_HINT_FROM_HOST)
        sum += for_copy;
    return sum + once * for_once;
}

/* The gram that steps begin with. */
static int choose_begin(const struct ws_period_text *text, const struct ws_period_level *level, uint32_t *gram)
{
    struct marks marks = { .of_gram = calloc(WS_GRAMS, sizeof(*marks.of_gram)) };
    uint32_t most = 0;
    double best = -1;
    if (!marks.of_gram)
        return -ENOMEM;
    for (size_t i = 0; i + 1 < ws_level_cuts(level); i++) {
        uint32_t from = ws_level_place(level, i), to = ws_level_place(level, i + 1);
        if (2.0 * (to - from) >= level->operations && to - from <= 2 * level->operations)
            note_segment(text, from, to, &marks);
    }
    for (uint32_t i = 0; i < WS_GRAMS; i++)
        most = marks.of_gram[i].once > most ? marks.of_gram[i].once : most;
    *gram = level->gram;
    for (uint32_t i = 0; i < WS_GRAMS && most >= once_at_least * marks.segments; i++) {
        if (marks.of_gram[i].once < most - once_less * marks.segments)
            continue;
        double value = merit(text, &marks, i);
        if (value > best) {
            best = value;
            *gram = i;
        }
    }
    free(marks.of_gram);
    return 0;
}

static int push(struct ws_vector *places, uint32_t place)
{
    uint32_t *slot = ws_vector_push(places);
    if (!slot)
        return -ENOMEM;
    *slot = place;
    return 0;
}

static bool is_main(const struct ws_period_text *text, size_t place, uint32_t name)
{
    return ws_text_name(text, place) == name && lane_of(text, place) == text->lane;
}

/* The operation of this name, on the lane of most, nearest to a place, at most so far away; UINT32_MAX: none. */
static uint32_t nearest(const struct ws_period_text *text, uint32_t name, double place, double away)
{
    for (uint32_t distance = 0; distance <= away; distance++) {
        double after = place + distance, before = place - distance;
        if (after < (double)text->count && is_main(text, (size_t)after, name))
            return (uint32_t)after;
        if (before >= 0 && is_main(text, (size_t)before, name))
            return (uint32_t)before;
    }
    return UINT32_MAX;
}

/* Adds boundaries that are missing between the last one and a place, about one step apart from each other,
 * where operations of its name are. */
static int fill(const struct ws_period_text *text, const struct ws_period_level *level, struct ws_vector *places,
                uint32_t place)
{
    double step = level->operations, last = ((const uint32_t *)places->data)[places->count - 1];
    double parts = round((place - last) / step);
    if (step < least_to_fill || fabs((place - last) - parts * step) > fits * step)
        return 0;
    for (double i = 1; i < parts; i++) {
        uint32_t between = nearest(text, ws_text_name(text, place), last + i * step, fits * step);
        if (between < place && between > ((const uint32_t *)places->data)[places->count - 1] && push(places, between))
            return -ENOMEM;
    }
    return 0;
}

/* The first boundary, or one a step before it: the gram of the first step may be another, for nothing
 * came before. */
static int add_first(const struct ws_period_text *text, const struct ws_period_level *level, struct ws_vector *places,
                     uint32_t place)
{
    double step = level->operations;
    if (step >= least_to_fill && place >= (1 - fits) * step) {
        uint32_t before = nearest(text, ws_text_name(text, place), fmax(place - step, 0), fits * step);
        if (before < place && push(places, before))
            return -ENOMEM;
    }
    return push(places, place);
}

static int collect(const struct ws_period_text *text, const struct ws_period_level *level, uint32_t gram,
                   struct ws_vector *places)
{
    for (uint32_t place = 0; place < text->count; place++) {
        if (!ws_text_has(text, place, gram) || lane_of(text, place) != text->lane)
            continue;
        int status = places->count ? fill(text, level, places, place) : add_first(text, level, places, place);
        if (!status && ((const uint32_t *)places->data)[places->count - 1] != place)
            status = push(places, place);
        if (status)
            return status;
    }
    return 0;
}

/* Marks of names seen, so that those of a step need not be cleared. */
struct profile {
    uint32_t *seen; /* by name */
    uint32_t stamp;
    unsigned names; /* that all steps have */
};

/* The share of the names all have that are in a segment. */
static double likeness(const struct ws_period_text *text, const struct ws_period_level *level,
                       struct profile *profile, uint32_t from, uint32_t to)
{
    unsigned found = 0;
    profile->stamp++;
    for (uint32_t place = from; place < to; place++) {
        uint32_t name = ws_text_name(text, place);
        if (level->presence[name] < in_all || profile->seen[name] == profile->stamp)
            continue;
        profile->seen[name] = profile->stamp;
        found++;
    }
    return profile->names ? (double)found / profile->names : 0;
}

static bool is_like(const struct ws_period_text *text, const struct ws_period_level *level, struct profile *profile,
                    uint32_t from, uint32_t to)
{
    double operations = to - from;
    return operations >= least_like * level->operations && operations <= most_like * level->operations &&
           likeness(text, level, profile, from, to) >= like_names;
}

/* Steps from boundaries; neighbours that are no steps alone become one, which may be a step. */
static int add_steps(const struct ws_period_text *text, const struct ws_period_level *level,
                     const struct ws_vector *places, struct ws_vector *steps)
{
    const uint32_t *list = places->data;
    struct profile profile = { .seen = calloc(text->names + 1, sizeof(*profile.seen)) };
    int status = profile.seen ? 0 : -ENOMEM;
    for (size_t name = 0; name < text->names; name++)
        profile.names += level->presence[name] >= in_all;
    for (size_t i = 0; i < places->count && !status; i++) {
        struct ws_period_step *last = steps->count ? (struct ws_period_step *)steps->data + steps->count - 1 : NULL;
        uint32_t to = i + 1 < places->count ? list[i + 1] : (uint32_t)text->count;
        bool like = is_like(text, level, &profile, list[i], to);
        if (last && !last->alike && !like) {
            last->alike = is_like(text, level, &profile, last->first, to);
            continue;
        }
        struct ws_period_step *step = ws_vector_push(steps);
        if (step)
            *step = (struct ws_period_step){ list[i], like };
        else
            status = -ENOMEM;
    }
    free(profile.seen);
    return status;
}

int ws_period_cut(const struct ws_period_text *text, const struct ws_period_level *level, struct ws_period *period)
{
    struct ws_vector places = WS_VECTOR(uint32_t);
    uint32_t gram;
    int status = choose_begin(text, level, &gram);
    if (!status)
        status = collect(text, level, gram, &places);
    if (!status)
        status = add_steps(text, level, &places, &period->steps);
    ws_vector_finish(&places);
    return status;
}
