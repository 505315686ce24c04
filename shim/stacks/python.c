#include "shim/stacks/python.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"
#include "shim/stacks/python_memory.h"

enum {
    /* number of the first walks (readings of a thread's frames), which read memory through the kernel */
    PROBATION = 64,
    NOT_READ = 1 << 30,
    CHAIN_MOST = 1 << 16,  /* most frames that a walk visits, with and without code */
    KEY_CHAIN_MOST = 1024, /* most frames without code that python_key visits */
};

static struct python_layout layout;
static struct python_types types = { .layout = &layout };
static const void *(*this_thread)(void);
/* address of a pointer of the interpreter, which is not NULL once the interpreter shuts down */
static const void *const *finalizing;

/* Can this process read its own memory by process_vm_readv? Some containers forbid that call. */
static bool can_guard;
/* How many of the next walks (readings of a thread's frames) read memory through the kernel. About NOT_READ: no
 * interpreter was found, or some of its data did not have the expected layout. Threads may decrement it at the same
 * time, so it may be a little less than 0 or NOT_READ. */
static _Atomic int32_t probation = NOT_READ;

bool python_is_read(void)
{
    return atomic_load_explicit(&probation, memory_order_relaxed) < NOT_READ / 2;
}

static bool is_on_probation(void)
{
    return __builtin_expect(atomic_load_explicit(&probation, memory_order_relaxed) > 0, 0);
}

const void *python_thread(void)
{
    /* When the interpreter shuts down, it frees the states of all threads, even of those that still run. */
    return __atomic_load_n(finalizing, __ATOMIC_RELAXED) ? NULL : this_thread();
}

/* --- the generation -------------------------------------------------------------------------------- */

static void (*_Atomic free_code)(void *code);
/* where the interpreter keeps the pointer to the function that frees code objects */
static void (**free_slot)(void *code);
/* Threads cache stacks by the addresses of code objects. An address stands for the same code object only while this
 * number, which is a part of the cache's keys, stays the same. */
static _Atomic uint64_t generation;
/* Multipliers for the hash of a thread's frames: odd random numbers. `generation` grows by FACTOR, so that it need
 * not be multiplied. */
static const uint64_t FACTOR = 0x9e3779b97f4a7c15u, STEP = 0xff51afd7ed558ccdu;

/* The interpreter calls this function instead of its own function that frees code objects (`next`). `generation` is
 * increased before the call of `next`: as soon as `next` has freed the object, another thread may make a new one at
 * the same address. `generation` is increased again after the call: `next` may run Python code, and a stack with the
 * dying object may have been cached meanwhile. */
static void count_and_free_code(void *code)
{
    void (*next)(void *);
    /* On some processors, a thread may see our function in *free_slot before it sees that free_code was set. So this
     * loop waits until free_code is set. */
    while (!(next = atomic_load(&free_code)))
        ;
    atomic_fetch_add(&generation, FACTOR);
    next(code);
    atomic_fetch_add(&generation, FACTOR);
}

/* Does the interpreter still call count_and_free_code? Another tool may have restored the interpreter's own function,
 * or may have set a further one. */
static bool is_watched(void)
{
    return __builtin_expect(__atomic_load_n(free_slot, __ATOMIC_RELAXED) == count_and_free_code, 1);
}

/* Makes the interpreter call count_and_free_code when it frees a code object. Returns false if `type` is not the type
 * of code objects. */
static bool watch_code(char *type)
{
    const char *name;
    void (**slot)(void *) = (void (**)(void *))(type + PYTHON_TYPE_FREE);
    void (*found)(void *) = __atomic_load_n(slot, __ATOMIC_RELAXED);
    memcpy(&name, type + PYTHON_TYPE_NAME, sizeof(name));
    if (!found || !name || strcmp(name, "code") != 0)
        return false;
    free_slot = slot;
    if (found == count_and_free_code)
        return true;
    atomic_store(&free_code, found);
    __atomic_store_n(slot, count_and_free_code, __ATOMIC_RELEASE);
    return true;
}

/* --- finding the interpreter --------------------------------------------------------------------- */

struct runtime_search {
    struct elf_object object;
    unsigned passed;
    bool found;
};

/* Looks for the interpreter only among the objects that were loaded at the program's start. Other objects may be
 * unloaded, and our pointers to their functions would then be invalid. */
static bool has_runtime(const struct elf_object *object, enum elf_place place, void *data)
{
    struct runtime_search *search = data;
    (void)place;
    search->found = elf_symbol(object, "_PyRuntime") != NULL;
    if (search->found)
        search->object = *object;
    return !search->found && ++search->passed < resolve_objects_at_start();
}

/* Returns the interpreter's version: 0x030b for 3.11; 0 if it is not known. */
static uint32_t version_of(const struct elf_object *object)
{
    unsigned major, minor;
    const unsigned long *version = elf_symbol(object, "Py_Version"); /* exists from Python 3.11 on */
    if (version)
        return (uint32_t)(*version >> 16);
    const char *(*text)(void) = (const char *(*)(void))(uintptr_t)elf_symbol(object, "Py_GetVersion");
    return text && sscanf(text(), "%u.%u", &major, &minor) == 2 ? major << 8 | minor : 0;
}

const char *python_find(void)
{
    static char unknown[64];
    struct runtime_search search = { 0 };
    elf_each_placed(has_runtime, &search);
    if (!search.found)
        return "";
    const struct elf_object object = search.object;
    uint32_t version = version_of(&object);
    const char *runtime = elf_symbol(&object, "_PyRuntime");
    const char *why_not = python_layout(version, runtime, &layout);
    if (why_not) {
        snprintf(unknown, sizeof(unknown), "Python %u.%u%s%s is not known", version >> 8, version & 0xff,
                 *why_not ? " " : "", why_not);
        return unknown;
    }
    this_thread = (const void *(*)(void))(uintptr_t)elf_symbol(&object, "PyGILState_GetThisThreadState");
    finalizing = (const void *const *)(runtime + layout.runtime_finalizing);
    char *code = elf_symbol(&object, "PyCode_Type");
    types.code = code;
    types.text = elf_symbol(&object, "PyUnicode_Type");
    types.bytes = elf_symbol(&object, "PyBytes_Type");
    if (!this_thread || !types.code || !types.text || !types.bytes)
        return "Python does not export what its stacks need";
    if (!watch_code(code))
        return "Python's code objects are not as expected";
    uint64_t copy;
    can_guard = read_memory(runtime, &copy, sizeof(copy), true);
    atomic_store_explicit(&probation, can_guard ? PROBATION : 0, memory_order_release);
    return NULL;
}

/* --- the key of the calling thread's frames ------------------------------------------------------------ */

/* Reads a field of this type at the address `at` + offset, without checking the address. */
#define FIELD(type, at, offset)                           \
    ({                                                    \
        type field_;                                      \
        memcpy(&field_, (at) + (offset), sizeof(field_)); \
        field_;                                           \
    })

static const struct python_key no_key;

/* How a frame of the interpreter states its current instruction: by an index or by a pointer. WITH_OWNER: by a
 * pointer, and the frame has an owner field. */
enum kind { BY_INDEX, BY_POINTER, WITH_OWNER };

static inline __attribute__((always_inline)) struct python_key hash_frames(uint64_t hash, const char *at,
                                                                           enum kind kind)
{
    const size_t code_at = layout.frame_code, caller_at = layout.frame_caller, owner_at = layout.frame_owner;
    const size_t place_at = kind == BY_INDEX ? layout.frame_index : layout.frame_pointer;
    /* A power of STEP, a different one for each frame. So the frames' products do not depend on one another, and the
     * processor computes them in parallel. */
    uint64_t factor = STEP;
    unsigned count = 0, without_code = 0;
    while (is_plausible((uintptr_t)at) && count < PYTHON_DEEPEST) {
        if (kind == WITH_OWNER && __builtin_expect(FIELD(char, at, owner_at) >= PYTHON_OWNED_BY_C, 0)) {
            if (++without_code > KEY_CHAIN_MOST)
                return no_key;
        } else {
            uint64_t place = kind == BY_INDEX ? FIELD(uint32_t, at, place_at) : FIELD(uint64_t, at, place_at);
            uint64_t code = FIELD(uint64_t, at, code_at);
            hash += ((code << 32 | code >> 32) + place) * factor;
            factor *= STEP;
            count++;
        }
        at = FIELD(const char *, at, caller_at);
    }
    return !at || count == PYTHON_DEEPEST ? (struct python_key){ (hash ^ hash >> 32) * FACTOR, count } : no_key;
}

struct python_key python_key(const void *thread)
{
    if (is_on_probation() || !is_watched())
        return no_key;
    const char *at = thread;
    uint64_t hash = atomic_load_explicit(&generation, memory_order_acquire);
    if (layout.thread_cframe != PYTHON_ABSENT) {
        at = FIELD(const char *, at, layout.thread_cframe);
        if (!is_plausible((uintptr_t)at))
            return no_key;
        at = FIELD(const char *, at, layout.cframe_frame);
    } else {
        at = FIELD(const char *, at, layout.thread_frame);
    }
    if (layout.frame_owner != PYTHON_ABSENT)
        return hash_frames(hash, at, WITH_OWNER);
    return layout.frame_index != PYTHON_ABSENT ? hash_frames(hash, at, BY_INDEX) : hash_frames(hash, at, BY_POINTER);
}

/* --- frames ---------------------------------------------------------------------------------------- */

/* Reads the frame at `at`. Returns false if the frame cannot be read, or if its code object does not have the
 * expected layout. */
static bool read_frame(const char *at, struct python_frame *frame, bool guarded)
{
    uintptr_t code;
    if (!read_memory(at + layout.frame_code, &code, sizeof(code), guarded))
        return false;
    code &= ~layout.code_tag;
    frame->code = (const char *)code;
    if (!python_checksum(&types, frame->code, guarded, &frame->checksum))
        return false;
    if (layout.frame_pointer == PYTHON_ABSENT) {
        int32_t index;
        if (!read_memory(at + layout.frame_index, &index, sizeof(index), guarded))
            return false;
        frame->offset = index > 0 ? (uint32_t)index * layout.index_bytes : 0;
        return true;
    }
    uintptr_t pointer, start = code + layout.code_start;
    if (!read_memory(at + layout.frame_pointer, &pointer, sizeof(pointer), guarded))
        return false;
    frame->offset = pointer > start ? (uint32_t)(pointer - start) : 0;
    return true;
}

/* Sets *is to true if the frame has no code, else to false. The interpreter puts frames without code where C code
 * called Python code. Returns false if the frame cannot be read. */
static bool is_without_code(const char *at, bool guarded, bool *is)
{
    char owner = 0;
    if (layout.frame_owner != PYTHON_ABSENT && !read_memory(at + layout.frame_owner, &owner, 1, guarded))
        return false;
    *is = owner >= PYTHON_OWNED_BY_C;
    return true;
}

/* Stores the thread's frames that have code, innermost first. Returns their number, or -1 if a frame could not be
 * read or did not have the expected layout. */
static int walk(const char *thread, struct python_frame *frames, bool guarded)
{
    const char *at;
    bool without_code;
    int count = 0;
    if (layout.thread_cframe != PYTHON_ABSENT) {
        if (!read_pointer(thread + layout.thread_cframe, &at, guarded) || !at ||
            !read_pointer(at + layout.cframe_frame, &at, guarded))
            return -1;
    } else if (!read_pointer(thread + layout.thread_frame, &at, guarded)) {
        return -1;
    }
    for (int visited = 0; at && count < PYTHON_DEEPEST && visited < CHAIN_MOST; visited++) {
        if (!is_without_code(at, guarded, &without_code) ||
            (!without_code && !read_frame(at, &frames[count], guarded)) ||
            !read_pointer(at + layout.frame_caller, &at, guarded))
            return -1;
        count += !without_code;
    }
    return count;
}

unsigned python_frames_here(const void *thread, struct python_frame *frames)
{
    bool guarded = is_on_probation();
    int count = walk(thread, frames, guarded);
    if (guarded)
        atomic_fetch_sub_explicit(&probation, 1, memory_order_relaxed);
    if (count < 0)
        atomic_store_explicit(&probation, NOT_READ, memory_order_relaxed);
    return count > 0 ? (unsigned)count : 0;
}

unsigned python_frames_of(const void *thread, struct python_frame *frames)
{
    int count = can_guard ? walk(thread, frames, true) : 0;
    return count > 0 ? (unsigned)count : 0;
}

bool python_function_of(const struct python_frame *frame, bool guarded, struct python_function *function)
{
    return python_function(&types, frame->code, frame->checksum, guarded, function);
}
