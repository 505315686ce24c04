/* Internal to the importer of Kineto traces, the JSON files of the PyTorch profiler. */
#ifndef WALLSHIM_INPUT_KINETO_H
#define WALLSHIM_INPUT_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/gather.h"

/* The JSON fields that the importer reads: X(name, key in the file). GROUP_CONFIG and all later fields never occur in
 * events, so these fields have no bit in kineto_event.seen. */
#define KINETO_KEYS(X)                       \
    X(TRACE_EVENTS, "traceEvents")           \
    X(DEVICE_PROPERTIES, "deviceProperties") \
    X(DISTRIBUTED_INFO, "distributedInfo")   \
    X(SCHEMA_VERSION, "schemaVersion")       \
    X(CUDA_DRIVER, "cuda_driver_version")    \
    X(CUDA_RUNTIME, "cuda_runtime_version")  \
    X(CUPTI, "cupti_version")                \
    X(HIP_DRIVER, "hip_driver_version")      \
    X(HIP_RUNTIME, "hip_runtime_version")    \
    X(ROCTRACER, "roctracer_version")        \
    X(TRACE_ID, "trace_id")                  \
    X(TRACE_NAME, "traceName")               \
    X(BASE_TIME, "baseTimeNanoseconds")      \
    X(HOST_NAME, "host_name")                \
    X(RANK, "rank")                          \
    X(WORLD_SIZE, "world_size")              \
    X(BACKEND, "backend")                    \
    X(NCCL, "nccl_version")                  \
    X(ID, "id")                              \
    X(NAME, "name")                          \
    X(TOTAL_MEMORY, "totalGlobalMem")        \
    X(COMPUTE_MAJOR, "computeMajor")         \
    X(COMPUTE_MINOR, "computeMinor")         \
    X(SMS, "numSms")                         \
    X(PHASE, "ph")                           \
    X(CATEGORY, "cat")                       \
    X(PID, "pid")                            \
    X(TID, "tid")                            \
    X(TIME, "ts")                            \
    X(DURATION, "dur")                       \
    X(ARGS, "args")                          \
    X(DEVICE, "device")                      \
    X(CONTEXT, "context")                    \
    X(STREAM, "stream")                      \
    X(CORRELATION, "correlation")            \
    X(REGISTERS, "registers per thread")     \
    X(SHARED, "shared memory")               \
    X(GRID, "grid")                          \
    X(BLOCK, "block")                        \
    X(BYTES, "bytes")                        \
    X(INPUT_TYPES, "Input type")             \
    X(INPUT_DIMENSIONS, "Input Dims")        \
    X(INPUT_DIMENSIONS_OLD, "Input dims")    \
    X(LABELS, "labels")                      \
    X(CALL_STACK, "Call stack")              \
    X(CONCRETE_INPUTS, "Concrete Inputs")    \
    X(ADDRESS, "Addr")                       \
    X(ALLOCATED, "Bytes")                    \
    X(TOTAL_ALLOCATED, "Total Allocated")    \
    X(DEVICE_TYPE, "Device Type")            \
    X(DEVICE_ID, "Device Id")                \
    X(COLLECTIVE, "Collective name")         \
    X(ELEMENTS_IN, "In msg nelems")          \
    X(ELEMENTS_OUT, "Out msg nelems")        \
    X(ELEMENT_TYPE, "dtype")                 \
    X(GROUP_NAME, "Process Group Name")      \
    X(GROUP_RANKS, "Process Group Ranks")    \
    X(GROUP_SIZE, "Group size")              \
    X(GROUP_RANK, "Rank")                    \
    X(SEQUENCE, "Seq")                       \
    X(SOURCE_RANK, "Src Rank")               \
    X(TARGET_RANK, "Dst Rank")               \
    X(GROUP_CONFIG, "pg_config")             \
    X(GROUP_CONFIG_NAME, "pg_name")          \
    X(GROUP_CONFIG_RANKS, "ranks")           \
    X(WITH_STACK, "with_stack")              \
    X(RECORD_SHAPES, "record_shapes")        \
    X(PROFILE_MEMORY, "profile_memory")

enum kineto_key {
    KINETO_NONE,
#define KEY(id, text) KINETO_##id,
    KINETO_KEYS(KEY)
#undef KEY
        KINETO_KEY_COUNT
};

enum kineto_category {
    CATEGORY_OTHER,
    CATEGORY_KERNEL,
    CATEGORY_COPY,
    CATEGORY_MEMSET,
    CATEGORY_CALL,
    CATEGORY_OPERATOR,
    CATEGORY_ANNOTATION,
    CATEGORY_PYTHON,
    CATEGORY_REPEATED, /* a known category; its events are skipped, because they only repeat other events */
};

/* The texts of an event. */
enum kineto_text_kind {
    TEXT_NAME,
    TEXT_SAID,  /* args.name or args.labels of a metadata event */
    TEXT_STACK, /* Python frames, innermost first, separated by ; */
    TEXT_COLLECTIVE,
    TEXT_ELEMENT_TYPE,
    TEXT_GROUP_NAME,
    TEXT_GROUP_RANKS,
    TEXT_KINDS
};

/* The fields of one event that the importer uses. The texts are valid until the next event. */
struct kineto_event {
    uint64_t seen;                    /* bit n: the field with enum kineto_key n has a value of the right type */
    int64_t number[KINETO_KEY_COUNT]; /* for each field (enum kineto_key) that is a number: its value; times in ns */
    enum kineto_category category;
    char phase;
    struct ws_text text[TEXT_KINDS];
    bool other;            /* the event belongs to a rank that is not being read, and is skipped */
    struct ws_text inputs; /* an operator's inputs as one text (kineto_inputs.c); length 0: unknown */
    uint32_t grid[3], block[3];
    int64_t concrete[4]; /* values of an operator's second, third, fourth and last input, if they are numbers */
};

/* A text to which kineto_append can append. */
struct kineto_text {
    char *data;
    size_t size, capacity;
};

/* Optional data that a profiler records with operators. Recording any of them slows the program's host threads. */
enum kineto_extra { EXTRA_STACKS, EXTRA_SHAPES, EXTRA_MEMORY, EXTRA_COUNT };

struct kineto {
    struct ws_gather *gather;
    struct kineto_event event;
    struct kineto_text texts[TEXT_KINDS]; /* texts of the current event */
    struct ws_vector devices;             /* elements: struct ws_device; the devices that the file describes */
    struct ws_vector processes;           /* elements: struct kineto_name */
    struct ws_vector threads;             /* elements: struct kineto_name */
    int64_t pid;                          /* process id of the first host call; valid only if has_pid */
    bool has_pid;
    int64_t first;   /* time in ns of the first event read; 0: no event was read yet */
    bool has_schema; /* the file has a schema version */
    bool has_base;   /* the file states the time from which its times count (baseTimeNanoseconds) */
    int64_t rank;    /* rank of the process in the job; -1: unknown */
    /* known: number of events whose category is one of the PyTorch profiler's; unknown: number of other events that
     * have a name and are complete or begin events (phase X or B). */
    uint64_t known, unknown;
    /* For each kind of optional data: whether the file states that such data were recorded, or holds such data. */
    bool has_extra[EXTRA_COUNT];
    const char *writer;           /* message about another program that seems to have written the file; or NULL */
    struct ws_text label;         /* label of the rank being read, if the file holds several ranks */
    struct ws_intern groups;      /* the texts (struct ws_text) that identify process groups */
    struct ws_vector group_ranks; /* elements: struct kineto_group; same order as `groups` and ws_gather.comms */
    struct ws_vector configured;  /* elements: struct kineto_group; the groups in the file's configuration */
    struct ws_map configured_of;  /* hash of a name → index in `configured` + 1 of the first group with that name */
};

/* A process group of PyTorch: its name, and its ranks as the file lists them. If the file lists only the first ranks,
 * the text ends in "...": "[0, 2, 4, ...]". */
struct kineto_group {
    struct ws_text name, ranks;
    /* Only for a group of the file's configuration: index of this process's rank in `ranks`; UINT32_MAX: `ranks`
     * lacks it. */
    uint32_t place;
};

static inline bool kineto_saw(const struct kineto_event *event, enum kineto_key key)
{
    return event->seen >> key & 1;
}

_Static_assert(KINETO_GROUP_CONFIG <= 64, "a bit a key of events");

/* --- kineto_keys.c ------------------------------------------------------------------------------ */

void kineto_fill_keys(void); /* call this function once, before the first call of kineto_find_key */

enum kineto_key kineto_find_key(const char *text, size_t length);

/* --- kineto_values.c ------------------------------------------------------------------------------ */

void kineto_take_event_value(struct kineto *kineto, enum kineto_key key, const char *text, size_t length,
                             bool is_text);

void kineto_take_argument(struct kineto *kineto, enum kineto_key key, const char *text, size_t length);

/* Stores the value of an operator's input if kineto_event.concrete has a place for this input. */
void kineto_take_concrete(struct kineto_event *event, size_t index, const char *text, size_t length);

void kineto_take_extent(uint32_t extent[3], size_t index, const char *text, size_t length);

/* --- kineto_inputs.c ------------------------------------------------------------------------------ */

/* Returns 0 or -ENOMEM. */
int kineto_append(struct kineto_text *to, const char *text, size_t length);

struct kineto_inputs {
    struct kineto_text types, dimensions, values, all;
    bool too_long, failed;
};

void kineto_inputs_begin(struct kineto_inputs *inputs);

/* Appends the type of the next input. Replaces each blank in the type by an underscore: "long int" becomes long_int.
 * An empty text means an unknown type. */
void kineto_take_type(struct kineto_inputs *inputs, const char *text, size_t length);

/* Appends a dimension of an input, or the opening bracket of a list. Puts a comma before the dimension or bracket,
 * unless it is the first of its list or input. */
void kineto_take_dimension(struct kineto_inputs *inputs, const char *text, size_t length);

/* Appends text unchanged, such as a closing bracket or the space after an input. */
void kineto_take_dimensions(struct kineto_inputs *inputs, const char *text, size_t length);

/* Stores the value of an input that is not a tensor: "[2, 2]", "False". An empty text means an unknown value. */
void kineto_take_value(struct kineto_inputs *inputs, const char *text, size_t length);

/* Returns the text of all inputs, valid until the next kineto_inputs_begin. The text is empty if nothing is known
 * about the inputs, or if the text would be too long. */
struct ws_text kineto_inputs_end(struct kineto_inputs *inputs, const struct ws_text *operator);

void kineto_inputs_finish(struct kineto_inputs *inputs);

/* --- kineto_events.c ------------------------------------------------------------------------------ */

enum kineto_category kineto_category_of(const char *text, size_t length);

/* Handles the event in kineto->event once all its fields were read. */
void kineto_take_event(struct kineto *kineto);

/* --- kineto_trace.c ------------------------------------------------------------------------------- */

void kineto_init(struct kineto *kineto, struct ws_gather *gather);

/* Restricts reading to one rank and stores the rank's number and label. */
void kineto_choose(struct kineto *kineto, struct ws_text label, size_t rank);

/* Recognizes files of some programs other than the PyTorch profiler: by the name of a process, or by a pid that is a
 * text. For such a file, stores in kineto->writer what to tell the user. */
void kineto_note_process(struct kineto *kineto, const char *text, size_t length);

/* Handles an event of phase M: the name of a process or a thread. */
void kineto_take_metadata(struct kineto *kineto);

void kineto_take_device(struct kineto *kineto, const struct ws_device *device);

/* Handles a value that stands outside of all events and describes the whole trace, such as the host name. */
void kineto_take_fact(struct kineto *kineto, enum kineto_key key, const char *text, size_t length);

/* Returns whether the file has events, but no events of the PyTorch profiler. If so, writes to
 * `message` what the file is. */
bool kineto_is_of_another(const struct kineto *kineto, char *message, size_t capacity);

/* Writes the rows that need information from the whole file: devices, process groups, names of threads. Call it at
 * the end of the file. */
void kineto_end(struct kineto *kineto);

void kineto_finish(struct kineto *kineto);

/* --- kineto_facts.c -------------------------------------------------------------------------------- */

void kineto_take_device_value(struct kineto *kineto, struct ws_device *device, enum kineto_key key, const char *text,
                              size_t length);

/* A process group of the configuration, while the configuration is being read. */
struct kineto_configured {
    struct kineto_text name, ranks;
};

/* Stores the name of a process group, or one of its ranks. Call this function once for each rank in the group's array
 * of ranks. */
void kineto_take_group_value(struct kineto *kineto, struct kineto_configured *group, enum kineto_key key,
                             const char *text, size_t length);

void kineto_end_group(struct kineto *kineto, struct kineto_configured *group);

/* Returns the process group that has this name in the file's configuration, or NULL. */
const struct kineto_group *kineto_configured_group(const struct kineto *kineto, struct ws_text name);

/* --- kineto_ranks.c -------------------------------------------------------------------------------- */

struct kineto_ranks {
    const char *path;
    struct ws_arena texts;
    struct ws_intern labels; /* the labels of all ranks (struct ws_text) */
    bool looked;
};

/* Returns how many ranks the file holds, at least 1. */
size_t kineto_count_ranks(struct kineto_ranks *ranks);

/* Returns the label of a rank, or NULL if the file holds only one rank. */
const struct ws_text *kineto_rank_label(struct kineto_ranks *ranks, size_t rank);

/* Removes the label of a rank from the text of a pid: "[TP01] 83" becomes "83". Returns whether this label differs
 * from `wanted`. Returns false if `wanted` is empty. */
bool kineto_leave_label(const struct ws_text *wanted, const char **text, size_t *length);

void kineto_ranks_finish(struct kineto_ranks *ranks);

/* --- kineto_collectives.c -------------------------------------------------------------------------- */

/* Returns whether the operator or annotation with this name is a record of a collective call. */
bool kineto_is_communication(const struct ws_text *name);

/* Reads the collective from the current event. kineto_is_communication must be true for the event's name. */
void kineto_take_communication(struct kineto *kineto, uint32_t thread, int64_t begin, int64_t end);

/* Reads the collective from the arguments of the current event, which is a kernel. Call this function directly after
 * ws_gather_op has added the kernel: the function assumes that the operation added last is this kernel. */
void kineto_take_communication_kernel(struct kineto *kineto);

/* Finds this process's rank in each process group. Call this function after all events. */
void kineto_end_groups(struct kineto *kineto);

#endif
