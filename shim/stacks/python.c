#include "shim/stacks/python.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"
#include "shim/stacks/python_layout.h"

enum {
    PROBATION = 64,       /* walks that read through the kernel */
    CHAIN_MOST = 1 << 16, /* frames between which frames with code are looked for */
    SIZE_MOST = 1 << 30,  /* of an object: more is not plausible */
    TEXT_PIECE = 64,      /* characters that are read at a time */
    FREE_THREADED = 16,   /* _PyRuntime from 3.13 on: u64, after a cookie and the version */
};

static struct {
    const struct python_layout *layout;
    const void *(*thread)(void);
    const void *code_type, *text_type, *bytes_type;
} python;

static bool can_guard;             /* the kernel reads this process's memory for us: containers may forbid it */
static _Atomic bool is_read;       /* an interpreter was found, and all that was read was as expected */
static _Atomic uint32_t probation; /* walks so far */

bool python_is_read(void)
{
    return atomic_load_explicit(&is_read, memory_order_relaxed);
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool is_plausible(uintptr_t address)
{
    return address >= 4096 && address < (uintptr_t)1 << 47;
}

/* guarded: an address that is not mapped gives false instead of a fault. */
static inline bool read_memory(const void *from, void *to, size_t size, bool guarded)
{
    if (!guarded) {
        memcpy(to, from, size);
        return true;
    }
    struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Reads a pointer to an object. */
static inline bool read_pointer(const char *from, const char **to, bool guarded)
{
    return read_memory(from, to, sizeof(*to), guarded) &&
           (!*to || (is_plausible((uintptr_t)*to) && !((uintptr_t)*to & 7)));
}

static inline bool has_type(const char *object, const void *type, bool guarded)
{
    const char *found;
    return object && read_memory(object + PYTHON_TYPE, &found, sizeof(found), guarded) && found == (const char *)type;
}

/* --- finding the interpreter --------------------------------------------------------------------- */

struct runtime_search {
    struct elf_object object;
    unsigned passed;
    bool found;
};

/* An interpreter that was loaded later may be unloaded, and its functions with it. */
static bool has_runtime(const struct elf_object *object, enum elf_place place, void *data)
{
    struct runtime_search *search = data;
    (void)place;
    search->found = elf_symbol(object, "_PyRuntime") != NULL;
    if (search->found)
        search->object = *object;
    return !search->found && ++search->passed < resolve_objects_at_start();
}

/* 0x030b for 3.11; 0: not known. */
static uint32_t version_of(const struct elf_object *object)
{
    unsigned major, minor;
    const unsigned long *version = elf_symbol(object, "Py_Version"); /* from 3.11 on */
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
    python.layout = python_layout(version);
    const char *runtime = elf_symbol(&object, "_PyRuntime");
    bool free_threaded = version >= 0x030d && *(const uint64_t *)(runtime + FREE_THREADED);
    if (!python.layout || free_threaded) {
        snprintf(unknown, sizeof(unknown), "Python %u.%u%s is not known", version >> 8, version & 0xff,
                 free_threaded ? " without GIL" : "");
        return unknown;
    }
    python.thread = (const void *(*)(void))(uintptr_t)elf_symbol(&object, "PyGILState_GetThisThreadState");
    python.code_type = elf_symbol(&object, "PyCode_Type");
    python.text_type = elf_symbol(&object, "PyUnicode_Type");
    python.bytes_type = elf_symbol(&object, "PyBytes_Type");
    if (!python.thread || !python.code_type || !python.text_type || !python.bytes_type)
        return "Python does not export what its stacks need";
    uint64_t copy;
    can_guard = read_memory(runtime, &copy, sizeof(copy), true);
    atomic_store_explicit(&is_read, true, memory_order_release);
    return NULL;
}

const void *python_thread(void)
{
    return python.thread();
}

/* --- code objects -------------------------------------------------------------------------------- */

/* A sum of products can be computed in parallel, unlike a chain of them. The factors are odd random numbers. */
static inline uint64_t weighed(uint64_t value, unsigned place)
{
    static const uint64_t factors[] = {
        0x9e3779b97f4a7c15u, 0xff51afd7ed558ccdu, 0xc4ceb9fe1a85ec53u, 0xbf58476d1ce4e5b9u,
        0x94d049bb133111ebu, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu,
        0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu,
    };
    return (value ^ value >> 32) * factors[place];
}

/* Adds the length and the last bytes of an object. length_at: offset of its length; data: offset of its bytes. */
static inline bool add_tail(uint64_t *sum, unsigned place, const char *object, unsigned length_at, unsigned data,
                            bool guarded)
{
    uint64_t length, tail = 0;
    if (!read_memory(object + length_at, &length, sizeof(length), guarded) || length > SIZE_MOST)
        return false;
    const char *end = object + data + length;
    if (length >= sizeof(tail) ? !read_memory(end - sizeof(tail), &tail, sizeof(tail), guarded)
                               : !read_memory(end - length, &tail, length, guarded))
        return false;
    *sum += weighed(length, place) + weighed(tail, place + 1);
    return true;
}

/* Texts that are not ASCII are longer than their length says: then the checksum has an inner part of the text instead
 * of its end. */
static inline bool add_checksum(struct python_frame *frame, bool guarded)
{
    const struct python_layout *layout = python.layout;
    const char *code = frame->code, *file, *name, *lines;
    uint32_t first_line;
    uint64_t hash;
    if (!read_pointer(code + layout->code_file, &file, guarded) ||
        !read_pointer(code + layout->code_name, &name, guarded) ||
        !read_pointer(code + layout->code_lines, &lines, guarded) ||
        !read_memory(code + layout->code_first_line, &first_line, sizeof(first_line), guarded) || !file || !name ||
        !lines || !read_memory(name + PYTHON_TEXT_HASH, &hash, sizeof(hash), guarded))
        return false;
    uint64_t sum = weighed((uintptr_t)file, 0) + weighed((uintptr_t)name, 1) + weighed((uintptr_t)lines, 2) +
                   weighed(first_line, 3) + weighed(hash, 4);
    bool fits = add_tail(&sum, 5, name, PYTHON_TEXT_LENGTH, layout->text_ascii, guarded) &&
                add_tail(&sum, 7, file, PYTHON_TEXT_LENGTH, layout->text_ascii, guarded) &&
                add_tail(&sum, 9, lines, PYTHON_BYTES_SIZE, PYTHON_BYTES_DATA, guarded);
    frame->checksum = sum ^ sum >> 32;
    return fits;
}

/* Appends a character as UTF-8. Returns the new size, or `used` if there is no room. */
static size_t add_character(char *text, size_t used, size_t capacity, uint32_t c)
{
    char bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    if (used + size >= capacity)
        return used;
    for (size_t i = size - 1; i; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(first[size] | c);
    memcpy(text + used, bytes, size);
    return used + size;
}

/* Copies a text of the interpreter. */
static bool read_text(const char *object, char *text, size_t capacity, bool guarded)
{
    uint64_t length;
    uint32_t state;
    if (!has_type(object, python.text_type, guarded) ||
        !read_memory(object + PYTHON_TEXT_LENGTH, &length, sizeof(length), guarded) ||
        !read_memory(object + PYTHON_TEXT_STATE, &state, sizeof(state), guarded))
        return false;
    unsigned width = state >> 2 & 7;
    bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    if (!is_compact || (width != 1 && width != 2 && width != 4))
        return false;
    const char *data = object + (is_ascii ? python.layout->text_ascii : python.layout->text_other);
    size_t used = 0;
    for (uint64_t done = 0; done < length && used + 4 < capacity; done += TEXT_PIECE) {
        char piece[4 * TEXT_PIECE];
        size_t count = length - done < TEXT_PIECE ? (size_t)(length - done) : TEXT_PIECE;
        if (!read_memory(data + done * width, piece, count * width, guarded))
            return false;
        for (size_t i = 0; i < count; i++) {
            uint32_t character = 0; /* little-endian */
            memcpy(&character, piece + i * width, width);
            used = add_character(text, used, capacity, character);
        }
    }
    text[used] = 0;
    return true;
}

/* Points to the table of lines. guarded: to a copy. */
static bool read_lines(const char *lines, bool guarded, struct python_function *function)
{
    static char copy[PYTHON_LINES_MOST]; /* used by the drain alone */
    uint64_t size;
    if (!has_type(lines, python.bytes_type, guarded) ||
        !read_memory(lines + PYTHON_BYTES_SIZE, &size, sizeof(size), guarded))
        return false;
    function->coding = size <= PYTHON_LINES_MOST ? python.layout->coding : WS_LINES_NONE;
    function->lines_size = size <= PYTHON_LINES_MOST ? (size_t)size : 0;
    function->lines = guarded ? copy : lines + PYTHON_BYTES_DATA;
    return !guarded || read_memory(lines + PYTHON_BYTES_DATA, copy, function->lines_size, true);
}

/* Is the code object the same as when the frame was read? Other threads may free it meanwhile. */
static bool is_still(const struct python_frame *frame)
{
    struct python_frame now = *frame;
    return add_checksum(&now, true) && now.checksum == frame->checksum;
}

bool python_function(const struct python_frame *frame, bool guarded, struct python_function *function)
{
    const struct python_layout *layout = python.layout;
    const char *code = frame->code, *file, *name, *lines;
    return read_pointer(code + layout->code_file, &file, guarded) &&
           read_pointer(code + layout->code_name, &name, guarded) &&
           read_pointer(code + layout->code_lines, &lines, guarded) &&
           read_memory(code + layout->code_first_line, &function->first_line, sizeof(function->first_line),
                       guarded) &&
           read_text(file, function->file, sizeof(function->file), guarded) &&
           read_text(name, function->name, sizeof(function->name), guarded) && read_lines(lines, guarded, function) &&
           (!guarded || is_still(frame));
}

/* --- frames ---------------------------------------------------------------------------------------- */

static inline bool read_frame(const char *at, struct python_frame *frame, bool guarded)
{
    const struct python_layout *layout = python.layout;
    if (layout->frame_pointer == PYTHON_ABSENT) {
        int32_t index;
        if (!read_memory(at + layout->frame_index, &index, sizeof(index), guarded))
            return false;
        frame->offset = index > 0 ? (uint32_t)index * layout->index_bytes : 0;
        return true;
    }
    uintptr_t pointer;
    if (!read_memory(at + layout->frame_pointer, &pointer, sizeof(pointer), guarded))
        return false;
    uintptr_t start = (uintptr_t)frame->code + layout->code_start;
    frame->offset = pointer > start ? (uint32_t)(pointer - start) : 0;
    return true;
}

/* Has the frame no code? The interpreter puts such frames between frames that C code called. */
static inline bool is_without_code(const char *at, bool guarded, bool *is)
{
    char owner = 0;
    if (python.layout->frame_owner != PYTHON_ABSENT &&
        !read_memory(at + python.layout->frame_owner, &owner, 1, guarded))
        return false;
    *is = owner == PYTHON_OWNED_BY_C;
    return true;
}

/* Returns the number of frames, or -1 if something did not fit. */
static inline __attribute__((always_inline)) int walk(const char *thread, struct python_frame *frames, bool guarded)
{
    const struct python_layout *layout = python.layout;
    const char *at;
    bool without_code;
    int count = 0;
    if (layout->thread_cframe != PYTHON_ABSENT) {
        if (!read_pointer(thread + layout->thread_cframe, &at, guarded) || !at ||
            !read_pointer(at + layout->cframe_frame, &at, guarded))
            return -1;
    } else if (!read_pointer(thread + layout->thread_frame, &at, guarded)) {
        return -1;
    }
    for (int visited = 0; at && count < PYTHON_DEEPEST && visited < CHAIN_MOST; visited++) {
        struct python_frame *frame = &frames[count];
        if (!is_without_code(at, guarded, &without_code))
            return -1;
        if (!without_code) {
            if (!read_pointer(at + layout->frame_code, &frame->code, guarded) ||
                !has_type(frame->code, python.code_type, guarded) || !read_frame(at, frame, guarded) ||
                !add_checksum(frame, guarded))
                return -1;
            count++;
        }
        if (!read_pointer(at + layout->frame_caller, &at, guarded))
            return -1;
    }
    return count;
}

unsigned python_frames_here(const void *thread, struct python_frame *frames)
{
    bool guarded = can_guard && atomic_load_explicit(&probation, memory_order_relaxed) < PROBATION;
    int count = guarded ? walk(thread, frames, true) : walk(thread, frames, false);
    if (guarded)
        atomic_fetch_add_explicit(&probation, 1, memory_order_relaxed);
    if (count < 0)
        atomic_store_explicit(&is_read, false, memory_order_relaxed);
    return count > 0 ? (unsigned)count : 0;
}

unsigned python_frames_of(const void *thread, struct python_frame *frames)
{
    int count = can_guard ? walk(thread, frames, true) : 0;
    return count > 0 ? (unsigned)count : 0;
}
