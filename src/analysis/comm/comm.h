/* Communication: the operations of each rank, the collectives that they form, and how long ranks waited for each
 * other.
 *
 * A rank is a device as used by one process (a track of the model). The communication of a rank is a list of
 * operations. An operation is an NCCL call with the kernels launched for it. All calls between ncclGroupStart and
 * ncclGroupEnd are one operation. If the trace holds no calls, an operation is one communication kernel. Every rank
 * of a communicator must join a joint operation (such as an all-reduce), so the operation can end only after the last
 * rank has arrived (begun it). Each rank waits from the start of its own operation until the last rank arrives. Data
 * moves after the last rank has arrived. */
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

/* ws_comm_by_function returns the kind of operation that the function with this name performs, and ws_comm_by_kernel
 * the kind that the kernel performs. If the table in comm_kinds.c lacks the name, the kind is "other". */
ws_comm_operation ws_comm_by_function(const char *function);
ws_comm_operation ws_comm_by_kernel(const char *name);

/* Returns the kind of an NCCL group that contains calls of kind a and calls of kind b. */
ws_comm_operation ws_comm_together(ws_comm_operation a, ws_comm_operation b);

const char *ws_comm_name(ws_comm_operation operation); /* name in reports, for example "all-reduce" */

/* Must all ranks arrive before any rank can finish the operation? */
bool ws_comm_is_joint(ws_comm_operation operation);

/* Returns the size in bytes of `count` elements of type `datatype` (ncclDataType_t). nccl-tests compute bandwidth
 * from this size. If `count` is only the part of one rank, as in an all-gather, the size is the sum over all
 * ranks. */
uint64_t ws_comm_bytes(ws_comm_operation operation, uint64_t count, uint32_t datatype, uint32_t ranks);

/* Bus bandwidth divided by algorithm bandwidth, as nccl-tests define them: 2(n-1)/n, (n-1)/n or 1 for n ranks. */
double ws_comm_bus_factor(ws_comm_operation operation, uint32_t ranks);

/* ---- the operations of a rank (comm_ops.c) */

struct ws_comm_op {
    int64_t begin, end; /* first start and last end of the operation's kernels; ns, host clock of the process */
    /* number of the operation in its communicator; the same collective has the same number on all ranks */
    uint64_t sequence;
    uint64_t bytes; /* size as ws_comm_bytes defines it, summed over the calls; 0: not known */
    uint32_t calls;
    uint32_t kind; /* index into ws_track_comm.kinds */
    /* index of the communicator in ws_track_comm.members; WS_NOWHERE: the operation cannot be matched with other
     * ranks */
    uint32_t member;
    uint32_t comm; /* id of the operation's communicator in the trace, plus 1; 0: not known */
};

/* A row of the report's table of communication: all operations of a rank with the same kind and the same number of
 * ranks. */
struct ws_comm_kind {
    ws_comm_operation operation;
    uint32_t ranks;        /* number of ranks of the communicator; 0: not known */
    bool by_name;          /* the trace holds no NCCL calls for this row's kernels; they were found by their names */
    uint64_t calls, bytes; /* number and bytes of all calls, even those without device times */
    uint64_t timed;        /* number of calls with device times */
    uint64_t timed_bytes;  /* bytes of the calls with device times */
};

/* A communicator as one rank uses it. */
struct ws_comm_member {
    uint64_t group; /* identifies the communicator: all its ranks have the same value */
    uint32_t rank;  /* the rank's number in the communicator */
    uint32_t size;  /* number of ranks of the communicator; 0: size and rank are not known */
    uint32_t joint; /* number of operations in the communicator that all ranks must join */
    /* the communicator is not known, so all kernels with one name on one stream count as one communicator */
    bool by_name;
    bool unnumbered; /* some calls of the communicator have no sequence number */
    bool by_order;   /* ws_comm_op.sequence counts joint operations in order of time, and ignores the sequence numbers
                        of calls */
};

struct ws_comm_launch {
    uint32_t op;      /* index into ws_process.ops */
    uint32_t comm_op; /* index into ws_track_comm.ops */
};

struct ws_track_comm {
    struct ws_vector ops;      /* elements: struct ws_comm_op, in order of start */
    struct ws_vector launches; /* elements: struct ws_comm_launch, in order of start */
    struct ws_vector kinds;    /* elements: struct ws_comm_kind */
    struct ws_vector members;  /* elements: struct ws_comm_member */
};

extern const struct ws_analysis ws_analysis_comm_ops;

/* ---- matching of operations (comm_match.c) and clocks of ranks (comm_clocks.c) */

/* Ways to find the operations of several ranks that form one collective. If the trace does not name the communicator,
 * all kernels with one name on one stream count as one communicator. */
enum ws_match_method {
    WS_MATCH_SEQUENCE, /* operations of a communicator with the same ws_comm_op.sequence */
    /* the n-th operations of a communicator on all ranks, if most of them end at about the same time */
    WS_MATCH_ORDER,
    WS_MATCH_TIME, /* operations of a communicator that overlap and end at about the same time */
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
    uint32_t op; /* index of the operation in the track's ws_track_comm.ops */
};

/* The difference between a rank's clock and the clock of the reference rank, to whose clock all times are converted.
 * The difference is measured at the ends of collectives, because a collective ends on all ranks at about the same
 * time. Times are in ns. */
struct ws_rank_clock {
    uint32_t samples;
    /* the rank's clock minus the reference clock at time `at`: median of the samples (measured differences) */
    int64_t offset;
    /* third quartile minus first quartile of the samples (the measured differences between the two clocks) */
    int64_t spread;
    double drift; /* ns that the rank's clock gains on the reference clock per ns; 0: no drift found */
    int64_t at;
    bool shared_host; /* the rank is on the machine or in the trace file of the reference rank, so both ranks should
                         have one clock */
    bool applied;     /* times of this rank are corrected by `offset` and `drift` */
};

/* When other ranks arrived at (began) a collective that a rank takes part in, in ns on the clock of that rank;
 * INT64_MIN: not known. */
struct ws_arrival {
    int64_t last; /* arrival of the last rank */
    int64_t fair; /* arrival of the last rank that is not a straggler */
};

struct ws_rank {
    uint32_t number;   /* the rank's number in the job; if it is not known, the index of the rank's track */
    bool known, twice; /* known: the trace gives `number`; twice: an earlier rank in the list has the same number */
    struct ws_rank_clock clock;
    struct ws_arrival *arrivals; /* by index in ws_track_comm.ops; NULL: the rank has no communication operations */
    /* `joint`: number of operations that all ranks must join; `matched`: number of joint operations that were matched
     * with operations of other ranks */
    uint64_t joint, matched;
    uint64_t apart; /* number of collectives of this rank that were rejected, because their operations on the ranks
                       lie far apart in time */
    /* `last`: number of collectives in which the rank arrived last; `late`: number of those collectives in which the
     * other ranks waited long for the rank (comm_waits.c) */
    uint64_t last, late;
    uint32_t steps, late_steps; /* `steps`: number of steady steps; `late_steps`: number of steady steps in which the
                                   other ranks waited for this rank for at least 2 % of the step */
    int64_t waited, caused;     /* `waited`: ns that this rank waited for others; `caused`: sum of the ns that others
                                   waited for this rank */
    /* ns: how long the other ranks waited on average, summed over all collectives in which this rank arrived last */
    int64_t delay;
    int64_t steady_delay; /* ns: the part of `delay` in steady steps */
    int64_t begin, end;   /* first start and last end of the matched operations; ns on this rank's clock */
    bool straggler;
};

struct ws_job_comm {
    struct ws_vector ranks;   /* elements: struct ws_rank, by index of a track (one device as used by one process) */
    struct ws_vector joined;  /* elements: struct ws_joined */
    struct ws_vector entries; /* elements: struct ws_joined_entry */
    uint64_t by_method[WS_MATCH_COUNT];
    uint64_t unmatched; /* number of operations that all ranks must join, but that were found on one rank only */
    uint64_t apart; /* number of collectives rejected because their operations lie far apart in time (comm_waits.c) */
    uint64_t costly; /* number of collectives in which the other ranks waited long for the last rank (comm_waits.c) */
    /* number of members of communicators (struct ws_comm_member) that were left out, because another device claims
     * the same rank in the communicator */
    uint32_t twice;
    /* number of ranks of the job: the largest number that a launcher or a communicator gives; 0: not known */
    uint32_t largest;
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

/* ws_rank_to_reference converts a time from the rank's clock to the reference clock. ws_rank_from_reference converts
 * it back. */
int64_t ws_rank_to_reference(const struct ws_rank_clock *clock, int64_t time);
int64_t ws_rank_from_reference(const struct ws_rank_clock *clock, int64_t time);

/* ---- cost on one device (collectives.c) */

struct ws_comm_cost {
    int64_t total;   /* sum of the lengths of the operations, ns */
    int64_t exposed; /* ns of the operations in which no compute ran; where operations overlap, the time counts once,
                        for the first operation */
    /* ns of the operations in which compute ran too; where operations overlap, the time counts once */
    int64_t overlap;
    /* number of operations that were matched with other ranks; the members from `matched_bytes` to `exposed_wait`
     * cover only these operations */
    uint64_t matched;
    uint64_t matched_bytes;
    int64_t waited, transfer; /* ns of the operations before (`waited`) and after (`transfer`) the last rank
                                 arrived */
    int64_t exposed_wait;     /* ns of `waited` in which no compute ran */
    double fastest;           /* highest bus bandwidth of an operation of 1 MiB or more, bytes per ns; 0: not known */
};

struct ws_track_collectives {
    struct ws_vector costs; /* elements: struct ws_comm_cost, indexed like ws_track_comm.kinds */
    struct ws_vector order; /* uint32_t: indices into `costs`, longest total first */
    /* int64_t, indexed like ws_track_comm.ops: ns of transfer (after the last rank arrived) in which no compute ran;
     * where operations overlap, the time counts once, for the first */
    struct ws_vector exposed;
    struct ws_comm_cost all;
    int64_t waited_for_stragglers;
    int64_t caused_by_stragglers; /* upper limit of the ns that this rank would save if the stragglers were on time */
    /* The two fields above and the two below are sums over the steady steps, or over the whole recording if there are
     * no steady steps. */
    int64_t uncovered;     /* ns of transfer (after the last rank arrived) in which no compute ran */
    int64_t hideable;      /* upper limit of the part of `uncovered` that could run during compute, ns */
    int64_t compute, idle; /* ns of compute and of idle time, from the first matched operation to the last */
    uint64_t kernels;
};

extern const struct ws_analysis ws_analysis_collectives;

/* ---- why a rank is late (stragglers.c) */

/* Comparison of a rank with the mean of the ranks that are not stragglers (ranks for which the others often wait).
 * `compute`, `idle` and `same_kernels` cover the time from a rank's first matched collective to its last. `cause`
 * compares idle time of the whole recording. */
struct ws_lateness {
    int64_t compute, idle; /* ns by which this rank's compute time and idle time exceed the mean */
    bool same_kernels;     /* the rank's number of kernels is about the mean */
    enum ws_part cause;    /* the cause of at least half of `idle`; WS_PART_UNEXPLAINED: not known */
};

enum { WS_LATENESS_TEXT = 160 };

/* Computes, once for the job, the mean compute time, idle time and number of kernels of the ranks that are not
 * stragglers. This analysis has no section in the report. */
extern const struct ws_analysis ws_analysis_punctual;

struct ws_lateness ws_lateness_of(const struct ws_report *report, size_t track);

/* Writes a description of the rank's lateness, for example "rank 3 computes 1.2 ms longer than the others, with as
 * many kernels". */
void ws_lateness_describe(const struct ws_report *report, size_t track, const struct ws_lateness *lateness,
                          char text[WS_LATENESS_TEXT]);

/* Adds advice on stragglers. For a rank that waits for stragglers, the saving is the time that this rank would save
 * if the stragglers were on time. For a straggler that computes longer than other ranks, the saving is the time that
 * the other ranks would save. */
int ws_stragglers_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list);

/* Converts a sum over the steady steps to a mean per step. If there are no steady steps, `total` is the sum over the
 * recording, and is returned unchanged. */
int64_t ws_comm_per_step(const struct ws_report *report, size_t track, int64_t total);

/* ---- cost for the job (ranks.c) */

extern const struct ws_analysis ws_analysis_ranks;

static inline const struct ws_track_comm *ws_report_comm(const struct ws_report *report, size_t track)
{
    return (const struct ws_track_comm *)ws_report_result(report, &ws_analysis_comm_ops, track);
}

#endif
