/* Turns the data that importers (the readers of other profilers' files) find into rows of the record families, which
 * are the tables of a wallshim trace.
 *
 * Another profiler's file names things by texts and numbers of its own. It lists a kernel and the call that launched
 * the kernel in different places and in any order. The functions below turn these texts and numbers into the
 * identifiers of a wallshim trace. They keep operations (kernels, copies, memsets) and host calls in memory until the
 * end of the file, and then join each operation with its call. Ranges (named periods of a host thread) become rows at
 * once, because they are not joined with anything. An importer adds its data piece by piece and finally calls
 * ws_gather_finish. ws_gather_next returns the finished rows in blocks.
 *
 * When memory runs out, a function sets `error`. From then on, no function adds a row, an operation or a call. So an
 * importer need not check every result: it checks `error` once per piece of the file. */
#ifndef WALLSHIM_INPUT_GATHER_H
#define WALLSHIM_INPUT_GATHER_H

#include "input/intern.h"
#include "record/record.h"
#include "trace/reader.h"

/* An operation on a device (a kernel, copy, memset or graph), before it is joined with the host call that launched
 * it. */
struct ws_gather_op {
    int64_t begin, end;
    uint64_t correlation; /* id that the file gives to the operation and to the call that launched it; 0: none */
    uint64_t bytes;
    uint32_t shape; /* number (from 1), in ws_gather.shapes, of the operation's shape (kind, stream, grid …) */
    uint32_t flags; /* bits of enum ws_op_flags */
    /* 1 + index in ws_gather.calls of the call that launched the operation; 0: none. ws_gather_finish sets it. */
    uint32_t call;
};

/* One host call. */
struct ws_gather_call {
    int64_t begin, end;
    uint64_t correlation;
    uint32_t function; /* id in table `driver_function`; top bit set: the call launched operations */
    uint32_t thread;
};

/* A record of a collective call (such as all-reduce), as a framework such as PyTorch wrote it. */
struct ws_gather_collective {
    int64_t begin, end; /* host times on `thread`; kernels launched between them belong to the collective */
    uint64_t count;
    uint64_t sequence;
    uint32_t thread;
    uint32_t function; /* id in table `driver_function`; 0: the record states only the communicator */
    uint32_t comm;     /* number of the communicator in ws_gather.comms, from 1; 0: unknown */
    uint32_t datatype;
    uint32_t stream; /* id of the stream of the collective's kernels; set by ws_gather_finish */
    int32_t peer;
    bool all_parts; /* true: `count` covers the data of all ranks; false: of one rank, as NCCL's count */
    /* If the file states which kernel runs this collective: 1 + the kernel's index in ws_gather.ops; else 0. */
    uint32_t op;
};

/* One allocation or release by a framework's allocator. */
struct ws_gather_memory {
    int64_t time;
    uint64_t address, bytes;
    uint64_t total;  /* bytes in use after the allocation or release */
    int64_t ordinal; /* number of the device; -1: host memory */
    uint32_t function, thread;
};

/* Data about a call that the file stores outside the call's own record. A field of 0 is unknown. */
struct ws_gather_detail {
    uint64_t correlation; /* correlation id of the call; never 0 */
    uint64_t object;      /* number of the event or memory pool that the call uses */
    uint64_t address, bytes;
    uint32_t context, stream;
    int32_t result;
    bool records; /* the call records the event `object` */
    bool waits;   /* the call waits for the event `object` */
    bool used;    /* the call with this correlation id was found and got the details */
};

struct ws_gather {
    int error; /* 0 or -ENOMEM */
    struct ws_arena texts;
    struct ws_vector rows[WS_FAMILY_COUNT]; /* rows of each family (table of a trace), for ws_gather_next */
    int handed;                             /* the family whose rows ws_gather_next returned last; -1: none */
    struct ws_intern labels, names, driver_functions, functions, threads, contexts, streams;
    struct ws_intern shapes;       /* struct ws_shape: kind, stream, grid … of operations; driver_function is 0 */
    struct ws_intern final_shapes; /* struct final_shape (join.c): a shape and the driver function of its launch */
    struct ws_vector attributes;   /* struct ws_call_kind of each driver function */
    struct ws_vector communicates; /* bool for each function: whether it is a kernel of NCCL or RCCL */
    struct ws_vector spans;        /* struct ws_gather_span of each context: the range of its device times */
    struct ws_map context_of;      /* identifier of a device → identifier of the device's first context */
    struct ws_vector ops;          /* elements: struct ws_gather_op */
    struct ws_vector calls;        /* elements: struct ws_gather_call */
    struct ws_vector comms;        /* elements: struct ws_comm; ws_gather_tie_collectives sets their devices */
    struct ws_vector collectives;  /* elements: struct ws_gather_collective */
    struct ws_vector memory;       /* elements: struct ws_gather_memory */
    struct ws_vector details;      /* elements: struct ws_gather_detail */
    struct ws_map detail_of;       /* correlation id of a call → index in `details` + 1 */
    struct ws_map recorded;        /* keys: events that the calls processed so far recorded (cudaEventRecord) */
    uint64_t losses[WS_LOSS_COUNT];
    struct ws_gather_join *join; /* state of the join of operations with calls; NULL until ws_gather_finish */
};

void ws_gather_init(struct ws_gather *gather);

/* --- names: the functions return identifiers, or 0 on failure --------------------------------------- */

uint32_t ws_gather_label(struct ws_gather *gather, const char *text, size_t length);

/* Returns the identifier of a host function such as cudaLaunchKernel. The function's family (enum ws_call_family:
 * launch, copy, …) is derived from its name. */
uint32_t ws_gather_driver_function(struct ws_gather *gather, const char *name, size_t length);

uint32_t ws_gather_function(struct ws_gather *gather, const char *name, size_t length, uint32_t registers,
                            uint32_t static_shared_bytes);

/* pid and tid may be any two numbers that together identify a thread. tid is stored in the thread's row. */
uint32_t ws_gather_thread(struct ws_gather *gather, int64_t pid, int64_t tid);

/* Sets the name of a thread that ws_gather_thread has added before. Ignores any other thread. */
void ws_gather_thread_name(struct ws_gather *gather, int64_t pid, int64_t tid, const char *name, size_t length);

/* ordinal is the number of the device, or < 0 if it is unknown. context and stream are the numbers that the file
 * gives them. */
uint32_t ws_gather_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream);

/* Returns the identifier of the given context if operations of this context were added. Otherwise returns the first
 * context of the device that has operations, or 0. */
uint32_t ws_gather_known_context(const struct ws_gather *gather, int64_t ordinal, int64_t context);
uint32_t ws_gather_known_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream);

/* Returns a number for ws_gather_op.shape. This number is not the identifier of the shape in the trace, which also
 * depends on the function that launched the operation (join.c). shape->id and shape->driver_function must be 0. */
uint32_t ws_gather_shape(struct ws_gather *gather, const struct ws_shape *shape);

/* --- rows -------------------------------------------------------------------------------------- */

void ws_gather_meta(struct ws_gather *gather, const char *key, const char *value, size_t length);

/* Adds a complete row, which ws_gather_next returns later. The row's texts must stay valid until ws_gather_next has
 * returned the row and is called once more. */
void ws_gather_row(struct ws_gather *gather, enum ws_family family, const void *row);

/* Copies a text. The copy lives as long as `gather`. */
struct ws_text ws_gather_text(struct ws_gather *gather, const char *text, size_t length);

void ws_gather_op(struct ws_gather *gather, const struct ws_gather_op *op);

void ws_gather_call(struct ws_gather *gather, const struct ws_gather_call *call);

void ws_gather_collective(struct ws_gather *gather, const struct ws_gather_collective *collective);

void ws_gather_memory(struct ws_gather *gather, const struct ws_gather_memory *memory);

/* Adds details of a call. The call itself may be added earlier or later. Details that are already known for the call
 * are not overwritten. */
void ws_gather_detail(struct ws_gather *gather, const struct ws_gather_detail *detail);

/* --- results ----------------------------------------------------------------------------------- */

/* Call this function after the last piece of the file: it joins operations with their calls. */
void ws_gather_finish(struct ws_gather *gather);

/* Returns 1 and a block of rows that is valid until the next call. Returns 0 if no rows are ready: before
 * ws_gather_finish the importer then has to read on, and after ws_gather_finish all rows have been returned. Returns
 * -ENOMEM when memory runs out. */
int ws_gather_next(struct ws_gather *gather, struct ws_block *block);

void ws_gather_destroy(struct ws_gather *gather);

/* --- meaning of names (labels.c) ---------------------------------------------------------------- */

struct ws_call_kind {
    uint32_t family; /* a value of enum ws_call_family */
    bool blocks;     /* whether this is a copy call that returns only when the copy is complete */
};

struct ws_call_kind ws_call_kind_of(const char *name, size_t length);

/* Finds the kinds of memory (enum ws_space) of source and destination in the name of a copy: "Memcpy HtoD (Pageable
 * -> Device)". */
void ws_copy_spaces(const char *name, size_t length, uint32_t *from, uint32_t *to);

/* Returns the enum ws_space of a word, such as "Device" or "Pinned". */
uint32_t ws_space_of(const char *word, size_t length);

/* Returns the NCCL function for a framework's name of a collective: ncclAllGather for "_allgather_base". Returns the
 * name unchanged if no NCCL function is known for it. */
struct ws_text ws_collective_function(struct ws_text name);

/* Returns the ncclDataType_t for PyTorch's name of a type ("BFloat16", "c10::BFloat16"), or WS_NO_TYPE. */
uint32_t ws_collective_type(struct ws_text name);
#define WS_NO_TYPE UINT32_MAX

/* --- shared by gather.c and join.c ---------------------------------------------------------------- */

struct ws_gather_span {
    int64_t first, last; /* range of the device times of a context's operations; first > last: none */
};

/* Returns the identifier of the context that was added first for a device, or 0 if there is none. */
uint32_t ws_gather_context_of(const struct ws_gather *gather, int64_t ordinal);

bool ws_gather_share_process(const struct ws_gather *gather, uint32_t thread, uint32_t other);

/* Return the identifier of the device of a context or stream, or 0. */
uint32_t ws_gather_device(const struct ws_gather *gather, uint32_t context);
uint32_t ws_gather_device_of(const struct ws_gather *gather, uint32_t stream);

/* Assigns operations to collectives (collectives.c). order lists the indices of all operations, sorted by the start
 * of their launching calls. Returns 0 or -ENOMEM. */
int ws_gather_tie_collectives(struct ws_gather *gather, const uint32_t *order);

/* Returns the details of a call, or NULL. Only the first request for a correlation id returns them. If several
 * calls have this id, the outermost call gets the details, because the join processes calls in order of their
 * start. */
const struct ws_gather_detail *ws_gather_use_detail(struct ws_gather *gather, uint64_t correlation);

/* Returns the number of details of allocations and releases (those with an address) whose call is not in the file.
 * Call this function after all calls were processed. */
uint64_t ws_gather_lone_details(struct ws_gather *gather);

/* Makes the correlation id for a row of the trace. This id contains the thread's identifier, so that it is unique in
 * the trace. */
static inline uint64_t ws_gather_correlation(uint32_t thread, uint64_t correlation)
{
    return (uint64_t)thread << 40 | (uint32_t)correlation; /* the cast drops the upper bits, which hold the process */
}

/* Makes rows from the next few thousand operations and calls. Returns 1, or 0 if nothing is left, or -ENOMEM. */
int ws_gather_join_more(struct ws_gather *gather);

void ws_gather_join_destroy(struct ws_gather_join *join);

#endif
