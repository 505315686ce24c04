/* The wrappers of NCCL's functions, and the functions that record their calls.
 *
 * NCCL launches a collective's kernels inside the collective's call, or, in a group, inside the outermost
 * ncclGroupEnd. So the shim writes the collective's record when the call that launches the kernels returns: the
 * collective's call or ncclGroupEnd. The record contains the correlation ids of the first and the last launch. A
 * thread numbers its launches and calls with correlation ids that count up. */
#include "shim/libraries/nccl.h"

#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "shim/calls/notes.h"
#include "shim/stacks/stacks.h"
#include "shim/state/registry.h"

#define EXPORTED(symbol)                                       \
    __asm__(".symver wrap_" #symbol ", " #symbol "@WALLSHIM"); \
    __attribute__((visibility("default")))
#define NO_PEER (-1)

enum derivation { BY_SPLIT, BY_SHRINK, DERIVATIONS };

struct comm_state {
    uint64_t sequence;
    uint64_t name_hash;
    /* For each of ncclCommSplit and ncclCommShrink: how many communicators it has made from this one. The counts are
     * separate, because all ranks call ncclCommSplit, but the ranks that ncclCommShrink leaves out do not call
     * ncclCommShrink, and so cannot count its communicators. */
    uint64_t derived[DERIVATIONS];
    /* The communicator was made before the shim was loaded. So the ranks might number its collectives differently. */
    bool is_late;
};

static struct ws_map comm_ids; /* handle of a communicator → its dictionary id */
static struct comm_state comm_states[4096];

enum { COMM_UNKNOWN, COMM_NOT_ASKED = UINT32_MAX /* the registry's lock was not free in time */ };

/* Returns the communicator's id, or COMM_UNKNOWN or COMM_NOT_ASKED. *sequence: the number of this collective among
 * those of the communicator; 0 if the shim has not seen all collectives of the communicator. */
static uint32_t comm_known(ws_ncclComm comm, uint64_t *sequence)
{
    uint32_t id = COMM_UNKNOWN;
    if (!registry_lock())
        return COMM_NOT_ASKED;
    uint64_t *known = ws_map_get(&comm_ids, AT(comm));
    if (known) {
        id = (uint32_t)*known;
        *sequence = comm_states[id - 1].is_late ? 0 : ++comm_states[id - 1].sequence;
    }
    registry_unlock();
    return id;
}

static void comm_register(const struct call *call, ws_ncclComm comm, struct ws_comm row, bool is_late)
{
    struct shim_thread *thread = call->thread ? call->thread : thread_get();
    if (!thread)
        return;
    struct shim_context *context = context_of_thread(thread, atomic_load(&shim_page.handles));
    row.handle = AT(comm);
    if (!row.device)
        row.device = context ? context->device : 0;
    if (!registry_lock())
        return;
    uint64_t *id = ws_map_put(&comm_ids, AT(comm));
    if (id) {
        *id = registry_add(&registry.comm, &row);
        if (!*id)
            ws_map_remove(&comm_ids, AT(comm));
        else
            comm_states[*id - 1] = (struct comm_state){ .name_hash = row.name_hash, .is_late = is_late };
    }
    registry_unlock();
}

/* FNV-1a with an initial value of our own. Do not change this value: the hashes are in traces, and ranks of one job
 * may be recorded by different versions of the shim. */
static uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/* A name for a communicator that was made from another communicator (`from`, the parent). Each rank of the new
 * communicator computes it from the same three values: the parent's name, the number of communicators made from the
 * parent in this way so far, and `key`. After a shrink, a rank that it left out counts one less: a later shrink of
 * the same parent that includes this rank has no common name. Returns 0 if the parent's name is not known. */
static uint64_t derived_hash(ws_ncclComm from, enum derivation how, uint64_t key)
{
    uint64_t words[3] = { 0, 0, key };
    if (!registry_lock())
        return 0;
    uint64_t *known = ws_map_get(&comm_ids, AT(from));
    if (known) {
        words[0] = comm_states[*known - 1].name_hash;
        words[1] = ++comm_states[*known - 1].derived[how];
    }
    registry_unlock();
    return words[0] ? hash_bytes(words, sizeof(words)) : 0;
}

static bool succeeded(const struct call *call)
{
    return call->result == WS_ncclSuccess || call->result == WS_ncclInProgress;
}

static void comm_made(struct call *call, const ws_ncclComm *comm, int size, int rank, const ws_ncclUniqueId *id)
{
    if (succeeded(call) && comm)
        comm_register(call, *comm,
                      (struct ws_comm){
                          .rank = (uint32_t)rank, .size = (uint32_t)size, .name_hash = hash_bytes(id, sizeof(*id)) },
                      false);
    host_call(call, NO_STREAM, comm ? *comm : NULL, 0, 0);
}

/* ncclCommInitAll makes all ranks in this process. So a hash of the process id, the time and an address can serve as
 * the name that they share. */
static void comms_made(struct call *call, const ws_ncclComm *comms, int count, const int *devices)
{
    uint64_t words[3] = { (uint64_t)getpid(), call->ticks_begin, AT(comms) };
    for (int rank = 0; succeeded(call) && comms && rank < count; rank++)
        comm_register(call, comms[rank],
                      (struct ws_comm){ .rank = (uint32_t)rank,
                                        .size = (uint32_t)count,
                                        .device = (uint32_t)(devices ? devices[rank] : rank) + 1,
                                        .name_hash = hash_bytes(words, sizeof(words)) },
                      false);
    host_call(call, NO_STREAM, NULL, 0, 0);
}

/* Asks NCCL for the rank, the size and the device of a communicator that is complete. Returns false if NCCL does not
 * answer. */
static bool comm_ask(ws_ncclComm comm, struct ws_comm *row)
{
    static const char *const names[] = { "ncclCommUserRank", "ncclCommCount", "ncclCommCuDevice" };
    int answers[3];
    for (int i = 0; i < 3; i++) {
        ws_ncclResult (*ask)(ws_ncclComm, int *) = resolve_beside(WS_ID_ncclAllReduce, names[i]);
        if (!ask || ask(comm, &answers[i]) != WS_ncclSuccess)
            return false;
    }
    row->rank = (uint32_t)answers[0];
    row->size = (uint32_t)answers[1];
    row->device = (uint32_t)answers[2] + 1;
    return true;
}

/* Returns the id of the communicator that a collective used, or 0. *sequence: see comm_known. If the communicator was
 * made before the shim was loaded, asks NCCL about it and registers it, without a name that its ranks share. NCCL is
 * asked only after it has used the communicator with success, so the communicator is complete. */
static uint32_t comm_used(const struct call *call, ws_ncclComm comm, uint64_t *sequence)
{
    struct ws_comm row = { 0 };
    uint32_t id = comm_known(comm, sequence);
    bool has_room = atomic_load_explicit(&registry.comm.count, memory_order_relaxed) < registry.comm.limit;
    if (id == COMM_UNKNOWN && shim_late && has_room && call->result == WS_ncclSuccess && comm_ask(comm, &row)) {
        comm_register(call, comm, row, true);
        id = comm_known(comm, sequence);
    }
    return id == COMM_NOT_ASKED ? COMM_UNKNOWN : id;
}

/* A hash of the ranks that ncclCommShrink leaves out of the new communicator; a key for derived_hash. */
static uint64_t excluded_hash(const int *ranks, int count)
{
    return ranks && count > 0 ? hash_bytes(ranks, (size_t)count * sizeof(*ranks)) : 0;
}

/* Registers a communicator that ncclCommSplit or ncclCommShrink has made. The shim asks NCCL for the rank and the
 * size of the new communicator. */
static void comm_derived(struct call *call, ws_ncclComm from, enum derivation how, uint64_t key,
                         const ws_ncclComm *made)
{
    uint64_t hash = derived_hash(from, how, key);
    if (succeeded(call) && made && *made) {
        struct ws_comm row = { .name_hash = hash };
        /* The shim does not ask NCCL while NCCL is still making the communicator (in a group, or after
         * ncclInProgress), because NCCL would print a warning. */
        if (call->result == WS_ncclSuccess && !(call->thread && call->thread->group_depth))
            comm_ask(*made, &row);
        comm_register(call, *made, row, false);
    }
    host_call(call, NO_STREAM, from, 0, 0);
}

static void comm_ending(struct call *call, ws_ncclComm comm)
{
    (void)call;
    if (!shim_started() || !registry_lock())
        return;
    ws_map_remove(&comm_ids, AT(comm));
    registry_unlock();
}

void nccl_forget_comms(void)
{
    if (!registry_lock())
        return;
    ws_map_finish(&comm_ids);
    registry_unlock();
}

static void comm_call(struct call *call, ws_ncclComm comm)
{
    host_call(call, NO_STREAM, comm, 0, 0);
}

static void put_collective(struct shim_thread *thread, const struct ws_ring_collective *made)
{
    struct ws_ring_collective *record = ws_ring_reserve(&thread->ring, 2);
    if (!record)
        return;
    *record = *made;
    ws_ring_commit(&thread->ring, 2);
}

static void collective(struct call *call, size_t count, ws_ncclEnum datatype, ws_ncclEnum reduction, int peer,
                       ws_ncclComm comm, ws_CUstream stream)
{
    struct shim_thread *thread = call->thread;
    if (!thread)
        return;
    uint64_t sequence = 0;
    /* Collectives are counted also while nothing is recorded, so that all ranks number them alike. */
    uint32_t id = comm_used(call, comm, &sequence);
    if (!shim_recording())
        return;
    struct shim_context *context = context_of_thread(thread, atomic_load(&shim_page.handles));
    struct shim_stream *found = succeeded(call) ? stream_find(stream, false, context) : NULL;
    struct ws_ring_collective made = {
        .header = { .kind = WS_RING_COLLECTIVE, .slots = 2, .detail = (uint16_t)call->id },
        .ticks_begin = call->ticks_begin,
        .ticks_end = call->ticks_end,
        .count = count,
        .stream = found ? found->id : 0,
        .datatype = (uint32_t)datatype,
        .reduction = (uint32_t)reduction,
        .peer = peer,
        .result = call->result,
        .first_launch = call->nccl_before + 1,
        .last_launch = thread->correlation,
        .comm = id,
        .sequence = sequence,
    };
    if (made.last_launch < made.first_launch)
        made.first_launch = made.last_launch = 0;
    made.correlation = ++thread->correlation;
    if (!thread->group_depth)
        put_collective(thread, &made);
    else if (thread->collective_count < PENDING_COLLECTIVES)
        thread->collectives[thread->collective_count++] = made;
    else /* no room to keep the collective until ncclGroupEnd: it is recorded now, without its launches */
        put_collective(thread, &made);
    stack_note(thread, made.ticks_begin, made.ticks_end, 0);
}

static void group_started(struct call *call)
{
    struct shim_thread *thread = call->thread;
    if (thread)
        thread->group_depth++;
}

static void group_ended(struct call *call)
{
    struct shim_thread *thread = call->thread;
    if (!thread || !thread->group_depth || --thread->group_depth)
        return;
    /* The ncclGroupEnd that has just returned made the launches of all collectives in the group. */
    uint64_t first = call->nccl_before + 1, last = thread->correlation;
    for (uint32_t i = 0; i < thread->collective_count; i++) {
        struct ws_ring_collective *made = &thread->collectives[i];
        made->first_launch = first <= last ? first : 0;
        made->last_launch = first <= last ? last : 0;
        if (shim_recording())
            put_collective(thread, made);
        else
            thread->passed++;
    }
    thread->collective_count = 0;
}

/* Only the outermost NCCL call sets thread->in_nccl. An NCCL call that NCCL itself makes inside the outermost one
 * does not set it. */
HOT void enter_nccl(struct call *call, uintptr_t *frame)
{
    struct shim_thread *thread = call->thread;
    call->nccl_before = thread ? thread->correlation : 0;
    if (!thread || call_is_in_nccl(thread, (uintptr_t)__builtin_dwarf_cfa(), __builtin_return_address(0)))
        return;
    frame_begin(thread, &thread->in_nccl, frame);
    thread->op_header.detail = WS_OP_IN_COLLECTIVE;
}

static void leave_nccl(struct call *call, const uintptr_t *frame)
{
    if (!call->thread || call->thread->in_nccl != (uintptr_t)frame)
        return;
    call->thread->in_nccl = 0;
    call->thread->op_header.detail = 0;
}

/* Marks the thread as being in a wrapped call while the shim notes the call's effects. CUDA calls of a signal handler
 * then count as nested. If a signal handler has forked during the call and this is the child process, nothing is
 * recorded. */
static void begin_notes(struct call *call, uintptr_t *frame)
{
    if (!shim_started())
        call->thread = NULL;
    if (call->thread)
        frame_begin(call->thread, &call->thread->within, frame);
}

#define NCCL_ROW(symbol, parameters, arguments, before, after)                                             \
    EXPORTED(symbol) ws_ncclResult wrap_##symbol parameters;                                               \
    ws_ncclResult wrap_##symbol parameters                                                                 \
    {                                                                                                      \
        ws_ncclResult(*real) parameters =                                                                  \
            (ws_ncclResult(*) parameters)__atomic_load_n(&resolve_real[WS_ID_##symbol], __ATOMIC_RELAXED); \
        if (!real)                                                                                         \
            real = (ws_ncclResult(*) parameters)resolve_find(WS_ID_##symbol);                              \
        if (!real)                                                                                         \
            return WS_ncclSystemError;                                                                     \
        struct call call;                                                                                  \
        uintptr_t frame = 0;                                                                               \
        if (!call_enter(&call, &frame, WS_ID_##symbol, false, WS_CALL_NCCL))                               \
            return real arguments;                                                                         \
        enter_nccl(&call, &frame);                                                                         \
        before;                                                                                            \
        call.ticks_begin = ticks_now();                                                                    \
        call.result = real arguments;                                                                      \
        call.ticks_end = ticks_now();                                                                      \
        leave_nccl(&call, &frame);                                                                         \
        begin_notes(&call, &frame);                                                                        \
        after;                                                                                             \
        call_leave(&call);                                                                                 \
        return call.result;                                                                                \
    }
#include "shim/hook/nccl_table.h"
