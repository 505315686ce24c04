#include "analysis/period_cut.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/period_kind.h"
#include "analysis/times.h"

/* A step may begin with what comes once in this share of the segments, or in so many fewer than the best. */
static const double once_at_least = 0.6, once_less = 0.25;

/* What speaks for a begin: the idle time before it as a share of all idle time; and, as if it were such a
 * share, that it is a copy from the host, that it follows the optimizer, that it is told by its own name,
 * and that it comes once in all segments. */
static const double for_copy = 0.05, for_update = 0.01, for_name = 0.02, for_once = 0.1;

/* A segment of several times the operations, within this share of one, lacks boundaries between. */
static const double fits = 0.2, exactly = 0.01;
static const double least_to_fill = 8;

/* How a gram comes in the typical segments. */
struct mark {
    uint32_t segment; /* seen last in, + 1 */
    bool again;       /* in that one */
    uint16_t name;
    uint32_t once; /* segments */
    uint32_t after_update;
    double idle; /* before it */
};

struct marks {
    struct mark *of_gram; /* WS_GRAMS of them */
    uint32_t segments;
    double idle; /* in all */
};

/* Operations looked at to find out what steps begin with; enough segments of them lie all over. */
enum { OPERATIONS_LOOKED_AT = 1 << 21, LEAST_SEGMENTS = 64 };

static void note(struct mark *mark, uint32_t name, uint32_t segment, double idle, bool after_update)
{
    mark->idle += idle;
    if (mark->segment == segment + 1) {
        mark->once -= !mark->again;
        mark->again = true;
        return;
    }
    mark->segment = segment + 1;
    mark->again = false;
    mark->name = (uint16_t)name;
    mark->once++;
    mark->after_update += after_update;
}

static uint32_t lane_of(const struct ws_period_text *text, size_t place)
{
    return ws_text_shape(text, place)->lane;
}

/* The operations of the lane that most kernels are on, one after the other. */
struct walk {
    uint32_t place;  /* of the next operation, of whichever lane */
    uint32_t before; /* for ws_text_pair */
    int64_t end;     /* until which anything ran */
    int64_t idle;    /* how long nothing ran since the one before */
};

/* What the walk came by. */
struct passed {
    uint32_t place, name, pair;
    double idle; /* before it */
};

/* Goes on to the next of the lane; returns false where there is none below a place. */
static inline bool walk_on(const struct ws_period_text *text, struct walk *walk, uint32_t to, struct passed *passed)
{
    const struct ws_ops *ops = text->source->ops;
    while (walk->place < to) {
        uint32_t place = walk->place++, op = text->order[place];
        const struct ws_period_shape *shape = &text->shapes[ops->shape[op]];
        int64_t begin = ws_op_begin(ops, op);
        walk->idle += ws_most(begin - walk->end, 0);
        walk->end = ws_most(walk->end, begin + ws_op_length(ops, op));
        if (shape->lane != text->lane)
            continue;
        *passed = (struct passed){ place, shape->name, ws_text_pair(&walk->before, shape->name), (double)walk->idle };
        walk->idle = 0;
        return true;
    }
    return false;
}

static void walk_to(const struct ws_period_text *text, struct walk *walk, uint32_t to)
{
    struct passed passed;
    while (walk_on(text, walk, to, &passed))
        continue;
}

static void note_segment(const struct ws_period_text *text, struct walk *walk, uint32_t to, struct marks *marks)
{
    struct passed at;
    while (walk_on(text, walk, to, &at)) {
        bool after = at.place && ws_text_hint(text, at.place - 1) == WS_HINT_UPDATE &&
                     text->source->hints[at.name] != WS_HINT_UPDATE;
        note(&marks->of_gram[at.name], at.name, marks->segments, at.idle, after);
        note(&marks->of_gram[at.pair], at.name, marks->segments, at.idle, after);
        marks->idle += at.idle;
    }
    marks->segments++;
}

/* The idle time of segments that are not typical counts too: what comes between steps makes the device
 * wait at their begin. */
static void note_idle(const struct ws_period_text *text, struct walk *walk, uint32_t to, struct marks *marks)
{
    struct passed at;
    while (walk_on(text, walk, to, &at)) {
        marks->of_gram[at.name].idle += at.idle;
        marks->of_gram[at.pair].idle += at.idle;
        marks->idle += at.idle;
    }
}

static double merit(const struct ws_period_text *text, const struct marks *marks, uint32_t gram)
{
    const struct mark *mark = &marks->of_gram[gram];
    double segments = marks->segments, once = mark->once / segments;
    double sum = marks->idle > 0 ? mark->idle / marks->idle : 0;
    sum += for_update * mark->after_update / segments;
    if (gram < WS_PERIOD_NAMES)
        sum += for_name;
    if (text->source->hints[mark->name] == WS_HINT_FROM_HOST)
        sum += for_copy;
    return sum + once * for_once;
}

/* Looks into segments that lie all over, enough of them. */
static void look(const struct ws_period_level *level, struct ws_period_kind *kind, struct marks *marks)
{
    const struct ws_period_text *text = kind->text;
    size_t segments = ws_level_cuts(level) - 1;
    size_t affordable = (size_t)(OPERATIONS_LOOKED_AT / (level->operations + 1));
    size_t wanted = affordable < LEAST_SEGMENTS ? LEAST_SEGMENTS : affordable;
    size_t count = segments < wanted ? segments : wanted;
    struct walk walk = { .end = ws_op_begin(text->source->ops, text->order[0]) };
    for (size_t i = 0; i < count; i++) {
        size_t segment = i * segments / count;
        uint32_t from = ws_level_place(level, segment), to = ws_level_place(level, segment + 1);
        walk_to(text, &walk, from);
        if (ws_period_kind_is(kind, from, to))
            note_segment(text, &walk, to, marks);
        else
            note_idle(text, &walk, to, marks);
    }
}

/* What steps begin with: a gram, on a lane. */
struct begin {
    uint32_t gram, lane;
};

static struct begin best_begin(const struct ws_period_text *text, const struct ws_period_level *level,
                               const struct marks *marks)
{
    struct begin begin = { level->gram, lane_of(text, ws_level_place(level, 0)) };
    uint32_t most = 0;
    double best = -1;
    for (uint32_t i = 0; i < WS_GRAMS; i++)
        most = marks->of_gram[i].once > most ? marks->of_gram[i].once : most;
    if (!most || most < once_at_least * marks->segments)
        return begin;
    for (uint32_t i = 0; i < WS_GRAMS; i++) {
        if (marks->of_gram[i].once < most - once_less * marks->segments)
            continue;
        double value = merit(text, marks, i);
        if (value > best) {
            best = value;
            begin = (struct begin){ i, text->lane };
        }
    }
    return begin;
}

static int choose_begin(const struct ws_period_level *level, struct ws_period_kind *kind, struct begin *begin)
{
    struct marks marks = { .of_gram = calloc(WS_GRAMS, sizeof(*marks.of_gram)) };
    if (!marks.of_gram)
        return -ENOMEM;
    look(level, kind, &marks);
    *begin = best_begin(kind->text, level, &marks);
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

/* The operation of the same name and lane as one, nearest to a place, at most so far away; UINT32_MAX: none. */
static uint32_t nearest(const struct ws_period_text *text, uint32_t like, double place, double away)
{
    uint32_t name = ws_text_name(text, like), lane = lane_of(text, like);
    for (uint32_t distance = 0; distance <= away; distance++) {
        const double sides[] = { place + distance, place - distance };
        for (int i = 0; i < 2; i++)
            if (sides[i] >= 0 && sides[i] < (double)text->count && ws_text_name(text, (size_t)sides[i]) == name &&
                lane_of(text, (size_t)sides[i]) == lane)
                return (uint32_t)sides[i];
    }
    return UINT32_MAX;
}

static uint32_t last_of(const struct ws_vector *places)
{
    return ((const uint32_t *)places->data)[places->count - 1];
}

/* Adds boundaries that are missing between the last one and a place, about one step apart from each other,
 * where operations like that at the place are. */
static int fill(struct ws_period_kind *kind, struct ws_vector *places, uint32_t place)
{
    double step = kind->operations, last = last_of(places), parts = round((place - last) / step);
    if (step < least_to_fill || fabs((place - last) - parts * step) > fits * step)
        return 0;
    for (unsigned i = 1; i < parts; i++) {
        uint32_t between = nearest(kind->text, place, last + i * step, fits * step);
        if (between < place && between > last_of(places) && push(places, between))
            return -ENOMEM;
    }
    return 0;
}

/* Where more than a step lies between the last boundary and a place, what is more may have come first, as
 * evaluation does that begins like a step: adds the boundary a step before the place. */
static int fill_late(struct ws_period_kind *kind, struct ws_vector *places, uint32_t place)
{
    double step = kind->operations, away = fmax(exactly * step, 1);
    if (step < least_to_fill || place - last_of(places) <= step + 2 * away)
        return 0;
    uint32_t late = nearest(kind->text, place, place - step, away);
    if (late >= place || late <= last_of(places) || !ws_period_kind_is(kind, late, place))
        return 0;
    return push(places, late);
}

/* Adds one a step before the first: the gram of the first step may be another, for nothing came before. */
static int fill_before(struct ws_period_kind *kind, struct ws_vector *places, uint32_t place)
{
    double step = kind->operations;
    if (step < least_to_fill || place < (1 - fits) * step)
        return 0;
    uint32_t before = nearest(kind->text, place, fmax(place - step, 0), fits * step);
    return before < place ? push(places, before) : 0;
}

static int collect(struct ws_period_kind *kind, struct begin begin, struct ws_vector *places)
{
    const struct ws_period_text text = *kind->text;
    uint32_t before = 0;
    for (uint32_t place = 0; place < text.count; place++) {
        const struct ws_period_shape *shape = ws_text_shape(&text, place);
        if (shape->lane != begin.lane)
            continue;
        uint32_t pair = ws_text_pair(&before, shape->name);
        if (shape->name != begin.gram && pair != begin.gram)
            continue;
        int status = places->count ? fill(kind, places, place) : fill_before(kind, places, place);
        if (!status && places->count)
            status = fill_late(kind, places, place);
        if (!status)
            status = push(places, place);
        if (status)
            return status;
    }
    return 0;
}

/* Steps from boundaries; neighbours that are no steps alone become one, which may be a step. */
static int add_steps(struct ws_period_kind *kind, const struct ws_vector *places, struct ws_vector *steps)
{
    const uint32_t *list = places->data;
    for (size_t i = 0; i < places->count; i++) {
        struct ws_period_step *last = steps->count ? (struct ws_period_step *)steps->data + steps->count - 1 : NULL;
        uint32_t to = i + 1 < places->count ? list[i + 1] : (uint32_t)kind->text->count;
        bool like = ws_period_kind_is(kind, list[i], to) || ws_period_kind_varies(kind, list[i], to);
        if (last && !last->alike && !like) {
            last->alike = ws_period_kind_grows_into(kind, last->first, to);
            continue;
        }
        struct ws_period_step *step = ws_vector_push(steps);
        if (!step)
            return -ENOMEM;
        *step = (struct ws_period_step){ list[i], like };
    }
    return 0;
}

int ws_period_cut(const struct ws_period_text *text, const struct ws_period_level *level, struct ws_period *period)
{
    struct ws_vector places = WS_VECTOR(uint32_t);
    struct ws_period_kind kind;
    struct begin begin;
    int status = ws_period_kind_find(text, level, &kind);
    if (!status)
        status = choose_begin(level, &kind, &begin);
    if (!status)
        status = collect(&kind, begin, &places);
    if (!status)
        status = add_steps(&kind, &places, &period->steps);
    ws_period_kind_finish(&kind);
    ws_vector_finish(&places);
    return status;
}
