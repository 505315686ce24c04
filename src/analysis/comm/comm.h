/* Communication: the operations of each rank, the collectives that they form, and how long ranks waited for each
 * other.
 *
 * A rank is a device as used by one process (a track of the model). The communication of a rank is a list of
 * operations. An operation is an NCCL call with the kernels launched for it; the calls of one group are one
 * operation. If the trace holds no calls, an operation is one communication kernel. Every rank of a communicator must
 * join a joint operation, so the operation can end only after the last rank has arrived. Each rank waits from the
 * begin of its own operation until the last rank arrives. Data moves after the last rank has arrived.
 */
#ifndef WALLSHIM_ANALYSIS_COMM_COMM_H
#define WALLSHIM_ANALYSIS_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

/* ---- kinds of NCCL calls (comm_kinds.c) */

/* The kind of an operation: an index into the table in comm_kinds.c. */
typedef uint32_t ws_comm_operation;

/* Each returns the operation of a function or kernel with this name, or "other" if the name is not known. */
ws_comm_operation ws_comm_by_function(const char *function);
ws_comm_operation ws_comm_by_kernel(const char *name);

/* Returns the operation of a group that holds calls of a and b. */
ws_comm_operation ws_comm_together(ws_comm_operation a, ws_comm_operation b);

const char *ws_comm_name(ws_comm_operation operation); /* "all-reduce" */

/* Must all ranks arrive before any rank can finish the operation? */
bool ws_comm_is_joint(ws_comm_operation operation);

/* Returns the size in bytes of `count` elements of type `datatype` (ncclDataType_t). nccl-tests compute bandwidth
 * from this size. If `count` is the part of one rank, the size is the sum over all ranks. */
uint64_t ws_comm_bytes(ws_comm_operation operation, uint64_t count, uint32_t datatype, uint32_t ranks);

/* Bus bandwidth divided by algorithm bandwidth, as nccl-tests define them: 2(n-1)/n, (n-1)/n or 1 for n ranks. */
double ws_comm_bus_factor(ws_comm_operation operation, uint32_t ranks);

/* ---- the operations of a rank (comm_ops.c) */

struct ws_comm_op {
    int64_t begin, end; /* first begin and last end of its kernels; ns, host clock of its process */
    uint64_t sequence;  /* number of the operation, equal on all ranks of the communicator */
    uint64_t bytes;     /* 0: not known */
    uint32_t calls;
    uint32_t kind;   /* index into ws_track_comm.kinds */
    uint32_t member; /* index into ws_track_comm.members; WS_NOWHERE: cannot be matched with other ranks */
};

/* A row of the report's table of communication. */
struct ws_comm_kind {
    ws_comm_operation operation;
    uint32_t ranks;        /* ranks of the communicator; 0: not known */
    bool by_name;          /* from names of kernels, not from calls */
    uint64_t calls, bytes; /* of all calls, with and without device times */
    uint64_t timed;        /* calls with device times */
    uint64_t timed_bytes;  /* bytes of the calls with device times */
};

/* One rank's view of a communicator. */
struct ws_comm_member {
    uint64_t group;  /* a number that is equal on all ranks */
    uint32_t rank;   /* the rank's number in the communicator */
    uint32_t size;   /* number of ranks; 0: size and rank are not known */
    uint32_t joint;  /* number of joint operations */
    bool by_name;    /* the communicator is not known; the member is all kernels of one name on one stream */
    bool unnumbered; /* some of its calls have no sequence number */
    bool by_order;   /* ws_comm_op.sequence counts joint operations in order of time, and ignores the sequence numbers
                        of calls */
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

/* ---- matching of operations (comm_match.c) and clocks of ranks (comm_clocks.c) */

enum ws_match_method {
    WS_MATCH_SEQUENCE, /* by communicator and sequence number of the call */
    WS_MATCH_ORDER,    /* by order: the n-th kernels of a name on a stream, if they end together */
    WS_MATCH_TIME,     /* by time: kernels of a name that overlap and end together */
    WS_MATCH_COUNT
};

const char *ws_match_name(enum ws_match_method method);

/* One collective of several ranks: consecutive entries of ws_job_comm.entries. */
struct ws_joined {
    uint32_t first, count;
    enum ws_match_method method;
};

struct ws_joined_entry {
    uint32_t track;
    uint32_t op; /* index into the track's ws_track_comm.ops */
};

/* The difference between a rank's clock and the reference rank's clock, at the ends of collectives. Times are in ns.
 */
struct ws_rank_clock {
    uint32_t samples;
    int64_t offset; /* this clock minus the reference clock at time `at`; median over the samples */
    int64_t spread; /* third quartile minus first quartile of the differences */
    double drift;   /* ns gained per ns; 0: no drift found */
    int64_t at;
    bool shared_host; /* same machine or same trace file as the reference, so the same clock */
    bool applied;     /* offset and drift are corrected */
};

/* When other ranks arrived at a rank's operation, in ns on the clock of that rank; INT64_MIN: not known. */
struct ws_arrival {
    int64_t last; /* arrival of the last rank */
    int64_t fair; /* arrival of the last rank that is not a straggler */
};

struct ws_rank {
    uint32_t number;   /* the rank's number in the job; if it is not known, the index of the rank's track */
    bool known, twice; /* the trace gives `number`; an earlier rank has the same number */
    struct ws_rank_clock clock;
    struct ws_arrival *arrivals; /* by index of the operation; NULL: no operations */
    uint64_t joint, matched;     /* number of joint operations; number of matched joint operations */
    uint64_t apart;              /* operations in rejected collectives, whose operations do not overlap in time */
    uint64_t last, late;         /* collectives in which the rank arrived last; costly collectives among them */
    uint32_t steps, late_steps;  /* number of steady steps; number of steady steps in which others waited for the rank
                                    for 2 % of the step or more */
    int64_t waited, caused;      /* ns that this rank waited for others; sum of ns that others waited for this rank */
    int64_t delay;               /* ns: mean wait of another rank for this rank, summed over all collectives */
    int64_t steady_delay;        /* ns: the part of `delay` in steady steps */
    int64_t begin, end;          /* begin and end of the matched operations; ns, own clock */
    bool straggler;
};

struct ws_job_comm {
    struct ws_vector ranks;   /* struct ws_rank, by track */
    struct ws_vector joined;  /* struct ws_joined */
    struct ws_vector entries; /* struct ws_joined_entry */
    uint64_t by_method[WS_MATCH_COUNT];
    uint64_t unmatched; /* joint operations found on one rank only */
    uint64_t apart;     /* collectives rejected because their operations do not overlap in time */
    uint64_t costly;    /* costly collectives: the other ranks waited long for the last rank (comm_waits.c) */
    uint32_t twice;     /* communicator members with the same rank as another member */
    uint32_t largest;   /* number of ranks of the job, or of its largest communicator; 0: not known */
    uint32_t stragglers;
};

extern const struct ws_analysis ws_analysis_comm_match;

/* Matches the operations of all tracks, and fills job->joined and job->entries. Returns 0 or -ENOMEM. */
int ws_comm_match(const struct ws_report *report, struct ws_job_comm *job);

/* Estimates the ranks' clocks from the matched collectives. Returns 0 or -ENOMEM. */
int ws_comm_clocks(const struct ws_report *report, struct ws_job_comm *job);

/* Finds the last rank to arrive in each collective, the waits of the other ranks, and the stragglers. Returns 0 or
 * -ENOMEM. */
int ws_comm_waits(const struct ws_report *report, struct ws_job_comm *job);

/* Convert a time from the rank's clock to the reference clock, and back. */
int64_t ws_rank_to_reference(const struct ws_rank_clock *clock, int64_t time);
int64_t ws_rank_from_reference(const struct ws_rank_clock *clock, int64_t time);

/* ---- cost on one device (collectives.c) */

struct ws_comm_cost {
    int64_t total;    /* sum of the lengths of the operations, ns */
    int64_t exposed;  /* part outside compute, ns; overlapping operations count once, for the first */
    int64_t overlap;  /* part inside compute, ns; overlapping operations count once */
    uint64_t matched; /* number of operations that were matched with other ranks; `matched_bytes` to `exposed_wait`
                         cover only these */
    uint64_t matched_bytes;
    int64_t waited, transfer; /* ns before the last rank arrived; ns after the last rank arrived */
    int64_t exposed_wait;     /* part of `waited` outside compute, ns */
    double fastest; /* highest bus bandwidth of an operation of 1 MiB or more, bytes per ns; 0: there is none */
};

struct ws_track_collectives {
    struct ws_vector costs; /* struct ws_comm_cost, indexed like ws_track_comm.kinds */
    struct ws_vector order; /* uint32_t: indices of kinds, longest total first */
    struct ws_comm_cost all;
    int64_t waited_for_stragglers;
    int64_t caused_by_stragglers; /* upper limit of the ns saved if the stragglers were on time */
    /* `uncovered`, `hideable` and the two fields on stragglers are sums over steady steps, or over the recording if
     * there are no steady steps. */
    int64_t uncovered;     /* ns outside compute, without the waits for the last rank */
    int64_t hideable;      /* upper limit of the part of `uncovered` that could run during compute, ns */
    int64_t compute, idle; /* ns of compute and of idle time, from the first matched operation to the last */
    uint64_t kernels;
};

extern const struct ws_analysis ws_analysis_collectives;

/* ---- why a rank is late (stragglers.c) */

/* A rank compared with the mean of the ranks that are not stragglers, from the rank's first collective to its
 * last. */
struct ws_lateness {
    int64_t compute, idle; /* ns by which this rank exceeds the mean */
    bool same_kernels;     /* the rank ran about as many kernels as the mean */
    enum ws_part cause;    /* cause of at least half of `idle`; WS_PART_UNEXPLAINED: not known */
};

enum { WS_LATENESS_TEXT = 160 };

/* Means over the ranks that are not stragglers, computed once for the job. This analysis has no section in the
 * report. */
extern const struct ws_analysis ws_analysis_punctual;

struct ws_lateness ws_lateness_of(const struct ws_report *report, size_t track);

/* Writes "rank 3 computes 1.2 ms longer than the others, with as many kernels". */
void ws_lateness_describe(const struct ws_report *report, size_t track, const struct ws_lateness *lateness,
                          char text[WS_LATENESS_TEXT]);

/* Adds advice on stragglers. For a rank that waits for stragglers, the saving is the time that this rank would save
 * if the stragglers were on time. For a straggler that computes longer than other ranks, the saving is the time that
 * the other ranks would save. */
int ws_stragglers_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list);

/* Converts a sum over the steady steps to a mean per step. Without steps, `total` is the sum over the recording and
 * is returned unchanged. */
int64_t ws_comm_per_step(const struct ws_report *report, size_t track, int64_t total);

/* ---- cost for the job (ranks.c) */

extern const struct ws_analysis ws_analysis_ranks;

static inline const struct ws_track_comm *ws_report_comm(const struct ws_report *report, size_t track)
{
    return (const struct ws_track_comm *)ws_report_result(report, &ws_analysis_comm_ops, track);
}

#endif
