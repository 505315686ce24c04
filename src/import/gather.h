/* What importers hand over, made into rows of the record families.
 *
 * Foreign files name things by texts and numbers of their own, tell of a kernel and of the call that
 * launched it far apart, and in any order. Here names become identifiers, and operations and calls wait
 * for each other; ranges do not wait. An importer adds what it reads, piece by piece, and calls
 * ws_gather_finish when there is no more; ws_gather_next hands out the blocks that are there.
 *
 * Memory running out is kept in `error`: functions then give 0 and change nothing, so that an importer
 * looks once a piece.
 */
#ifndef WALLSHIM_IMPORT_GATHER_H
#define WALLSHIM_IMPORT_GATHER_H

#include "import/intern.h"
#include "record/record.h"
#include "trace/reader.h"

/* One operation, without its call. 48 bytes. */
struct ws_gather_op {
    int64_t begin, end;
    uint64_t correlation; /* the source's; 0 none */
    uint64_t bytes;
    uint32_t shape; /* number in ws_gather.shapes */
    uint32_t flags; /* enum ws_op_flags */
    uint32_t call;  /* index + 1; set by the join */
};

/* One host call. */
struct ws_gather_call {
    int64_t begin, end;
    uint64_t correlation;
    uint32_t function; /* family driver_function; the top bit: it made operations */
    uint32_t thread;
};

/* What a framework says of one collective call. */
struct ws_gather_collective {
    int64_t begin, end; /* on its thread; the kernels launched meanwhile are its */
    uint64_t count;
    uint64_t sequence;
    uint32_t thread;
    uint32_t function; /* family driver_function; 0: says only what comm it is */
    uint32_t comm;     /* number in ws_gather.comms; 0 not known */
    uint32_t datatype;
    uint32_t stream; /* of the operation launched for it; the join sets it */
    int32_t peer;
    bool all_parts; /* count is of all ranks' parts together where NCCL counts one */
    uint32_t op;    /* index + 1 of the one operation that it is, thread and times being the call's; or 0 */
};

/* One allocation or release by a framework's allocator. */
struct ws_gather_memory {
    int64_t time;
    uint64_t address, bytes;
    uint64_t total;  /* allocated after it */
    int64_t ordinal; /* of the device; -1 the host's memory */
    uint32_t function, thread;
};

/* What the source says of a call in another place than the call itself. Any of it may be 0: not said. */
struct ws_gather_detail {
    uint64_t correlation; /* of the call; not 0 */
    uint64_t object;      /* event, memory pool */
    uint64_t address, bytes;
    uint32_t context, stream;
    int32_t result;
    bool records; /* the event */
    bool waits;   /* for the event: named only where a record of it comes before */
    bool used;    /* there is such a call */
};

struct ws_gather {
    int error; /* 0 or -ENOMEM */
    struct ws_arena texts;
    struct ws_vector rows[WS_FAMILY_COUNT]; /* waiting to be handed out */
    int handed;                             /* family handed out last; -1 none */
    struct ws_intern labels, names, driver_functions, functions, threads, contexts, streams;
    struct ws_intern shapes;       /* struct ws_shape without call */
    struct ws_intern final_shapes; /* struct final_shape, join.c */
    struct ws_vector attributes;   /* of driver functions: struct ws_call_kind */
    struct ws_vector communicates; /* of functions: bool, is it one of NCCL's? */
    struct ws_vector spans;        /* of contexts: struct ws_gather_span */
    struct ws_map context_of;      /* device → its first context */
    struct ws_vector ops;          /* struct ws_gather_op */
    struct ws_vector calls;        /* struct ws_gather_call */
    struct ws_vector comms;        /* struct ws_comm; their devices are set by the join */
    struct ws_vector collectives;  /* struct ws_gather_collective */
    struct ws_vector memory;       /* struct ws_gather_memory */
    struct ws_vector details;      /* struct ws_gather_detail */
    struct ws_map detail_of;       /* correlation → place in details + 1 */
    struct ws_map recorded;        /* objects of details that record, by now */
    uint64_t losses[WS_LOSS_COUNT];
    struct ws_gather_join *join; /* once all is read */
};

void ws_gather_init(struct ws_gather *gather);

/* --- names: identifiers, or 0 -------------------------------------------------------------------- */

uint32_t ws_gather_label(struct ws_gather *gather, const char *text, size_t length);

/* Its family follows from its name. */
uint32_t ws_gather_driver_function(struct ws_gather *gather, const char *name, size_t length);

uint32_t ws_gather_function(struct ws_gather *gather, const char *name, size_t length, uint32_t registers,
                            uint32_t static_shared_bytes);

/* Any two numbers that tell threads apart; tid is written into the row. */
uint32_t ws_gather_thread(struct ws_gather *gather, int64_t pid, int64_t tid);

/* Gives a thread its name if it has been seen. */
void ws_gather_thread_name(struct ws_gather *gather, int64_t pid, int64_t tid, const char *name, size_t length);

/* ordinal < 0: not known. context and stream are the source's numbers. */
uint32_t ws_gather_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream);

/* Of contexts that operations were in only; else 0, or another context of the device. */
uint32_t ws_gather_known_context(const struct ws_gather *gather, int64_t ordinal, int64_t context);
uint32_t ws_gather_known_stream(struct ws_gather *gather, int64_t ordinal, int64_t context, int64_t stream);

/* Of a shape without id and driver_function: for ws_gather_add_op only. */
uint32_t ws_gather_shape(struct ws_gather *gather, const struct ws_shape *shape);

/* --- rows -------------------------------------------------------------------------------------- */

void ws_gather_meta(struct ws_gather *gather, const char *key, const char *value, size_t length);

/* Any row that waits for nothing; texts in it must last until it is handed out. */
void ws_gather_row(struct ws_gather *gather, enum ws_family family, const void *row);

/* A copy of a text that lasts. */
struct ws_text ws_gather_text(struct ws_gather *gather, const char *text, size_t length);

void ws_gather_op(struct ws_gather *gather, const struct ws_gather_op *op);

void ws_gather_call(struct ws_gather *gather, const struct ws_gather_call *call);

void ws_gather_collective(struct ws_gather *gather, const struct ws_gather_collective *collective);

void ws_gather_memory(struct ws_gather *gather, const struct ws_gather_memory *memory);

/* Adds to what is known of a call, before or after the call itself; what is known already stays. */
void ws_gather_detail(struct ws_gather *gather, const struct ws_gather_detail *detail);

/* --- the way out ------------------------------------------------------------------------------- */

/* Nothing more will be added: ties operations to calls. */
void ws_gather_finish(struct ws_gather *gather);

/* 1 a block, valid until the next call; 0 there is none (yet); -ENOMEM. */
int ws_gather_next(struct ws_gather *gather, struct ws_block *block);

void ws_gather_destroy(struct ws_gather *gather);

/* --- what names say (words.c) ------------------------------------------------------------------- */

struct ws_call_kind {
    uint32_t family; /* enum ws_call_family */
    bool blocks;     /* a copy that returns when it is done */
};

struct ws_call_kind ws_call_kind_of(const char *name, size_t length);

/* From "Memcpy HtoD (Pageable -> Device)". */
void ws_copy_spaces(const char *name, size_t length, uint32_t *from, uint32_t *to);

/* From "Memset (Device)", "Pinned" … */
uint32_t ws_space_of(const char *word, size_t length);

/* "ProfilerStep#12", and whatever else calls itself a step and has a number: "train_step#12". */
bool ws_is_step(const char *name, size_t length, uint64_t *number);

/* What NCCL calls a collective that a framework calls so: "_allgather_base" is ncclAllGather. The text as
 * it is when it is none of NCCL's. */
struct ws_text ws_collective_function(struct ws_text name);

/* ncclDataType_t of a type in the words of PyTorch: "BFloat16", "c10::BFloat16"; WS_NO_TYPE: not known. */
uint32_t ws_collective_type(struct ws_text name);
#define WS_NO_TYPE UINT32_MAX

/* --- between gather.c and join.c ------------------------------------------------------------------ */

struct ws_gather_span {
    int64_t first, last; /* device times of a context's operations; first > last: none */
};

/* The context that stands for a device, 0 when there is none. */
uint32_t ws_gather_context_of(const struct ws_gather *gather, int64_t ordinal);

bool ws_gather_share_process(const struct ws_gather *gather, uint32_t thread, uint32_t other);

/* Identifiers of the device of a context and of a stream, or 0. */
uint32_t ws_gather_device(const struct ws_gather *gather, uint32_t context);
uint32_t ws_gather_device_of(const struct ws_gather *gather, uint32_t stream);

/* Ties collectives to the operations launched for them (collectives.c). order: operations in order of their
 * host times. Returns 0 or -ENOMEM. */
int ws_gather_tie_collectives(struct ws_gather *gather, const uint32_t *order);

/* What is known of a call, to the first one that asks: the outermost. Calls ask in order of their begins. NULL:
 * nothing. */
const struct ws_gather_detail *ws_gather_use_detail(struct ws_gather *gather, uint64_t correlation);

/* How many of memory no call asked for, after all have; of them once. */
uint64_t ws_gather_lone_details(struct ws_gather *gather);

/* The correlation of a row. */
static inline uint64_t ws_gather_correlation(uint32_t thread, uint64_t correlation)
{
    return (uint64_t)thread << 40 | (uint32_t)correlation; /* without what was put above to tell processes apart */
}

/* Fills the next slice of rows; 0 nothing is left, 1, or -ENOMEM. */
int ws_gather_join_more(struct ws_gather *gather);

void ws_gather_join_destroy(struct ws_gather_join *join);

#endif
