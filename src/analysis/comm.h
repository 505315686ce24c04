/* Communication: what each rank did, what belongs together, who waited for whom.
 *
 * A rank is a device as one process used it (a track of the model). Its communication is a list of
 * operations: an NCCL call with the kernels launched for it, calls of one group together, or, where the
 * trace holds no calls, one communication kernel. An operation that every rank of a communicator must
 * join can end only after the last has come: from its own begin until then a rank waits, after that data
 * moves.
 */
#ifndef WALLSHIM_ANALYSIS_COMM_H
#define WALLSHIM_ANALYSIS_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/registry.h"
#include "base/vector.h"

/* ---- what NCCL calls are (comm_kinds.c) */

/* Index into a table; see ws_comm_name. */
typedef uint32_t ws_comm_operation;

/* By the function's or the kernel's name; one that is not known gives "other". */
ws_comm_operation ws_comm_by_function(const char *function);
ws_comm_operation ws_comm_by_kernel(const char *name);

/* Of calls of one group that are not all the same. */
ws_comm_operation ws_comm_together(ws_comm_operation a, ws_comm_operation b);

const char *ws_comm_name(ws_comm_operation operation); /* "all-reduce" */

/* Does none of its ranks get past it before all have come? */
bool ws_comm_is_joint(ws_comm_operation operation);

/* The size nccl-tests give the bandwidth of: count elements of ncclDataType_t, times the ranks where
 * count is of one rank's part. */
uint64_t ws_comm_bytes(ws_comm_operation operation, uint64_t count, uint32_t datatype, uint32_t ranks);

/* Bus bandwidth by the bandwidth of the algorithm: 2(n-1)/n, (n-1)/n or 1. */
double ws_comm_bus_factor(ws_comm_operation operation, uint32_t ranks);

/* ---- the operations of a rank (comm_ops.c) */

struct ws_comm_op {
    int64_t begin, end; /* first begin and last end of its launches; host clock of its process */
    uint64_t sequence;  /* the same on every rank of the communicator */
    uint64_t bytes;     /* 0 not known */
    uint32_t calls;
    uint32_t kind;   /* index into ws_track_comm.kinds */
    uint32_t member; /* index into ws_track_comm.members; WS_NOWHERE: nothing to match it by */
};

/* Rows of a table of communication. */
struct ws_comm_kind {
    ws_comm_operation operation;
    uint32_t ranks;        /* of the communicator; 0 not known */
    bool by_name;          /* taken from kernels' names, not from calls */
    uint64_t calls, bytes; /* those without device times too */
    uint64_t timed;        /* calls with device times */
    uint64_t timed_bytes;
};

/* A communicator as a rank knows it. */
struct ws_comm_member {
    uint64_t group;  /* the same number on every rank */
    uint32_t rank;   /* in the communicator */
    uint32_t size;   /* 0: neither is known */
    uint32_t joint;  /* operations that every rank must join */
    bool by_name;    /* kernels of one name on one stream, in place of a communicator */
    bool unnumbered; /* its calls have no numbers, or not all */
    bool by_order;   /* sequence counts only operations that all join, as they came */
};

struct ws_comm_launch {
    uint32_t op;      /* index into ws_process.ops */
    uint32_t comm_op; /* index into ws_track_comm.ops */
};

struct ws_track_comm {
    struct ws_vector ops;      /* struct ws_comm_op, in order of begin */
    struct ws_vector launches; /* struct ws_comm_launch, in order of begin */
    struct ws_vector kinds;    /* struct ws_comm_kind */
    struct ws_vector members;  /* struct ws_comm_member */
};

extern const struct ws_analysis ws_analysis_comm_ops;

/* ---- what belongs together (comm_match.c) and on what clock (comm_clocks.c) */

enum ws_match_method {
    WS_MATCH_SEQUENCE, /* communicator and number of the call */
    WS_MATCH_ORDER,    /* the n-th kernel of a name on a stream, their ends agreeing */
    WS_MATCH_TIME,     /* kernels of a name that overlap and end together */
    WS_MATCH_COUNT
};

const char *ws_match_name(enum ws_match_method method);

/* One collective of several ranks: a stretch of ws_job_comm.entries. */
struct ws_joined {
    uint32_t first, count;
    enum ws_match_method method;
};

struct ws_joined_entry {
    uint32_t track;
    uint32_t op; /* index into the track's ws_track_comm.ops */
};

/* A clock against that of the reference rank, from the ends of collectives. */
struct ws_rank_clock {
    uint32_t samples;
    int64_t offset; /* this clock minus the reference's, at `at`; the median */
    int64_t spread; /* between the first and the third quartile */
    double drift;   /* ns gained in a ns; 0 unless the recording is long and shows it */
    int64_t at;
    bool shared_host; /* the same machine as the reference, so the same clock */
    bool applied;
};

/* Until when the others kept a rank, on the rank's own clock; INT64_MIN: not known. */
struct ws_arrival {
    int64_t last; /* until the last one came */
    int64_t fair; /* the last one that is no straggler */
};

struct ws_rank {
    uint32_t number;   /* as the job counts; its place among the traces where that is not known */
    bool known, twice; /* number: from the trace; claimed by an earlier rank too */
    struct ws_rank_clock clock;
    struct ws_arrival *arrivals; /* by operation; NULL: none */
    uint64_t joint, matched;     /* operations that all must join */
    uint64_t apart;              /* others, of collectives whose operations do not overlap in time */
    uint64_t last, late;         /* of matched: it came last; and that cost */
    uint32_t steps, late_steps; /* steady ones; those in which the others waited for it for 2 % of the step or more */
    int64_t waited, caused;     /* by it; and by others for it, added up */
    int64_t delay;              /* the same by an other rank on average */
    int64_t begin, end;         /* of what was matched; own clock */
    bool straggler;
};

struct ws_job_comm {
    struct ws_vector ranks;   /* struct ws_rank, by track */
    struct ws_vector joined;  /* struct ws_joined */
    struct ws_vector entries; /* struct ws_joined_entry */
    uint64_t by_method[WS_MATCH_COUNT];
    uint64_t unmatched; /* operations that all must join but no other rank was found in */
    uint64_t apart;     /* collectives whose operations do not overlap in time; not used */
    uint64_t costly;    /* collectives in which the others waited long enough to count */
    uint32_t twice;     /* members of communicators that claim another's rank */
    uint32_t largest;   /* ranks of the job, or of its largest communicator; 0 not known */
    uint32_t stragglers;
};

extern const struct ws_analysis ws_analysis_comm_match;

/* Fills joined and entries from the tracks' operations. Returns 0 or -ENOMEM. */
int ws_comm_match(const struct ws_report *report, struct ws_job_comm *job);

/* Estimates the ranks' clocks from what was joined. Returns 0 or -ENOMEM. */
int ws_comm_clocks(const struct ws_report *report, struct ws_job_comm *job);

/* Who came last, who waited, who is a straggler. Returns 0 or -ENOMEM. */
int ws_comm_waits(const struct ws_report *report, struct ws_job_comm *job);

/* A time of the rank's on the reference's clock, and back. */
int64_t ws_rank_to_reference(const struct ws_rank_clock *clock, int64_t time);
int64_t ws_rank_from_reference(const struct ws_rank_clock *clock, int64_t time);

/* ---- what it cost a device (collectives.c) */

struct ws_comm_cost {
    int64_t total;    /* from begin to end of the operations, summed */
    int64_t exposed;  /* outside compute; of operations that overlap the first has the time */
    int64_t overlap;  /* inside compute, so counted */
    uint64_t matched; /* operations whose ranks are known: what follows is of them */
    uint64_t matched_bytes;
    int64_t waited, transfer; /* until the last rank came, and after */
    int64_t exposed_wait;
};

struct ws_track_collectives {
    struct ws_vector costs; /* struct ws_comm_cost, by place in ws_track_comm.kinds */
    struct ws_vector order; /* uint32_t: places in kinds, by total, longest first */
    struct ws_comm_cost all;
    int64_t waited_for_stragglers;
    int64_t caused_by_stragglers; /* what would be won if those came with the others; at most */
    int64_t uncovered;            /* outside compute, waiting for matched ranks left out; as what follows of steady
                                   * steps, of the recording where there are none */
    int64_t hideable;             /* what of that could run under compute instead; at most */
    int64_t compute, idle;        /* from the first matched operation to the last */
    uint64_t kernels;
};

extern const struct ws_analysis ws_analysis_collectives;

/* ---- why a rank is late (stragglers.c) */

/* What a rank did from the first collective to the last, beside what ranks that are no stragglers did on average. */
struct ws_lateness {
    int64_t compute, idle; /* more than theirs */
    bool same_kernels;     /* as many as they */
    enum ws_part cause;    /* of half of the idle time or more; WS_PART_UNEXPLAINED: none that is known */
};

enum { WS_LATENESS_TEXT = 160 };

/* Of the ranks that are on time, once for all that ask; no section of its own. */
extern const struct ws_analysis ws_analysis_punctual;

struct ws_lateness ws_lateness_of(const struct ws_report *report, size_t track);

/* "rank 3 computes 1.2 ms longer than the others, with as many kernels" */
void ws_lateness_describe(const struct ws_report *report, size_t track, const struct ws_lateness *lateness,
                          char text[WS_LATENESS_TEXT]);

/* What the rank would win if stragglers came with the others; a straggler that computes longer, what all would win.
 * Returns 0 or -ENOMEM. */
int ws_stragglers_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list);

/* A total over steady steps as a figure of one of them; over the recording where there are none. */
int64_t ws_comm_per_step(const struct ws_report *report, size_t track, int64_t total);

/* ---- what it cost the job (ranks.c) */

extern const struct ws_analysis ws_analysis_ranks;

static inline const struct ws_track_comm *ws_report_comm(const struct ws_report *report, size_t track)
{
    return (const struct ws_track_comm *)ws_report_result(report, &ws_analysis_comm_ops, track);
}

#endif
