/* Turns the data of importers into rows of the record families, which are the tables of a trace.
 *
 * Another profiler's file names things by texts and numbers of its own. It lists a kernel and the call that launched
 * the kernel in different places and in any order. The functions below turn names into identifiers. They keep
 * operations and calls in memory until the end of the file, and then join each operation with its call. Ranges become
 * rows at once. An importer adds its data piece by piece and finally calls ws_gather_finish. ws_gather_next returns
 * the finished rows in blocks.
 *
 * When memory runs out, `error` is set, and all functions return 0 and change nothing. An importer checks `error`
 * once per piece of the file. */
#ifndef WALLSHIM_INPUT_GATHER_H
#define WALLSHIM_INPUT_GATHER_H

#include "input/intern.h"
#include "record/record.h"
#include "trace/reader.h"

/* An operation, before it is joined with the host call that made it. The structure takes 48 bytes. */
struct ws_gather_op {
    int64_t begin, end;
    uint64_t correlation; /* correlation id in the file; 0: none */
    uint64_t bytes;
    uint32_t shape; /* number in ws_gather.shapes, from 1, of the operation's kind, stream, grid … */
    uint32_t flags; /* bits of enum ws_op_flags */
    /* Index of the launching call in ws_gather.calls + 1; 0: none. Set when operations and calls are joined. */
    uint32_t call;
};

/* One host call. */
struct ws_gather_call {
    int64_t begin, end;
    uint64_t correlation;
    uint32_t function; /* identifier in family driver_function; top bit: the call launched operations */
    uint32_t thread;
};

/* A framework's record of a collective call. */
struct ws_gather_collective {
    int64_t begin, end; /* host times on `thread`; kernels launched between them belong to the collective */
    uint64_t count;
    uint64_t sequence;
    uint32_t thread;
    uint32_t function; /* identifier in family driver_function; 0: the record only names the communicator */
    uint32_t comm;     /* number of the communicator in ws_gather.comms, from 1; 0: unknown */
    uint32_t datatype;
    uint32_t stream; /* stream of the collective's operations; set when operations and calls are joined */
    int32_t peer;
    bool all_parts; /* `count` covers the data of all ranks; NCCL's count covers one rank's part */
    /* If the file says that a kernel belongs to this collective: index of the kernel's operation + 1; else 0. */
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
    struct ws_vector rows[WS_FAMILY_COUNT]; /* for each family: the rows that ws_gather_next did not return yet */
    int handed;                             /* the family whose rows ws_gather_next returned last; -1: none */
    struct ws_intern labels, names, driver_functions, functions, threads, contexts, streams;
    struct ws_intern shapes;       /* shapes (struct ws_shape) without driver_function */
    struct ws_intern final_shapes; /* struct final_shape (join.c): shapes with driver_function, as in the trace */
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
    struct ws_map recorded;        /* events recorded by the calls processed so far */
    uint64_t losses[WS_LOSS_COUNT];
    struct ws_gather_join *join; /* state of joining operations with calls; set once the whole file was read */
};

void ws_gather_init(struct ws_gather *gather);

/* --- names: the functions return identifiers, or 0 on failure --------------------------------------- */

uint32_t ws_gather_label(struct ws_gather *gather, const char *text, size_t length);

/* Derives the function's family (enum ws_call_family: launch, copy, …) from its name. */
uint32_t ws_gather_driver_function(struct ws_gather *gather, const char *name, size_t length);

uint32_t ws_gather_function(struct ws_gather *gather, const char *name, size_t length, uint32_t registers,
                            uint32_t static_shared_bytes);

/* pid and tid may be any two numbers that together identify a thread. tid is stored in the thread's row. */
uint32_t ws_gather_thread(struct ws_gather *gather, int64_t pid, int64_t tid);

/* Names a thread for which ws_gather_thread was called before. */
void ws_gather_thread_name(struct ws_gather *gather, int64_t pid, int64_t tid, const char *name, size_t length);

/* ordinal is the number of the device, or < 0 if it is unknown. context and stream are the numbers in the file. */
uint32_t ws_gather_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream);

/* Returns the given context if it has operations. Otherwise returns the first context of the device that has
 * operations, or 0. */
uint32_t ws_gather_known_context(const struct ws_gather *gather, int64_t ordinal, int64_t context);
uint32_t ws_gather_known_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream);

/* Returns a number for ws_gather_op.shape. It is not the identifier that the shape gets in the trace. shape->id and
 * shape->driver_function must be 0. */
uint32_t ws_gather_shape(struct ws_gather *gather, const struct ws_shape *shape);

/* --- rows -------------------------------------------------------------------------------------- */

void ws_gather_meta(struct ws_gather *gather, const char *key, const char *value, size_t length);

/* Adds a complete row, which ws_gather_next returns later. The row's texts must stay valid until ws_gather_next is
 * called again after it has returned the row. */
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

/* Ends the input and joins operations with their calls. */
void ws_gather_finish(struct ws_gather *gather);

/* Returns 1 and a block that is valid until the next call. Returns 0 if there is no block (yet), or -ENOMEM. */
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

/* Returns NCCL's name of a framework's collective: "_allgather_base" is ncclAllGather. Other names are returned
 * unchanged. */
struct ws_text ws_collective_function(struct ws_text name);

/* Returns the ncclDataType_t for PyTorch's name of a type ("BFloat16", "c10::BFloat16"), or WS_NO_TYPE. */
uint32_t ws_collective_type(struct ws_text name);
#define WS_NO_TYPE UINT32_MAX

/* --- shared by gather.c and join.c ---------------------------------------------------------------- */

struct ws_gather_span {
    int64_t first, last; /* range of the device times of a context's operations; first > last: none */
};

/* Returns the first context of a device, or 0. */
uint32_t ws_gather_context_of(const struct ws_gather *gather, int64_t ordinal);

bool ws_gather_share_process(const struct ws_gather *gather, uint32_t thread, uint32_t other);

/* Return the identifier of the device of a context or stream, or 0. */
uint32_t ws_gather_device(const struct ws_gather *gather, uint32_t context);
uint32_t ws_gather_device_of(const struct ws_gather *gather, uint32_t stream);

/* Assigns operations to collectives (collectives.c). order lists the indices of the operations by host time. Returns
 * 0 or -ENOMEM. */
int ws_gather_tie_collectives(struct ws_gather *gather, const uint32_t *order);

/* Returns the details of a call, or NULL. Only the first request for a correlation id returns the details. The
 * outermost call makes this first request, because calls are processed in order of start. */
const struct ws_gather_detail *ws_gather_use_detail(struct ws_gather *gather, uint64_t correlation);

/* Returns the number of details that have an address, but whose call is not in the file. Call this function after all
 * calls were processed. */
uint64_t ws_gather_lone_details(struct ws_gather *gather);

/* Returns the correlation id that a row of the trace gets. It contains the thread, so that it is unique in the
 * trace. */
static inline uint64_t ws_gather_correlation(uint32_t thread, uint64_t correlation)
{
    return (uint64_t)thread << 40 | (uint32_t)correlation; /* the cast drops the upper bits, which hold the process */
}

/* Makes rows from the next few thousand operations and calls. Returns 1, or 0 if nothing is left, or -ENOMEM. */
int ws_gather_join_more(struct ws_gather *gather);

void ws_gather_join_destroy(struct ws_gather_join *join);

#endif
