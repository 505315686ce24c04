#include "analysis/steps/period_cut.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/steps/period_kind.h"
#include "base/minmax.h"

/* Steps can begin only with a gram (a name, or a pair of names in a row on a stream) that occurs exactly once in many
 * segments. The share of segments in which the best gram occurs exactly once must be at least once_at_least. If this
 * share is lower, steps begin with the gram that cut the operations into segments. Steps can also begin with any gram
 * whose share is lower than that of the best gram by at most once_less. */
static const double once_at_least = 0.6, once_less = 0.25;

/* The gram with the highest merit becomes the start of steps. The merit of a gram is the idle time before it, as a
 * share of all idle time, plus these numbers: for_copy if the gram is a copy from the host; for_name if the gram is a
 * single name and not a pair; for_update times the share of segments in which the gram follows the optimizer;
 * for_once times the share of segments in which the gram occurs exactly once. */
static const double for_copy = 0.05, for_update = 0.01, for_name = 0.02, for_once = 0.1;

/* If a segment is several times as long as a step, boundaries between steps are missing in the segment and may be
 * added. An added boundary may be off its expected place by at most `fits` times the length of a step. In fill_late
 * the limit is `exactly` times this length. No boundaries are added if a step has fewer operations than
 * least_to_fill. */
static const double fits = 0.2, exactly = 0.01;
static const double least_to_fill = 8;

/* What was counted for one gram over the examined segments. */
struct gram_tally {
    uint32_t segment; /* index + 1 of the latest segment in which the gram occurred; 0: none so far */
    bool again;       /* the gram occurred more than once in `segment` */
    uint16_t name;
    uint32_t once; /* number of segments in which the gram occurs exactly once */
    uint32_t after_update;
    double idle; /* ns of idle time before the gram, summed over its occurrences */
};

struct gram_tallies {
    struct gram_tally *of_gram; /* one tally per gram, by the gram's number; WS_GRAMS entries */
    uint32_t segments;
    double idle; /* ns of idle time before operations, summed over all examined operations */
};

/* To choose the operation that steps begin with, segments spread over the recording are examined. The examined
 * segments have about OPERATIONS_LOOKED_AT operations in sum. At least LEAST_SEGMENTS segments are examined, even if
 * they have more operations. */
enum { OPERATIONS_LOOKED_AT = 1 << 21, LEAST_SEGMENTS = 64 };

static void tally_gram(struct gram_tally *tally, uint32_t name, uint32_t segment, double idle, bool after_update)
{
    tally->idle += idle;
    if (tally->segment == segment + 1) {
        tally->once -= !tally->again;
        tally->again = true;
        return;
    }
    tally->segment = segment + 1;
    tally->again = false;
    tally->name = (uint16_t)name;
    tally->once++;
    tally->after_update += after_update;
}

static uint32_t lane_of(const struct ws_period_text *text, size_t place)
{
    return ws_text_shape(text, place)->lane;
}

/* State of a loop over the operations of the stream with most kernels. */
struct walk {
    uint32_t place;  /* index in `order` of the next operation to visit, on any stream */
    uint32_t before; /* previous name on the stream, for ws_text_pair */
    int64_t end;     /* latest end of the operations visited so far, on any stream */
    int64_t idle;    /* ns of idle time of the device since the last visited operation of the stream */
};

/* The operation that walk_on has reached: its index, the number of its name, and the number of the pair that consists
 * of its name and the previous name on the stream. */
struct passed {
    uint32_t place, name, pair;
    double idle; /* ns of idle time of the device before the operation */
};

/* Moves to the stream's next operation. Returns false if the stream has no further operation before index `to`. */
static inline bool walk_on(const struct ws_period_text *text, struct walk *walk, uint32_t to, struct passed *passed)
{
    const struct ws_ops *ops = text->source->ops;
    while (walk->place < to) {
        uint32_t place = walk->place++, op = text->order[place];
        const struct ws_period_shape *shape = &text->shapes[ops->shape[op]];
        int64_t begin = ws_op_begin(ops, op);
        walk->idle += ws_max(begin - walk->end, 0);
        walk->end = ws_max(walk->end, begin + ws_op_length(ops, op));
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

static void note_segment(const struct ws_period_text *text, struct walk *walk, uint32_t to,
                         struct gram_tallies *tallies)
{
    struct passed at;
    while (walk_on(text, walk, to, &at)) {
        bool after = at.place && ws_text_hint(text, at.place - 1) == WS_HINT_UPDATE &&
                     text->source->hints[at.name] != WS_HINT_UPDATE;
        tally_gram(&tallies->of_gram[at.name], at.name, tallies->segments, at.idle, after);
        tally_gram(&tallies->of_gram[at.pair], at.name, tallies->segments, at.idle, after);
        tallies->idle += at.idle;
    }
    tallies->segments++;
}

/* For a segment that is not a step, only adds the idle time before each operation to the tallies of its grams. This
 * idle time counts, because the host may work between two steps while the device waits for the next step to start. */
static void note_idle(const struct ws_period_text *text, struct walk *walk, uint32_t to, struct gram_tallies *tallies)
{
    struct passed at;
    while (walk_on(text, walk, to, &at)) {
        tallies->of_gram[at.name].idle += at.idle;
        tallies->of_gram[at.pair].idle += at.idle;
        tallies->idle += at.idle;
    }
}

static double merit(const struct ws_period_text *text, const struct gram_tallies *tallies, uint32_t gram)
{
    const struct gram_tally *tally = &tallies->of_gram[gram];
    double segments = tallies->segments, once = tally->once / segments;
    double sum = tallies->idle > 0 ? tally->idle / tallies->idle : 0;
    sum += for_update * tally->after_update / segments;
    if (gram < WS_PERIOD_NAMES)
        sum += for_name;
    if (text->source->hints[tally->name] == WS_HINT_FROM_HOST)
        sum += for_copy;
    return sum + once * for_once;
}

/* Fills the tallies of the grams from segments that are spread over the recording. */
static void period_cut_examine(const struct ws_period_level *level, struct ws_period_kind *kind,
                               struct gram_tallies *tallies)
{
    const struct ws_period_text *text = kind->text;
    size_t segments = ws_level_cuts(level) - 1;
    size_t affordable = (size_t)(OPERATIONS_LOOKED_AT / (level->operations + 1));
    size_t wanted = affordable < LEAST_SEGMENTS ? LEAST_SEGMENTS : affordable;
    size_t count = ws_min(segments, wanted);
    struct walk walk = { .end = ws_op_begin(text->source->ops, text->order[0]) };
    for (size_t i = 0; i < count; i++) {
        size_t segment = i * segments / count;
        uint32_t from = ws_level_place(level, segment), to = ws_level_place(level, segment + 1);
        walk_to(text, &walk, from);
        if (ws_period_kind_is(kind, from, to))
            note_segment(text, &walk, to, tallies);
        else
            note_idle(text, &walk, to, tallies);
    }
}

/* The operation that steps begin with: the number of its gram, and the index of its stream. */
struct begin {
    uint32_t gram, lane;
};

static struct begin best_begin(const struct ws_period_text *text, const struct ws_period_level *level,
                               const struct gram_tallies *tallies)
{
    struct begin begin = { level->gram, lane_of(text, ws_level_place(level, 0)) };
    uint32_t most = 0;
    double best = -1;
    for (uint32_t i = 0; i < WS_GRAMS; i++)
        most = tallies->of_gram[i].once > most ? tallies->of_gram[i].once : most;
    if (!most || most < once_at_least * tallies->segments)
        return begin;
    for (uint32_t i = 0; i < WS_GRAMS; i++) {
        if (tallies->of_gram[i].once < most - once_less * tallies->segments)
            continue;
        double value = merit(text, tallies, i);
        if (value > best) {
            best = value;
            begin = (struct begin){ i, text->lane };
        }
    }
    return begin;
}

static int choose_begin(const struct ws_period_level *level, struct ws_period_kind *kind, struct begin *begin)
{
    struct gram_tallies tallies = { .of_gram = calloc(WS_GRAMS, sizeof(*tallies.of_gram)) };
    if (!tallies.of_gram)
        return -ENOMEM;
    period_cut_examine(level, kind, &tallies);
    *begin = best_begin(kind->text, level, &tallies);
    free(tallies.of_gram);
    return 0;
}

static int period_cut_push(struct ws_vector *places, uint32_t place)
{
    uint32_t *slot = ws_vector_push(places);
    if (!slot)
        return -ENOMEM;
    *slot = place;
    return 0;
}

/* Looks for operations with the same name and stream as operation `like`. Returns the one that is nearest to index
 * `place`, or UINT32_MAX if none is within `away` operations of this index. */
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

/* Adds the boundaries between steps that are missing between the last boundary and `place`. The added boundaries are
 * about one step apart, at operations with the name and stream of the operation at `place`. */
static int period_cut_fill(struct ws_period_kind *kind, struct ws_vector *places, uint32_t place)
{
    double step = kind->operations, last = last_of(places), parts = round((place - last) / step);
    if (step < least_to_fill || fabs((place - last) - parts * step) > fits * step)
        return 0;
    for (unsigned i = 1; i < parts; i++) {
        uint32_t between = nearest(kind->text, place, last + i * step, fits * step);
        if (between < place && between > last_of(places) && period_cut_push(places, between))
            return -ENOMEM;
    }
    return 0;
}

/* Adds a boundary one step before `place` if the last boundary lies further back, and if the operations from the new
 * boundary to `place` are similar to a step. The operations before the new boundary may be an evaluation that starts
 * with the same operation as a step. */
static int fill_late(struct ws_period_kind *kind, struct ws_vector *places, uint32_t place)
{
    double step = kind->operations, away = fmax(exactly * step, 1);
    if (step < least_to_fill || place - last_of(places) <= step + 2 * away)
        return 0;
    uint32_t late = nearest(kind->text, place, place - step, away);
    if (late >= place || late <= last_of(places) || !ws_period_kind_is(kind, late, place))
        return 0;
    return period_cut_push(places, late);
}

/* Adds a boundary one step before `place`, which is the first boundary that was found. If steps begin with a pair of
 * names, the start of the first step may be missing, because no operation before it completes the pair. */
static int fill_before(struct ws_period_kind *kind, struct ws_vector *places, uint32_t place)
{
    double step = kind->operations;
    if (step < least_to_fill || place < (1 - fits) * step)
        return 0;
    uint32_t before = nearest(kind->text, place, fmax(place - step, 0), fits * step);
    return before < place ? period_cut_push(places, before) : 0;
}

static int period_cut_collect(struct ws_period_kind *kind, struct begin begin, struct ws_vector *places)
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
        int status = places->count ? period_cut_fill(kind, places, place) : fill_before(kind, places, place);
        if (!status && places->count)
            status = fill_late(kind, places, place);
        if (!status)
            status = period_cut_push(places, place);
        if (status)
            return status;
    }
    return 0;
}

/* Turns boundaries into steps. Merges adjacent segments that are not similar to steps, because the merged segment may
 * be similar to a step. */
static int period_cut_add_steps(struct ws_period_kind *kind, const struct ws_vector *places, struct ws_vector *steps)
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
        status = period_cut_collect(&kind, begin, &places);
    if (!status)
        status = period_cut_add_steps(&kind, &places, &period->steps);
    ws_period_kind_finish(&kind);
    ws_vector_finish(&places);
    return status;
}
