#include "analysis/steps/period_kind.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/minmax.h"

/* A vote among segments finds the kind of the steps. Up to VOTERS segments, spread over the recording, vote. They
 * have about OPERATIONS_LOOKED_AT operations in sum, but at least LEAST_VOTERS segments vote. Up to CANDIDATES of
 * these segments are candidates. A segment votes for each candidate that is similar to it. The votes decide which
 * candidate wins. All segments that are similar to the winner form the kind of the steps. */
enum { VOTERS = 64, CANDIDATES = 16, OPERATIONS_LOOKED_AT = 1 << 21, LEAST_VOTERS = 12 };

/* Two segments are alike if at least the share like_names of their names is the same, and the ratio of their numbers
 * of operations is between like_least and like_most. */
static const double like_names = 0.7, like_least = 0.5, like_most = 1.6;

/* A step with kernels for another tensor shape is a variant of the kind. A variant has an optimizer and at least the
 * share varied_names of the kind's names. Its number of operations differs from the kind's by at most the share
 * same_length. */
static const double same_length = 0.1, varied_names = 0.4;

/* A name belongs to the kind if at least this share of the segments that voted for the winner has the name. */
static const double kinds_own = 0.8;

/* A candidate has many votes if it has at least this share of the largest number of votes. */
static const double many_votes = 0.35;

struct segment {
    uint32_t from, to;
    unsigned names;
};

struct vote {
    struct segment voters[VOTERS];
    size_t voter_count, candidate_count;
    uint16_t *candidates;                /* by number of a name: a bit for each candidate that has the name */
    unsigned common[VOTERS][CANDIDATES]; /* number of names that the voter and the candidate have in common */
};

static struct segment *candidate(struct vote *vote, size_t number)
{
    return &vote->voters[number * vote->voter_count / vote->candidate_count];
}

static void choose_voters(const struct ws_period_level *level, struct vote *vote)
{
    size_t segments = ws_level_cuts(level) - 1;
    double affordable = OPERATIONS_LOOKED_AT / (level->operations + 1);
    size_t most = affordable < LEAST_VOTERS ? LEAST_VOTERS : affordable > VOTERS ? VOTERS : (size_t)affordable;
    vote->voter_count = ws_min(segments, most);
    vote->candidate_count = ws_min(vote->voter_count, CANDIDATES);
    for (size_t i = 0; i < vote->voter_count; i++) {
        size_t segment = i * segments / vote->voter_count;
        vote->voters[i] = (struct segment){ ws_level_place(level, segment), ws_level_place(level, segment + 1), 0 };
    }
}

/* Is this the first occurrence of the name in the segment that is being examined? Marks the name as seen, with the
 * stamp (the number) of this segment. */
static bool is_new(struct ws_period_kind *kind, uint32_t name)
{
    bool new = kind->seen[name] != kind->stamp;
    kind->seen[name] = kind->stamp;
    return new;
}

static void count_common(struct ws_period_kind *kind, struct vote *vote, size_t voter)
{
    struct segment *segment = &vote->voters[voter];
    kind->stamp++;
    for (uint32_t place = segment->from; place < segment->to; place++) {
        uint32_t name = ws_text_name(kind->text, place);
        if (!is_new(kind, name))
            continue;
        segment->names++;
        for (uint16_t bits = vote->candidates[name]; bits; bits &= (uint16_t)(bits - 1))
            vote->common[voter][__builtin_ctz(bits)]++;
    }
}

static bool are_alike(const struct segment *a, const struct segment *b, unsigned common)
{
    unsigned names = ws_max(a->names, b->names);
    double ratio = (double)(a->to - a->from) / (b->to - b->from);
    return common >= like_names * names && ratio >= like_least && ratio <= like_most;
}

static bool updates(const struct ws_period_text *text, uint32_t from, uint32_t to)
{
    for (uint32_t place = from; place < to; place++)
        if (ws_text_hint(text, place) == WS_HINT_UPDATE)
            return true;
    return false;
}

/* `votes` is the number of segments that voted for a candidate. `first` is the index of the first of these
 * segments. */
struct count {
    size_t votes, first;
};

static struct count count_votes(struct vote *vote, size_t number)
{
    struct count count = { 0, 0 };
    for (size_t voter = vote->voter_count; voter-- > 0;) {
        if (!are_alike(&vote->voters[voter], candidate(vote, number), vote->common[voter][number]))
            continue;
        count.votes++;
        count.first = voter;
    }
    return count;
}

/* Returns the winner. This is the candidate with the earliest voter among the candidates with many votes, because the
 * main work mostly comes first, and evaluation last. If the level's segments have an optimizer, the winner must have
 * an optimizer too. */
static size_t elect(const struct ws_period_text *text, const struct ws_period_level *level, struct vote *vote)
{
    struct count counts[CANDIDATES] = { { 0, 0 } };
    size_t best = 0, most = 0;
    for (size_t i = 0; i < vote->candidate_count; i++) {
        if (level->updates && !updates(text, candidate(vote, i)->from, candidate(vote, i)->to))
            continue;
        counts[i] = count_votes(vote, i);
        most = counts[i].votes > most ? counts[i].votes : most;
    }
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < vote->candidate_count; i++) {
        bool many = counts[i].votes && (double)counts[i].votes >= many_votes * (double)most;
        if (!many || counts[i].first > first || (counts[i].first == first && counts[i].votes <= counts[best].votes))
            continue;
        first = counts[i].first;
        best = i;
    }
    return best;
}

/* Collects the names that occur in most of the segments that voted for the winner (at least the share kinds_own). */
static void period_kind_describe(struct ws_period_kind *kind, struct vote *vote, size_t best)
{
    uint32_t lengths[VOTERS];
    uint8_t *counts = kind->has;
    size_t voters = 0;
    for (size_t i = 0; i < vote->voter_count; i++) {
        const struct segment *voter = &vote->voters[i];
        if (!are_alike(voter, candidate(vote, best), vote->common[i][best]))
            continue;
        lengths[voters++] = voter->to - voter->from;
        kind->stamp++;
        for (uint32_t place = voter->from; place < voter->to; place++)
            if (is_new(kind, ws_text_name(kind->text, place)))
                counts[ws_text_name(kind->text, place)]++;
    }
    for (size_t name = 0; name < kind->text->source->names; name++) {
        kind->has[name] = counts[name] >= kinds_own * (double)voters && counts[name];
        kind->names += kind->has[name];
    }
    kind->operations = ws_period_median(lengths, voters);
}

int ws_period_kind_find(const struct ws_period_text *text, const struct ws_period_level *level,
                        struct ws_period_kind *kind)
{
    struct vote *vote = calloc(1, sizeof(*vote));
    *kind = (struct ws_period_kind){ .text = text,
                                     .updates = level->updates,
                                     .has = calloc(text->source->names + 1, 1),
                                     .seen = calloc(text->source->names + 1, sizeof(*kind->seen)) };
    kind->growing.seen = calloc(text->source->names + 1, sizeof(*kind->growing.seen));
    if (vote)
        vote->candidates = calloc(text->source->names + 1, sizeof(*vote->candidates));
    int status = vote && vote->candidates && kind->has && kind->seen && kind->growing.seen ? 0 : -ENOMEM;
    if (!status) {
        choose_voters(level, vote);
        for (size_t i = 0; i < vote->candidate_count; i++)
            for (uint32_t place = candidate(vote, i)->from; place < candidate(vote, i)->to; place++)
                vote->candidates[ws_text_name(text, place)] |= (uint16_t)(1u << i);
        for (size_t i = 0; i < vote->voter_count; i++)
            count_common(kind, vote, i);
        period_kind_describe(kind, vote, elect(text, level, vote));
    }
    if (vote)
        free(vote->candidates);
    free(vote);
    return status;
}

static bool has_length_of(const struct ws_period_kind *kind, double operations)
{
    return operations >= like_least * kind->operations && operations <= like_most * kind->operations;
}

/* Returns the number of the kind's names that occur in the segment. */
static unsigned count_shared(struct ws_period_kind *kind, uint32_t from, uint32_t to)
{
    const struct ws_period_text text = *kind->text;
    uint32_t *seen = kind->seen, stamp = ++kind->stamp;
    unsigned found = 0;
    for (uint32_t place = from; place < to; place++) {
        uint32_t name = ws_text_name(&text, place);
        found += (seen[name] != stamp) & kind->has[name];
        seen[name] = stamp;
    }
    return found;
}

bool ws_period_kind_is(struct ws_period_kind *kind, uint32_t from, uint32_t to)
{
    return has_length_of(kind, to - from) && count_shared(kind, from, to) >= like_names * kind->names;
}

bool ws_period_kind_grows_into(struct ws_period_kind *kind, uint32_t from, uint32_t to)
{
    if (kind->growing.from != from) {
        kind->growing.from = kind->growing.to = from;
        kind->growing.found = 0;
    }
    for (; kind->growing.to < to; kind->growing.to++) {
        uint32_t name = ws_text_name(kind->text, kind->growing.to);
        kind->growing.found += kind->has[name] && kind->growing.seen[name] != from + 1;
        kind->growing.seen[name] = from + 1;
    }
    return has_length_of(kind, to - from) && kind->growing.found >= like_names * kind->names;
}

bool ws_period_kind_varies(struct ws_period_kind *kind, uint32_t from, uint32_t to)
{
    double operations = to - from;
    if (!kind->updates || fabs(operations - kind->operations) > same_length * kind->operations)
        return false;
    return updates(kind->text, from, to) && count_shared(kind, from, to) >= varied_names * kind->names;
}

void ws_period_kind_finish(struct ws_period_kind *kind)
{
    free(kind->has);
    free(kind->seen);
    free(kind->growing.seen);
}
